"""GLEU: parts that add up, real sentences above scrambled ones, reasons, evidence, and its file of weights."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html as lxml_html

from celadon.cli import main
from celadon.core import CeladonError, Evidence, InputError, Metric, MetricScores, Sample, UsageError
from celadon.metrics import gleu_weights
from celadon.metrics.gleu import Gleu, GleuPlus
from celadon.metrics.gleu_features import repeated_share, unknown_share
from celadon.metrics.gleu_weights import FEATURES_OF, FORMAT, GleuWeights, Term, weights_of
from celadon.metrics.registry import load
from celadon.parsing import Failure, Reason, rule_checker
from celadon.parsing.brackets import parse_trees
from celadon.parsing.chart_parser import chart_parser
from celadon.parsing.grammar_files import save_grammar
from celadon.parsing.loading import _opened, forget, open_parser, parser, share_parser
from celadon.scoring.batch import Batch
from celadon.text.penn_words import penn_words
from celadon.train.combinations.gleu import BAD, GOOD
from celadon.train.parsers.grammar import ParserRecipe, estimate
from tests.conftest import missing_part
from tests.contract.test_laws import check_shape, same
from tests.parsing.small_dependencies import Remembering, make_dependencies, share_parsers
from tests.report.news import report

REAL = "The committee approved the new budget after a long debate."
SCRAMBLED = "Debate the long a budget after new the approved committee."
FAULTY = "He go to school every day."
PAPER = Gleu(variant="paper")


@pytest.fixture(scope="module")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Link Grammar and the chart parser as they are, and a dependency parser to which all decisions are alike."""
    share_parsers(make_dependencies(tmp_path_factory.mktemp("dependencies") / "alike"))
    yield
    forget()


