"""What an encoder is trained on: sentences with damaged copies, corrections, and sentences labelled by linguists.

Every word of a damaged copy has a label: what is wrong with it, told by the kind of damage or by the difference from
the sound sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray
from celadon.instrument.halves import Half, half_of
from celadon.io import Fields, Reader
from celadon.io.conllu import read_conllu_texts
from celadon.models.encoders.word_findings import CLASS_OF, first_tokens, word_spans
from celadon.synth.babble import Babbler
from celadon.synth.labelled_damage import Slips, damage_labels
from celadon.synth.neutral_variants import neutral
from celadon.synth.sentence_damage import damage
from celadon.synth.slips import Correction
from celadon.synth.sound_variants import sound_variant
from celadon.synth.word_differences import WordLabel, difference_labels, sound_labels, unknown_labels
from celadon.text.sentences import split_sentences
from celadon.train.combinations.ratings import read_ratings
from celadon.train.corpus import Advance, Corpus, EncodedSentences, draw_items, number_texts, raise_bad_row
from celadon.train.encoders.genres import Corrections, Paragraph, read_corrections, read_genre, share_out, without
from celadon.train.encoders.recipes import Amounts, ExamplesRecipe

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FEWEST_WORDS, MOST_WORDS = 4, 45
_ENDS = (".", "!", "?", '"', "”", "'")
# What a weak language model does to a sentence, each up to this chance; the other kinds of damage share the rest.
_BABBLED, _DRIFTED, _CIRCLED, _PATCHED = 0.03, 0.08, 0.10, 0.14
_BABBLES = frozenset({"babble", "drift", "circle", "patch"})
# the share of sentences in another format and, where there are slips, up to which they are a variant as sound
_NEUTRAL, _VARIED = 0.5, 0.65
# damage that a heading or a fragment shows
_OF_FRAGMENTS = frozenset({"keyboard_slip", "vowel_slip", "letter_slip", "joined_or_parted"})
# words that occur so often in sound sentences are spelled right
_KNOWN = 2
_BABBLED_FROM = 50_000
_TEXTS_AT_ONCE = 2_000
_TITLE = 80  # characters of an article's first paragraph that name it
# How acceptable a barely damaged sentence is; a wholly damaged one is not at all.
_BARELY_DAMAGED = 0.4
_CORRECTED = 0.25  # how acceptable a sentence is that somebody corrected
_LABELLED, _DISFLUENT, _EDIT, _FRAGMENT = "labelled", "disfluent", "edit", "fragment"
NO_LABEL = -1
"""The class of a token that is not the first of a word, or of whose word nothing is known."""

Teach = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""A logit for each text: how acceptable it is."""
Meanings = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""A vector of length 1 for each text."""
_Two: TypeAlias = tuple[str, str]
T = TypeVar("T")


class Sources(NamedTuple):
    """The texts to learn from."""

    corpus: Corpus  # paragraphs, of which some articles are kept apart
    treebanks: tuple[Path, ...] = ()  # CoNLL-U files
    labelled: tuple[Path, ...] = ()  # files of sentences with a label, as CoLA's
    disfluent: tuple[Path, ...] = ()  # files of texts that are not acceptable at all, as ``celadon synth`` makes them
    genres: tuple[Path, ...] = ()  # files of sound texts, of which documents of the fit half are used
    edits: tuple[Path, ...] = ()  # files of sentences before and after a correction, of the same half

    @classmethod
    def of(
        cls,
        corpus: Sequence[str | Path],
        treebank: Sequence[str | Path],
        labelled: Sequence[str | Path],
        disfluent: Sequence[str | Path],
        seed: int,
        genres: Sequence[str | Path] = (),
        edits: Sequence[str | Path] = (),
    ) -> Sources:
        """Name the files; the seed decides which articles of the corpus are kept apart."""
        files = (tuple(map(Path, paths)) for paths in (treebank, labelled, disfluent, genres, edits))
        return cls(Corpus(tuple(map(Path, corpus)), seed=seed), *files)

    def options(self) -> dict[str, list[Path]]:
        """Return the sources beside the corpus by the names of their options."""
        named = {"treebank": self.treebanks, "labelled": self.labelled, "disfluent": self.disfluent}
        named |= {"genres": self.genres, "edits": self.edits}
        return {name: list(paths) for name, paths in named.items()}

    @property
    def files(self) -> tuple[Path, ...]:
        """All files but those of the corpus."""
        return (*self.treebanks, *self.labelled, *self.disfluent, *self.genres, *self.edits)

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
    where it was not asked. ``labels`` has a class for each token, NO_LABEL where there is none; ``meant`` the meaning
    of each row, NaN where it is not known, of any width.
    """

    sentences: EncodedSentences
    targets: npt.NDArray[np.float32]
    kinds: tuple[str, ...]
    twos: int
    ones: int
    taught: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int8]
    meant: npt.NDArray[np.float16]

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
        for part in ("taught", "labels", "meant"):
            np.save(folder / f"{name}.{part}.npy", getattr(self, part))
        (folder / f"{name}.kinds.json").write_text(
            json.dumps({"twos": self.twos, "ones": self.ones, "kinds": self.kinds})
        )

    @classmethod
    def load(cls, folder: Path, name: str) -> Examples:
        """Read what :meth:`save` wrote."""
        told = json.loads((folder / f"{name}.kinds.json").read_text())
        targets, *others = (np.load(folder / f"{name}.{kind}.npy") for kind in ("targets", "taught", "labels", "meant"))
        sentences = EncodedSentences.load(folder, name)
        return cls(sentences, targets, tuple(told["kinds"]), told["twos"], told["ones"], *others)


