"""Build the table of :mod:`celadon.text.language` from the word frequencies of the wordfreq package.

    pip install wordfreq==3.1.1
    python -m celadon.train.language_table --output src/celadon/text/language.npz

The table has the most frequent words of each language with their frequency in every language of the same script, and
the groups of three letters of all its words, by which words that are not in the table are judged.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from celadon.text.language import ENGLISH, GRAM_SCALE, LANGUAGES, LETTERS, WORD_SCALE, grams

_WORDS = 3000
_ENGLISH_WORDS = 15_000
_GRAMS = 12_000
_WORDFREQ_NAMES = {"no": "nb", "hr": "sh"}
_DIGRAPHS = {"lj": "љ", "nj": "њ", "dž": "џ"}
_CYRILLIC = str.maketrans("abvgdđežzijklmnoprstćufhcčš", "абвгдђежзијклмнопрстћуфхцчш")
_FLOOR = 2.0
"""The frequency of words that a list lacks, as the logarithm of occurrences in 10^9 words."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and write the table."""
    parser = argparse.ArgumentParser(prog="python -m celadon.train.language_table", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    options = parser.parse_args(arguments)
    lists = [_word_list(_WORDFREQ_NAMES.get(code, code)) for code in LANGUAGES]
    words, word_rows = _words(lists)
    names, gram_rows = _grams(lists)
    np.savez_compressed(
        options.output,
        words=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        word_rows=word_rows,
        grams=np.frombuffer("\n".join(names).encode(), dtype=np.uint8),
        gram_rows=gram_rows,
    )
    sys.stderr.write(f"{len(words)} words and {len(names)} groups of letters written to {options.output}\n")
    return 0


def _word_list(name: str) -> dict[str, float]:
    """Return the frequency of each word, cut at what is no letter."""
    from wordfreq import get_frequency_dict

    frequencies: defaultdict[str, float] = defaultdict(float)
    is_serbian = name == "sr"
    for entry, frequency in get_frequency_dict("sh" if is_serbian else name, wordlist="small").items():
        for word in LETTERS.findall(_in_cyrillic(entry) if is_serbian else entry):
            frequencies[word] += frequency
    return dict(frequencies)


def _in_cyrillic(word: str) -> str:
    """Return a word of Serbo-Croatian, whose list is in Latin letters, in Cyrillic ones."""
    for latin, cyrillic in _DIGRAPHS.items():
        word = word.replace(latin, cyrillic)
    return word.translate(_CYRILLIC)


def _words(lists: Sequence[dict[str, float]]) -> tuple[list[str], np.ndarray]:
    chosen: set[str] = set()
    for code, frequencies in zip(LANGUAGES, lists, strict=True):
        ranked = sorted(frequencies, key=lambda word: (-frequencies[word], word))
        chosen.update(ranked[: _ENGLISH_WORDS if code == ENGLISH else _WORDS])
    words = sorted(chosen)
    values = np.array([[frequencies.get(word, 0.0) for frequencies in lists] for word in words])
    logarithms = np.maximum(np.log10(np.maximum(values, 1e-12)) + 9, _FLOOR)
    return words, np.round(logarithms * WORD_SCALE).astype(np.int8)


def _grams(lists: Sequence[dict[str, float]]) -> tuple[list[str], np.ndarray]:
    """Return the most frequent groups of letters, and how much more frequent each is in a language than in all."""
    counts = [Counter(gram for word in frequencies for gram in grams(word)) for frequencies in lists]
    totals = np.array([sum(counter.values()) for counter in counts], dtype=float)
    shares: defaultdict[str, float] = defaultdict(float)
    for counter, total in zip(counts, totals, strict=True):
        for gram, count in counter.items():
            shares[gram] += count / total
    names = sorted(sorted(shares, key=lambda gram: (-shares[gram], gram))[:_GRAMS])
    values = np.array([[counter[gram] for counter in counts] for gram in names])
    logarithms = np.log10((values + 0.5) / (totals + 0.5 * len(names)))
    return names, np.round((logarithms - logarithms.max(axis=1, keepdims=True)).clip(-2.5, 0) * GRAM_SCALE).astype(
        np.int8
    )


if __name__ == "__main__":
    sys.exit(main())
