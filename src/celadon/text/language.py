"""The language of a sentence and of a text, by its script, its frequent words and the letters of the others.

``celadon.train.language_table`` builds the table of words. English has the benefit of the doubt: names, code and words
that no list knows do not make a sentence foreign.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).with_name("language.npz")

ENGLISH = "en"
UNKNOWN = "und"
"""The ISO 639 code of an undetermined language."""
MIXED = "mul"
"""The ISO 639 code of several languages."""
OTHER = "mis"
"""The ISO 639 code of a language that has no code here: surely not English."""

LANGUAGES = tuple(
    "en es fr de it pt nl sv da no fi pl cs sk sl hr ro hu tr id vi ca lt lv is fil ru uk bg mk sr ar fa ur".split()
)
"""The languages that are told apart by words."""

NAMES = {
    "en": "English", "es": "Spanish", "fr": "French", "de": "German", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "pl": "Polish", "cs": "Czech",
    "sk": "Slovak", "sl": "Slovenian", "hr": "Croatian", "ro": "Romanian", "hu": "Hungarian", "tr": "Turkish",
    "id": "Indonesian", "vi": "Vietnamese", "ca": "Catalan", "lt": "Lithuanian", "lv": "Latvian", "is": "Icelandic",
    "fil": "Filipino", "ru": "Russian", "uk": "Ukrainian", "bg": "Bulgarian", "mk": "Macedonian", "sr": "Serbian",
    "ar": "Arabic", "fa": "Persian", "ur": "Urdu", "el": "Greek", "he": "Hebrew", "hi": "Hindi", "bn": "Bengali",
    "pa": "Punjabi", "gu": "Gujarati", "ta": "Tamil", "te": "Telugu", "kn": "Kannada", "ml": "Malayalam",
    "si": "Sinhala", "th": "Thai", "lo": "Lao", "bo": "Tibetan", "my": "Burmese", "ka": "Georgian", "hy": "Armenian",
    "am": "Amharic", "km": "Khmer", "ko": "Korean", "ja": "Japanese", "zh": "Chinese", UNKNOWN: "an unknown language",
    OTHER: "another language", MIXED: "several languages",
}  # fmt: skip
"""The English name of each language by its ISO 639 code."""

LETTERS = re.compile(r"[^\W\d_]+")
# words between white space, perhaps joined by apostrophes and hyphens, with punctuation around them
_PLAIN = re.compile(r"(?<![^\s\"'“”‘’«»(\[¿¡—–-])[^\W\d_]++(?:['’·-][^\W\d_]++)*+(?=['’.,;:!?…»”“\")\]—–-]*+(?:\s|$))")
# letters after those of Latin, without punctuation and signs
_OTHER_SCRIPT = re.compile(
    "[\u0370-\u1dff\u1f00-\u1fff\u2e80-\u2fff\u3040-\ua71f\ua800-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff]"
)
WORD_SCALE = 15
GRAM_SCALE = 50

# the first letters of scripts, each up to the next; "" is Latin and whatever has no words
_SCRIPTS = (
    (0x0000, ""), (0x0370, "el"), (0x0400, "Cyrillic"), (0x0530, "hy"), (0x0590, "he"), (0x0600, "Arabic"),
    (0x0700, ""), (0x0750, "Arabic"), (0x0780, ""), (0x08A0, "Arabic"), (0x0900, "hi"), (0x0980, "bn"), (0x0A00, "pa"),
    (0x0A80, "gu"), (0x0B00, ""), (0x0B80, "ta"), (0x0C00, "te"), (0x0C80, "kn"), (0x0D00, "ml"), (0x0D80, "si"),
    (0x0E00, "th"), (0x0E80, "lo"), (0x0F00, "bo"), (0x1000, "my"), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, "am"),
    (0x13A0, ""), (0x1780, "km"), (0x1800, ""), (0x1F00, "el"), (0x2000, ""), (0x3040, "ja"), (0x3100, "zh"),
    (0x3130, "ko"), (0x3190, ""), (0x31F0, "ja"), (0x3200, ""), (0x3400, "zh"), (0xA000, ""), (0xAC00, "ko"),
    (0xD7B0, ""), (0xF900, "zh"), (0xFB00, ""), (0xFB1D, "he"), (0xFB50, "Arabic"), (0xFE00, ""), (0xFE70, "Arabic"),
    (0xFF00, ""), (0xFF66, "ja"), (0xFFA0, ""), (0x20000, "zh"), (0x32000, ""),
)  # fmt: skip
_SCRIPT_STARTS = [start for start, _ in _SCRIPTS]
_OF_SCRIPT = {"Cyrillic": ("ru", "uk", "bg", "mk", "sr"), "Arabic": ("ar", "fa", "ur")}
_LATIN = tuple(code for code in LANGUAGES if code not in sum(_OF_SCRIPT.values(), ()))
_WIDE = frozenset(("zh", "ja", "ko", "th"))
_DENSE = 2  # letters of other scripts that a letter of a wide script says as much as

_WORD_SPREAD = 3.0  # at most so much does a known word say against a language, as the logarithm of a ratio
_GRAM_SPREAD = 0.8  # and a word that is not in the table
_NAME_WEIGHT = 0.25  # what a word with a capital counts, in comparison with others
_LEAST_WORDS = 3
_LEAST_MARGIN = 4.0  # how much better another language must explain a sentence than English
_LEAST_MARGIN_PER_WORD = 0.25
_MOST_WORDS = 2000  # of a sentence that are looked at
_MOST_LETTERS = 24  # of a word
_FREQUENT = 4.3  # words of English that are more frequent: occurrences in 10^9 words, as a logarithm
_LEAST_PLAIN = 0.5  # share of words that are not parts of code, paths or hashes
_LEAST_SMALL = 7  # words in small letters by which English can be ruled out
_LEAST_ENGLISH = 0.15  # share of them that must be English words
_MIXED_SHARE = 0.2  # of words in other languages than that of the text


class Language(NamedTuple):
    """The language of a sentence.

    Attributes
    ----------
    code
        Its ISO 639 code; ``und`` where the sentence is too short or has no letters.
    confidence
        From 0 to 1, how clearly the sentence is in this language rather than in English, or, for English, in any other.
    words
        How many words were looked at.
    """

    code: str
    confidence: float
    words: int

    @property
    def name(self) -> str:
        """Return the English name of the language."""
        return NAMES[self.code]


class TextLanguage(NamedTuple):
    """The language of a text.

    Attributes
    ----------
    code
        Its ISO 639 code; ``mul`` where English and others are mixed, ``und`` where no sentence says.
    shares
        The share of each language by words, the largest first; sentences of unknown language do not count.
    """

    code: str
    shares: dict[str, float]

    @property
    def is_english(self) -> bool:
        """Return whether the text can be read as English; a text of unknown language can."""
        return self.code in (ENGLISH, UNKNOWN)

    @property
    def name(self) -> str:
        """Return the English name of the language."""
        return NAMES[self.code]


def identify(sentence: str) -> Language:
    """Return the language of a sentence."""
    sentence = sentence[: _MOST_WORDS * 8]
    other_script = _OTHER_SCRIPT.search(sentence)
    if not other_script:
        # most English is recognized by its words between white space; those with punctuation count as not in the table
        chunks = sentence.split()
        score = _english_margin(chunks)
        if score > 0 and len(chunks) >= _LEAST_WORDS:
            return Language(ENGLISH, _confidence(score), len(chunks))
    words = LETTERS.findall(sentence)
    script = _script(words) if other_script else ""
    if script:
        return _of_script(script, words)
    if len(words) < _LEAST_WORDS:
        return Language(UNKNOWN, 0.0, len(words))
    score = _english_margin(words)
    if score > 0:
        return Language(ENGLISH, _confidence(score), len(words))
    return _latin(sentence, len(words))


def _english_margin(words: Sequence[str]) -> float:
    """Return by how much English explains the words better than any other language does, at least."""
    return sum(map(_table().margins.get, words, repeat(-_GRAM_SPREAD)))


def text_language(sentences: Iterable[str]) -> TextLanguage:
    """Return the language of a text, by words: mixed where both English and others have more than a fifth."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        language = identify(sentence)
        if language.code != UNKNOWN:
            counts[language.code] += language.words
    total = counts.total()
    shares = {code: count / total for code, count in counts.most_common()}
    if not shares:
        return TextLanguage(UNKNOWN, {})
    foreign = 1 - shares.get(ENGLISH, 0.0)
    if foreign <= _MIXED_SHARE:
        return TextLanguage(ENGLISH, shares)
    if foreign >= 1 - _MIXED_SHARE:
        return TextLanguage(next(code for code in shares if code != ENGLISH), shares)
    return TextLanguage(MIXED, shares)