class _Row(NamedTuple):
    text: str
    target: float
    kinds: tuple[str, ...] = ()


class Lesson(NamedTuple):
    """A teacher, the hash of who it is, and how many sentences it is asked about, each with its damaged copy."""

    teach: Teach
    digest: str
    sentences: int


class Groups(NamedTuple):
    """Sound sentences of all sources: neighbors two by two, sentences alone, and fragments."""

    twos: list[_Two]
    ones: list[tuple[str]]
    fragments: list[str]


def make_examples(
    sources: Sources,
    amounts: Amounts,
    tokenizer: Tokenizer,
    seed: Sequence[int],
    advance: Advance = lambda size: None,
    lesson: Lesson | None = None,
    meanings: Meanings | None = None,
) -> tuple[Examples, Examples]:
    """Draw, damage and number sentences: those to train on, and pairs held out.

    ``lesson`` is a teacher that also says how acceptable some of the sentences are, ``meanings`` what they mean.
    """
    trained, apart = make_units(sources, amounts, seed, advance)
    return _numbered(trained, tokenizer, lesson, meanings), _numbered(apart, tokenizer)


class Units(NamedTuple):
    """Rows of units before they are numbered: see :class:`Examples`."""

    twos: list[list[_Row]]
    ones: list[list[_Row]]
    alone: list[list[_Row]]
    known: frozenset[str]  # words that are spelled right

    @property
    def rows(self) -> list[_Row]:
        """All rows in their order."""
        return [row for unit in (*self.twos, *self.ones, *self.alone) for row in unit]


