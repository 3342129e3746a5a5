"""What the trainings of judges of sentences have in common: their sources, their work folder, their bars."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from celadon.train.encoders.acceptability_examples import Sources
    from celadon.train.training_run import Progress, TrainingRun

_SOURCES = {
    "treebank": "sentences in CoNLL-U",
    "labelled": "sentences labelled as CoLA's",
    "disfluent": "bad sentences, as celadon synth makes them",
}

EXAMPLE_NUMBERS = {
    "pairs": "sentences of the corpus, each with a damaged copy",
    "treebank_passes": "how often each sentence of a treebank is taken, each time with another damaged copy",
    "labelled_passes": "how often each labelled sentence is taken",
    "held_out": "pairs of articles kept apart to measure on",
    "passes": "how often all that is gone through",
    "batch_tokens": "positions in a batch",
    "longest": "tokens of a sentence that are trained on",
    "learning_rate": "the highest learning rate",
    "ranking": "weight of a sentence being above its copy",
    "dropout": "share of values left out while training",
    "seed": "for all that is drawn at random",
}
"""What the numbers of every such recipe mean."""


def add_sources(command: argparse.ArgumentParser) -> None:
    """Add the corpus, and an option for each other source."""
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    for name, meaning in _SOURCES.items():
        command.add_argument(f"--{name}", action="append", default=[], metavar="FILE", help=meaning)


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Add what a run is measured on, where it is kept, and how many threads it has."""
    command.add_argument("--test", action="append", default=[], metavar="FILE", help="labelled sentences to measure on")
    command.add_argument("--work", metavar="FOLDER", help="where the examples and the checkpoint are, and stay")
    command.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    command.add_argument("--threads", type=int, metavar="N", help="processor threads (default: all)")


def sources_of(arguments: argparse.Namespace, seed: int) -> Sources:
    """What was named to learn from."""
    from celadon.train.corpus import Corpus
    from celadon.train.encoders.acceptability_examples import Sources

    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), seed=seed)
    return Sources(corpus, *(tuple(map(Path, getattr(arguments, name))) for name in _SOURCES))


def source_options(arguments: argparse.Namespace) -> list[str]:
    """The options of the sources as they would be written again, files by their names."""
    return [word for name in _SOURCES for path in getattr(arguments, name) for word in (f"--{name}", Path(path).name)]


def drawing_bar(sources: Sources) -> Any:
    """The bar that shows how much of the corpus has been read."""
    return bar("drawing and damaging sentences", sources.corpus.size)


def checkpoint_in(work: Path, *, fresh: bool) -> Path:
    """The checkpoint of a run; taken away where it is to begin anew."""
    checkpoint = work / "checkpoint.safetensors"
    if fresh:
        checkpoint.unlink(missing_ok=True)
    return checkpoint


def train_with_bar(training: TrainingRun[Any], total: int) -> None:
    """Train to the end, and show how far it is."""
    if training.seen:
        print(f"going on from the checkpoint after {training.seen:,} of {total:,}", file=sys.stderr)
    with bar("training", total, unit="unit") as shown:
        shown.update(training.seen)

        def advance(progress: Progress) -> None:
            shown.set_postfix_str(f"loss {progress.loss:.3f}", refresh=False)
            shown.update(progress.seen - shown.n)

        training.run(advance)
