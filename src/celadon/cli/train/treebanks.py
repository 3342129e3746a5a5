"""``celadon train parser`` and ``fergus``: a grammar for the chart parser and the realizer, from trees."""

from __future__ import annotations

import argparse
from typing import Any

from celadon.cli.train.options import ABOUT, TERMINAL, add_kind, chosen

_PARSER = """\
A treebank is a file of trees in Penn brackets (also .xz, .gz), or a folder or zip archive of files that end in .mrg. Of
each ten files, or documents with --documents, one is kept apart to choose the recipe by, and one to measure the
result on. Without --vertical, --horizontal and --splits a few recipes are tried and the best one is taken.

examples:
  celadon train parser treebank.zip --output my-grammar
  celadon train parser gum.ptb.xz --documents gum.jsonl.xz --tagged ewt.conllu.xz --output my-grammar
  celadon score new.jsonl --metric 'gleu[grammar=./my-grammar]'
"""
_FERGUS = """\
A treebank is a file of trees in Penn brackets, or a folder or zip archive of files that end in .mrg; or a CoNLL-U file
(.conllu, also .xz and .gz). Its names are those that --hold-out takes: the file's and the tree's number in it
(wsj_0001.1), or the sent_id. Settings are chosen on a part of the treebank that is kept apart.

examples:
  celadon train fergus treebank.zip --text enwiki.txt.xz --hold-out held-out.txt --output my-fergus
  celadon train fergus en_ewt-ud-train.conllu.xz --text enwiki.txt.xz --output my-fergus
"""


def add_parsers(kinds: Any) -> None:
    """Add these kinds."""
    description = "Read a grammar with probabilities off a treebank, for the chart parser."
    add = add_kind(
        kinds, "parser", _train_parser, "a grammar for the chart parser, from trees", description, _PARSER
    ).add_argument
    add("treebank", metavar="TREEBANK", help="trees in Penn brackets: a file, a folder, a zip archive")
    documents = "the documents of the trees, with columns id and text; they are kept whole"
    add("--documents", metavar="TABLE", help=documents)
    tagged = "CoNLL-U whose words and tags (XPOS) the lexicon learns"
    add("--tagged", nargs="+", default=[], metavar="FILE", help=tagged)
    add("--output", required=True, metavar="FOLDER", help="where the grammar is to be; a new folder")
    add("--vertical", type=int, metavar="N", help="labels that a state tells, upwards (1 to 3)")
    add("--horizontal", type=int, metavar="N", help="neighbours that a state tells (0 to 9)")
    add("--splits", metavar="NAMES", help="further distinctions, with commas between; '' for none")
    add("--every", type=int, default=10, metavar="N", help="one in so many files is kept apart, twice (default: 10)")
    add("--about", default="", metavar="TEXT", help=ABOUT)

    description = (
        "Train FERGUS, the realizer of celadon realize: a grammar and an order model from a treebank, "
        "trigrams from its sentences and from plain text."
    )
    meaning = "the realizer of dependency trees, from a treebank"
    add = add_kind(kinds, "fergus", _train_fergus, meaning, description, _FERGUS).add_argument
    add("treebank", metavar="TREEBANK", help="trees in Penn brackets, or CoNLL-U")
    add("--output", required=True, metavar="FOLDER", help="where the model is to be; a new folder")
    add("--text", nargs="+", default=[], metavar="CORPUS", help="text files, also .xz and .gz")
    add("--hold-out", metavar="FILE", help="names of sentences not to be trained on, one a line")
    share = "kept apart to choose settings by (default: 0.08)"
    add("--develop", type=float, default=0.08, metavar="SHARE", help=share)
    add("--develop-trees", metavar="TREEBANK", help="choose settings by these instead; nothing is kept apart")
    add("--vocab", type=int, metavar="N", help="words of the trigrams (default: 50000)")
    add("--bigrams", type=int, metavar="N", help="pairs of words that are kept (default: 1000000)")
    add("--trigrams", type=int, metavar="N", help="trigrams that are kept (default: 2400000)")
    add("--epochs", type=int, metavar="N", help="passes over the treelets (default: 10)")
    add("--seed", type=int, default=0, metavar="N", help="which trees are kept apart (default: 0)")
    add("--about", default="", metavar="TEXT", help=ABOUT)


def _train_parser(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.parsers.training import figures, train_parser

    trained = train_parser(
        arguments.treebank,
        arguments.output,
        splits=None if arguments.splits is None else list(filter(None, arguments.splits.split(","))),
        **chosen(arguments, "documents", "tagged", "vertical", "horizontal", "every", "about"),
        report=TERMINAL,
    )
    print(printable(f"{arguments.output}: {len(trained.grammar.states):,} states; {trained.recipe}"))
    print(figures(trained))
    return 0


def _train_fergus(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.realizer.fergus import figures, train_fergus

    options = ("text", "hold_out", "develop", "develop_trees", "bigrams", "trigrams", "epochs", "seed", "about")
    done = train_fergus(
        arguments.treebank, arguments.output, vocabulary=arguments.vocab, **chosen(arguments, *options), report=TERMINAL
    )
    print(printable(f"{arguments.output}: {len(done.trained.fergus.grammar.supertags):,} supertags"))
    print(figures(done))
    return 0
