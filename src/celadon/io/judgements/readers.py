"""Readers of public data sets, each from a file in its own layouts to rows in the common form.

Beside the published layouts many are read from ours: JSON lines with ``output``, ``scores`` and perhaps ``ratings``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from celadon.core import InputError
from celadon.io.judgements.files import (
    Fields,
    Number,
    Row,
    data_files,
    is_plain,
    json_lines,
    judgement,
    mean,
    median,
    plain_row,
    stem,
    table,
    text_lines,
    whole_json,
)

Ratings: TypeAlias = dict[tuple[str, str], dict[str, list[float]]]

ACCEPTABILITY = ("acceptability",)
GRAMMATICALITY = ("grammaticality",)
CHAGANTY = ("grammar", "redundancy", "overall", "hter")
_CONTEXTS = ("none", "random", "real")
LAU = tuple(f"acceptability_{context}" for context in _CONTEXTS)
MQM = ("fluency_errors", "fluency_spans", "style_errors", "mqm_errors")
NOVIKOVA = ("informativeness", "naturalness", "quality")
SULEM = ("grammaticality", "meaning", "simplicity")
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")
TOUTANOVA = ("meaning", "grammar")
USR = ("natural", "understandable", "maintains_context", "engaging", "uses_knowledge", "overall")
# DataCoverage -> data_coverage
_WEBNLG = {
    name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    for name in ("Correctness", "DataCoverage", "Fluency", "Relevance", "TextStructure")
}
WEBNLG = tuple(_WEBNLG.values())


def _known_numbers(row: Fields, names: Sequence[str]) -> dict[str, Number]:
    return {name: row.number(name) if row.has(name) else None for name in names}


def read_blimp(path: str) -> Iterator[Row]:
    """Read BLiMP (Warstadt et al. 2020): minimal pairs of an acceptable and an unacceptable sentence.

    JSON lines, a file per paradigm: sentence_good, sentence_bad, UID (the paradigm), field, linguistics_term, pairID.
    Each pair becomes two rows of one id, the systems ``good`` and ``bad``, in this order.
    """
    for row in json_lines(path):
        paradigm = row.text("UID")
        for system, value in (("good", 1.0), ("bad", 0.0)):
            yield judgement(
                id=f"{paradigm}-{row.text('pairID', 'pair_id')}",
                system=system,
                domain=paradigm,
                text=row.text(f"sentence_{system}"),
                scores={ACCEPTABILITY[0]: value},
                field=row.optional_text("field"),
                term=row.optional_text("linguistics_term"),
            )


def read_chaganty2018(path: str, *, with_references: bool = False) -> Iterator[Row]:
    """Read Chaganty et al. 2018, "The price of debiasing automatic metrics": CNN/Daily Mail summaries, -1 to 1.

    Four layouts of JSON lines. The release (``lqual.jsonl``) has input.contents (id, system, text, reference) and
    output (grammar, redundancy, overall, hter and more, with the single answers in _responses, which are not read).
    Its processed form has id, system and prompts, each dimension with gold (the mean) and human (the ratings), and no
    texts. The repository summary-reward-no-reference has it beside ``samples.jsonl`` (id, sys_name, sys_summ, ref and
    scores), whose ratings are taken from it. Ours has output, reference, scores and ratings.

    ``with_references`` keeps the references that were judged as if a system had made them, as the GRUEN paper does not.
    """
    ratings: Ratings | None = None
    for row in json_lines(path):
        if row.has("sys_summ"):
            ratings = _ratings_beside(path) if ratings is None else ratings
            result = _chaganty_sample(row, ratings)
        elif is_plain(row):
            result = plain_row(row)
        else:
            result = _chaganty_processed(row) if row.has("prompts") else _chaganty_release(row)
        if with_references or result["system"] != "reference":
            yield result


def _ratings_beside(path: str) -> Ratings:
    """Return single ratings by article and system, from the processed file of the same folder; empty without it."""
    try:
        (beside,) = data_files(str(Path(path).parent), "lqual.jsonl*")
    except (InputError, ValueError):
        return {}
    rows = map(_chaganty_processed, json_lines(beside))
    # where a summary was rated twice, the later ratings count, for both
    return {(row["id"], row["system"]): {name: row.get(f"ratings.{name}", []) for name in CHAGANTY} for row in rows}


def _chaganty_sample(row: Fields, ratings: Ratings) -> Row:
    system = row.text("sys_name")
    return judgement(
        id=row.text("id"),
        system=system,
        text=row.text("sys_summ"),
        references=row.texts("ref"),
        scores=_known_numbers(row.inner("scores"), CHAGANTY),
        ratings=ratings.get((row.text("id"), system), {name: [] for name in CHAGANTY}),
    )


def _chaganty_release(row: Fields) -> Row:
    contents = row.inner("input").inner("contents")
    return judgement(
        id=contents.text("id"),
        system=contents.text("system"),
        text=contents.text("text"),
        references=contents.texts("reference"),
        scores=_known_numbers(row.inner("output"), CHAGANTY),
    )


def _chaganty_processed(row: Fields) -> Row:
    prompts = row.inner("prompts")
    answers = {name: prompts.inner(name) for name in CHAGANTY if prompts.has(name)}
    return judgement(
        id=row.text("id"),
        system=row.text("system"),
        text=None,
        scores={name: answer.number("gold") for name, answer in answers.items()},
        ratings={name: answer.numbers("human") for name, answer in answers.items()},
    )


def read_cola(path: str) -> Iterator[Row]:
    """Read CoLA (Warstadt et al. 2019): sentences of the linguistic literature, acceptable (1) or not (0).

    Tab-separated without a header or quotes: source (the domain), label, the author's mark (``*``, ``?``), sentence.
    """
    for where, line in text_lines(path):
        cells = line.split("\t")
        if len(cells) != 4:
            raise InputError(f"{where}: four cells are expected (source, label, mark, sentence), not {len(cells)}")
        source, label, mark, sentence = cells
        if label not in ("0", "1"):
            raise InputError(f"{where}: the label must be 0 or 1, not {label[:20]!r}")
        yield judgement(
            id=f"{stem(path)}-{where.rpartition(':')[2]}",
            domain=source,
            text=sentence,
            scores={ACCEPTABILITY[0]: float(label)},
            mark=mark or None,
        )


def read_gug(path: str) -> Iterator[Row]:
    """Read Grammatical vs. Ungrammatical (Heilman et al. 2014): sentences of learners, grammaticality 1 to 4.

    ``gug_annotations.tsv`` (or .csv) has the columns Id, Sentence, Expert Judgement, Crowd Flower Judgements (a list of
    five), Average (of all six) and Dataset (train, dev, test, none). The score is the published average, which has the
    expert in it; ratings are the crowd's. Sentences that were not judged (0 of the expert, an empty list, ``none``) are
    left out. Ours is JSON lines with split and expert.
    """
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            expert = row.number("expert") if row.has("expert") else None
            yield plain_row(row, row.optional_text("split"), expert=expert)
        return
    crowd = "Crowd Flower Judgements"
    for row in table(path, "Id", "Sentence", "Expert Judgement", crowd, "Average", "Dataset"):
        try:
            values = json.loads(row.text(crowd))
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, list):
            raise row.wrong(f"{crowd!r} is no list of numbers: {row.text(crowd)[:40]!r}")
        if values:
            yield judgement(
                id=row.text("Id"),
                domain=row.text("Dataset"),
                text=row.text("Sentence"),
                scores={GRAMMATICALITY[0]: row.number("Average")},
                ratings={GRAMMATICALITY[0]: [row.as_number(value, crowd) for value in values]},
                expert=row.number("Expert Judgement"),
            )


def read_lau2020(path: str) -> Iterator[Row]:
    """Read Lau et al. 2020: acceptability 1 to 4 of sentences alone, after a random and after their own context.

    ``context-none-ratings.csv`` has the columns ID, translated, source-language, sentence, full-ratings (a list) and
    mean-ratings; ``context-random-ratings.csv`` and ``context-real-ratings.csv`` of its folder have context too, its
    sentences with tabs between them. The three are joined by ID. Ours is JSON lines, with the number of ratings in the
    place of the ratings.
    """
    if ".csv" not in path.lower():
        for row in json_lines(path):
            yield judgement(
                id=row.text("id"),
                system=row.text("system"),
                domain=row.text("language"),
                text=row.text("output"),
                scores=_known_numbers(row.inner("scores"), LAU),
                contexts=dict(row.inner("contexts").content),
            )
        return
    others = {context: _lau_beside(path, context) for context in _CONTEXTS[1:]}
    for row in table(path, "ID", "source-language", "sentence", "full-ratings", "mean-ratings"):
        rows: dict[str, Fields | None] = {_CONTEXTS[0]: row}
        rows |= {context: known.get(row.text("ID")) for context, known in others.items()}
        language = row.text("source-language")
        joined = dict(zip(LAU, rows.values(), strict=True))
        yield judgement(
            id=row.text("ID"),
            system="original" if language == "en" else f"round trip {language}",
            domain=language,
            text=row.text("sentence"),
            scores={name: one.number("mean-ratings") if one else None for name, one in joined.items()},
            ratings={name: _lau_ratings(one) if one else [] for name, one in joined.items()},
            contexts={
                name: one.text("context").replace("\t", " ") for name, one in rows.items() if one and one.has("context")
            },
        )


def _lau_beside(path: str, context: str) -> dict[str, Fields]:
    name = Path(path).name.replace(f"-{_CONTEXTS[0]}-", f"-{context}-")
    beside = Path(path).with_name(name)
    if name == Path(path).name or not beside.is_file():
        return {}
    return {row.text("ID"): row for row in table(str(beside), "ID", "context", "full-ratings", "mean-ratings")}


def _lau_ratings(row: Fields) -> list[float]:
    return [row.as_number(value, "full-ratings") for value in row.text("full-ratings").split(",")]


def read_mqm(path: str) -> Iterator[Row]:
    """Read MQM (Freitag et al. 2021): translations with spans of errors, marked by professional translators.

    ``mqm_ted_zhen.tsv`` and its like are tab-separated without quotes, a row per error: system, doc, seg_id, rater,
    target (the span between ``<v>`` and ``</v>``), category, severity. Ours is JSON lines, a row per translation. All
    translations of a segment share an id; where several raters judged it, scores are means over them.
    """
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            extra = {"raters": row.number("raters"), "spans": row.any("spans")}
            yield plain_row(row, **extra) | {"id": row.text("doc")}
        return
    translations: dict[tuple[str, str], _Translation] = {}
    for row in _mqm_rows(path):
        key = (row.text("system"), f"{row.text('doc')}-{row.text('seg_id')}")
        translations.setdefault(key, _Translation(re.sub("</?v>", "", row.text("target")))).add(row)
    for (system, segment), translation in translations.items():
        columns = zip(*translation.sums.values(), strict=True)
        yield judgement(
            id=segment,
            system=system,
            text=translation.text,
            scores={name: mean(values) for name, values in zip(MQM, columns, strict=True)},
            raters=len(translation.sums),
            spans=translation.spans,
        )


def mqm_weight(category: str, severity: str) -> float:
    """Return what an error costs: 5 (major) or 1 (minor), a minor one of punctuation 0.1, no translation at all 25."""
    kind, grade = category.lower(), severity.lower()
    if kind.startswith("non-translation"):
        return 25.0
    return 0.1 if (kind, grade) == ("fluency/punctuation", "minor") else {"major": 5.0, "minor": 1.0}.get(grade, 0.0)


@dataclass
class _Translation:
    """All rows of one translation; ``sums`` are per rater, in the order of MQM."""

    text: str
    spans: list[dict[str, object]] = field(default_factory=list)
    sums: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Fields) -> None:
        sums = self.sums.setdefault(row.text("rater"), [0.0] * len(MQM))
        category, severity = row.text("category"), row.text("severity").lower()
        cost = mqm_weight(category, severity)
        if not cost:
            return
        if category.startswith("Fluency/"):
            sums[0] += cost
            sums[1] += 1
        elif category.startswith("Style/"):
            sums[2] += cost
        sums[3] += cost
        before, _, rest = row.text("target").partition("<v>")
        # an omission is marked in the source
        text, start = (rest.partition("</v>")[0], len(before)) if rest else (None, None)
        self.spans.append({"category": category, "severity": severity, "text": text, "start": start})


def _mqm_rows(path: str) -> Iterator[Fields]:
    head: list[str] = []
    for where, line in text_lines(path):
        cells = line.split("\t")
        if not head:
            head = [cell.strip() for cell in cells]
            needed = ("system", "doc", "seg_id", "rater", "target", "category", "severity")
            if lacking := [name for name in needed if name not in head]:
                raise InputError(f"{path}: has no column {', '.join(lacking)}; its columns are {', '.join(head)}")
            continue
        row = Fields(where, dict(zip(head, cells, strict=False)))
        if len(cells) != len(head):
            raise row.wrong(f"{len(head)} cells are expected, not {len(cells)}")
        yield row


def read_novikova2017(path: str) -> Iterator[Row]:
    """Read Novikova et al. 2017, "Why we need new evaluation metrics for NLG": outputs of dialogue systems, 1 to 6.

    Three layouts. ``emnlp_data_medians.csv`` has a row per output with the columns dataset, system, mr, sys_ref and the
    medians informativeness, naturalness, quality. ``emnlp_data_individual_hum_scores.csv`` has a row per judge (and per
    reference, in orig_ref), and the column judge; its rows of one output become one, with medians, as in the paper. In
    CSV equal meaning representations share an id. Ours is JSON lines, a file per set.
    """
    if ".csv" not in path.lower():
        domain = stem(path).rpartition("_")[2]
        for row in json_lines(path):
            yield plain_row(row, domain, prefix=f"{domain}-")
        return
    items: dict[tuple[str, str], str] = {}
    outputs: dict[tuple[str, ...], _Output] = {}
    for row in table(path, "dataset", "system", "mr", *NOVIKOVA):
        domain, mr = row.text("dataset"), row.text("mr")
        identity = items.setdefault((domain, mr), f"{domain}-{len(items)}")
        text = row.text("sys_ref", "system_ref")
        if row.has("judge"):
            outputs.setdefault((domain, row.text("system"), mr, text), _Output(identity)).add(row)
            continue
        yield judgement(
            id=identity,
            system=row.text("system"),
            domain=domain,
            text=text,
            source=mr,
            references=row.texts("orig_ref"),
            scores={name: row.number(name) for name in NOVIKOVA},
        )
    for (domain, system, mr, text), output in outputs.items():
        ratings = {name: [by_name[name] for _, by_name in sorted(output.judges.items())] for name in NOVIKOVA}
        yield judgement(
            id=output.id,
            system=system,
            domain=domain,
            text=text,
            source=mr,
            references=output.references,
            scores={name: median(values) for name, values in ratings.items()},
            ratings=ratings,
        )


@dataclass
class _Output:
    """All rows of one output: a rating per judge, each reference once."""

    id: str
    judges: dict[str, dict[str, float]] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)

    def add(self, row: Fields) -> None:
        # a judge's rating is repeated with every reference
        self.judges.setdefault(row.text("judge"), {name: row.number(name) for name in NOVIKOVA})
        reference = row.optional_text("orig_ref")
        if reference and reference not in self.references:
            self.references.append(reference)


def read_sulem2018(path: str) -> Iterator[Row]:
    """Read Sulem et al. 2018: simplifications, grammaticality and meaning 1 to 5, simplicity -2 to 2.

    ``structural_simplicity.csv`` (of the repository metaeval-simplification) has the columns sent_id, sys_name,
    orig_sent, simp_sent, grammaticality, meaning, simplicity, structural_simplicity, means of three raters. Ours is
    JSON lines.
    """
    if ".csv" not in path.lower():
        yield from map(plain_row, json_lines(path))
        return
    for row in table(path, "sent_id", "sys_name", "orig_sent", "simp_sent", *SULEM):
        yield judgement(
            id=row.text("sent_id"),
            system=row.text("sys_name"),
            text=row.text("simp_sent"),
            source=row.text("orig_sent"),
            scores={name: row.number(name) for name in SULEM},
        )


def read_summeval(path: str) -> Iterator[Row]:
    """Read SummEval (Fabbri et al. 2021): summaries of 16 systems, rated 1 to 5 by 3 experts and 5 workers.

    ``model_annotations.aligned.jsonl``, or the same paired with the articles: id, model_id, decoded, expert_annotations
    and turker_annotations (lists of an object with the four dimensions), references (the first is the original) and,
    when paired, text (the article). The workers' means are under ``turker_`` and the dimension's name.
    """
    for row in json_lines(path):
        ratings: dict[str, list[float]] = {}
        for people, prefix in (("expert_annotations", ""), ("turker_annotations", "turker_")):
            if not prefix or row.has(people):
                answers = row.objects(people)
                ratings |= {prefix + name: [answer.number(name) for answer in answers] for name in SUMMEVAL}
        yield judgement(
            id=row.text("id"),
            system=row.text("model_id"),
            domain=row.text("id").partition("-")[0],
            text=row.text("decoded"),
            references=row.texts("references") or row.texts("reference"),
            source=row.optional_text("text"),
            scores={name: mean(values) for name, values in ratings.items()},
            ratings=ratings,
        )


_CODES = {6: (3, 3), 7: (3, 2), 9: (3, 1), 11: (2, 3), 12: (2, 2), 14: (2, 1), 21: (1, 3), 22: (1, 2), 24: (1, 1)}


def read_toutanova2016(path: str) -> Iterator[Row]:
    """Read Toutanova et al. 2016: compressions of sentences and paragraphs, meaning and grammar 1 to 3.

    ``test_output.{ilp,namas,seq2seq,t3}.tsv`` hold the outputs of four systems, ``train.tsv``, ``valid.tsv`` and
    ``test.tsv`` compressions that people wrote, in one layout. A line is a source and one or more compressions, with
    `` ||| `` between them. The source has three cells separated by tabs: its id, the domain, the text. A compression
    has its text, who made it (in an output file the system), how many ratings it got, and for every rating three cells:
    a code, and the same in words for meaning and for grammar. Only the code is read: 6, 7, 9 are meaning 3 with grammar
    3, 2, 1; 11, 12, 14 meaning 2; 21, 22, 24 meaning 1. A file with ratings of the code alone is read too.

    The references of a system's output are the compressions in ``test.tsv`` of the same folder, where it is there. In a
    file of people's compressions, those of the other people are the references, and the system is ``human``.
    """
    parts = Path(path).name.split(".")
    output = parts[0] == "test_output" and len(parts) > 2
    beside = Path(path).with_name("test.tsv")
    written: Mapping[str, list[str]] = {}
    if output and beside.is_file():
        compressed = (_compressions(where, line) for where, line in text_lines(str(beside)))
        written = {head[0]: [one[0] for one in some] for head, some in compressed}
    for where, line in text_lines(path):
        (item, domain, source), compressions = _compressions(where, line)
        texts = [compression[0] for compression in compressions]
        for at, (text, _, *cells) in enumerate(compressions):
            codes = _rating_codes(where, cells)
            ratings = {name: [float(code[which]) for code in codes] for which, name in enumerate(TOUTANOVA)}
            yield judgement(
                id=item,
                system=parts[1] if output else "human",
                domain=domain,
                text=text,
                source=source,
                references=written.get(item, ()) if output else [*texts[:at], *texts[at + 1 :]],
                scores={name: mean(values) for name, values in ratings.items()},
                ratings=ratings,
            )


def _compressions(where: str, line: str) -> tuple[list[str], list[list[str]]]:
    # a tab may stand beside the separator
    head, *compressions = (
        [cell.strip() for cell in part.strip(" ").split("\t") if cell.strip()] for part in line.split("|||")
    )
    if len(head) != 3:
        raise InputError(f"{where}: the source must have three cells (id, domain, text), not {len(head)}")
    if not compressions or any(len(part) < 3 for part in compressions):
        raise InputError(f"{where}: a compression must have a text, who made it and the number of its ratings")
    return head, compressions


def _rating_codes(where: str, cells: Sequence[str]) -> list[tuple[int, int]]:
    count, *rest = cells
    if not count.isdecimal():
        raise InputError(f"{where}: the number of ratings is not a number: {count[:20]!r}")
    step = 3 if len(rest) == 3 * int(count) else 1
    if len(rest) != step * int(count):
        raise InputError(f"{where}: {count} ratings are announced, and {len(rest)} cells follow")
    codes = [int(cell) if cell.isdecimal() else -1 for cell in rest[::step]]
    unknown = next((cell for cell, code in zip(rest[::step], codes, strict=True) if code not in _CODES), None)
    if unknown is not None:
        raise InputError(f"{where}: unknown rating code {unknown[:20]!r}; known: {', '.join(map(str, _CODES))}")
    return [_CODES[code] for code in codes]


def read_usr2020(path: str) -> Iterator[Row]:
    """Read USR (Mehri and Eskenazi 2020): answers in Topical-Chat and PersonaChat, means of three raters.

    ``topical_chat.json`` and ``persona_chat.json`` (of the repository ctc-gen-eval) are lists of model, response,
    dialog_history, fact and the six dimensions. Ours is JSON lines, with doc for the dialogue. The domain is
    ``topicalchat`` or ``personachat``, and rows of one dialogue share an id.
    """
    domain = stem(path).removeprefix("usr_").replace("_", "")
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            yield plain_row(row, domain, facts=row.optional_text("facts")) | {"id": f"{domain}-{row.text('doc')}"}
        return
    dialogues: dict[str, int] = {}
    for number, item in enumerate(whole_json(path), 1):
        row = Fields(f"{path}: item {number}", item)
        history = row.text("dialog_history").strip()
        facts = row.optional_text("fact")
        yield judgement(
            id=f"{domain}-dialogue-{dialogues.setdefault(history, len(dialogues))}",
            system=row.text("model"),
            domain=domain,
            text=row.text("response").strip(),
            source=history,
            scores={name: row.number(name) for name in USR},
            facts=facts.strip() if facts and domain == "personachat" else None,
        )


def read_webnlg2020(path: str) -> Iterator[Row]:
    """Read the human evaluation of WebNLG+ 2020: texts made from RDF triples, rated 0 to 100 on five dimensions.

    Two layouts, neither of which has the texts: ``english_humeval_data_all_teams.json`` (also Russian) is a list with
    submission_id, sample_id, category, size, domain (the kind of test item) and each dimension as a mean of z-scores; a
    team's ``primary.json`` is an object from sample_id to worker to dimensions, 0 to 100, in a folder named like the
    team. A file made from these with a field text (and references, source) in each row of the list is read with it.
    Rows join with submissions by system and id.
    """
    content = whole_json(path)
    if isinstance(content, list):
        for number, one in enumerate(content, 1):
            item = Fields(f"{path}: item {number}", one)
            yield judgement(
                id=item.text("sample_id"),
                system=item.text("submission_id"),
                domain=item.optional_text("category"),
                text=item.optional_text("text"),
                references=item.texts("references"),
                source=item.optional_text("source"),
                scores={name: item.number(public) for public, name in _WEBNLG.items()},
            )
    elif isinstance(content, dict):
        for sample, by_worker in content.items():
            item = Fields(f"{path}: item {sample}", by_worker)
            workers = [item.inner(worker) for worker in sorted(item.content)]
            ratings = {name: [worker.number(public) for worker in workers] for public, name in _WEBNLG.items()}
            scores = {name: mean(values) for name, values in ratings.items()}
            yield judgement(id=sample, system=Path(path).parent.name, text=None, scores=scores, ratings=ratings)
    else:
        raise InputError(f"{path}: a list of judgements is expected, or an object of samples")
