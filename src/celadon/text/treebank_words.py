"""Words as NLTK's ``word_tokenize`` cuts them: the Penn Treebank's, with brackets as they are.

Punctuation stands alone, but for commas and colons before digits and for periods that do not end the sentence; clitics
do (*do n't*, *John 's*); double quotes become `````` or ``''`` by the side they stand on.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    \.{2,}
  | --
  | ``|''|["\[\](){}<>«»“”‘’„`;@#$%&?!*]
  | [,:](?!\d)
  | (?<!\.)\.(?=[\])}>"'»”’\s]*$)
  | (?<!\w)'(?!(?:re|ve|ll|[mtsdn])\b)
  | (?:[^\s.,:'"\[\](){}<>«»“”‘’„`;@#$%&?!*-] | [,:](?=\d) | (?<!\.)\.(?!\.|[\])}>"'»”’\s]*$) | (?<=\w)'(?!')
      | '(?=(?:re|ve|ll|[mtsdn])\b) | -(?!-))+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CLITIC = re.compile(r"(.*[^'])('s|'m|'d|'ll|'re|'ve|n't)", re.IGNORECASE | re.DOTALL)
_TWO = {"cannot": 3, "d'ye": 1, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "more'n": 4, "wanna": 3}
_OPENING = re.compile(r"(?:^|[\s(\[{<])$")


def treebank_words(sentence: str) -> list[str]:
    """Return the words of a sentence."""
    words: list[str] = []
    for match in _TOKEN.finditer(sentence):
        form = match.group()
        if form == '"':
            before = sentence[max(match.start() - 1, 0) : match.start()]
            words.append("``" if _OPENING.search(before) else "''")
        elif form.lower() in _TWO:
            cut = _TWO[form.lower()]
            words += [form[:cut], form[cut:]]
        else:
            bare = form[:-1] if len(form) > 1 and form[-1] == "'" != form[-2] else form
            clitic = _CLITIC.fullmatch(bare) if "'" in bare else None
            words += [*(clitic.groups() if clitic else (bare,)), *([] if bare == form else ["'"])]
    return words
