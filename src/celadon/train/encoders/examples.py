"""What acceptability is learnt from: sentences with damaged copies, and sentences that linguists have labelled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray
from celadon.io import Fields, Reader
from celadon.io.conllu import read_conllu_texts
from celadon.synth.babble import Babbler
from celadon.synth.neutral_variants import neutral
from celadon.synth.sentence_damage import damage
from celadon.text.sentences import split_sentences
from celadon.train.combinations.ratings import read_ratings
from celadon.train.corpus import Advance, Corpus, EncodedSentences, draw_items, number_texts, raise_bad_row
from celadon.train.encoders.recipes import Amounts, ExamplesRecipe

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FEWEST_WORDS, MOST_WORDS = 4, 45
_ENDS = (".", "!", "?", '"', "”", "'")
# What a weak language model does to a sentence, each up to this chance; the other kinds of damage share the rest.
_BABBLED, _DRIFTED, _CIRCLED, _PATCHED = 0.03, 0.08, 0.10, 0.14
_NEUTRAL = 0.5
_BABBLED_FROM = 50_000
# How acceptable a barely damaged sentence is; a wholly damaged one is not at all.
_BARELY_DAMAGED = 0.4
_LABELLED, _DISFLUENT = "labelled", "disfluent"

Teach = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""A logit for each text: how acceptable it is."""
_Two: TypeAlias = tuple[str, str]


class Sources(NamedTuple):
    """The texts to learn from."""

    corpus: Corpus  # paragraphs, of which some articles are kept apart
    treebanks: tuple[Path, ...] = ()  # CoNLL-U files
    labelled: tuple[Path, ...] = ()  # files of sentences with a label, as CoLA's
    disfluent: tuple[Path, ...] = ()  # files of texts that are not acceptable at all, as ``celadon synth`` makes them

    @classmethod
    def of(
        cls,
        corpus: Sequence[str | Path],
        treebank: Sequence[str | Path],
        labelled: Sequence[str | Path],
        disfluent: Sequence[str | Path],
        seed: int,
    ) -> Sources:
        """Name the files; the seed decides which articles of the corpus are kept apart."""
        files = (tuple(map(Path, paths)) for paths in (treebank, labelled, disfluent))
        return cls(Corpus(tuple(map(Path, corpus)), seed=seed), *files)

    def options(self) -> dict[str, list[Path]]:
        """Return the sources beside the corpus by the names of their options."""
        named = {"treebank": self.treebanks, "labelled": self.labelled, "disfluent": self.disfluent}
        return {name: list(paths) for name, paths in named.items()}

    @property
    def files(self) -> tuple[Path, ...]:
        """All files but those of the corpus."""
        return (*self.treebanks, *self.labelled, *self.disfluent)

    def digest(self) -> str:
        """The sha256 of all files."""
        total = hashlib.sha256(self.corpus.digest().encode())
        for path in self.files:
            total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()


class Rows(NamedTuple):
    """The rows of a batch: ``good`` sentences, as many damaged copies in the same order, then labelled sentences.

    Of the good sentences the first ``neighbours`` are each followed, in their texts, by one of the next ``neighbours``.
    """

    numbers: IntArray
    neighbours: int
    good: int


