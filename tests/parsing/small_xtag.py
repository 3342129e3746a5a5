"""A grammar of a few trees and words in XTAG's formats, written for tests."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

INITIAL, AUXILIARY = "\x02", "\x03"


def node(label: str, *children: str, index: str = "", marks: str = "") -> str:
    """A node as tree files have it."""
    return f'(((("{label}" . "{index}")){" " if marks else ""}{marks}) {"  ".join(children)})'


def head(label: str, index: str = "") -> str:
    return node(label, index=index, marks=":headp T")


def foot(label: str) -> str:
    return node(label, index="f", marks=':footp T :constraints "NA" :constraint-type :NA')


def place(label: str, index: str = "") -> str:
    return node(label, index=index, marks=':substp T :constraints ""')


def tree(name: str, root: str) -> str:
    """A tree with its header; there are brackets and quotation marks in its comment."""
    return (
        f'("{name}" :UNIFICATION-EQUATIONS "VP.t:<mode> = ind\n" :COMMENTS "(say \\"so\\" :-)" :SHAPE NIL)\n {root} \n'
    )


TRANSITIVE = tree(
    f"{INITIAL}nx0Vnx1",
    node("S", place("NP", "0"), node("VP", head("V"), place("NP", "1")), index="r"),
)
PARTICLE = tree(
    f"{INITIAL}nx0Vplnx1",
    node("S", place("NP", "0"), node("VP", node("V", head("V"), head("PL")), place("NP", "1")), index="r"),
)
SAYING = tree(
    f"{AUXILIARY}nx0Vs1",
    node("S", place("NP", "0"), node("VP", head("V"), foot("S")), index="r"),
)
OTHERS = "".join(
    (
        tree(f"{INITIAL}NXN", node("NP", head("N"))),
        tree(f"{AUXILIARY}Nn", node("N", head("N"), foot("N"), index="r")),
        tree(f"{AUXILIARY}An", node("N", head("A"), foot("N"), index="r")),
        tree(f"{AUXILIARY}Dnx", node("NP", head("D"), foot("NP"), index="r")),
        tree(f"{AUXILIARY}ARBs", node("S", head("Ad"), foot("S"), index="r")),
        tree(f"{AUXILIARY}vxARB", node("VP", foot("VP"), head("Ad"), index="r")),
        tree(f"{AUXILIARY}Vvx", node("VP", head("V"), foot("VP"), index="r")),
        tree(f"{AUXILIARY}nxPnx", node("NP", foot("NP"), node("PP", head("P"), place("NP")), index="r")),
        tree(f"{INITIAL}PXPnx", node("PP", head("P"), place("NP"))),
        tree(f"{AUXILIARY}nx1CONJnx2", node("NP", foot("NP"), head("Conj"), place("NP", "2"), index="r")),
    )
)
LEXICON = f"""\
<<INDEX>>see<<ENTRY>>see<<POS>>V<<FAMILY>>Tnx0Vnx1 Tnx0Vs1 Tmissing
<<INDEX>>find<<ENTRY>>find<<POS>>V<<FAMILY>>Tnx0Vnx1<<FEATURES>>#V_x #V_y-
<<INDEX>>find<<ENTRY>>find<<POS>>V<<ENTRY>>out<<POS>>PL<<FAMILY>>Tnx0Vplnx1
<<INDEX>>have<<ENTRY>>have<<POS>>V<<TREES>>{AUXILIARY}Vvx
<<INDEX>>the<<ENTRY>>the<<POS>>D<<TREES>>{AUXILIARY}Dnx<<FEATURES>>#D_definite+
<<INDEX>>cat<<ENTRY>>cat<<POS>>N<<TREES>>{INITIAL}NXN {AUXILIARY}Nn
<<INDEX>>old<<ENTRY>>old<<POS>>A<<TREES>>{AUXILIARY}An
<<INDEX>>often<<ENTRY>>often<<POS>>Ad<<TREES>>{AUXILIARY}ARBs {AUXILIARY}vxARB
<<INDEX>>of<<ENTRY>>of<<POS>>P<<TREES>>{AUXILIARY}nxPnx {INITIAL}PXPnx
<<INDEX>>and<<ENTRY>>and<<POS>>Conj<<TREES>>{AUXILIARY}nx1CONJnx2
"""
DEFAULTS = f"<<INDEX>>%s<<ENTRY>>%s<<POS>>N<<TREES>>{INITIAL}NXN {AUXILIARY}Nn\n"
MORPHOLOGY = """\
sees \t\tsee\tV 3sg PRES
found \t\tfind\tV PAST STR#found\tV INF
finds \t\tfind\tV 3sg PRES#find\tN 3pl
cats \t\tcat\tN 3pl
dog \t\tdog\tN 3sg
has \t\thave\tV 3sg PRES
out \t\tout\tPart
"""
FILES = {
    "grammar/Tnx0Vnx1.trees": TRANSITIVE,
    "grammar/Tnx0Vplnx1.trees": PARTICLE,
    "grammar/Tnx0Vs1.trees": SAYING,
    "grammar/others.trees": OTHERS,
    "syntax/syntax-coded.flat": LEXICON,
    "syntax/syndefaults.dat": DEFAULTS,
    "morphology/trunc_morph.flat": MORPHOLOGY,
    "README.md": "A grammar of a few words.\n",
}


def write_folder(folder: Path, files: dict[str, str] = FILES) -> str:
    """The grammar as a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1", newline="")
    return str(folder)


def write_archive(path: Path, files: dict[str, str] = FILES, top: str = "xtag_english/") -> str:
    """The grammar as a tar archive, compressed as its name says."""
    with tarfile.open(path, f"w:{path.suffix[1:]}" if path.suffix != ".tar" else "w") as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            raw = text.encode("latin-1")
            member = tarfile.TarInfo(top + name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    return str(path)