@pytest.fixture(scope="module")
def grammar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grammar of one tree."""
    folder = tmp_path_factory.mktemp("grammar")
    tree = "(S (NP (DT The) (NN committee)) (VP (VBD approved) (NP (DT the) (NN budget))) (. .))"
    save_grammar(folder, estimate(parse_trees(tree), ParserRecipe(1, 0, ())))
    return folder


@pytest.fixture
def rules(parsers: None) -> None:
    """The rule checker as it is."""
    try:
        share_parser("lingotweaker", Remembering(parser("lingotweaker")))
    except CeladonError as error:
        missing_part("lingotweaker", str(error))


def scored(metric: Metric, *texts: str) -> MetricScores:
    return metric.score(Batch([Sample(text) for text in texts]))


def trees_of(evidence: Evidence) -> list[str]:
    return [section.values["tree"] for section in evidence.of_kind("passage")]


def values_of(evidence: Evidence) -> list[float | None]:
    return [section.spans[0].value for section in evidence.of_kind("passage")]


@pytest.mark.usefixtures("parsers")
class TestWithParsers:
    @pytest.mark.parametrize("metric", [Gleu(), PAPER, GleuPlus()], ids=["gleu", "paper", "gleu_plus"])
    def test_a_sentence_is_above_its_scramble_and_the_parts_add_up(self, metric: Gleu | GleuPlus) -> None:
        found = scored(metric, REAL, SCRAMBLED, f"{REAL} {SCRAMBLED}")
        assert found.values[0] > found.values[1]
        assert tuple(found.parts) == metric.info.parts
        added = sum(found.parts[f"from_{name}"] for name in FEATURES_OF[metric.kind])
        np.testing.assert_allclose(metric.used_weights().bias + added, found.values)
        assert found.values[2] == pytest.approx((found.values[0] + found.values[1]) / 2)
        assert found.parts["worst"][2] == pytest.approx(found.values[1])
        assert found.parts["sentences"].tolist() == [1, 1, 2]

    def test_the_features_are_what_the_parsers_say(self) -> None:
        found, plus = scored(Gleu(), SCRAMBLED), scored(GleuPlus(), SCRAMBLED)
        others = weights_of("gleu_plus").terms
        chart, link, dependency = (parser(name).parse([SCRAMBLED])[0] for name in ("chart", "link-grammar", "spacy-sm"))
        nulls = link.null_count / link.length
        alike = {"invalid": (link.examined - link.valid) / link.examined}
        wanted = {
            "structure": 1 / (1 + math.exp((chart.chain - chart.logprob) / 8)),
            "fragments": dependency.fragments / weights_of("gleu").terms["fragments"].normaliser,
            "certainty": -math.log(0.25 / len(dependency.words) - dependency.confidence),
            "unused": math.sqrt(nulls),
            **alike,
        }
        assert {name: float(found.parts[name][0]) for name in FEATURES_OF["gleu"]} == pytest.approx(wanted)
        wanted = {
            "logprob": 1 - chart.logprob / len(chart.words) / others["logprob"].normaliser,
            "fragments": dependency.fragments / others["fragments"].normaliser,
            "confidence": 1 - dependency.confidence / others["confidence"].normaliser,
            "nulls": nulls,
            **alike,
        }
        assert {name: float(plus.parts[name][0]) for name in wanted} == pytest.approx(wanted)

    def test_the_papers_form_has_its_four_features_and_no_other(self) -> None:
        found, terms = scored(PAPER, SCRAMBLED), weights_of("gleu[variant=paper]").terms
        chart, link, dependency = (parser(name).parse([SCRAMBLED])[0] for name in ("chart", "link-grammar", "spacy-sm"))
        # the most negative log-probability of a sentence of these many words, at training's lowest per word
        lowest = terms["logprob"].normaliser * len(chart.words)
        wanted = {
            "logprob": 1 - chart.logprob / lowest,
            "fragments": dependency.fragments / terms["fragments"].normaliser,
            "nulls": link.null_count / link.length,
            "invalid": (link.examined - link.valid) / link.examined,
        }
        shown = [name for name in found.parts if name not in ("sentences", "worst") and not name.startswith("from_")]
        assert {name: float(found.parts[name][0]) for name in shown} == pytest.approx(wanted)
        value = PAPER.used_weights().bias + sum(
            terms[name].weight * (wanted[name] - terms[name].centre) for name in terms
        )
        assert found.values[0] == pytest.approx(value)

    def test_the_papers_form_keeps_the_laws_and_tells_itself(self, capsys: pytest.CaptureFixture[str]) -> None:
        texts = [f"{REAL} {SCRAMBLED}", "今天天气很好我们一起去散步吧。", SCRAMBLED, "", REAL]
        whole = scored(PAPER, *texts)
        check_shape(PAPER, whole, len(texts))
        assert whole.reasons.keys() == {1, 3}
        assert scored(PAPER, *texts).values.tobytes() == whole.values.tobytes()
        same(whole, scored(PAPER, *texts[::-1]), range(len(texts))[::-1])
        for row, text in enumerate(texts):
            same(whole, scored(PAPER, text), [row])
        told = PAPER.signature.split("|")
        assert told[0] == "gleu"
        assert {"variant:paper", f"weights:{PAPER.used_weights().sha256[:8]}"} <= set(told)
        assert load(PAPER.spec) == PAPER
        shown, plain = PAPER.evidence(Sample(texts[0])), Gleu().evidence(Sample(texts[0]))
        assert shown is not None
        assert plain is not None
        assert values_of(shown) == pytest.approx([whole.values[4], whole.values[2]])
        assert (shown.text_spans, trees_of(shown)) == (plain.text_spans, trees_of(plain))
        assert main(["explain", "-m", "gleu[variant=paper]", texts[0]]) == 0
        lines = capsys.readouterr().out
        assert lines.startswith(f"gleu[variant=paper]: {whole.values[0]:.4f}")
        assert "certainty" not in lines

    @pytest.mark.parametrize("metric", [Gleu, GleuPlus])
    def test_another_grammar_is_taken_by_its_path(self, metric: type[Gleu | GleuPlus], grammar: Path) -> None:
        other = metric(grammar=str(grammar))
        assert load(other.spec) == other
        name = f"chart:{grammar}"
        share_parser(name, Remembering(parser(name)))
        texts, features = [REAL, SCRAMBLED], FEATURES_OF[other.kind]
        usual, found = scored(metric(), *texts), scored(other, *texts)
        chart = parser(name).parse([REAL])[0]
        shown = other.evidence(Sample(REAL))
        assert shown is not None
        assert trees_of(shown) == [chart.tree]
        changed = {each for each in features if found.parts[each][0] != pytest.approx(usual.parts[each][0])}
        # only what the chart parser says depends on its grammar
        assert changed == {"structure" if metric is Gleu else "logprob"}
        digest = chart_parser(str(grammar)).facts["grammar"]
        assert f"grammar:{digest}" in other.signature.split("|")
        assert other.signature != metric().signature

    def test_a_grammar_that_there_is_not_is_told(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "-m", f"gleu[grammar={tmp_path}/none]", REAL]) == 2
        told = capsys.readouterr().err
        assert f"{tmp_path}/none" in told
        assert told.count("\n") == 1

    def test_a_word_on_its_own_is_no_certainty(self) -> None:
        alone, more = scored(Gleu(markup="plain"), "Budget", REAL).parts["certainty"]
        # no decision is surer than certain; what is left of doubt is shared among the words
        assert alone <= -math.log(0.25) + 1e-9
        assert more <= -math.log(0.25 / len(penn_words(REAL))) + 1e-9

    def test_a_text_with_a_sentence_that_cannot_be_parsed_has_a_reason(self) -> None:
        long = " ".join(["word"] * 300) + "."
        found = scored(Gleu(markup="plain"), f"{REAL} {long}", REAL, "今天天气很好我们一起去散步吧。", "")
        assert [math.isnan(value) for value in found.values] == [True, False, True, True]
        assert "sentence 2" in found.reasons[0]
        assert "too many words" in found.reasons[0]
        assert "script" in found.reasons[2]
        assert found.reasons[3] == "the text has no words"
        assert Gleu().evidence(Sample(f"{REAL} {long}")) is None
        assert "language: text is Chinese" in scored(Gleu(), "今天天气很好我们一起去散步吧。").reasons[0]

    def test_the_evidence_has_unused_words_and_a_tree_of_every_sentence(self) -> None:
        text = f"{REAL} {SCRAMBLED}"
        shown = Gleu().evidence(Sample(text))
        assert shown is not None
        sentences = [section.spans[0] for section in shown.of_kind("passage")]
        assert [text[span.start : span.end] for span in sentences] == [REAL, SCRAMBLED]
        assert [span.label for span in sentences] == ["sentence", "worst"]
        link = parser("link-grammar").parse([SCRAMBLED])[0]
        unused = [SCRAMBLED[slice(*link.words[at])] for at in link.unused]
        assert [text[span.start : span.end] for span in shown.text_spans] == unused
        for tree, sentence in zip(trees_of(shown), (REAL, SCRAMBLED), strict=True):
            assert "".join(next(parse_trees(tree)).words()) == sentence.replace(" ", "")

    def test_explaining_parses_no_sentence_twice(self) -> None:
        asked: list[str] = []

        class Counting:
            name, facts = "link-grammar", parser("link-grammar").facts

            def parse(self, sentences: Sequence[str]) -> list[Any]:
                asked.extend(sentences)
                return list(known.parse(sentences))

        known = parser("link-grammar")
        share_parser("link-grammar", Counting())
        try:
            first = scored(Gleu(), REAL)
            assert scored(Gleu(), REAL).values.tolist() == first.values.tolist()
            assert asked == [REAL, REAL]  # scores are never made from what was parsed before
            shown = Gleu().evidence(Sample(REAL))
            assert shown is not None
            assert values_of(shown) == pytest.approx(first.values.tolist())
            assert asked == [REAL, REAL]
        finally:
            share_parser("link-grammar", known)

    def test_many_texts_are_explained_as_each_alone(self) -> None:
        texts = [f"{REAL} {SCRAMBLED}", "今天天气很好我们一起去散步吧。", SCRAMBLED]
        together = Gleu().evidences(Batch([Sample(text) for text in texts]))
        assert together == [Gleu().evidence(Sample(text)) for text in texts]
        assert together[1] is None

    def test_explain_shows_words_fragments_and_trees(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "-m", "gleu", f"{REAL} {SCRAMBLED}"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        link = parser("link-grammar").parse([SCRAMBLED])[0]
        unused = [SCRAMBLED[slice(*link.words[at])] for at in link.unused]
        assert unused
        assert f"no linkage could use: {', '.join(unused)}" in shown
        assert all(f"[{word}]" in shown for word in unused)
        assert f"tree: {parser('chart').parse([REAL])[0].tree}" in shown
        words = [*SCRAMBLED.removesuffix(".").split(), "."]
        # to this parser, which has learnt nothing, every word is a tree of its own
        assert f"fragments: {' | '.join(f'{at} {word}' for at, word in enumerate(words, 1))}" in shown
        assert "(worst)" in shown

    def test_the_report_shows_words_fragments_and_trees(self) -> None:
        text = f"{REAL} {SCRAMBLED} <b>"
        page = lxml_html.fromstring(report([Sample(text), Sample("今天天气很好我们一起去散步吧。")], [Gleu()]))
        evidence = Gleu().evidence(Sample(text))
        assert evidence is not None
        rows = page.xpath('//section[@id="texts"]//tbody')
        assert [code.text for code in rows[0].xpath(".//code")] == trees_of(evidence)
        dotted = rows[0].xpath('.//div[@class="pair"]/div//span[@class="o"]')
        assert [mark.text for mark in dotted] == [text[span.start : span.end] for span in evidence.text_spans]
        told = rows[0].text_content()
        assert all(section.spans[0].note in told for section in evidence.of_kind("passage"))
        assert "fragments: 1 Debate" in told
        assert not rows[1].xpath(".//code")
        assert len(page.xpath('//section[@id="texts"]/div[@class="legend"]')) == 1


@pytest.mark.usefixtures("rules")
class TestWithRules:
    def test_marks_per_word_count_against_a_text_and_nothing_else_is_new(self) -> None:
        found, plain = scored(GleuPlus(rules=True), REAL, FAULTY), scored(GleuPlus(), REAL, FAULTY)
        assert tuple(found.parts) == GleuPlus(rules=True).info.parts
        assert [name for name in found.parts if name not in plain.parts] == ["rules", "from_rules"]
        np.testing.assert_allclose(found.parts["rules"], [0, 1 / 7])  # "go", of six words and a full stop
        for name in FEATURES_OF["gleu_plus"]:
            np.testing.assert_allclose(found.parts[name], plain.parts[name])
        weights = GleuPlus(rules=True).used_weights()
        added = sum(found.parts[f"from_{name}"] for name in FEATURES_OF["gleu_plus[rules=true]"])
        np.testing.assert_allclose(weights.bias + added, found.values)
        assert weights.terms["rules"].weight < 0
        assert found.parts["from_rules"][0] > 0 > found.parts["from_rules"][1]

    def test_the_evidence_has_the_marks_with_their_messages(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = f"{REAL} {FAULTY}"
        shown = GleuPlus(rules=True).evidence(Sample(text))
        assert shown is not None
        lines = [[line for line in each.lines if line.startswith("rule: ")] for each in shown.of_kind("passage")]
        assert lines[0] == []
        (rule,) = lines[1]
        assert rule.startswith("rule: go: ")
        assert "third-person" in rule
        assert "1 mark of the rule checker" in shown.summary
        plain = GleuPlus().evidence(Sample(text))
        assert plain is not None
        assert not any("rule:" in line for section in plain.of_kind("passage") for line in section.lines)
        assert "rule" not in plain.summary
        assert main(["explain", "-m", "gleu_plus[rules=true]", text]) == 0
        assert rule in " ".join(capsys.readouterr().out.split())
        page = lxml_html.fromstring(report([Sample(text)], [GleuPlus(rules=True)]))
        assert rule in page.xpath('//section[@id="texts"]//tbody')[0].text_content()

    def test_the_signature_names_the_checker_only_where_it_is_asked(self) -> None:
        told = load("gleu_plus[rules=true]").signature.split("|")
        assert {f"lingotweaker:{version('lingotweaker')}", "rules:true"} <= set(told)
        assert f"lingotweaker-data:en-{version('lingotweaker-data-en')}" in told
        assert "lingotweaker" not in load("gleu_plus").signature

    def test_a_sentence_that_the_checker_fails_on_has_a_reason(self) -> None:
        class Failing:
            name, facts = "lingotweaker", parser("lingotweaker").facts

            def parse(self, sentences: Sequence[str]) -> list[Any]:
                failed = Failure(Reason.TIME_LIMIT)
                return [failed if each == FAULTY else known.parse([each])[0] for each in sentences]

        known = parser("lingotweaker")
        share_parser("lingotweaker", Failing())
        try:
            found = scored(GleuPlus(rules=True), REAL, f"{REAL} {FAULTY}", "")
        finally:
            share_parser("lingotweaker", known)
        assert [math.isnan(value) for value in found.values] == [False, True, True]
        assert found.reasons[1] == f"lingotweaker, sentence 2: {Reason.TIME_LIMIT}"
        assert found.values[0] == scored(GleuPlus(rules=True), REAL).values[0]


@pytest.mark.usefixtures("parsers")
def test_without_the_checker_gleu_plus_is_as_it_was_and_its_option_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rule_checker, "_MODULES", {"no_such_module": "lingotweaker"})
    monkeypatch.setattr("celadon.parsing.loading._opened", {k: v for k, v in _opened.items() if k != "lingotweaker"})
    assert np.isfinite(scored(GleuPlus(), REAL).values).all()
    assert main(["explain", "-m", "gleu_plus[rules=true]", REAL]) == 3
    told = capsys.readouterr().err.strip().splitlines()
    assert told == ["celadon: lingotweaker is not installed; install it with: celadon install rules"]


def test_a_form_that_there_is_not_is_told() -> None:
    with pytest.raises(UsageError, match="variant must be structure or paper, not 'other'"):
        load("gleu[variant=other]")


def test_weights_of_one_form_are_not_taken_for_another() -> None:
    folder = Path(gleu_weights.__file__).parent
    with pytest.raises(InputError, match=r"of 'gleu_plus', not of gleu_plus\[rules=true\]"):
        GleuPlus(weights=str(folder / "gleu_plus.json"), rules=True)
    with pytest.raises(InputError, match=r"of 'gleu_plus\[rules=true\]', not of gleu_plus"):
        GleuPlus(weights=str(folder / "gleu_plus_rules.json"))
    with pytest.raises(InputError, match=r"of 'gleu\[variant=paper\]', not of gleu"):
        Gleu(weights=str(folder / "gleu_paper.json"))
    with pytest.raises(InputError, match=r"of 'gleu', not of gleu\[variant=paper\]"):
        Gleu(weights=str(folder / "gleu.json"), variant="paper")


def test_the_score_is_the_side_of_the_hyperplane() -> None:
    weights = GleuWeights({"logprob": Term(-10.0, 0.5, 4.0), "nulls": Term(1.0, 0.1, -2.0)}, bias=0.25)
    raw = {"logprob": np.array([-2.0, -8.0]), "nulls": np.array([0.0, 0.3])}
    values = weights.scores(weights.contributions(weights.normalised(raw)))
    wanted = [0.25 + 4 * (0.8 - 0.5) - 2 * (0 - 0.1), 0.25 + 4 * (0.2 - 0.5) - 2 * (0.3 - 0.1)]
    np.testing.assert_allclose(values, wanted)


def content(**change: Any) -> dict[str, Any]:
    features = {name: {"normaliser": 1.0, "centre": 0.0, "weight": 1.0} for name in FEATURES_OF["gleu"]}
    return {"format": FORMAT, "metric": "gleu", "bias": 0.0, "features": features, **change}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (content(format="other"), "its format is not celadon-gleu/1"),
        (content(metric="gleu_plus"), "the weights of 'gleu_plus', not of gleu"),
        (content(features=[]), "features: expected an object, got a list"),
        (content(features={}), r"features\.structure: is missing"),
        (content(bias="much"), "bias: expected a number, got a text"),
        (
            content(features={**content()["features"], "unused": {"normaliser": 0, "centre": 0, "weight": 1}}),
            "not be 0",
        ),
    ],
    ids=["format", "metric", "features", "feature", "bias", "normaliser"],
)
def test_bad_weights_are_told(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(InputError, match=rf"weights\.json: .*{told}"):
        Gleu(weights=str(path))


def test_an_unknown_parser_is_told() -> None:
    with pytest.raises(CeladonError, match="known: link-grammar, chart, spacy-sm"):
        open_parser("other")


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("The committee approved the new budget .", 0.0),
        ("The committee aproved the new bugdet .", 2 / 7),
        # names and numbers are not looked up
        ("Zyrtvex approved 3.5 budgets in Qqwzt .", 0.0),
        ("...", 0.0),
    ],
)
def test_the_share_of_words_that_the_dictionary_does_not_have(sentence: str, wanted: float) -> None:
    assert unknown_share(sentence) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("The the old mill burned down.", 1 / 6),
        ("He lives north of the town of the town.", 3 / 9),
        # what does not come again at once is not repeated
        ("The cat saw the dog and the bird.", 0.0),
        ("", 0.0),
    ],
)
def test_the_share_of_words_that_come_again_at_once(sentence: str, wanted: float) -> None:
    assert repeated_share(sentence) == pytest.approx(wanted)


@pytest.mark.parametrize("metric", FEATURES_OF)
def test_no_fault_speaks_for_a_sentence(metric: str) -> None:
    terms = weights_of(metric).terms
    assert all(terms[name].weight <= 0 for name in BAD if name in terms)
    assert all(terms[name].weight >= 0 for name in GOOD if name in terms)