@dataclass(frozen=True, eq=False)
class Examples:
    """Sentences as tokens, marks included, each with how acceptable it is from 0 to 1.

    They come in units, a unit's rows one after another: first ``twos``, two neighbours of a text, each followed by its
    damaged copy (four rows); then ``ones``, a sentence and its damaged copy (two rows); then labelled sentences (one
    row). ``kinds`` names each row's damage; empty where there is none. ``taught`` is a teacher's logit of each row, NaN
    where it was not asked.
    """

    sentences: EncodedSentences
    targets: npt.NDArray[np.float32]
    kinds: tuple[str, ...]
    twos: int
    ones: int
    taught: npt.NDArray[np.float32]

    @property
    def unit_lengths(self) -> IntArray:
        """The positions that each unit takes in a batch: its rows, all as long as the longest."""
        lengths = self.sentences.lengths
        border, end = 4 * self.twos, 4 * self.twos + 2 * self.ones
        twos = lengths[:border].reshape(-1, 4).max(axis=1) * 4
        return np.concatenate([twos, lengths[border:end].reshape(-1, 2).max(axis=1) * 2, lengths[end:]])

    def rows(self, units: IntArray) -> Rows:
        """Return the rows of units."""
        twos = 4 * units[units < self.twos]
        ones = units[(units >= self.twos) & (units < self.twos + self.ones)]
        ones = 4 * self.twos + 2 * (ones - self.twos)
        alone = units[units >= self.twos + self.ones] + 3 * self.twos + self.ones
        good = np.concatenate([twos, twos + 2, ones])
        return Rows(np.concatenate([good, good + 1, alone]), len(twos), len(good))

    def save(self, folder: Path, name: str) -> None:
        """Write to ``folder`` under a name."""
        self.sentences.save(folder, name)
        np.save(folder / f"{name}.targets.npy", self.targets)
        np.save(folder / f"{name}.taught.npy", self.taught)
        (folder / f"{name}.kinds.json").write_text(
            json.dumps({"twos": self.twos, "ones": self.ones, "kinds": self.kinds})
        )

    @classmethod
    def load(cls, folder: Path, name: str) -> Examples:
        """Read what :meth:`save` wrote."""
        told = json.loads((folder / f"{name}.kinds.json").read_text())
        targets, taught = (np.load(folder / f"{name}.{kind}.npy") for kind in ("targets", "taught"))
        sentences = EncodedSentences.load(folder, name)
        return cls(sentences, targets, tuple(told["kinds"]), told["twos"], told["ones"], taught)


class _Row(NamedTuple):
    text: str
    target: float
    kind: str = ""


class Lesson(NamedTuple):
    """A teacher, the hash of who it is, and how many sentences it is asked about, each with its damaged copy."""

    teach: Teach
    digest: str
    sentences: int


