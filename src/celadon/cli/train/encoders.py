"""``celadon train teacher``, ``acceptability`` and ``order``: the sentence encoder and what it learns from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from celadon.cli.train.options import (
    ABOUT,
    TERMINAL,
    add_corpus,
    add_kind,
    add_numbers,
    add_precision,
    add_run,
    chosen,
    recipe_of,
)

_TEACHER = """\
The upper layers of SmolLM2-135M are trained on sentences of the corpus and of treebanks, each with a damaged copy, and
on labelled ones, as celadon train acceptability does with the encoder. A run that was stopped goes on from its last
checkpoint when the same command is given again. Then:
  celadon train acceptability CORPUS --teacher my-teacher.safetensors --output my-encoder
"""
_ACCEPTABILITY = """\
Sentences of the corpus (plain text, also .xz, .gz; a paragraph a line, a blank line between articles) and of treebanks
are set against copies damaged in the ways of learners and of machines, each word with a label; labelled sentences are
learnt as they are. With
--teacher some are learnt as a language model judges them that celadon train teacher has trained. A run that was stopped
goes on from its last checkpoint when the same command is given again. Then:
  celadon train order CORPUS --network my-network.safetensors --output my-encoder
"""
_ORDER = """\
Sentences of one paragraph are compared two by two; articles kept apart tell how often the order is told right. The
encoder itself is not changed.
"""
_SOURCES = {
    "treebank": "sentences in CoNLL-U",
    "labelled": "sentences labelled as CoLA's",
    "disfluent": "bad sentences, as celadon synth makes them",
}
_FIT_HALF = {
    "genres": "sound texts of many genres, one JSON object a line; documents of the fit half are used",
    "edits": "sentences before and after a correction, of the fit half too",
}
_EXAMPLES = {
    "pairs": "sentences of the corpus, each with a damaged copy",
    "treebank_passes": "how often each sentence of a treebank is taken, each time with another damaged copy",
    "labelled_passes": "how often each labelled sentence is taken",
    "held_out": "pairs of articles kept apart to measure on",
    "genre_pairs": "sentences of all genres together, each with a damaged copy",
    "fragments": "headings and other fragments of the genres",
    "edit_passes": "how often each correction is taken",
    "slips": "share of the damaged copies with a slip or two, as people make them",
    "passes": "how often all that is gone through",
    "batch_tokens": "positions in a batch",
    "longest": "tokens of a sentence that are trained on",
    "learning_rate": "the highest learning rate",
    "ranking": "weight of a sentence being above its copy",
    "dropout": "share of values left out while training",
    "seed": "for all that is drawn at random",
}
_TEACHER_NUMBERS = _EXAMPLES | {
    "depth": "layers of the model that are used, counted from the first; 0 for all",
    "layers": "layers that are trained, counted from the last",
    "head_rate": "the highest learning rate of the head",
}
_ACCEPTABILITY_NUMBERS = _EXAMPLES | {
    "taught": "sentences that the teacher is asked about, each with its damaged copy",
    "layers": "layers of the base that are used, counted from the first; 0 for all",
    "frozen": "lowest parts that are not trained: 1 the embeddings, 2 the first layer too, and so on",
    "head_rate": "how many times faster than the base the heads learn",
    "findings": "weight of knowing what is wrong with each word; 0 for an encoder that does not say it",
    "sound_words": "how much a sound word counts in that, beside a faulty one",
    "meaning": "weight of the meaning vectors being those of MiniLM",
    "order": "weight of knowing which of two neighbours comes first",
}
_ORDER_NUMBERS = {
    "paragraphs": "how many to train on",
    "held_out": "how many of the articles kept apart to measure on",
    "reach": "how many sentences apart two sentences may stand",
    "passes": "how often all pairs are gone through",
    "batch": "pairs in a batch",
    "learning_rate": "the highest learning rate",
    "decay": "of the weights",
    "dropout": "share of values left out while training",
    "seed": "for all that is drawn at random",
}


def add_parsers(kinds: Any) -> None:
    """Add these kinds."""
    from celadon.train.encoders.recipes import AcceptabilityRecipe, OrderRecipe, TeacherRecipe

    description = "Train a language model to tell sound sentences from damaged ones."
    meaning = "a language model as a judge of sentences, for the encoder to learn from"
    command = add_kind(kinds, "teacher", _train_teacher, meaning, description, _TEACHER)
    add_corpus(command, "where what is learnt is to be; a new file", "FILE")
    _add_sources(command)
    add_numbers(command, TeacherRecipe, _TEACHER_NUMBERS)
    add_run(command, "the examples")

    description = "Train a sentence encoder to tell sound sentences from damaged ones, and to name the wrong words."
    meaning = "a sentence encoder that tells sound sentences from others"
    command = add_kind(kinds, "acceptability", _train_acceptability, meaning, description, _ACCEPTABILITY)
    add_corpus(command, "where the encoder is to be; a new folder")
    _add_sources(command)
    _add_files(command, _FIT_HALF)
    command.add_argument("--network", metavar="FILE", help="keep the network too, for celadon train order")
    command.add_argument("--teacher", metavar="FILE", help="what celadon train teacher made, to learn from too")
    command.add_argument(
        "--base", default="minilm", metavar="NAME", help="the encoder to begin with: minilm, quire (default: minilm)"
    )
    add_numbers(command, AcceptabilityRecipe, _ACCEPTABILITY_NUMBERS)
    add_precision(command)
    command.add_argument("--about", default="", metavar="TEXT", help=ABOUT)
    add_run(command, "the examples")

    description = "Train the order head of an encoder that celadon train acceptability made."
    meaning = "which of two sentences comes first, told by the encoder"
    command = add_kind(kinds, "order", _train_order, meaning, description, _ORDER)
    add_corpus(command, "where the encoder is to be; a new folder")
    command.add_argument("--network", required=True, metavar="FILE", help="what celadon train acceptability kept")
    add_numbers(command, OrderRecipe, _ORDER_NUMBERS)
    add_precision(command)
    # as it was written before; cards of encoders have it
    old: dict[str, Any] = {
        "action": "store_const",
        "const": "bfloat16",
        "default": argparse.SUPPRESS,
        "help": argparse.SUPPRESS,
    }
    command.add_argument("--bfloat16", dest="precision", **old)
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")


def _add_sources(command: argparse.ArgumentParser) -> None:
    _add_files(command, {**_SOURCES, "test": "labelled sentences to measure on"})


def _add_files(command: argparse.ArgumentParser, meanings: Mapping[str, str]) -> None:
    for name, meaning in meanings.items():
        command.add_argument(f"--{name}", action="append", default=[], metavar="FILE", help=meaning)


def _train_teacher(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.encoders.recipes import TeacherRecipe
    from celadon.train.training_run import import_torch

    import_torch()
    from celadon.train.encoders.teacher import train_teacher

    pairs, labelled = train_teacher(
        arguments.corpus,
        arguments.output,
        recipe_of(arguments, TeacherRecipe),
        **chosen(arguments, *_SOURCES, "test", "work", "fresh", "threads"),
        report=TERMINAL,
    )
    above = f"{pairs.accuracy:.1%} of {pairs.pairs:,} held-out sentences are above their copies"
    print(printable(f"{arguments.output}: {above}"))
    for name, mcc in labelled.items():
        print(printable(f"{name}: Matthews' correlation {mcc:.3f}"))
    return 0


def _train_acceptability(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.encoders.recipes import AcceptabilityRecipe
    from celadon.train.training_run import import_torch

    import_torch()
    from celadon.train.encoders.acceptability import train_acceptability

    trained = train_acceptability(
        arguments.corpus,
        arguments.output,
        recipe_of(arguments, AcceptabilityRecipe),
        **chosen(
            arguments, *_SOURCES, *_FIT_HALF, "test", "network", "teacher", "base", "about", "work", "fresh", "threads"
        ),
        report=TERMINAL,
    )
    pairs = trained.pairs[0]
    above = f"{pairs.accuracy:.1%} of {pairs.pairs:,} held-out sentences are above their damaged copies"
    print(printable(f"{arguments.output}: {above}"))
    for name, (mcc, _) in trained.labelled.items():
        print(printable(f"{name}: Matthews' correlation {mcc:.3f}"))
    return 0


def _train_order(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.encoders.recipes import OrderRecipe
    from celadon.train.training_run import import_torch

    import_torch()
    from celadon.train.encoders.sentence_order import train_order

    recipe, files = recipe_of(arguments, OrderRecipe), (arguments.network, arguments.output)
    figures = train_order(arguments.corpus, *files, recipe, threads=arguments.threads, report=TERMINAL)
    right = f"{figures.neighbours:.1%} of neighbours, {figures.parts:.1%} of splits in right order"
    print(printable(f"{arguments.output}: {right}"))
    return 0
