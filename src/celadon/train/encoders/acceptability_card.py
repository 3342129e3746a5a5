"""What people should know of an encoder: its data, its figures, how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from celadon.train.encoders.acceptability import AcceptabilityTraining
from celadon.train.encoders.acceptability_examples import Sources
from celadon.train.encoders.acceptability_measures import PairAccuracy
from celadon.train.encoders.encoder_recipes import OrderRecipe
from celadon.train.encoders.sentence_order import OrderFigures

_HARDEST = 8


def acceptability_card(
    training: AcceptabilityTraining,
    sources: Sources,
    base: str,
    pairs: Sequence[PairAccuracy],
    labelled: Mapping[str, tuple[float, int]],
    about: str,
    commands: Sequence[str],
) -> str:
    """The card of an encoder after training on acceptability, in Markdown.

    Parameters
    ----------
    training, sources
        The finished run, and its data.
    base
        What it began with.
    pairs
        How often a sentence was above its damaged copy, over all and by kind.
    labelled
        Matthews' correlation with the labels of each file measured on, and its number of sentences.
    about
        What the data are, and their licence.
    commands
        What made it, and before it its teacher.
    """
    examples = training.material.trained
    files = [*sources.corpus.paths, *sources.files]
    alone = len(examples.sentences) - 4 * examples.twos - 2 * examples.ones
    lines = [
        "A sentence encoder: how acceptable a sentence is, what it means, which of two sentences comes first.",
        f"It began as {base}.",
        "",
        "## Data",
        "",
        about or "Not stated.",
        "",
        f"- files: {', '.join(path.name for path in files)} (sha256 of all {training.material.digest})",
        f"- sentences with a damaged copy: {2 * examples.twos:,} of the corpus, {examples.ones:,} of treebanks; "
        f"labelled sentences: {alone:,}, repetitions counted",
        *_taught(training),
        f"- kept apart: {sources.corpus.hold_out:g} of the corpus' articles (seed {sources.corpus.seed})",
        "",
        "## Figures",
        "",
        f"- a sentence is above its damaged copy in {pairs[0].accuracy:.1%} of {pairs[0].pairs:,} pairs kept apart",
        "- hardest kinds of damage: "
        + ", ".join(
            f"{one.kind.replace('_', ' ')} {one.accuracy:.0%} of {one.pairs}" for one in pairs[1 : 1 + _HARDEST]
        ),
        *(f"- {name}: Matthews' correlation {mcc:.3f} ({many:,} sentences)" for name, (mcc, many) in labelled.items()),
        f"- trained for {training.seconds / 3600:.2f} hours",
        "",
        "## How it was made",
        "",
        *(f"    {command}" for command in commands),
    ]
    return "\n".join(lines) + "\n"


def _taught(training: AcceptabilityTraining) -> list[str]:
    asked = int((~np.isnan(training.material.trained.taught)).sum())
    return [f"- judged by a teacher: {asked:,} of these sentences and copies"] if asked else []


def order_card(before: str, recipe: OrderRecipe, figures: OrderFigures, command: str) -> str:
    """The card after the order head was trained: what it said before, and what is new."""
    return (
        f"{before}    {command}\n\n## Order\n\n"
        f"- trained on {recipe.paragraphs:,} paragraphs, sentences up to {recipe.reach} apart; the encoder unchanged\n"
        f"- on {figures.paragraphs:,} paragraphs kept apart: {figures.neighbours:.1%} of neighbours and "
        f"{figures.parts:.1%} of splits into two parts are told in their right order\n"
    )
