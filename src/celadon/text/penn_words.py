"""Words as the Penn Treebank cuts and writes them, with their characters in the text.

Clitics are words (``do n't``, ``John 's``, ``can not``), brackets are written ``-LRB-`` and ``-RRB-``, double quotes
`````` and ``''`` by the side they stand on, dashes ``--``. A full stop stays with an abbreviation but where it ends the
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from celadon.text.words import Word

_ABBREVIATIONS = """
    Mr Mrs Ms Messrs Dr Prof Rev Hon Gen Col Lt Capt Sgt Maj Cmdr Gov Sen Rep Pres St Ste Mt Ft Jr Sr Inc Corp Co Cos
    Ltd Bros Assn Dept Univ Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill
    Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Pa Tenn Tex Va Vt Wash Wis Wyo vs etc eg ie al cf
    approx est fig No Nos Vol
""".split()

_PATTERN = re.compile(
    rf"""
    (?P<bracket>-[LR][RCS]B-)
  | (?P<address>(?:https?://|www\.)[^\s<>"]*[^\s<>".,;:!?)\]}}'’”] | [\w.+-]+@[\w-]+(?:\.[\w-]+)+)
  | (?P<dots>\.{{2,}}|…)
  | (?P<dash>-{{2,}}|[–—―])
  | (?P<initials>(?<!\w)(?:[^\W\d_]\.){{2,}}(?!\w))
  | (?P<initial>(?<!\w)[A-Z]\.(?=\s+[A-Z]))
  | (?P<short>(?<!\w)(?:{"|".join(_ABBREVIATIONS)})\.(?!\w))
  | (?P<money>(?<!\w)(?:US|C|A|NZ|HK)\$)
  | (?P<clitic>(?<!\w)['’](?:s|m|d|re|ve|ll|em|tis|twas|\d\ds?)(?!\w))
  | (?P<word>(?:(?<![\w.])\.(?=\d))?\w+(?:(?:[-.'’&/]|(?<=\d)[,:](?=\d))\w+)*)
  | (?P<double>``|''|["“”„«»])
  | (?P<single>[`'‘’])
  | (?P<other>[^\s\x00-\x1f\x7f])
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(.*\w)(n['’]t|['’](?:s|m|d|re|ve|ll))", re.IGNORECASE)
_TWO = {"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "gimme": 3, "lemme": 3}
_FORMS = {
    **dict.fromkeys("([", "-LRB-"),
    **dict.fromkeys(")]", "-RRB-"),
    "{": "-LCB-",
    "}": "-RCB-",
    "-LSB-": "-LRB-",
    "-RSB-": "-RRB-",
    **dict.fromkeys(("“", "„", "«", "``"), "``"),
    **dict.fromkeys(("”", "»", "''"), "''"),
}
_OPENS_AFTER = frozenset("([{-–—/`‘“")
# what may follow the full stop that ends a sentence
_REST = re.compile(r"""[\s"'’”»)\]}]*""")


def penn_words(sentence: str) -> list[Word]:
    """Split a sentence into words of the Penn Treebank, in order; text that is split already comes out as it is."""
    return [word for match in _PATTERN.finditer(sentence) for word in _words(match, sentence)]


def _words(match: re.Match[str], sentence: str) -> Iterator[Word]:
    kind, found, start, end = match.lastgroup, match.group(), match.start(), match.end()
    if kind == "word":
        yield from _without_clitics(found, start)
    elif kind in ("initials", "short") and _REST.fullmatch(sentence, end):
        # at the end of a sentence U.S. keeps its full stop beside the sentence's, other abbreviations lose theirs
        yield Word(found if kind == "initials" else found[:-1], start, end - 1)
        yield Word(".", end - 1, end)
    else:
        yield Word(_form(kind, found, sentence, start), start, end)


def _without_clitics(found: str, start: int) -> Iterator[Word]:
    clitic = _CLITIC.fullmatch(found)
    at = _TWO.get(found.lower(), clitic.end(1) if clitic else len(found))
    for begin, end in ((0, at), (at, len(found))):
        if end > begin:
            yield Word(found[begin:end].replace("’", "'"), start + begin, start + end)


def _form(kind: str | None, found: str, sentence: str, start: int) -> str:
    opens = start == 0 or sentence[start - 1].isspace() or sentence[start - 1] in _OPENS_AFTER
    after = sentence[start + 1 : start + 2].strip()
    match kind:
        case "dots":
            return "..."
        case "dash":
            return "--"
        case "double" if found == '"':
            # between blanks only the quotes before it tell
            begins = opens if after else opens and sentence.count('"', 0, start) % 2 == 0
            return "``" if begins else "''"
        case "single":
            return "`" if found in "`‘" or (found == "'" and opens and after.isalnum()) else "'"
        case "clitic":
            return found.replace("’", "'")
        case _:
            return _FORMS.get(found, found)
