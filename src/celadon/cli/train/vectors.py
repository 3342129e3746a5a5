"""``celadon train vectors``: word vectors from a corpus, for the focus of texts."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar
from celadon.cli.train.recipe_options import add_numbers, file_names, given_options, recipe_of

if TYPE_CHECKING:
    from celadon.train.corpus import Corpus
    from celadon.train.language_models.word_vector_files import TrainedVectors
    from celadon.train.language_models.word_vectors import VectorRecipe

_EPILOG = """\
A corpus is plain text (also .xz, .gz), a paragraph a line, a blank line between articles. On the articles kept apart
the similarity is found below which two adjacent sentences hardly belong together. Use the vectors by their folder:
celadon score texts.txt --metric "gruen.focus[model=./my-vectors]"
"""

_NUMBERS = {
    "words": "how many words have a vector",
    "size": "the length of a vector",
    "window": "how far apart two words may be that count as a pair",
    "thin": "the share of the corpus from which on a word is thinned",
    "power": "of the eigenvalues that vectors are weighed by",
    "hold_out": "the share of the articles kept apart to measure on",
    "seed": "for thinning, the first vectors, and the articles kept apart",
}


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    from celadon.train.language_models.word_vectors import VectorRecipe

    command = kinds.add_parser(
        "vectors",
        help="word vectors, by which gruen.focus compares sentences",
        description="Make word vectors of a corpus: positive pointwise mutual information in few dimensions.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the vectors are to be; a new folder")
    add_numbers(command, VectorRecipe, _NUMBERS)
    command.add_argument("--about", default="", metavar="TEXT", help="for the card: what the data are, their licence")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, measure and write."""
    from celadon.text.layout import printable
    from celadon.train.corpus import Corpus
    from celadon.train.language_models.word_vector_files import card, transitions_text, write_vectors
    from celadon.train.language_models.word_vectors import VectorRecipe
    from celadon.train.model_folder import check_new_folder

    folder = Path(arguments.output)
    check_new_folder(folder)
    recipe = recipe_of(arguments, VectorRecipe)
    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), recipe.hold_out, recipe.seed)
    trained = _train(corpus, recipe)
    write_vectors(folder, trained, card(folder.name, trained, corpus, arguments.about, _command(arguments)))
    words, size = trained.rows.shape
    print(printable(f"{folder}: {words:,} words, vectors of {size}"))
    print(transitions_text(trained.transitions))
    return 0


def _train(corpus: Corpus, recipe: VectorRecipe) -> TrainedVectors:
    from celadon.train.language_models import word_vectors as steps
    from celadon.train.language_models.word_vector_files import (
        TrainedVectors,
        in_memory,
        judge_transitions,
        sentence_pairs,
    )

    with bar("counting words", corpus.size) as shown:
        vocabulary, apart = steps.read_vocabulary(corpus, recipe.words, shown.update)
    with bar("counting pairs", corpus.size) as shown:
        pairs = steps.count_pairs(corpus, vocabulary, recipe, shown.update)
    with bar("vectors", steps.STEPS + 2, unit="step") as shown:
        table = steps.positive_information(pairs, least=recipe.window + 1)  # more than one meeting can give
        del pairs
        shown.update(1)
        rows = steps.rounded(steps.leading_vectors(table, recipe, shown.update))
    sentences = sentence_pairs(apart, recipe.seed)
    with bar("comparing sentences", 2 * len(sentences.adjacent), unit="pair") as shown:
        found = judge_transitions(in_memory(vocabulary, rows), sentences, shown.update)
    return TrainedVectors(recipe, vocabulary, rows, found)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes these vectors, with the corpus by the names of its files."""
    given: list[str] = [*file_names(arguments.corpus), "--output", Path(arguments.output).name]
    given += given_options(arguments, _NUMBERS)
    return shlex.join(["celadon", "train", "vectors", *given])
