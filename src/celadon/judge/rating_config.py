"""The config of an experiment that asks for one rating on a given scale."""

from __future__ import annotations

import json
import math
import re
import secrets

from celadon.core import UsageError
from celadon.judge.config import WIDEST_SCALE

_TEMPLATE = """\
# One rating of each text, on the scale of the ratings that are there already. Edit the words; leave name, low and high.
id = {id}
title = "Rating texts"
language = "en"
seed = {seed}
design = "likert"

[assignment]
ratings_per_item = {ratings}
# How many variants of one cell stand on one page; 0 for all of them.
variants_per_page = 1
# A person sees one page of each cell. false: all pages of every cell, so that all variants are seen.
one_page_per_cell = false
# Cells for each person; 0 for all of them.
pages_per_person = 0
checks_per_person = 0
break_every = 12
release_after_minutes = 120

[texts]
consent = \"\"\"
You will read texts and rate them. There are no right answers: we want to know what you think.

Your answers are stored under a random name, never with your own name or address. You may stop at any time by closing \\
the page.\"\"\"
instructions = \"\"\"
Each page shows a text. Read it, then rate it from {low} to {high}.\"\"\"

[[questions]]
name = {name}
kind = "scale"
text = {text}
low = {low}
high = {high}
anchors = {{ {high} = "Best", {low} = "Worst" }}
"""


def rating_config(rating: str, low: float, high: float, ratings_per_item: int) -> str:
    """Return the text of an experiment's config that asks for one rating of every text.

    ``rating`` names it; ``low`` and ``high`` are the ends of its scale, which is of whole numbers.
    """
    first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
    if last - first >= WIDEST_SCALE:
        raise UsageError(
            f"a scale has at most {WIDEST_SCALE} values, and {rating!r} goes from {low:g} to {high:g}; "
            "write the config of the experiment yourself, with a scale that can be converted"
        )
    name = re.sub(r"[^a-z0-9_]+", "_", rating.lower()).strip("_0123456789")[:40] or "rating"
    return _TEMPLATE.format(
        id=json.dumps(secrets.token_hex(8)),
        seed=secrets.randbelow(10**6),
        ratings=ratings_per_item,
        name=json.dumps(name),
        text=json.dumps(f"How good is this text? ({rating})", ensure_ascii=False),
        low=first,
        high=last,
    )