def grams(word: str) -> Iterator[str]:
    """Yield the groups of three letters of a word with its beginning and end."""
    padded = f"^{word}$"
    return (padded[at : at + 3] for at in range(len(padded) - 2))


class _Table(NamedTuple):
    """Frequent words and groups of letters, each with a row of how well every language explains it."""

    words: dict[str, int]
    rows: np.ndarray
    grams: dict[str, int]
    gram_rows: np.ndarray
    margins: dict[str, float]
    """How much better English explains a word than the best of the other languages does."""
    english: frozenset[str]
    """The frequent words of English."""


@cache
def _table() -> _Table:
    with np.load(TABLE) as file:
        words = file["words"].tobytes().decode().split("\n")
        names = file["grams"].tobytes().decode().split("\n")
        rows = file["word_rows"].astype(np.float32) / WORD_SCALE
        gram_rows = file["gram_rows"].astype(np.float32) / GRAM_SCALE
    frequencies = rows[:, 0].tolist()
    rows = np.maximum(rows - rows.max(axis=1, keepdims=True), -_WORD_SPREAD)
    margins = dict(zip(words, (rows[:, 0] - rows[:, 1 : len(_LATIN)].max(axis=1)).tolist(), strict=True))
    english = frozenset(word for word, frequency in zip(words, frequencies, strict=True) if frequency >= _FREQUENT)
    margins.update((word.capitalize(), _NAME_WEIGHT * margins[word]) for word in english)
    by_word = {word: at for at, word in enumerate(words)}
    by_gram = {gram: at for at, gram in enumerate(names)}
    return _Table(by_word, rows, by_gram, gram_rows, margins, english)


