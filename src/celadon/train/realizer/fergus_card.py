"""What people should know of a trained realizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from celadon.train.parsers.parser_files import treebank_digest
from celadon.train.realizer.fergus import FergusTraining, Tried
from celadon.train.realizer.fergus_trees import Parts


def card(
    name: str,
    training: FergusTraining,
    parts: Parts,
    treebank: Path,
    texts: Sequence[Path],
    about: str,
    command: str,
) -> str:
    """The card, in Markdown."""
    fergus = training.trained.fergus
    ngrams = ", ".join(f"{len(logprobs):,}" for logprobs in fergus.trigrams.tables.logprobs)
    files = [f"- text: {path.name} (sha256 {treebank_digest(path)})" for path in texts]
    return f"""# {name}

FERGUS, a realizer of unordered dependency trees (Bangalore, Rambow and Whittaker 2000): \
{len(fergus.grammar.supertags):,} supertags of {len(fergus.grammar.class_names):,} classes, a log-linear model of the \
order of daughters, and trigrams with modified Kneser-Ney smoothing ({ngrams} n-grams of the lengths 1 to 3). It \
places words and no punctuation.

## Data

{about or "Not stated."}

{chr(10).join([f"- treebank: {treebank.name} (sha256 {treebank_digest(treebank)})", *files])}
- trained on: {len(parts.train):,} sentences; {len(parts.develop):,} kept apart to choose settings by

## Figures

{figures(training)}

## How it was made

    {command}
"""


def figures(training: FergusTraining) -> str:
    """How the settings did that were tried."""
    if not training.tried:
        return "No settings were tried: nothing was kept apart to choose by."
    best = max(training.tried, key=lambda each: each.accuracy)
    lines = [f"Chosen on {training.develop:,} sentences kept apart: {_line(best)}.", "", "Tried:", ""]
    return "\n".join([*lines, *(f"- {_line(each)}" for each in training.tried)])


def _line(tried: Tried) -> str:
    settings = tried.settings
    return (
        f"trigram weight {settings.trigram_weight:g}, share of a supertag that is kept {settings.kept_share:g}: simple "
        f"string accuracy {tried.accuracy:.4f}, {100 * tried.perfect:.1f} % of the sentences perfect"
    )
