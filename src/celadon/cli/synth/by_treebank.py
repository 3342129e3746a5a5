"""``celadon synth pos``, ``supertag`` and ``cfg``: sentences made with what a treebank tells of structure."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from celadon.cli.synth.options import add_options, check_output, read_corpus, write_rows
from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from celadon.parsing.brackets import Tree
    from celadon.synth.token_corpus import TokenCorpus
    from celadon.synth.token_text import MadeText

_METHODS = {
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


def add_parsers(methods: Any) -> None:
    """Add these methods."""
    for method, (meaning, description) in _METHODS.items():
        command = methods.add_parser(method, help=meaning, description=description)
        add_options(command)
        command.add_argument(
            "--treebank",
            required=True,
            metavar="PATH",
            help="bracketed trees: a file, or a folder or zip of .mrg files",
        )
        command.set_defaults(run=run, method=method)


def run(arguments: argparse.Namespace) -> int:
    """Make and write."""
    from celadon.parsing.brackets import read_treebank
    from celadon.synth.glue import check_request

    check_request(arguments.length, arguments.count, arguments.seed)
    check_output(arguments, [*arguments.corpus, arguments.treebank])
    trees = [tree for file in read_treebank(arguments.treebank) for tree in file.trees]
    corpus = read_corpus(arguments.corpus)
    rows = [
        {"id": f"{arguments.method}-{number}", "text": made.text, "method": arguments.method}
        for number, made in enumerate(_made(arguments, corpus, trees), 1)
    ]
    write_rows(arguments.output, rows)
    return 0


def _made(arguments: argparse.Namespace, corpus: TokenCorpus, trees: list[Tree]) -> list[MadeText]:
    from celadon.synth.free_grammar import grammar_sentences
    from celadon.synth.tag_templates import template_sentences
    from celadon.synth.word_choice import part_of_speech_words, supertag_words

    numbers = (arguments.length, arguments.count, arguments.seed)
    if arguments.method == "cfg":
        with bar("making", arguments.count, unit="text") as shown:
            return grammar_sentences(corpus, trees, *numbers, shown.update)
    tagged = (supertag_words if arguments.method == "supertag" else part_of_speech_words)(_counted(trees))
    with bar("making", arguments.count, unit="text") as shown:
        return template_sentences(corpus, tagged, *numbers, shown.update)


def _counted(trees: list[Tree]) -> Iterator[Tree]:
    with bar("tagging", len(trees), unit="tree") as shown:
        for tree in trees:
            yield tree
            shown.update(1)
