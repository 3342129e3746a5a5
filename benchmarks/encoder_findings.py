"""How well encoders judge sentences and name faulty words, on what choices may be made by.

    python benchmarks/encoder_findings.py --data DATA_FOLDER [--encoders builtin,FOLDER,NETWORK.safetensors]

Development sets only: CoLA dev (Matthews at a logit of 0, area under the curve), GUG dev (Spearman), Lau et
al. 2020 without context (Pearson), corrections and sound passages of the development half, and how near meanings are
to MiniLM's. Speed is that of one thread, beside the first encoder in the same run.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray
from celadon.instrument.halves import Half, document_of, half_of
from celadon.instrument.passages import drawn, passages
from celadon.io import read_table_rows
from celadon.meta.correlation import pearson, spearman
from celadon.models.encoders.encoder import BUILTIN, Encoded, SentenceEncoder, open_sentence_encoder
from celadon.models.encoders.mean_pooled import MINILM, mean_pooled_encoder
from celadon.models.encoders.word_findings import FindingKind, WordFindings
from celadon.models.store import folder_of
from celadon.synth.slips import Correction
from celadon.synth.word_differences import difference_labels
from celadon.text.prose import read_prose
from celadon.train.combinations.ratings import area_under_curve, matthews
from celadon.train.corpus import Corpus
from celadon.train.encoders.genres import rendered_correction

GENRES = (
    "docs_kubernetes",
    "docs_peps",
    "gum_dev",
    "dialogue_sgd",
    "dialogue_taskmaster4",
    "instructions_selfinstruct",
    "fiction_gutenberg",
)
THRESHOLDS = (0.5, 0.7, 0.9)
_TIMED, _ARTICLES = 400, 15
_SEED = 0


class Correct(NamedTuple):
    """A correction and its kind."""

    kind: str
    pair: Correction


class Sets(NamedTuple):
    """What encoders are measured on."""

    cola: tuple[list[str], FloatArray]
    gug: tuple[list[str], FloatArray]
    lau: tuple[list[str], FloatArray]
    corrections: list[Correct]
    sound: Mapping[str, list[str]]  # sentences by genre


def read_sets(data: Path, per_cell: int) -> Sets:
    """Read the sets; of genres and corrections only the development half."""
    with (data / "corpora" / "cola" / "in_domain_dev.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    cola = [row[3] for row in rows], np.array([float(row[1]) for row in rows])
    gug = _rated(data / "judgements" / "gug_train_dev.jsonl.gz", "grammaticality", "dev")
    lau = _rated(data / "judgements" / "lau2020_context.jsonl.gz", "acceptability_none")
    edits = read_table_rows(str(data / "edits" / "edits_dev.jsonl.xz"))
    corrections = [
        Correct(str(row["kind"]), rendered_correction(row))
        for row in edits
        if half_of(document_of(row)) is Half.DEVELOPMENT
    ]
    return Sets(cola, gug, lau, corrections, _sound(data, per_cell))


def _rated(path: Path, rating: str, split: str | None = None) -> tuple[list[str], FloatArray]:
    rows = [row for row in read_table_rows(str(path)) if split is None or row["split"] == split]
    return [str(row["output"]) for row in rows], np.array([float(row["scores"][rating]) for row in rows])


def _sound(data: Path, per_cell: int) -> dict[str, list[str]]:
    sound: dict[str, list[str]] = defaultdict(list)
    random = np.random.default_rng(_SEED)
    for genre in GENRES:
        rows = read_table_rows(str(data / "genres" / f"{genre}.jsonl.xz"))
        found = [each for each in passages(rows, frozenset({Half.DEVELOPMENT}), genre) if each.size < 100]
        for passage in drawn(found, per_cell, random):
            prose = read_prose(passage.text, passage.markup)
            name = passage.cell.split(":")[0] if genre != "instructions_selfinstruct" else "instructions"
            sound[name] += [prose.text[start:end] for start, end in prose.sentences]
    articles = Corpus((data / "corpora" / "enwiki.txt.xz",)).articles()
    kept_apart = (article for article in articles if article[0].held_out)
    for _, article in zip(range(_ARTICLES), kept_apart, strict=False):
        prose = read_prose(article[len(article) // 2].text)
        sound["wikipedia"] += [prose.text[start:end] for start, end in prose.sentences]
    return sound


def is_changed(pair: Correction) -> list[bool]:
    """Return which words of a sentence were changed."""
    return [label.kind is not FindingKind.OK for label in difference_labels(pair.before, pair.after)]


def in_order(before: FloatArray, after: FloatArray) -> float:
    """Return the share of pairs in which the corrected sentence is above, ties counted half."""
    return float((after > before).mean() + 0.5 * (after == before).mean())


def wrongness(words: WordFindings) -> FloatArray:
    """Return how likely each word is wrong in any way."""
    return 1.0 - words.probabilities[:, 0].astype(np.float64)


def report_sentences(encoder: SentenceEncoder, sets: Sets) -> None:
    """Print how the acceptability of sentences agrees with people."""
    texts, labels = sets.cola
    logits = encoder.encode(texts).acceptability
    figures = [f"CoLA dev Matthews {matthews(logits > 0, labels > 0.5):.3f}"]
    figures.append(f"AUC {area_under_curve(logits, labels > 0.5):.3f}")
    figures.append(f"GUG dev Spearman {spearman(encoder.encode(sets.gug[0]).acceptability, sets.gug[1]).value:.3f}")
    figures.append(f"Lau Pearson {pearson(encoder.encode(sets.lau[0]).acceptability, sets.lau[1]).value:.3f}")
    print("  " + ", ".join(figures))


def report_corrections(encoded: tuple[Encoded, Encoded], corrections: Sequence[Correct]) -> None:
    """Print how often the corrected sentence is above the other, by kind."""
    before, after = (each.acceptability for each in encoded)
    kinds = np.array([each.kind for each in corrections])
    chosen = {kind: kinds == kind for kind in sorted(set(kinds))} | {"all but wording": kinds != "wording"}
    figures = [f"{kind} {in_order(before[at], after[at]):.3f} ({at.sum()})" for kind, at in chosen.items()]
    print("  corrections in order: " + ", ".join(figures))


def report_findings(encoded: tuple[Encoded, Encoded], corrections: Sequence[Correct]) -> None:
    """Print how the words that are found agree with those that were changed, sound sentences included."""
    before, after = (each.words or () for each in encoded)
    for threshold in THRESHOLDS:
        figures = []
        for kind in ("spelling", "grammar", "punctuation", "all but wording"):
            right = found = changed = 0
            for each, faulty, sound in zip(corrections, before, after, strict=True):
                if each.kind != kind and (kind != "all but wording" or each.kind == "wording"):
                    continue
                wrong, target = wrongness(faulty) > threshold, np.array(is_changed(each.pair), dtype=bool)
                right += int((wrong & target).sum())
                found += int(wrong.sum() + (wrongness(sound) > threshold).sum())
                changed += int(target.sum())
            precision, recall = right / max(1, found), right / max(1, changed)
            score = 1.25 * precision * recall / max(1e-9, 0.25 * precision + recall)
            figures.append(f"{kind} {precision:.2f}/{recall:.2f}/{score:.2f}")
        print(f"  words found above {threshold:g} (precision/recall/F0.5): " + ", ".join(figures))


def report_kinds(encoded: tuple[Encoded, Encoded], corrections: Sequence[Correct], threshold: float = 0.5) -> None:
    """Print which share of the changed words of each kind is found."""
    hits: dict[str, list[bool]] = defaultdict(list)
    for each, words in zip(corrections, encoded[0].words or (), strict=True):
        if each.kind == "wording":
            continue
        for label, wrong in zip(difference_labels(*each.pair), wrongness(words) > threshold, strict=True):
            if label.kind is not FindingKind.OK:
                hits[str(label.kind)].append(bool(wrong))
    figures = [f"{kind} {np.mean(of):.2f} ({len(of)})" for kind, of in sorted(hits.items())]
    print(f"  recall above {threshold:g}: " + ", ".join(figures))


def report_false_alarms(encoder: SentenceEncoder, sound: Mapping[str, list[str]]) -> None:
    """Print how many words of a thousand are found in sound text."""
    for threshold in THRESHOLDS:
        figures = []
        for genre, texts in sorted(sound.items()):
            scores = np.concatenate([wrongness(words) for words in encoder.encode(texts).words or ()])
            figures.append(f"{genre} {1000 * (scores > threshold).mean():.1f}")
        print(f"  found above {threshold:g} in 1,000 sound words: " + ", ".join(figures))


def report_meaning(encoder: SentenceEncoder, sound: Mapping[str, list[str]]) -> None:
    """Print how cosines of sentences correlate with MiniLM's: of neighbors, and of any two of a genre."""
    minilm = mean_pooled_encoder(MINILM)
    figures = []
    for name, apart in (("neighbors", 1), ("others", 17)):
        ours, theirs = [], []
        for texts in sound.values():
            some = texts[:60]
            one, two = encoder.encode(some).meaning, np.asarray(minilm.encode(some))
            ours.append((one[apart:] * one[:-apart]).sum(axis=1))
            theirs.append((two[apart:] * two[:-apart]).sum(axis=1))
        figures.append(f"{name} {pearson(np.concatenate(ours), np.concatenate(theirs)).value:.3f}")
    print("  cosines with MiniLM's, Pearson: " + ", ".join(figures))