def _scores(words: Sequence[str]) -> np.ndarray:
    """Return how well each language explains the words; names that are not in the table do not count."""
    table = _table()
    lowered = [word.lower() for word in words]
    places = [table.words.get(word) for word in lowered]
    known = [at for at in places if at is not None]
    weights = [
        _NAME_WEIGHT if word[0].isupper() else 1.0 for word, at in zip(words, places, strict=True) if at is not None
    ]
    unknown = [
        word[:_MOST_LETTERS]
        for word, written, at in zip(lowered, words, places, strict=True)
        if at is None and not written[0].isupper()
    ]
    scores: np.ndarray = np.zeros(len(LANGUAGES), dtype=np.float32)
    if known:
        scores += np.array(weights, dtype=np.float32) @ table.rows[known]
    groups = [table.grams[gram] for word in unknown for gram in grams(word) if gram in table.grams]
    if groups:
        row = table.gram_rows[groups].sum(axis=0)
        scores += np.maximum(row - row.max(), -_GRAM_SPREAD * len(unknown))
    return scores


def _latin(sentence: str, count: int) -> Language:
    """Return the language of a sentence in Latin letters by those of its words that are not code, paths or hashes."""
    plain = _PLAIN.findall(unicodedata.normalize("NFC", sentence))
    running = [word for chunk in plain for word in LETTERS.findall(chunk)]
    words = list(dict.fromkeys(running))
    if len(words) < _LEAST_WORDS or len(running) < _LEAST_PLAIN * count:
        return Language(UNKNOWN, 0.0, count)
    scores = _scores(words)[: len(_LATIN)]
    best = int(scores[1:].argmax()) + 1
    margin = float(scores[best] - scores[0])
    if margin >= max(_LEAST_MARGIN, _LEAST_MARGIN_PER_WORD * len(words)):
        return Language(_LATIN[best], _confidence(margin), count)
    small = [word for word in words if word.islower()]
    table = _table()
    english = sum(word in table.english or table.margins.get(word, -1.0) > 0 for word in small)
    if len(small) >= _LEAST_SMALL and english < _LEAST_ENGLISH * len(small):
        return Language(OTHER, 0.5, count)
    return Language(ENGLISH, _confidence(-margin), count)


def _confidence(margin: float) -> float:
    return 1.0 if margin > 15 else float(1 / (1 + 10 ** -max(margin, -15.0)))


def _script(words: Sequence[str]) -> str:
    """Return the script, or its only language, that most letters are in; nothing for Latin."""
    letters: Counter[str] = Counter()
    for word in words:
        script = "" if word.isascii() else _SCRIPTS[bisect_right(_SCRIPT_STARTS, ord(word[0])) - 1][1]
        letters[script] += len(word) * (_DENSE if script in _WIDE else 1)
        if script in ("zh", "ja") and any("\u3040" <= letter <= "\u30ff" for letter in word):
            letters["kana"] += 1
    kana = letters.pop("kana", 0)
    if not letters or letters.most_common(1)[0][1] * 2 < letters.total():
        return ""
    script = letters.most_common(1)[0][0]
    return "ja" if script == "zh" and kana else script


def _of_script(script: str, words: Sequence[str]) -> Language:
    count = sum(map(len, words)) // _DENSE if script in _WIDE else len(words)
    codes = _OF_SCRIPT.get(script)
    if codes is None:
        return Language(script, 1.0, max(1, count))
    scores = _scores(words)
    best = max(codes, key=lambda code: scores[LANGUAGES.index(code)])
    return Language(best, 1.0, count)
