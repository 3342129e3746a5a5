"""What a judge of sentences is trained on, made ready and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from celadon.train.encoders.acceptability_examples import Advance, Examples, Lesson, Sources, make_examples
from celadon.train.encoders.encoder_recipes import ExamplesRecipe

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The sentences that a teacher learnt from are not those that it is asked about.
ENCODER_STREAM, TEACHER_STREAM = 1, 2


class Material(NamedTuple):
    """Examples made ready, and what they were made from.

    Attributes
    ----------
    tokenizer
        What numbered them.
    trained, held_out
        Those to train on, and pairs of articles kept apart.
    digest
        The sha256 of all files that they were made from.
    teacher
        The sha256 of the teacher that was asked about some of them; empty where none was.
    """

    tokenizer: Tokenizer
    trained: Examples
    held_out: Examples
    digest: str
    teacher: str = ""


def prepare(
    sources: Sources,
    recipe: ExamplesRecipe,
    tokenizer: Tokenizer,
    work: Path,
    advance: Advance = lambda size: None,
    lesson: Lesson | None = None,
    stream: int = ENCODER_STREAM,
) -> Material:
    """Make the examples, or take them from ``work`` if they were made from the same data.

    Parameters
    ----------
    sources, recipe
        What is trained on, and how.
    tokenizer
        That of what is trained.
    work
        Where the examples are kept.
    advance
        Told how many more bytes of the corpus have been read.
    lesson
        A teacher that is asked about some of them.
    stream
        Which random numbers draw and damage sentences.
    """
    work.mkdir(parents=True, exist_ok=True)
    digest, teacher = sources.digest(), lesson.digest if lesson else ""
    asked = lesson.sentences if lesson else 0
    made_from = json.dumps([digest, recipe.amounts, recipe.seed, stream, teacher, asked])
    stamp = work / "examples.json"
    if not (stamp.is_file() and stamp.read_text() == made_from):
        made = make_examples(sources, recipe.amounts, tokenizer, [recipe.seed, stream], advance, lesson)
        for name, part in zip(("train", "held-out"), made, strict=True):
            part.save(work, name)
        stamp.write_text(made_from)
    trained, held_out = (Examples.load(work, name) for name in ("train", "held-out"))
    return Material(tokenizer, trained, held_out, digest, teacher)