def make_examples(
    sources: Sources,
    amounts: Amounts,
    tokenizer: Tokenizer,
    seed: Sequence[int],
    advance: Advance = lambda size: None,
    lesson: Lesson | None = None,
) -> tuple[Examples, Examples]:
    """Draw, damage and number sentences: those to train on, and pairs held out.

    ``lesson`` is a teacher that also says how acceptable some of the sentences are.
    """
    random = np.random.default_rng(seed)
    neighbours = _neighbours(sources.corpus, advance)
    drawn, apart = draw_items(neighbours, amounts.pairs // 2, amounts.held_out // 2, random)
    others = [text for two in drawn for text in two]
    if not others:
        raise InputError("the corpus has no two sentences in a row that could be damaged")
    damager = Damager(others, random)
    treebank = [
        (text,)
        for path in sources.treebanks
        for text in read_conllu_texts(str(path))
        if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS
    ] * amounts.treebank_passes
    labelled = [row for path in sources.labelled for row in _labelled(path)] * amounts.labelled_passes
    labelled += [row for path in sources.disfluent for row in _disfluent(path)]
    alone = [[row._replace(text=damager.varied(row.text))] for row in labelled]
    trained = _numbered(damager.units(drawn), damager.units(treebank), alone, tokenizer, lesson)
    return trained, _numbered(damager.units(apart), [], [], tokenizer)


def is_usable(text: str) -> bool:
    """Whether a text of a corpus is a sentence as a rule: not a heading, not an entry of a list."""
    words = text.split()
    return FEWEST_WORDS <= len(words) <= MOST_WORDS and not text[:1].islower() and text.endswith(_ENDS)


def _neighbours(corpus: Corpus, advance: Advance) -> Iterator[tuple[_Two, bool]]:
    """Sentences that follow each other in a paragraph, each in one two at most."""
    for paragraph in corpus.paragraphs(advance):
        sentences = [paragraph.text[start:end] for start, end in split_sentences(paragraph.text)]
        at = 0
        while at + 1 < len(sentences):
            if is_usable(sentences[at]) and is_usable(sentences[at + 1]):
                yield (sentences[at], sentences[at + 1]), paragraph.held_out
                at += 1
            at += 1


def _labelled(path: Path) -> list[_Row]:
    table = read_ratings(str(path), None)
    there = np.flatnonzero(~np.isnan(table.values))
    texts = [sample.text for sample in table.samples(there)]
    return [_Row(text, float(value), _LABELLED) for text, value in zip(texts, table.values[there], strict=True)]


def _disfluent(path: Path) -> list[_Row]:
    reader = Reader([str(path)], Fields(), on_bad=raise_bad_row)
    rows = [_Row(sample.text, 0.0, _DISFLUENT) for chunk in reader for sample in chunk.samples]
    if not rows:
        raise InputError(f"{path}: there are no texts in it; celadon synth makes some")
    return rows


class Damager:
    """Makes damaged copies, with sentences of others to put in where something foreign is wanted."""

    def __init__(self, others: Sequence[str], random: np.random.Generator) -> None:
        self._others, self._random = others, random
        self._babbler = Babbler(others[:_BABBLED_FROM])

    def units(self, texts: Iterable[Sequence[str]]) -> list[list[_Row]]:
        """For each group of texts the rows of its unit; a group with a text that cannot be damaged is left out."""
        found = []
        for group in texts:
            copies = [copy for text in group if (copy := self._damaged(text))]
            if len(copies) == len(group):
                rows = [row for text, copy in zip(group, copies, strict=True) for row in (_Row(text, 1.0), copy)]
                found.append(self._dressed(rows))
        return found

    def varied(self, text: str) -> str:
        """The text, or a variant that is as good."""
        return neutral(text, self._random) if self._random.random() < _NEUTRAL else text

    def _dressed(self, rows: list[_Row]) -> list[_Row]:
        """All rows in the same dress, so that the dress tells nothing."""
        state = int(self._random.integers(2**63))
        if self._random.random() >= _NEUTRAL:
            return rows
        return [row._replace(text=neutral(row.text, np.random.default_rng(state))) for row in rows]

    def _damaged(self, text: str) -> _Row | None:
        chance = self._random.random()
        if chance < _BABBLED:
            made = self._babbler.babble(self._random)
        elif chance < _DRIFTED:
            made = self._babbler.drift(text, self._random)
        elif chance < _CIRCLED:
            made = self._babbler.circle(text, self._random)
        elif chance < _PATCHED:
            made = self._babbler.patch(text, self._random)
        else:
            made = damage(text, self._random, self._others)
        return None if made is None else _Row(made.text, _BARELY_DAMAGED * (1 - made.severity), made.kinds[0])


def _numbered(
    twos: Sequence[list[_Row]],
    ones: Sequence[list[_Row]],
    alone: Sequence[list[_Row]],
    tokenizer: Tokenizer,
    lesson: Lesson | None = None,
) -> Examples:
    rows = [row for unit in (*twos, *ones, *alone) for row in unit]
    sentences = number_texts([row.text for row in rows], tokenizer)
    targets = np.array([row.target for row in rows], dtype=np.float32)
    taught = np.full(len(rows), np.nan, dtype=np.float32)
    if lesson:
        asked = _asked(len(rows) - len(alone), lesson.sentences)
        taught[asked] = lesson.teach([rows[at].text for at in asked.tolist()])
    return Examples(sentences, targets, tuple(row.kind for row in rows), len(twos), len(ones), taught)


def _asked(rows: int, sentences: int) -> IntArray:
    """The rows that a teacher is asked about: sentences at even distances, and the copy that follows each."""
    first = 2 * np.unique(np.linspace(0, rows // 2 - 1, min(sentences, rows // 2)).astype(np.int64))
    return np.stack([first, first + 1], axis=1).ravel()


# The sentences that a teacher learnt from are not those that it is asked about.
ENCODER_STREAM, TEACHER_STREAM = 1, 2


class Material(NamedTuple):
    """Examples made ready, and what they were made from."""

    tokenizer: Tokenizer  # what numbered them
    # trained, held_out: those to train on, and pairs of articles kept apart
    trained: Examples
    held_out: Examples
    digest: str  # the sha256 of all files that they were made from
    teacher: str = ""  # the sha256 of the teacher that was asked about some of them; empty where none was


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

    ``stream`` decides which random numbers draw and damage sentences.
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
