"""``celadon synth``: texts of graded fluency, glued from a corpus or made with what a treebank says of structure."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.options import bar

if TYPE_CHECKING:
    from celadon.parsing.brackets import Tree
    from celadon.synth.tokens import MadeText, TokenCorpus

_EPILOG = """\
examples:
  celadon synth glue corpus.txt.xz --length 24 --sequence 1,2,4,8,24 --count 1000 --seed 1 --output glued.jsonl
  celadon synth pos corpus.txt.xz --treebank treebank.zip --count 1000 --output by-tags.jsonl
  celadon synth cfg corpus.txt.xz --treebank treebank.zip --count 1000 --output by-grammar.jsonl
"""
_METHODS = {
    "glue": (
        "sequences of the corpus, one after another; of a text's own length, real sentences",
        "Glue sequences of a corpus together: the longer they are, the more fluent the text. A sequence follows "
        "another by the probability of its first word after the other's last. Sequences as long as the text are real "
        "sentences.",
    ),
    "pos": (
        "the likeliest words for a template of parts of speech",
        "Make templates of parts of speech, by the pairs of them in a treebank, and fill each with the words that are "
        "likeliest by P(word | tag) and, in the corpus, P(word | previous word).",
    ),
    "supertag": (
        "the likeliest words for a template of supertags, pieces of trees",
        "Make templates of supertags, by the pairs of them in a treebank, and fill each with the words that are "
        "likeliest by P(word | supertag) and, in the corpus, P(word | previous word).",
    ),
    "cfg": (
        "words of a context-free grammar that is read off a treebank",
        "Make sentences of the context-free grammar of a treebank, with words as frequent as in the corpus.",
    ),
}


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    command.description = (
        "Make texts of known, graded fluency from a corpus, to test metrics with or to train them on. "
        "A text has a fixed number of tokens, with marks counted, and ends with a full stop."
    )
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    methods = command.add_subparsers(title="methods", metavar="METHOD", required=True)
    for method, (meaning, description) in _METHODS.items():
        _add_options(methods.add_parser(method, help=meaning, description=description), method)


def _add_options(command: argparse.ArgumentParser, method: str) -> None:
    add = command.add_argument
    add("corpus", nargs="+", metavar="CORPUS", help="text files, a paragraph a line, also .xz, .gz and .zst")
    add("--length", type=int, default=24, metavar="N", help="tokens of a text (default: 24)")
    add("--count", type=int, default=1000, metavar="N", help="how many texts (default: 1000)")
    add("--seed", type=int, default=0, metavar="N", help="the same one makes the same texts (default: 0)")
    add("--output", required=True, metavar="FILE", help="JSON Lines, also .gz, .xz and .zst")
    if method == "glue":
        more = "each a divisor of the length; --count texts are made of every size (default: all divisors)"
        add("--sequence", type=_sizes, metavar="N,N", help=f"sizes of the sequences, {more}")
    else:
        trees = "bracketed trees: a file, or a folder or zip of .mrg files"
        add("--treebank", required=True, metavar="PATH", help=trees)
    command.set_defaults(run=_glue if method == "glue" else _by_treebank, method=method)


def _sizes(value: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(size) for size in value.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"whole numbers separated by commas are needed, not {value!r}") from None


def _glue(arguments: argparse.Namespace) -> int:
    from celadon.synth.glue import glued_sentences
    from celadon.synth.tokens import check_request, divisors

    length, count, seed = arguments.length, arguments.count, arguments.seed
    check_request(length, count, seed)
    sizes = arguments.sequence or divisors(length)
    for size in sizes:
        check_request(length, count, seed, size)
    _check_output(arguments.output, arguments.corpus)
    corpus = _read_corpus(arguments.corpus)
    rows = []
    with bar("gluing", len(sizes), unit="size") as progress:
        for size in sizes:
            for number, glued in enumerate(glued_sentences(corpus, length, size, count, seed), 1):
                rows.append({"id": f"glue-{size}-{number}", "text": glued.text, "method": "glue", "sequence": size})
            progress.update(1)
    return _write_rows(arguments.output, rows)


def _by_treebank(arguments: argparse.Namespace) -> int:
    from celadon.parsing.brackets import read_treebank
    from celadon.synth.tokens import check_request

    check_request(arguments.length, arguments.count, arguments.seed)
    _check_output(arguments.output, [*arguments.corpus, arguments.treebank])
    trees = [tree for file in read_treebank(arguments.treebank) for tree in file.trees]
    corpus = _read_corpus(arguments.corpus)
    rows = [
        {"id": f"{arguments.method}-{number}", "text": damaged.text, "method": arguments.method}
        for number, damaged in enumerate(_make(arguments, corpus, trees), 1)
    ]
    return _write_rows(arguments.output, rows)


def _make(arguments: argparse.Namespace, corpus: TokenCorpus, trees: list[Tree]) -> list[MadeText]:
    from celadon.synth.free_grammar import grammar_sentences
    from celadon.synth.lexicon import part_of_speech_words, supertag_words
    from celadon.synth.tag_templates import template_sentences

    numbers = (arguments.length, arguments.count, arguments.seed)
    if arguments.method == "cfg":
        with bar("making", arguments.count, unit="text") as progress:
            return grammar_sentences(corpus, trees, *numbers, progress.update)
    tagged = (supertag_words if arguments.method == "supertag" else part_of_speech_words)(_counted(trees))
    with bar("making", arguments.count, unit="text") as progress:
        return template_sentences(corpus, tagged, *numbers, progress.update)


def _counted(trees: list[Tree]) -> Iterator[Tree]:
    with bar("tagging", len(trees), unit="tree") as progress:
        for tree in trees:
            yield tree
            progress.update(1)


def _check_output(output: str, inputs: Sequence[str]) -> None:
    """Reject an output that cannot be written before the corpus is read."""
    from celadon.core import OutputError
    from celadon.io import check_distinct

    check_distinct(output, inputs)
    folder = Path(output).parent
    if not folder.is_dir():
        raise OutputError(f"{output}: the folder {folder} does not exist; create it first")


def _read_corpus(paths: Sequence[str]) -> TokenCorpus:
    from celadon.io.lines import corpus_size
    from celadon.synth.tokens import read_token_corpus

    with bar("reading", corpus_size(paths) or 0) as progress:
        return read_token_corpus(paths, progress.update)


def _write_rows(path: str, rows: Sequence[dict[str, Any]]) -> int:
    from celadon.io import write_json_rows
    from celadon.text.layout import printable

    print(printable(f"{path}: {write_json_rows(path, rows):,} texts"))
    return 0
