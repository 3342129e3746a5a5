"""Each public layout of human judgements, on small files written here and on the data where it is at hand."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.io.judgements import DATA_SETS, load
from celadon.io.judgements.readers import mqm_weight
from tests.conftest import DATA, ROOT

COLUMNS = ["id", "system", "domain", "text", "references", "source"]


def lines(path: Path, *rows: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return str(path)


def read(name: str, path: str | Path, **options: Any) -> list[dict[str, Any]]:
    rows = list(load(name, str(path), **options))
    for row in rows:
        assert list(row)[: len(COLUMNS)] == COLUMNS
        assert {f"scores.{dimension}" for dimension in DATA_SETS[name].dimensions} <= set(row)
    return rows


class TestNovikova:
    MEDIANS = (
        '"dataset","system","mr_type","mr","sys_ref","TER","informativeness","naturalness","quality","domain"',
        '"BAGEL","Dusek","inform","inform(near=\'X\',area=\'Y\')","there is ""no"" x.",0.8,6,4,5,"REST"',
        '"BAGEL","LOLS","inform","inform(near=\'X\',area=\'Y\')","no x.",0.8,2,3.5,1,"REST"',
        '"SFHOT","LOLS","inform","inform(name=none)","none.",0.8,2,3,1,"HOT"',
    )

    def test_medians(self, tmp_path: Path) -> None:
        rows = read("novikova2017", lines(tmp_path / "emnlp_data_medians.csv", *self.MEDIANS))
        assert rows[0] == {
            "id": "BAGEL-0",
            "system": "Dusek",
            "domain": "BAGEL",
            "text": 'there is "no" x.',
            "references": [],
            "source": "inform(near='X',area='Y')",
            "scores.informativeness": 6,
            "scores.naturalness": 4,
            "scores.quality": 5,
        }
        assert [row["id"] for row in rows] == ["BAGEL-0", "BAGEL-0", "SFHOT-1"]

    def test_single_judges_become_one_row(self, tmp_path: Path) -> None:
        head = "judge,dataset,system,mr,orig_ref,sys_ref,informativeness,naturalness,quality"
        body = [
            f"{judge},BAGEL,LOLS,inform(a),{reference},no x.,{score},4,{judge}"
            for judge, score in ((3, 6), (1, 2), (2, 5))
            for reference in ("first", "second")
        ]
        (row,) = read("novikova2017", lines(tmp_path / "emnlp_data_individual_hum_scores.csv", head, *body))
        assert row["references"] == ["first", "second"]
        assert row["ratings.informativeness"] == [2, 5, 6]
        assert row["scores.informativeness"] == 5
        assert row["scores.quality"] == 2

    def test_json_lines(self, tmp_path: Path) -> None:
        given = {"id": "0", "output": "Hi .", "mr": "hello()", "references": ["Hello .", "Hello ."]}
        scores = {"informativeness": 4.5, "naturalness": 3.5, "quality": 4.0}
        lines(tmp_path / "novikova2017_sfhot.jsonl.gz", {**given, "scores": scores})
        (row,) = read("novikova2017", tmp_path)
        assert (row["id"], row["domain"], row["source"]) == ("sfhot-0", "sfhot", "hello()")
        assert row["references"] == ["Hello .", "Hello ."]
        assert row["scores.quality"] == 4

    def test_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"x\.csv: has no column dataset, system"):
            read("novikova2017", lines(tmp_path / "x.csv", "mr,informativeness,naturalness,quality", "a,1,2,3"))
        broken = [*self.MEDIANS[:3], self.MEDIANS[3].replace(",2,3,1,", ",2,good,1,")]
        with pytest.raises(InputError, match=r"y\.csv:4: 'naturalness' is not a number: 'good'"):
            read("novikova2017", lines(tmp_path / "y.csv", *broken))


class TestChaganty:
    def test_released_layout(self, tmp_path: Path) -> None:
        def row(system: str, overall: float | None) -> dict[str, Any]:
            contents = {"id": "7", "system": system, "text": "A summary.", "reference": "The reference."}
            output = {"grammar": 0.5, "redundancy": 1, "overall": overall, "hter": 0.1, "edit": None, "_responses": []}
            return {"input": {"contents": contents}, "output": output}

        path = lines(tmp_path / "lqual.jsonl", row("pointer", -0.5), row("reference", 1), row("ml", None))
        rows = read("chaganty2018", path)
        assert [row["system"] for row in rows] == ["pointer", "ml"]
        assert rows[0]["references"] == ["The reference."]
        assert (rows[0]["scores.overall"], rows[1]["scores.overall"]) == (-0.5, None)
        assert len(read("chaganty2018", path, with_references=True)) == 3

    def test_processed_layout_has_no_texts(self, tmp_path: Path) -> None:
        prompts = {name: {"gold": 0.2, "human": [0, 1, -1], "ROUGE-1": 0.4} for name in ("hter", "overall")}
        prompts |= {name: {"gold": 1, "human": [1]} for name in ("grammar", "redundancy")}
        (row,) = read("chaganty2018", lines(tmp_path / "l.jsonl", {"id": "1", "system": "ml", "prompts": prompts}))
        assert row["text"] is None
        assert row["ratings.overall"] == [0, 1, -1]

    def test_our_layout(self, tmp_path: Path) -> None:
        scores = {"grammar": 0.8, "redundancy": 0.0, "overall": 0.6, "hter": 0.1}
        given = {"id": "1", "system": "ml", "output": "A.", "reference": "B.", "scores": scores, "ratings": None}
        (row,) = read("chaganty2018", lines(tmp_path / "l.jsonl", given))
        assert (row["text"], row["references"], row["ratings.grammar"]) == ("A.", ["B."], [])

    def test_bad_file(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"l\.jsonl:1: has no 'input'"):
            read("chaganty2018", lines(tmp_path / "l.jsonl", {"id": 1}))
        assert DATA_SETS["chaganty2018"].lower_is_better == {"hter"}


def test_summeval(tmp_path: Path) -> None:
    def said(value: int) -> dict[str, int]:
        return {"coherence": value, "consistency": 5, "fluency": value, "relevance": 3}

    given = {
        "id": "dm-test-8764fb95",
        "decoded": "the summary .",
        "expert_annotations": [said(1), said(2), said(5)],
        "turker_annotations": [said(4), said(5)],
        "references": ["original", "crowd"],
        "model_id": "M11",
        "filepath": "cnndm/dailymail/stories/8764fb95.story",
    }
    (row,) = read("summeval", lines(tmp_path / "model_annotations.aligned.jsonl", given))
    assert (row["system"], row["domain"], row["source"]) == ("M11", "dm", None)
    assert row["ratings.coherence"] == [1, 2, 5]
    assert row["scores.coherence"] == pytest.approx(8 / 3)
    assert row["scores.turker_fluency"] == 4.5
    assert row["references"] == ["original", "crowd"]
    given["expert_annotations"] = [said(1), {"coherence": 1}]
    with pytest.raises(InputError, match=r"m\.jsonl:1: expert_annotations 2: has no 'consistency'"):
        read("summeval", lines(tmp_path / "m.jsonl", given))


class TestWebNlg:
    SAID = {"Correctness": 88, "DataCoverage": 80, "Fluency": 98, "Relevance": 88, "TextStructure": 100}  # noqa: RUF012

    def test_all_teams(self, tmp_path: Path) -> None:
        item = {"submission_id": "Team A", "size": "1", "sample_id": "3", "domain": "type3", "category": "Airport"}
        path = tmp_path / "english_humeval_data_all_teams.json"
        path.write_text(json.dumps([{**item, **self.SAID}, {**item, **self.SAID, "text": "It flies."}], indent=4))
        first, second = read("webnlg2020", tmp_path)
        assert (first["id"], first["system"], first["domain"], first["text"]) == ("3", "Team A", "Airport", None)
        assert first["scores.data_coverage"] == 80
        assert second["text"] == "It flies."

    def test_one_team(self, tmp_path: Path) -> None:
        path = tmp_path / "Baseline" / "primary.json"
        other = {**self.SAID, "Fluency": 50, "feedback": "bad"}
        lines(path, {"3": {"B": other, "A": self.SAID}})
        (row,) = read("webnlg2020", tmp_path)
        assert row["system"] == "Baseline"
        assert row["ratings.fluency"] == [98, 50]
        assert row["scores.fluency"] == 74

    def test_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"a\.json: item 1: has no 'sample_id'"):
            read("webnlg2020", lines(tmp_path / "a.json", [{"x": 1}]))
        with pytest.raises(InputError, match=r"b\.json:2: not valid JSON"):
            read("webnlg2020", lines(tmp_path / "b.json", "[1,", "x]"))
        with pytest.raises(InputError, match="a list of judgements is expected"):
            read("webnlg2020", lines(tmp_path / "c.json", "3"))


class TestGug:
    HEAD = "Id\tSentence\tExpert Judgement\tCrowd Flower Judgements\tAverage\tDataset"

    def test_tsv(self, tmp_path: Path) -> None:
        body = [
            "5\tHere was no promise.\t3\t[2, 4, 3, 2, 3]\t2.8333333333333335\ttest",
            '21\t"This is the ""secure"" things."\t4\t[3, 3, 4, 4, 4]\t3.66\ttrain',
            "56\tBut experts\t0\t[]\t0.0\tnone",
        ]
        rows = read("gug", lines(tmp_path / "gug_annotations.tsv", self.HEAD, *body))
        assert [row["id"] for row in rows] == ["5", "21"]
        assert rows[0]["ratings.grammaticality"] == [2, 4, 3, 2, 3]
        assert rows[0]["scores.grammaticality"] == pytest.approx((14 + rows[0]["expert"]) / 6)
        assert rows[1]["text"] == 'This is the "secure" things.'
        assert rows[1]["domain"] == "train"

    def test_json_lines_and_bad_file(self, tmp_path: Path) -> None:
        given = {"id": "1", "split": "dev", "output": "A.", "scores": {"grammaticality": 3.0}, "expert": 3.0}
        (row,) = read("gug", lines(tmp_path / "gug.jsonl", {**given, "ratings": {"grammaticality": [3, 4]}}))
        assert (row["domain"], row["expert"], row["ratings.grammaticality"]) == ("dev", 3, [3, 4])
        with pytest.raises(InputError, match=r"g\.tsv:2: 'Crowd Flower Judgements' is no list"):
            read("gug", lines(tmp_path / "g.tsv", self.HEAD, "5\tA.\t3\tnone\t2.8\ttest"))


def test_cola(tmp_path: Path) -> None:
    path = lines(tmp_path / "in_domain_dev.tsv", 'gj04\t1\t\tThe "sailors rode.', "bc01\t0\t*\tRode sailors the.")
    rows = read("cola", tmp_path)
    assert [row["scores.acceptability"] for row in rows] == [1, 0]
    assert rows[0]["text"] == 'The "sailors rode.'
    assert rows[1]["mark"] == "*"
    assert (rows[1]["id"], rows[1]["domain"]) == ("in_domain_dev-2", "bc01")
    with pytest.raises(InputError, match=r"in_domain_dev\.tsv:1: four cells are expected .*, not 2"):
        read("cola", lines(Path(path), "gj04\tText."))
    with pytest.raises(InputError, match=r":1: the label must be 0 or 1, not 'x'"):
        read("cola", lines(Path(path), "gj04\tx\t\tText."))


def test_blimp(tmp_path: Path) -> None:
    given = {
        "sentence_good": "Who left?",
        "sentence_bad": "Left who?",
        "field": "syntax",
        "linguistics_term": "island_effects",
        "UID": "wh_island",
        "pairID": "0",
    }
    lines(tmp_path / "data" / "wh_island.jsonl", given, {**given, "pairID": 1})
    rows = read("blimp", tmp_path)
    assert [(row["id"], row["system"], row["scores.acceptability"]) for row in rows] == [
        ("wh_island-0", "good", 1),
        ("wh_island-0", "bad", 0),
        ("wh_island-1", "good", 1),
        ("wh_island-1", "bad", 0),
    ]
    assert rows[1]["text"] == "Left who?"
    del given["sentence_bad"]
    with pytest.raises(InputError, match=r"b\.jsonl:1: has no 'sentence_bad'"):
        read("blimp", lines(tmp_path / "b.jsonl", given))


def test_sulem(tmp_path: Path) -> None:
    scores = {"grammaticality": 5.0, "meaning": 4.0, "simplicity": None}
    given = {"id": "1", "system": "NTS", "source": "Long.", "output": "Short.", "scores": scores}
    (row,) = read("sulem2018", lines(tmp_path / "sulem2018_simplification.jsonl", given))
    assert (row["source"], row["text"], row["scores.simplicity"]) == ("Long.", "Short.", None)


class TestToutanova:
    @staticmethod
    def rating(code: int) -> str:
        return f"{code}\tMost important meaning\tFlawless language"

    def test_a_systems_output(self, tmp_path: Path) -> None:
        ratings = "\t".join(map(self.rating, (6, 12, 24)))
        lines(tmp_path / "test_output.ilp.tsv", f"101_102\tnewswire\tThe long text.\t ||| Short.\tilp\t3\t{ratings}")
        written = "101_102\tnewswire\tThe long text. ||| One.\t4\t1\t" + self.rating(6) + " ||| Two.\t5;6\t0"
        lines(tmp_path / "test.tsv", written)
        (row,) = read("toutanova2016", tmp_path)
        assert (row["id"], row["system"], row["domain"]) == ("101_102", "ilp", "newswire")
        assert (row["source"], row["text"]) == ("The long text.", "Short.")
        assert row["references"] == ["One.", "Two."]
        assert row["ratings.meaning"] == [3, 2, 1]
        assert row["ratings.grammar"] == [3, 2, 1]
        people = read("toutanova2016", tmp_path / "test.tsv")
        assert [(row["system"], row["text"], row["references"]) for row in people] == [
            ("human", "One.", ["Two."]),
            ("human", "Two.", ["One."]),
        ]
        assert (people[0]["scores.grammar"], people[1]["scores.grammar"]) == (3, None)

    @pytest.mark.parametrize(
        ("code", "meaning", "grammar"),
        [(6, 3, 3), (7, 3, 2), (9, 3, 1), (11, 2, 3), (12, 2, 2), (14, 2, 1), (21, 1, 3), (22, 1, 2), (24, 1, 1)],
    )
    def test_codes(self, tmp_path: Path, code: int, meaning: int, grammar: int) -> None:
        path = lines(tmp_path / "test_output.t3.tsv", f"1\tletters\tText. ||| T.\tt3\t1\t{code}")
        (row,) = read("toutanova2016", path)
        assert (row["scores.meaning"], row["scores.grammar"]) == (meaning, grammar)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("1\tText. ||| T.\tt3\t1\t6", "the source must have three cells"),
            ("1\tletters\tText.", "a compression must have"),
            ("1\tletters\tText. ||| T.\tt3", "a compression must have"),
            ("1\tletters\tText. ||| T.\tt3\tx", "the number of ratings is not a number: 'x'"),
            ("1\tletters\tText. ||| T.\tt3\t2\t6", "2 ratings are announced, and 1 cells follow"),
            ("1\tletters\tText. ||| T.\tt3\t1\t8", "unknown rating code '8'; known: 6, 7, 9"),
        ],
    )
    def test_bad_lines(self, tmp_path: Path, line: str, message: str) -> None:
        good = "1\tletters\tText. ||| T.\tt3\t1\t6"
        with pytest.raises(InputError, match=rf"test_output\.t3\.tsv:2: {message}"):
            read("toutanova2016", lines(tmp_path / "test_output.t3.tsv", good, line))


class TestRequests:
    def test_unknown_names(self) -> None:
        with pytest.raises(UsageError, match="unknown data set 'novikova'; did you mean novikova2017"):
            load("novikova", "x")

    @pytest.mark.parametrize("name", list(DATA_SETS))
    def test_paths(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InputError, match="no such file"):
            load(name, str(tmp_path / "none.jsonl"))
        with pytest.raises(InputError, match="the folder has no file"):
            load(name, str(tmp_path))
        with pytest.raises(InputError, match="standard input"):
            load(name, "-")

    def test_bad_bytes_name_the_line(self, tmp_path: Path) -> None:
        path = tmp_path / "sulem2018.jsonl"
        path.write_bytes(b'{"id": "\xff"}\n')
        with pytest.raises(InputError, match=r"sulem2018\.jsonl:1: not valid UTF-8"):
            read("sulem2018", path)
        good = {"id": "1", "output": "a", "scores": {"grammaticality": 1, "meaning": 1, "simplicity": 1}}
        with pytest.raises(InputError, match=r"s\.jsonl:2: not a JSON object"):
            read("sulem2018", lines(tmp_path / "s.jsonl", good, "3"))
        with pytest.raises(InputError, match="has no judgements of gug"):
            read("gug", lines(tmp_path / "gug.tsv", TestGug.HEAD, "56\tBut experts\t0\t[]\t0.0\tnone"))


class TestDataAtHand:
    @staticmethod
    def folder(name: str) -> Path:
        found = DATA / name
        if not found.is_dir():
            pytest.skip(f"no data at {found}; set CELADON_DATA to its folder")
        return found

    @pytest.mark.parametrize(
        ("name", "folder", "rows"),
        [
            ("novikova2017", "judgements", 404 + 875 + 1181),
            ("chaganty2018", "judgements", 2598 - 513),
            ("gug", "judgements", 2265),
            ("sulem2018", "judgements", 1750),
            ("cola", "corpora/cola", 8551 + 527),
        ],
    )
    def test_all_rows_are_read(self, name: str, folder: str, rows: int) -> None:
        found = read(name, self.folder(folder))
        assert len(found) == rows
        assert all(row["text"] for row in found)
        most = Counter((row["id"], row["system"], row["domain"]) for row in found).most_common(1)[0][1]
        assert most == 1 or name == "chaganty2018"

    def test_published_means_are_those_of_the_ratings(self) -> None:
        for row in read("gug", self.folder("judgements")):
            ratings = row["ratings.grammaticality"]
            assert row["scores.grammaticality"] == pytest.approx(
                (sum(ratings) + row["expert"]) / (len(ratings) + 1), abs=0.35
            )


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
