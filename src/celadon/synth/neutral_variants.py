"""Variants of format that leave quality alone, so that a model does not take format for quality.

They are for good and damaged sentences alike: case, the final mark, tokenisation, styles of quotes and brackets,
placeholders for names, digits for numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from celadon.synth.pieces import pick, split

_FINAL_MARK = re.compile(r"\s*[.!]+$")
_CONTRACTION = re.compile(r"(?i)(?<=\w)(n['’]t|['’](?:s|re|ve|ll|d|m))\b")
_TOKEN_MARK = re.compile(r"(?<=[^\s])([,;:!?)\]”]|\.$|\.(?=[\"”’)]+$))(?!\d)|(?<=[^\s])(\"|'')(?=\s|$|[.,])")
_OPENING = re.compile(r"([(\[“]|(?<!\S)\")(?=\S)")
_NUMBERS = {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
_NUMBER = re.compile(r"\b(" + "|".join(_NUMBERS) + r")\b", re.IGNORECASE)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-"}
_MARKED = re.compile(r"\[\w+\]")  # [UNK], [name]
_SPACES = re.compile(" {2,}")
_NAME = re.compile("x+")
_PLACEHOLDERS = ("X", "X", "X", "NAME", "[name]", "Xname", "X-name")
_PAIRED = re.compile(r"[\"“]([^\"“”]*)[\"”]")
_COMMA = re.compile(r" ?,(?=\s)")


def neutral(sentence: str, rng: np.random.Generator) -> str:
    """Change the format of a sentence, good or damaged, and leave its quality alone; often nothing is changed."""
    if rng.random() < 0.35:
        return sentence
    for name, (share, _) in VARIANTS.items():
        if share and rng.random() < share:
            sentence = variant(name, sentence, rng)
    return sentence


def variant(name: str, sentence: str, rng: np.random.Generator) -> str:
    """Return one variant of a sentence, by its name in ``VARIANTS``."""
    made = VARIANTS[name][1](sentence, rng)
    return made if made.strip() else sentence


def _tokenised(sentence: str, rng: np.random.Generator) -> str:
    spaced = _TOKEN_MARK.sub(lambda found: " " + found.group(), sentence)
    spaced = _OPENING.sub(lambda found: found.group() + " ", spaced)
    return _CONTRACTION.sub(lambda found: " " + found.group(), spaced)


def _brackets(sentence: str, rng: np.random.Generator) -> str:
    if _MARKED.search(sentence):
        return sentence
    made = "".join(f" {_BRACKETS[letter]} " if letter in _BRACKETS else letter for letter in sentence)
    return _SPACES.sub(" ", made).strip()


def _quotes(sentence: str, rng: np.random.Generator) -> str:
    opening, closing = pick(rng, (('"', '"'), ("“", "”"), ("``", "''"), ("'", "'"), ("", "")))
    return _PAIRED.sub(lambda found: opening + found.group(1) + closing, sentence)


def _placeholders(sentence: str, rng: np.random.Generator) -> str:
    whole, name = split(sentence), pick(rng, _PLACEHOLDERS)
    made = list(whole.pieces)
    for found in reversed(list(_NAME.finditer(whole.classes))):
        first = made[found.start()]
        if whole.low[found.start()] != "unk":
            made[found.start() : found.end()] = [first[: len(first) - len(first.lstrip())] + name]
    return "".join(made).strip()


# how often each is chosen, and what it does; in this order, since lower case hides names
VARIANTS: dict[str, tuple[float, Callable[[str, np.random.Generator], str]]] = {
    "placeholders": (0.15, _placeholders),
    "digits": (0.15, lambda text, rng: _NUMBER.sub(lambda found: _NUMBERS[found.group().lower()], text)),
    "quotes": (0.3, _quotes),
    "apostrophes": (
        0.15,
        lambda text, rng: text.replace("’", "'") if "’" in text else re.sub(r"(?<=\w)'(?=\w)", "’", text),
    ),
    "no_commas": (0.06, lambda text, rng: _COMMA.sub("", text)),
    "tokenised": (0.4, _tokenised),
    "brackets": (0.3, _brackets),
    "lower_case": (0.4, lambda text, rng: text.lower()),
    "first_lower": (0.1, lambda text, rng: text[:1].lower() + text[1:]),
    "no_final_mark": (0.25, lambda text, rng: _FINAL_MARK.sub("", text)),
    # where it is asked for by name: sentences were trained on without
    "lower_names": (0.0, lambda text, rng: text[:1] + text[1:].lower()),
}