def make_units(
    sources: Sources, amounts: Amounts, seed: Sequence[int], advance: Advance = lambda size: None
) -> tuple[Units, Units]:
    """Draw and damage sentences: those to train on, and pairs held out."""
    random = np.random.default_rng(seed)
    corrections = read_corrections(sources.edits)
    neighbours = (
        (two, held_out)
        for two, held_out in _neighbours(sources.corpus, advance, fit_only=bool(sources.genres or sources.edits))
        if corrections.reserved.isdisjoint(two)
    )
    drawn, apart = draw_items(neighbours, amounts.pairs // 2, amounts.held_out // 2, random)
    genres = _draw_genres(sources.genres, amounts, corrections, random)
    treebank = _draw_treebanks(sources.treebanks, amounts.treebank_passes, random)
    twos, ones = [*drawn, *genres.twos], [*treebank, *genres.ones]
    others = [text for group in (*twos, *genres.ones) for text in group]
    if not others:
        raise InputError("the corpus has no two sentences in a row that could be damaged")
    damager = Damager(others, random, corrections.fit, amounts.slips)
    labelled = _repeated([row for path in sources.labelled for row in _labelled(path)], amounts.labelled_passes, random)
    labelled += [row for path in sources.disfluent for row in _disfluent(path)]
    alone = [[row._replace(text=damager.varied(row.text))] for row in labelled]
    edits = damager.corrections(corrections.fit * amounts.edit_passes)
    damaged, sound = damager.fragments(genres.fragments)
    known = _known_words([*others, *(text for (text,) in treebank)])
    trained = Units(damager.units(twos), [*damager.units(ones), *edits, *damaged], [*sound, *alone], known)
    return trained, Units(damager.units(apart), [], [], known)


def _known_words(sentences: Iterable[str]) -> frozenset[str]:
    counts = Counter(text[start:end].lower() for text in sentences for start, end in word_spans(text))
    return frozenset(word for word, count in counts.items() if count >= _KNOWN)


def _draw_treebanks(paths: Iterable[Path], passes: float, random: np.random.Generator) -> list[tuple[str]]:
    texts = [
        (text,)
        for path in paths
        for text in read_conllu_texts(str(path))
        if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS
    ]
    return _repeated(texts, passes, random)


def _repeated(items: Sequence[T], passes: float, random: np.random.Generator) -> list[T]:
    """Return items so many times, of which a part of a time is drawn."""
    part = passes % 1
    return list(items) * int(passes) + (_drawn(items, round(part * len(items)), random) if part else [])


def _draw_genres(
    paths: Sequence[Path], amounts: Amounts, corrections: Corrections, random: np.random.Generator
) -> Groups:
    """Draw sentences of all genres, alike of each file as far as it goes."""
    found = [_grouped(without(read_genre(path), corrections.reserved)) for path in paths]
    sizes = [2 * len(each.twos) + len(each.ones) for each in found]
    groups = Groups([], [], [])
    for group, size, pairs in zip(found, sizes, share_out(sizes, amounts.genre_pairs), strict=True):
        share = pairs / max(1, size)
        groups.twos.extend(_drawn(group.twos, round(share * len(group.twos)), random))
        groups.ones.extend(_drawn(group.ones, round(share * len(group.ones)), random))
    wanted = share_out([len(each.fragments) for each in found], amounts.fragments)
    for group, count in zip(found, wanted, strict=True):
        groups.fragments.extend(_drawn(group.fragments, count, random))
    return groups


def _drawn(items: Sequence[T], count: int, random: np.random.Generator) -> list[T]:
    return [items[at] for at in sorted(random.permutation(len(items))[:count].tolist())]


def _grouped(paragraphs: Iterable[Paragraph]) -> Groups:
    """Part the distinct sentences of paragraphs."""
    groups, seen = Groups([], [], []), set[str]()
    for paragraph in paragraphs:
        fresh = [text for text in dict.fromkeys(paragraph.sentences) if text not in seen]
        seen.update(fresh)
        at = 0
        while at < len(fresh):
            here, following = fresh[at], fresh[at + 1] if at + 1 < len(fresh) else ""
            if is_usable(here) and is_usable(following):
                groups.twos.append((here, following))
                at += 1
            elif is_usable(here):
                groups.ones.append((here,))
            else:
                groups.fragments.append(here)
            at += 1
    return groups


def is_usable(text: str) -> bool:
    """Whether a text of a corpus is a sentence as a rule: not a heading, not an entry of a list."""
    words = text.split()
    return FEWEST_WORDS <= len(words) <= MOST_WORDS and not text[:1].islower() and text.endswith(_ENDS)


def _neighbours(corpus: Corpus, advance: Advance, *, fit_only: bool = False) -> Iterator[tuple[_Two, bool]]:
    """Sentences that follow each other in a paragraph, each in one two at most; perhaps only of the fit half."""
    for article in corpus.articles(advance):
        if fit_only and not article[0].held_out and half_of(article[0].text[:_TITLE]) is not Half.FIT:
            continue
        for paragraph in article:
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
    return [_Row(text, float(value), (_LABELLED,)) for text, value in zip(texts, table.values[there], strict=True)]


def _disfluent(path: Path) -> list[_Row]:
    reader = Reader([str(path)], Fields(), on_bad=raise_bad_row)
    rows = [_Row(sample.text, 0.0, (_DISFLUENT,)) for chunk in reader for sample in chunk.samples]
    if not rows:
        raise InputError(f"{path}: there are no texts in it; celadon synth makes some")
    return rows


class Damager:
    """Makes damaged copies, with sentences of others to put in where something foreign is wanted.

    ``corrections`` are what people have corrected; ``slips`` is the share of copies that are damaged in such ways.
    """

    def __init__(
        self,
        others: Sequence[str],
        random: np.random.Generator,
        corrections: Sequence[Correction] = (),
        slips: float = 0.0,
    ) -> None:
        self._others, self._random = others, random
        self._babbler = Babbler(others[:_BABBLED_FROM])
        self._slips, self._slipping = Slips(corrections), slips

    def units(self, texts: Iterable[Sequence[str]]) -> list[list[_Row]]:
        """For each group of texts the rows of its unit; a group with a text that cannot be damaged is left out."""
        found = []
        for group in texts:
            copies = [copy for text in group if (copy := self._damaged(text))]
            if len(copies) == len(group):
                rows = [row for text, copy in zip(group, copies, strict=True) for row in (_Row(text, 1.0), copy)]
                found.append(self._dressed(rows))
        return found

    def corrections(self, corrections: Iterable[Correction]) -> list[list[_Row]]:
        """For each correction the sentence after and before it."""
        return [self._dressed([_Row(pair.after, 1.0), _Row(pair.before, _CORRECTED, (_EDIT,))]) for pair in corrections]

    def fragments(self, texts: Sequence[str]) -> tuple[list[list[_Row]], list[list[_Row]]]:
        """Return every other fragment with a misspelled copy, and the rest as they are."""
        damaged, sound = [], []
        for number, text in enumerate(texts):
            slip = self._slips.make(text, self._random, only=_OF_FRAGMENTS) if number % 2 and self._slipping else None
            if slip:
                damaged.append(self._dressed([_Row(text, 1.0), _Row(slip.text, _CORRECTED, slip.kinds)]))
            else:
                sound.append([_Row(self.varied(text), 1.0, (_FRAGMENT,))])
        return damaged, sound

    def varied(self, text: str) -> str:
        """The text, or a variant that is as good."""
        return self._dressed([_Row(text, 1.0)])[0].text

    def _dressed(self, rows: list[_Row]) -> list[_Row]:
        """All rows in the same dress, so that the dress tells nothing."""
        state, chance = int(self._random.integers(2**63)), self._random.random()
        if self._slipping:
            # most people write in capitals and small letters, with spaces where they belong
            dress = neutral if chance < _NEUTRAL / 2 else sound_variant if chance < _VARIED else None
        else:
            dress = neutral if chance < _NEUTRAL else None
        if dress is None:
            return rows
        return [row._replace(text=dress(row.text, np.random.default_rng(state))) for row in rows]

    def _damaged(self, text: str) -> _Row | None:
        if self._slipping and self._random.random() < self._slipping:
            made = self._slips.make(text, self._random, self._others)
            if made is not None:
                return _Row(made.text, _BARELY_DAMAGED * (1 - made.severity), made.kinds)
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
        return None if made is None else _Row(made.text, _BARELY_DAMAGED * (1 - made.severity), made.kinds)


def row_labels(units: Units) -> list[list[WordLabel]]:
    """Return the labels of the words of each row: of copies by their damage, of others where they are sound."""
    found = []
    for unit in (*units.twos, *units.ones):
        for sound, copy in zip(unit[0::2], unit[1::2], strict=True):
            found += [sound_labels(sound.text), _copy_labels(copy, sound.text, units.known)]
    for (row,) in units.alone:
        found.append(sound_labels(row.text) if row.target == 1 else unknown_labels(row.text))
    return found


def _copy_labels(copy: _Row, sound: str, known: frozenset[str]) -> list[WordLabel]:
    if _BABBLES & set(copy.kinds):
        return unknown_labels(copy.text)
    if copy.kinds == (_EDIT,):
        return difference_labels(copy.text, sound, known)
    return damage_labels(copy.text, sound, copy.kinds, known)


def token_labels(
    texts: Sequence[str], labels: Sequence[Sequence[WordLabel]], tokenizer: Tokenizer
) -> npt.NDArray[np.int8]:
    """Return a class for each token of all texts, marks included: that of the word whose first token it is."""
    found: list[npt.NDArray[np.int8]] = []
    for begin in range(0, len(texts), _TEXTS_AT_ONCE):
        part = slice(begin, begin + _TEXTS_AT_ONCE)
        for encoding, words in zip(tokenizer.encode_batch(list(texts[part])), labels[part], strict=True):
            classes = np.full(len(encoding.ids), NO_LABEL, dtype=np.int8)
            firsts = first_tokens([(word.start, word.end) for word in words], encoding.offsets)
            for at, word in zip(firsts, words, strict=True):
                if at >= 0 and word.kind is not None:
                    classes[at] = CLASS_OF[word.kind]
            found.append(classes)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int8)


