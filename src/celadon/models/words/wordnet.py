"""WordNet's synonyms, read from the dictionary files where they are installed.

The files are read once, by one cached function. Only single words are kept, of each only the numbers of its synsets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

# A synset's number is its offset in the data file of its part of speech, so these keep the four files apart.
_PARTS = {"noun": 1 << 32, "verb": 2 << 32, "adj": 3 << 32, "adv": 4 << 32}

# WordNet's rules of detachment: an ending, and what stands in its place in the base form.
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


@dataclass(frozen=True)
class WordNet:
    """The synsets of single English words, by part of speech and base form, and the base forms of irregular forms."""

    version: str
    lemmas: dict[str, dict[str, tuple[int, ...]]]
    exceptions: dict[str, dict[str, tuple[str, ...]]]

    def base_forms(self, word: str) -> tuple[str, ...]:
        """Return the base forms that WordNet knows of a lower-case word, the word itself among them.

        A word that is irregular in one part of speech is not taken apart in any other, lest *was* be two of *wa*.
        """
        irregular = [form for part in _PARTS for form in self.exceptions[part].get(word, ())]
        found = [form for form in (word, *irregular) if any(form in lemmas for lemmas in self.lemmas.values())]
        if not irregular:
            for part, endings in _ENDINGS.items():
                if part != "noun" or not _is_whole(word):
                    bare = [word[: -len(old)] + new for old, new in endings if word.endswith(old)]
                    found += [form for form in bare if form in self.lemmas[part]]
        return tuple(dict.fromkeys(found))

    def synsets(self, word: str) -> tuple[int, ...]:
        """Return the synsets of all base forms of a lower-case word; none where it is not in WordNet.

        The part of speech is not known, so a base form counts in all of them: *joined* comes to *join* as a verb and
        then has the noun's meanings too. METEOR 1.5's matches look the same.
        """
        forms, parts = self.base_forms(word), self.lemmas.values()
        ids = {synset for form in forms for lemmas in parts for synset in lemmas.get(form, ())}
        return tuple(sorted(ids))


def _is_whole(noun: str) -> bool:
    """Tell whether a noun is taken for a base form as it stands: the *s* of *as* and of *boss* is no plural."""
    return len(noun) <= 2 or noun.endswith("ss")


def dictionary_folders() -> Iterator[Path]:
    """Yield the folders where WordNet's files may be, the most explicit first."""
    if folder := os.environ.get("WNSEARCHDIR"):
        yield Path(folder)
    if folder := os.environ.get("WNHOME"):
        yield Path(folder) / "dict"
    yield Path("/usr/share/wordnet")
    nltk = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    nltk += [Path.home() / "nltk_data", Path("/usr/share/nltk_data"), Path("/usr/local/share/nltk_data")]
    for root in nltk:
        yield root / "corpora" / "wordnet"


def find_wordnet() -> Path | None:
    """Return the first folder that holds WordNet's files."""
    for folder in dictionary_folders():
        if all((folder / f"index.{part}").is_file() for part in _PARTS):
            return folder
    return None


@cache
def wordnet_version() -> str | None:
    """Return the version of the installed WordNet; None where there is none."""
    folder = find_wordnet()
    if folder is None:
        return None
    with (folder / "index.adv").open(encoding="utf-8", errors="replace") as lines:
        return _version(lines)


def _version(lines: Iterable[str]) -> str:
    """Read the version in the licence at the head of a file: its lines begin with a space."""
    for line in lines:
        if not line.startswith(" "):
            break
        if stated := re.search(r"WordNet (\d+(?:\.\d+)*)", line):
            return stated[1]
    return "unknown"


@cache
def load_wordnet() -> WordNet | None:
    """Read WordNet once per process; None where it is not installed."""
    folder = find_wordnet()
    if folder is None:
        return None
    lemmas = {part: _read_index(folder / f"index.{part}", base) for part, base in _PARTS.items()}
    exceptions = {part: _read_exceptions(folder / f"{part}.exc") for part in _PARTS}
    return WordNet(wordnet_version() or "unknown", lemmas, exceptions)


@lru_cache(maxsize=1 << 17)
def synsets(word: str) -> tuple[int, ...]:
    """Return the synsets of a lower-case English word; none for other words or without WordNet."""
    wordnet = load_wordnet()
    return wordnet.synsets(word) if wordnet is not None and word.isascii() and word[:1].isalnum() else ()


def are_synonyms(one: str, other: str) -> bool:
    """Tell whether two lower-case words share a synset."""
    return not set(synsets(one)).isdisjoint(synsets(other))


def _read_index(path: Path, base: int) -> dict[str, tuple[int, ...]]:
    """Read ``lemma pos synsets pointers [pointer ...] senses tagged offset [offset ...]`` lines."""
    index = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            lemma, _, rest = line.partition(" ")
            if lemma and "_" not in lemma:
                fields = rest.split()
                index[lemma] = tuple(base + int(offset) for offset in fields[-int(fields[1]) :])
    return index


def _read_exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        fields = [line.split() for line in lines]
    return {words[0]: tuple(words[1:]) for words in fields if len(words) > 1}
