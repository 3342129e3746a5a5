"""The scripts of benchmarks/data, on small inputs in the layout of the originals."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import lzma
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from celadon.io.judgements import load
from tests import processes
from tests.conftest import ROOT

SCRIPTS = ROOT / "benchmarks" / "data"
pytestmark = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="a source distribution has no benchmarks")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"data_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(SCRIPTS / f"{name}.py"), *map(str, arguments)]
    return processes.run(line, capture_output=True, text=True, check=False)


class TestCorpora:
    LONG = "A paragraph" + " of words" * 13 + "{}"

    def test_articles_of_wikipedia(self, tmp_path: Path) -> None:
        kept = [self.LONG.format(end) for end in (".", "?", ' as they said."')]
        left_out = ["History.", "Too short to be kept.", self.LONG.format(" and no end")]
        body = "\n".join(["Title", "", kept[0], *left_out, f" {kept[1]}", kept[2], ""])
        two = "\n".join(["Second", "", kept[0], kept[1], ""])
        folder = tmp_path / "text" / "AA"
        folder.mkdir(parents=True)
        documents = "".join(f'<doc id="{n}" url="u" title="t">\n{text}\n</doc>\n' for n, text in enumerate((body, two)))
        (folder / "wiki_00").write_text(documents, encoding="utf-8")
        done = run("corpora", "wikipedia", tmp_path / "text", "--output", tmp_path / "out.txt.xz")
        assert done.stdout.startswith("wrote 1 documents of 1 files"), done.stderr
        with lzma.open(tmp_path / "out.txt.xz", "rt", encoding="utf-8") as file:
            assert file.read() == "\n".join(kept) + "\n\n"

    def test_stories_of_reuters(self, tmp_path: Path) -> None:
        text = (
            "<REUTERS><TEXT>&#2;<TITLE>T</TITLE><DATELINE> X - </DATELINE><BODY>The first paragraph goes over\n"
            "two lines and names &lt;ABC>, a company.\n"
            "    Too short\n"
            "         Natl   Loan\n"
            "         Avge   Rate   Level   Price   Other prices\n"
            " Wheat   2.55   2.40\n"
            "    The last paragraph is long enough to be kept.  REUTER\n&#3;</BODY></TEXT></REUTERS>\n"
            "<REUTERS><TEXT><BODY>Short.\n Reuter\n</BODY></TEXT></REUTERS>"
            "<REUTERS><TEXT TYPE='BRIEF'><TITLE>no body</TITLE></TEXT></REUTERS>"
        )
        (tmp_path / "reut2-000.sgm").write_bytes(text.encode("latin-1"))
        done = run("corpora", "reuters", tmp_path, "--output", tmp_path / "out.txt.xz")
        assert done.stdout.startswith("wrote 1 documents"), done.stderr
        with lzma.open(tmp_path / "out.txt.xz", "rt", encoding="utf-8") as file:
            assert file.read().split("\n") == [
                "The first paragraph goes over two lines and names <ABC>, a company.",
                "Avge Rate Level Price Other prices Wheat 2.55 2.40",
                "The last paragraph is long enough to be kept.",
                "",
                "",
            ]

    def test_the_rules_hold_in_the_corpora_at_hand(self) -> None:
        folder = Path(os.environ.get("CELADON_DATA", ROOT.parent / "shared" / "data")) / "corpora"
        if not folder.is_dir():
            pytest.skip(f"no corpora at {folder}; set CELADON_DATA to the folder that holds them")
        corpora = script("corpora")
        with lzma.open(folder / "reuters21578.txt.xz", "rt", encoding="utf-8") as file:
            stories = [story.split("\n") for story in file.read().split("\n\n")[:-1]]
        lengths = [len(paragraph) for story in stories for paragraph in story]
        assert min(lengths) == corpora.STORY_CHARACTERS

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        done = run("corpora", "reuters", tmp_path, "--output", tmp_path / "out.txt.xz")
        assert (done.returncode, done.stderr) == (1, f"{tmp_path}: has no file reut2-*.sgm\n")


class TestNovikova:
    OUTPUT = {  # noqa: RUF012
        "src": "inform(a)",
        "sys_summ": "It is .",
        "ref_summs": ["It is A .", "A it is ."],
        "scores": {"informativeness": 6.0, "naturalness": 4.5, "quality": 5},
    }

    @pytest.fixture
    def clone(self, tmp_path: Path) -> Path:
        for name in ("BAGEL", "SFHOT", "SFRES"):
            (tmp_path / "D2T" / name).mkdir(parents=True)
            (tmp_path / "D2T" / name / "data.pkl").write_bytes(pickle.dumps({0: self.OUTPUT, 1: self.OUTPUT}))
        return tmp_path / "D2T"

    def test_outputs_become_rows_that_are_read(self, clone: Path, tmp_path: Path) -> None:
        done = run("novikova2017", clone, "--output", tmp_path / "judgements")
        assert done.returncode == 0, done.stderr
        rows = list(load("novikova2017", str(tmp_path / "judgements")))
        assert [row["id"] for row in rows] == [f"{name}-{n}" for name in ("bagel", "sfhot", "sfres") for n in "01"]
        assert (rows[0]["text"], rows[0]["source"]) == ("It is .", "inform(a)")
        assert rows[0]["scores.naturalness"] == 4.5

    def test_a_pickle_that_names_a_function_is_refused(self, clone: Path, tmp_path: Path) -> None:
        harm = tmp_path / "harm"

        class Harm:
            def __reduce__(self) -> tuple[Any, ...]:
                return (Path.touch, (harm,))

        (clone / "SFHOT" / "data.pkl").write_bytes(pickle.dumps({0: Harm()}))
        done = run("novikova2017", clone, "--output", tmp_path / "judgements")
        assert done.returncode == 1
        assert "only plain values are read" in done.stderr
        assert "Traceback" not in done.stderr
        assert not harm.exists()


class TestGenres:
    def rows(self, kind: str, clone: Path, ids: list[str] | None = None) -> list[dict[str, Any]]:
        folder = clone.parent / "ids"
        folder.mkdir(exist_ok=True)
        names = {"kubernetes": "docs_kubernetes.txt", "sgd": "dialogue_sgd.txt"}
        if ids is not None:
            (folder / names[kind]).write_text("".join(f"{name}\n" for name in ids))
        done = run("genres", kind, clone, "--output", clone.parent / "out.jsonl.xz", "--ids", folder)
        assert done.returncode == 0, done.stderr
        with lzma.open(clone.parent / "out.jsonl.xz", "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_kubernetes(self, tmp_path: Path) -> None:
        clone = tmp_path / "website"
        for name in ("docs/concepts/pods", "blog/_posts/2015/first", "docs/other", "community/page"):
            path = clone / "content" / "en" / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\ntitle: {name}\n---\nWrite to somebody@mail.example.org.\n")
        rows = self.rows("kubernetes", clone, ["docs/concepts/pods", "blog/_posts/2015/first"])
        assert [(row["id"], row["genre"]) for row in rows] == [
            ("docs/concepts/pods", "docs"),
            ("blog/_posts/2015/first", "blog"),
        ]
        assert rows[0]["text"].endswith("Write to name@example.com.\n")
        done = run("genres", "kubernetes", clone, "--output", tmp_path / "out.xz")
        assert done.returncode == 1
        assert "another commit?" in done.stderr

    def test_peps(self, tmp_path: Path) -> None:
        clone = tmp_path / "peps"
        (clone / "peps").mkdir(parents=True)
        endings = {
            "0001": "This document is placed in the public domain or under the\nCC0-1.0-Universal license.",
            "0002": "This document has been placed in the public\ndomain.",
            "0003": "Open Publication License.",
        }
        for number, ending in endings.items():
            (clone / "peps" / f"pep-{number}.rst").write_text(f"PEP: {number}\n\n{ending}\n")
        assert [(row["id"], row["licence"]) for row in self.rows("peps", clone)] == [
            ("pep-0001", "public domain or CC0-1.0"),
            ("pep-0002", "public domain"),
        ]

    def test_dialogues(self, tmp_path: Path) -> None:
        clone = tmp_path / "sgd"
        (clone / "dev").mkdir(parents=True)
        turns = [{"speaker": "USER", "utterance": "Hi."}, {"speaker": "SYSTEM", "utterance": "Hello."}]
        dialogues = [{"dialogue_id": f"1_0000{n}", "services": ["Music_1"], "turns": turns} for n in range(2)]
        (clone / "dev" / "dialogues_001.json").write_text(json.dumps(dialogues))
        (row,) = self.rows("sgd", clone, ["dev-1_00001"])
        assert (row["id"], row["turns"]) == ("dev-1_00001", ["Hi.", "Hello."])

    def test_instructions(self, tmp_path: Path) -> None:
        clone = tmp_path / "self-instruct"
        (clone / "data").mkdir(parents=True)
        task = {"id": "seed_task_0", "name": "n", "instruction": "Do it.", "is_classification": False}
        one = {**task, "instances": [{"input": "This.", "output": "Done."}]}
        two = {**one, "id": "seed_task_1", "is_classification": True}
        (clone / "data" / "seed_tasks.jsonl").write_text(f"{json.dumps(one)}\n{json.dumps(two)}\n")
        (row,) = self.rows("selfinstruct", clone)
        assert (row["instruction"], row["response"]) == ("Do it.\n\nThis.", "Done.")


class TestCheck:
    def test_the_page_names_files_in_the_form_that_is_read(self) -> None:
        known = script("check").known_files()
        page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
        assert len(known) == len(re.findall(r"`[0-9a-f]{64}` \|", page)) > 30
        assert len({file.name for file in known}) == len(known)

    def test_files_are_compared(self, tmp_path: Path) -> None:
        check = script("check")
        content = b"{}\n{}\n"
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
        known = check.Known("a.jsonl.gz", 2, "rows", hashlib.sha256(content).hexdigest())
        assert check.compare(tmp_path, known) == ("the same", True)
        assert check.compare(tmp_path, known._replace(sha256="")) == ("differs: 2 rows, ours 2", True)
        assert check.compare(tmp_path, known._replace(sha256="", count=3)) == ("differs: 2 rows, ours 3", False)
        assert check.compare(tmp_path, known._replace(name="b.gz")) == ("missing", True)
