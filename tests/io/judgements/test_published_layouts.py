"""Layouts in which data sets are published elsewhere, the form that `meta load` writes, and where data come from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from celadon.cli import main
from celadon.core import InputError
from celadon.io.judgements import DATA_SETS, load
from celadon.io.judgements.readers import mqm_weight
from tests.conftest import ROOT
from tests.io.judgements.test_readers import TestGug, lines, read


def test_sulem_from_the_published_table(tmp_path: Path) -> None:
    head = "sent_id,sys_name,sys_type,orig_sent,simp_sent,grammaticality,meaning,simplicity,structural_simplicity"
    body = '7,NTS,Neural,"Long, and ""wide"".",Short.,4.666666667,5,-0.333333333,0'
    (row,) = read(
        "sulem2018", lines(tmp_path / "data" / "structural_simplicity.csv", head, body).rpartition("/data")[0]
    )
    assert (row["id"], row["system"], row["source"], row["text"]) == ("7", "NTS", 'Long, and "wide".', "Short.")
    assert [row[f"scores.{name}"] for name in ("grammaticality", "meaning", "simplicity")] == [
        4.666666667,
        5,
        -0.333333333,
    ]


class TestChagantySamples:
    @staticmethod
    def sample(system: str, overall: float | None) -> dict[str, Any]:
        scores = {"grammar": 0.5, "redundancy": 1, "overall": overall, "hter": 0.25, "edit": None}
        return {"id": "7", "ref": "The reference.", "sys_name": system, "sys_summ": "A summary.", "scores": scores}

    def test_ratings_come_from_the_file_beside(self, tmp_path: Path) -> None:
        lines(tmp_path / "samples.jsonl.gz", *(self.sample(s, 0.5) for s in ("ml", "reference", "pointer")))
        first, later = ({name: {"gold": 1, "human": [v, 1]} for name in ("overall", "grammar")} for v in (0, -1))
        rated = [{"id": "7", "system": "ml", "prompts": prompts} for prompts in (first, later)]
        for row in rated:
            row["prompts"] |= {name: {"gold": 0, "human": [0]} for name in ("redundancy", "hter")}
        lines(tmp_path / "lqual.jsonl", *rated)
        one, two = read("chaganty2018", tmp_path)
        assert (one["system"], one["text"], one["references"]) == ("ml", "A summary.", ["The reference."])
        assert one["ratings.overall"] == [-1, 1]
        assert (one["scores.hter"], two["ratings.overall"]) == (0.25, [])
        assert len(read("chaganty2018", tmp_path, with_references=True)) == 3

    def test_without_that_file(self, tmp_path: Path) -> None:
        (row,) = read("chaganty2018", lines(tmp_path / "samples.jsonl", self.sample("ml", None)))
        assert (row["scores.overall"], row["ratings.grammar"]) == (None, [])


class TestLau:
    HEAD = "ID,translated,source-language,sentence,context,full-ratings,mean-ratings"

    def test_three_files_become_one_row(self, tmp_path: Path) -> None:
        folder = tmp_path / "human-ratings"
        plain = self.HEAD.replace(",context", "")
        lines(folder / "context-none-ratings.csv", plain, '5,1,cs,it is.,"1,2,4.0",2.3333', '6,0,en,he was.,"4,4",4')
        lines(folder / "context-real-ratings.csv", self.HEAD, '5,1,cs,it is.,"one.\ttwo, three.","2,2",2')
        one, two = read("lau2020", tmp_path)
        assert (one["system"], two["system"]) == ("round trip cs", "original")
        assert one["ratings.acceptability_none"] == [1, 2, 4]
        assert (one["scores.acceptability_real"], one["scores.acceptability_random"]) == (2, None)
        assert one["contexts"] == {"real": "one. two, three."}
        assert two["scores.acceptability_real"] is None

    def test_our_layout(self, tmp_path: Path) -> None:
        scores = {"acceptability_none": 2.5, "acceptability_random": 3, "acceptability_real": None}
        given = {"id": "5", "system": "original", "language": "en", "output": "it is.", "scores": scores}
        path = lines(tmp_path / "lau2020_context.jsonl", {**given, "ratings": {"none": 11}, "contexts": {"real": "x."}})
        (row,) = read("lau2020", path)
        assert (row["domain"], row["text"], row["contexts"]) == ("en", "it is.", {"real": "x."})


def test_usr(tmp_path: Path) -> None:
    names = ("natural", "understandable", "maintains_context", "engaging", "uses_knowledge", "overall")
    given = {"dialog_history": "hi !\nhello .\n", "fact": "your persona: i run.\n", **dict.fromkeys(names, 1.0)}
    items = [{"model": "A", "response": "yes .\n", **given}, {"model": "B", "response": "no .\n", **given}]
    items.append({**items[0], "dialog_history": "other\n"})
    (tmp_path / "persona_chat.json").write_text(json.dumps(items))
    rows = read("usr2020", tmp_path)
    assert [(row["id"], row["system"], row["text"]) for row in rows] == [
        ("personachat-dialogue-0", "A", "yes ."),
        ("personachat-dialogue-0", "B", "no ."),
        ("personachat-dialogue-1", "A", "yes ."),
    ]
    assert (rows[0]["source"], rows[0]["facts"]) == ("hi !\nhello .", "your persona: i run.")


class TestMqm:
    HEAD = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"

    def test_errors_of_a_translation_are_summed(self, tmp_path: Path) -> None:
        body = [
            'A\ttalk.1\t1\t84\tr1\t源\tI "<v>sees</v>" it.\tFluency/Grammar\tMajor',
            'A\ttalk.1\t1\t84\tr1\t源\tI "sees" it<v>.</v>\tFluency/Punctuation\tMinor',
            'A\ttalk.1\t1\t84\tr1\t<v>源</v>\tI "sees" it.\tAccuracy/Omission\tminor',
            "B\ttalk.1\t1\t84\tr2\t源\tI see it.\tNo-error\tNo-error",
        ]
        one, two = read("mqm", lines(tmp_path / "mqm_ted_zhen.tsv", self.HEAD, *body))
        assert (one["id"], one["system"], one["text"]) == ("talk.1-84", "A", 'I "sees" it.')
        assert [one[f"scores.{name}"] for name in DATA_SETS["mqm"].dimensions] == pytest.approx([5.1, 2, 0, 6.1])
        assert one["spans"][0] == {"category": "Fluency/Grammar", "severity": "major", "text": "sees", "start": 3}
        assert (one["spans"][2]["text"], one["spans"][2]["start"]) == (None, None)
        assert [two[f"scores.{name}"] for name in DATA_SETS["mqm"].dimensions] == [0, 0, 0, 0]

    def test_several_raters_are_averaged(self, tmp_path: Path) -> None:
        body = [f"A\tt\t1\t1\tr{n}\ts\tx <v>y</v>\tStyle/Awkward\t{s}" for n, s in ((1, "Major"), (2, "Minor"))]
        (row,) = read("mqm", lines(tmp_path / "mqm.tsv", self.HEAD, *body))
        assert (row["scores.style_errors"], row["raters"]) == (3, 2)

    def test_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"mqm\.tsv: has no column rater"):
            read("mqm", lines(tmp_path / "mqm.tsv", self.HEAD.replace("rater", "who"), "A"))
        with pytest.raises(InputError, match=r"mqm\.tsv:2: 9 cells are expected, not 2"):
            read("mqm", lines(tmp_path / "mqm.tsv", self.HEAD, "A\tB"))

    def test_weights_give_the_scores_of_the_data_at_hand(self, judgements: Path) -> None:
        path = judgements / "mqm_ted_zhen.jsonl.gz"
        if not path.is_file():
            pytest.skip(f"no {path}")
        for row in read("mqm", path):
            total = sum(mqm_weight(span["category"], span["severity"]) for span in row["spans"])
            assert row["scores.mqm_errors"] == pytest.approx(total)


class TestWrittenAgain:
    def test_what_was_written_is_read_the_same(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        body = [
            "5\tHere was no promise.\t3\t[2, 4, 3, 2, 3]\t2.83\tdev",
            "6\tIt is.\t4\t[4, 4, 4, 4, 4]\t4\ttrain",
            "7\tThey was.\t2\t[2, 1, 2, 2, 2]\t1.83\ttest",
        ]
        source = lines(tmp_path / "gug_annotations.tsv", TestGug.HEAD, *body)
        out = tmp_path / "judgements" / "gug_train_dev.jsonl.gz"
        out.parent.mkdir()
        assert main(["meta", "load", "gug", source, "--domain", "Train, dev", "--output", str(out)]) == 0
        assert "wrote 2 rows" in capsys.readouterr().err
        assert list(load("gug", str(out.parent))) == [row for row in load("gug", source) if row["domain"] != "test"]

    def test_a_domain_that_is_not_there(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = lines(tmp_path / "gug.tsv", TestGug.HEAD, "6\tIt is.\t4\t[4, 4, 4, 4, 4]\t4\ttrain")
        out = tmp_path / "out.jsonl"
        assert main(["meta", "load", "gug", source, "--domain", "dev", "-o", str(out)]) == 2
        assert "has no domain dev; it has train" in capsys.readouterr().err
        assert not out.exists()

    def test_a_bad_number_names_its_line(self, tmp_path: Path) -> None:
        good = {"id": "1", "text": "A.", "references": [], "scores.grammaticality": 1}
        path = lines(tmp_path / "gug.jsonl", good, {**good, "scores.grammaticality": "x"})
        with pytest.raises(InputError, match=r"gug\.jsonl:2: 'scores.grammaticality' is not a number"):
            list(load("gug", path))


class TestOrigins:
    def test_the_list_and_the_page_say_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["meta", "load", "--list"]) == 0
        listed = capsys.readouterr().out
        page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
        table = re.search(r"<!-- sets:begin -->\n(.*?)<!-- sets:end -->", page, re.S)
        assert table is not None
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].strip().splitlines()[2:]]
        expected = [[f"`{s.name}`", s.title, s.license, s.address] for s in DATA_SETS.values()]
        assert cells == expected
        for known in DATA_SETS.values():
            assert re.search(rf"^\s*{known.name}\s+{re.escape(known.title)}\s", listed, re.M)
            assert re.search(
                rf"^\s*{known.name}\s+{re.escape(known.license)}\s+{re.escape(known.address)}$", listed, re.M
            )