def _numbered(
    units: Units, tokenizer: Tokenizer, lesson: Lesson | None = None, meanings: Meanings | None = None
) -> Examples:
    rows = units.rows
    texts = [row.text for row in rows]
    targets = np.array([row.target for row in rows], dtype=np.float32)
    taught = np.full(len(rows), np.nan, dtype=np.float32)
    if lesson:
        asked = _asked(len(rows) - len(units.alone), lesson.sentences)
        taught[asked] = lesson.teach([texts[at] for at in asked.tolist()])
    meant = np.zeros((len(rows), 0), dtype=np.float16)
    if meanings:
        sound = np.flatnonzero(targets == 1)
        vectors = meanings([texts[at] for at in sound.tolist()])
        meant = np.full((len(rows), vectors.shape[1]), np.nan, dtype=np.float16)
        meant[sound] = vectors
    return Examples(
        number_texts(texts, tokenizer),
        targets,
        tuple(row.kinds[0] if row.kinds else "" for row in rows),
        len(units.twos),
        len(units.ones),
        taught,
        token_labels(texts, row_labels(units), tokenizer),
        meant,
    )


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
    meanings: Meanings | None = None,
) -> Material:
    """Make the examples, or take them from ``work`` if they were made from the same data.

    ``stream`` decides which random numbers draw and damage sentences.
    """
    work.mkdir(parents=True, exist_ok=True)
    digest, teacher = sources.digest(), lesson.digest if lesson else ""
    asked = lesson.sentences if lesson else 0
    numbered = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    made_from = json.dumps([digest, recipe.amounts, recipe.seed, stream, teacher, asked, numbered, bool(meanings)])
    stamp = work / "examples.json"
    if not (stamp.is_file() and stamp.read_text() == made_from):
        made = make_examples(sources, recipe.amounts, tokenizer, [recipe.seed, stream], advance, lesson, meanings)
        for name, part in zip(("train", "held-out"), made, strict=True):
            part.save(work, name)
        stamp.write_text(made_from)
    trained, held_out = (Examples.load(work, name) for name in ("train", "held-out"))
    return Material(tokenizer, trained, held_out, digest, teacher)