def seconds(encoder: SentenceEncoder, texts: Sequence[str]) -> float:
    """Return the shortest of three times."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        encoder.encode(texts)
        times.append(time.perf_counter() - begin)
    return min(times)


def opened(name: str, scratch: Path) -> tuple[SentenceEncoder, int]:
    """Return an encoder of one thread and the size of its graph; a network is written as an encoder first."""
    if name.endswith(".safetensors"):
        from celadon.train.encoders.graph import write_encoder
        from celadon.train.encoders.network import load_network

        kept, folder = load_network(Path(name)), scratch / Path(name).stem
        write_encoder(kept.network, kept.tokenizer, folder)
        name = str(folder)
    folder = folder_of("builtin-encoder" if name == BUILTIN else name)
    return open_sentence_encoder(name, threads=1), (folder / "model.onnx").stat().st_size


def main() -> None:
    """Measure encoders one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoders", default="builtin", help="names, folders or networks, with commas between")
    parser.add_argument("--passages", type=int, default=15, help="sound passages of each genre (default: 15)")
    arguments: Any = parser.parse_args()
    sets = read_sets(arguments.data, arguments.passages)
    counts = ", ".join(f"{genre} {sum(len(text.split()) for text in texts)}" for genre, texts in sets.sound.items())
    print(f"words of sound text: {counts}")
    timed = [text for texts in sets.sound.values() for text in texts][:: max(1, len(sets.sound) // 4)][:_TIMED]
    first = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.encoders.split(","):
            encoder, size = opened(name, Path(scratch))
            took = seconds(encoder, timed)
            first = first or took
            print(f"{name}: {size / 1e6:.1f} MB, {first / took:.2f} times as fast as the first")
            report_sentences(encoder, sets)
            pairs = [each.pair for each in sets.corrections]
            encoded = encoder.encode([pair.before for pair in pairs]), encoder.encode([pair.after for pair in pairs])
            report_corrections(encoded, sets.corrections)
            if encoded[0].words is not None:
                report_findings(encoded, sets.corrections)
                report_kinds(encoded, sets.corrections)
                report_false_alarms(encoder, sets.sound)
            report_meaning(encoder, sets.sound)


if __name__ == "__main__":
    main()
