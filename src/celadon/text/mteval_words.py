"""Words as mteval-v13a.pl makes them, which is how BLEU is counted (``tokenize=13a`` of sacrebleu).

What happens to a stretch without white space does not depend on its neighbours, so each distinct one is split once.
"""

from __future__ import annotations

import re

_MARKS = re.compile(r"([{-~\[-` -&(-+:-@/])")
# a period or comma stands alone unless there are digits on both sides, and a dash after a digit does
_AFTER_OTHER = re.compile(r"([^0-9])([.,])")
_BEFORE_OTHER = re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")
_MOST = 1 << 17
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


class MtevalWords(dict[str, tuple[str, ...]]):
    """The words of each stretch without white space, split when it is first asked for; of very many, the latest."""

    def __missing__(self, stretch: str) -> tuple[str, ...]:
        # no rule is about apostrophes, and most of what is left are words, with a comma or a period at the end or not
        bare = stretch.replace("'", "")
        if bare.isalnum():
            words: tuple[str, ...] = (stretch,)
        elif stretch[-1] in ".," and bare[:-1].isalnum():
            words = (stretch[:-1], stretch[-1])
        else:
            spaced = _AFTER_OTHER.sub(r"\1 \2 ", _MARKS.sub(r" \1 ", f" {stretch} "))
            words = tuple(_DASH.sub(r"\1 \2 ", _BEFORE_OTHER.sub(r" \1 \2", spaced)).split())
        self[stretch] = words
        return words

    def split(self, text: str) -> list[str]:
        """Return the words of a text."""
        if len(self) > _MOST:
            self.clear()
        text = text.rstrip().replace("<skipped>", "").replace("-\n", "")
        if "&" in text:
            for entity, character in _ENTITIES:
                text = text.replace(entity, character)
        return [word for stretch in text.split() for word in self[stretch]]
