"""METEOR as NLTK computes it, and with it ``evaluate``: ``meteor[variant=nltk]``.

Words are matched greedily from the end of the text, first the same, then those of one stem, then synonyms: a word with
the last one of the reference that is left. No word weighs more than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from celadon.models.words.wordnet import find_wordnet, load_wordnet
from celadon.text.porter import porter_stem
from celadon.text.sentences import split_sentences
from celadon.text.treebank_words import treebank_words

EXACT, STEM, SYNONYM = range(3)

# NLTK's endings and what stands in their place in the base form, by part of speech
_ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}


class Match(NamedTuple):
    """One word of the text matched with one of the reference, by a module's number."""

    text: int
    reference: int
    module: int


class Alignment(NamedTuple):
    """Matches in the order of the reference, and the number of chunks they make."""

    matches: tuple[Match, ...]
    chunks: int


def count_chunks(matches: Iterable[Match]) -> int:
    """Return the number of runs of matches whose words follow each other in both texts."""
    ordered = list(matches)
    breaks = sum(
        after.text != before.text + 1 or after.reference != before.reference + 1 for before, after in pairwise(ordered)
    )
    return breaks + bool(ordered)


def nltk_words(text: str) -> list[str]:
    """Return the words of a text in lower case, cut as ``nltk.word_tokenize`` does."""
    return [word.lower() for begin, end in split_sentences(text) for word in treebank_words(text[begin:end])]


def align_greedily(text: Sequence[str], reference: Sequence[str], *, stem: bool, synonyms: bool) -> Alignment:
    """Match exact words, then stems, then synonyms."""
    matches: list[Match] = []
    in_text, in_reference = list(range(len(text))), list(range(len(reference)))
    for module, used in ((EXACT, True), (STEM, stem), (SYNONYM, synonyms)):
        if not used or not in_text or not in_reference:
            continue
        if module == STEM:
            # from here on NLTK knows stems alone, of which it asks WordNet too
            text, reference = list(map(porter_stem, text)), list(map(porter_stem, reference))
        places: dict[str, list[int]] = {}
        for at in in_reference:
            places.setdefault(reference[at], []).append(at)
        for at in reversed(in_text):
            if module == SYNONYM:
                known = [places[word] for word in _synonyms(text[at]) if places.get(word)]
                left = max(known, key=lambda each: each[-1], default=[])
            else:
                left = places.get(text[at], [])
            if left:
                matches.append(Match(at, left.pop(), module))
        taken, also = {match.text for match in matches}, {match.reference for match in matches}
        in_text = [at for at in in_text if at not in taken]
        in_reference = [at for at in in_reference if at not in also]
    chunks = count_chunks(sorted(matches))
    return Alignment(tuple(sorted(matches, key=lambda match: match.reference)), chunks)


@lru_cache(maxsize=1 << 16)
def _synonyms(word: str) -> frozenset[str]:
    """Return a word and the words of all its synsets, written as WordNet writes them."""
    wordnet = load_wordnet()
    words = {word}
    if wordnet is not None:
        for part, endings in _ENDINGS.items():
            lemmas = wordnet.lemmas[part]
            bare = wordnet.exceptions[part].get(word)
            if bare is None:
                pairs = [ending.partition(":") for ending in endings.split()]
                bare = tuple(word[: len(word) - len(old)] + new for old, _, new in pairs if word.endswith(old))
            for form in dict.fromkeys((word, *bare)):
                words.update(*(_lemmas(part, synset & 0xFFFFFFFF) for synset in lemmas.get(form, ())))
    return frozenset(words)


@lru_cache(maxsize=1 << 16)
def _lemmas(part: str, offset: int) -> tuple[str, ...]:
    """Return the single words of a synset: ``offset file type count word number [word number ...]``, count in hex."""
    data = _data(part)
    fields = data[offset : data.index(b"\n", offset)].decode("utf-8", "replace").split(" ")
    words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
    return tuple(word.partition("(")[0] for word in words if "_" not in word)


@cache
def _data(part: str) -> bytes:
    folder = find_wordnet()
    assert folder is not None
    return (folder / f"data.{part}").read_bytes()
