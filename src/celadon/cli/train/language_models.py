"""``celadon train lm``, ``ngram`` and ``vectors``: from a corpus to a folder that metrics can use."""

from __future__ import annotations

import argparse
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

_CORPUS = "A corpus is plain text (also .xz, .gz), a paragraph a line, a blank line between articles."
_LM = f"""\
{_CORPUS} A run that was stopped, in
whatever way, goes on from its last checkpoint when the same command is given again. Use the model by its folder:
celadon score texts.txt --metric "slor[model=my-lm]"
"""
_NGRAM = f"""\
{_CORPUS} The model is a folder that
is asked for as ngram:FOLDER, for example with: celadon score texts.txt --metric "slor[model=ngram:my-trigram]"
"""
_VECTORS = f"""\
{_CORPUS} On the articles kept apart
the similarity is found below which two adjacent sentences hardly belong together. Use the vectors by their folder:
celadon score texts.txt --metric "gruen.focus[model=./my-vectors]"
"""
_LM_NUMBERS = {
    "layers": "LSTM layers",
    "hidden": "units in a layer, and in a token's vector",
    "tokens": "how many tokens to train on",
    "batch_tokens": "positions in a batch",
    "longest": "tokens of a sentence that are trained on",
    "warm_up": "tokens until the learning rate is at its highest",
    "seed": "for the order of the sentences, the first weights and the articles kept apart",
    "learning_rate": "Adam's highest learning rate",
    "dropout": "share of values left out while training",
    "hold_out": "share of the articles kept apart to measure on",
}
_VECTOR_NUMBERS = {
    "words": "how many words have a vector",
    "size": "the length of a vector",
    "window": "how far apart two words may be that count as a pair",
    "thin": "the share of the corpus from which on a word is thinned",
    "power": "of the eigenvalues that vectors are weighed by",
    "hold_out": "the share of the articles kept apart to measure on",
    "seed": "for thinning, the first vectors, and the articles kept apart",
}


def add_parsers(kinds: Any) -> None:
    """Add these kinds."""
    from celadon.train.language_models.lm import Recipe
    from celadon.train.language_models.word_vectors import VectorRecipe

    description = "Train a language model, measure it on articles kept apart, and write it as an ONNX file."
    command = add_kind(kinds, "lm", _train_lm, "an LSTM over word pieces or words", description, _LM)
    add_corpus(command, "where the model is to be; a new folder")
    _add_tokens(command, "wordpiece")
    add_numbers(command, Recipe, _LM_NUMBERS)
    add_precision(command)
    command.add_argument("--about", default="", metavar="TEXT", help=ABOUT)
    seconds = "time between checkpoints (default: 120)"
    command.add_argument("--save-every", type=float, default=120.0, metavar="SECONDS", help=seconds)
    add_run(command, "the numbered corpus")

    description = "Train an n-gram language model with interpolated modified Kneser-Ney smoothing."
    meaning = "an n-gram model with modified Kneser-Ney smoothing"
    command = add_kind(kinds, "ngram", _train_ngram, meaning, description, _NGRAM)
    add_corpus(command, "where the model is to be; a new folder")
    command.add_argument("--order", type=int, default=3, metavar="N", help="the longest n-grams (default: 3)")
    _add_tokens(command, None)
    command.add_argument("--arpa", metavar="FILE", help="write the model as an ARPA file too (also .gz)")
    share = "the share of the articles kept apart to measure on (default: 0.01)"
    command.add_argument("--hold-out", type=float, default=0.01, metavar="SHARE", help=share)
    command.add_argument("--seed", type=int, default=0, metavar="N", help="which articles are kept apart (default: 0)")

    description = "Make word vectors of a corpus: positive pointwise mutual information in few dimensions."
    meaning = "word vectors, by which gruen.focus compares sentences"
    command = add_kind(kinds, "vectors", _train_vectors, meaning, description, _VECTORS)
    add_corpus(command, "where the vectors are to be; a new folder")
    add_numbers(command, VectorRecipe, _VECTOR_NUMBERS)
    command.add_argument("--about", default="", metavar="TEXT", help=ABOUT)


def _add_tokens(command: argparse.ArgumentParser, unit: str | None) -> None:
    from celadon.train.language_models.vocabulary import UNITS

    command.add_argument("--unit", choices=tuple(UNITS), default=unit, help="what a token is (default: wordpiece)")
    tokens = command.add_mutually_exclusive_group()
    size = "how many tokens (default: 16000 word pieces or 128000 words)"
    tokens.add_argument("--vocab", type=int, metavar="N", help=size)
    tokens.add_argument("--tokenizer", metavar="FILE", help="the tokenizer.json of another model, to have its tokens")


def _train_lm(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.language_models.lm import Recipe, perplexity, train_lm
    from celadon.train.language_models.vocabulary import UNITS

    trained = train_lm(
        arguments.corpus,
        arguments.output,
        recipe_of(arguments, Recipe, vocabulary=arguments.vocab or UNITS[arguments.unit]),
        **chosen(arguments, "tokenizer", "about", "work", "save_every", "fresh", "threads"),
        report=TERMINAL,
    )
    print(printable(f"{arguments.output}: held-out perplexity {perplexity(trained.measured)}"))
    print(printable(f'use it as a model: celadon score texts.txt --metric "slor[model={arguments.output}]"'))
    return 0


def _train_ngram(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.language_models.ngrams import perplexity_of_words, train_ngram

    model, measured = train_ngram(
        arguments.corpus,
        arguments.output,
        vocabulary=arguments.vocab,
        **chosen(arguments, "order", "unit", "tokenizer", "arpa", "hold_out", "seed"),
        report=TERMINAL,
    )
    print(printable(f"{arguments.output}: n-grams of each length: {model.sizes}"))
    print(f"held-out perplexity: {perplexity_of_words(measured)}")
    print(printable(f"use it as ngram:{arguments.output}"))
    return 0


def _train_vectors(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable
    from celadon.train.language_models.word_vectors import VectorRecipe, train_vectors, transitions_text

    recipe = recipe_of(arguments, VectorRecipe)
    trained = train_vectors(arguments.corpus, arguments.output, recipe, about=arguments.about, report=TERMINAL)
    words, size = trained.rows.shape
    print(printable(f"{arguments.output}: {words:,} words, vectors of {size}"))
    print(transitions_text(trained.transitions))
    return 0
