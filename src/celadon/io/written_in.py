"""What a text says it is written in: its markup and its language."""

from __future__ import annotations

import re

MARKUPS = ("auto", "markdown", "rst", "html", "plain")
"""What :attr:`celadon.Sample.markup` may be."""

# codes of ISO 639-1 and 639-2, and the English name: the first code is the one in use
_TABLE = """\
en eng English|es spa Spanish|fr fra fre French|de deu ger German|it ita Italian|pt por Portuguese|nl nld dut Dutch
sv swe Swedish|da dan Danish|no nor nb nob nn nno Norwegian|fi fin Finnish|pl pol Polish|cs ces cze Czech
sk slk slo Slovak|sl slv Slovenian|hr hrv Croatian|ro ron rum Romanian|hu hun Hungarian|tr tur Turkish
id ind Indonesian|vi vie Vietnamese|ca cat Catalan|lt lit Lithuanian|lv lav Latvian|is isl ice Icelandic
fil tl tgl Filipino|ru rus Russian|uk ukr Ukrainian|bg bul Bulgarian|mk mkd mac Macedonian|sr srp Serbian
ar ara Arabic|fa fas per Persian|ur urd Urdu|el ell gre Greek|he heb Hebrew|hi hin Hindi|bn ben Bengali
pa pan Punjabi|gu guj Gujarati|ta tam Tamil|te tel Telugu|kn kan Kannada|ml mal Malayalam|si sin Sinhala
th tha Thai|lo lao Lao|bo bod tib Tibetan|my mya bur Burmese|ka kat geo Georgian|hy hye arm Armenian
am amh Amharic|km khm Khmer|ko kor Korean|ja jpn Japanese|zh zho chi cmn Chinese|mul"""
_CODES = {word.lower(): entry.split()[0] for entry in re.split(r"[|\n]", _TABLE) for word in entry.split()}
_NAMES = "|".join(re.findall(r"[A-Z]\w+", _TABLE))
LANGUAGE_PATTERN = rf"^(?:[A-Za-z]{{2,3}}(?:[-_][A-Za-z0-9]{{1,8}})*|{_NAMES})?$"
"""What :func:`language_named` takes, for those who want to be told beforehand."""
_UNDETERMINED = "und"
_ANOTHER = "mis"
_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*")


def markup_named(name: str) -> str:
    """Return a markup of :data:`MARKUPS` by its name; empty means ``auto``.

    Raises
    ------
    ValueError
        There is none of that name.
    """
    markup = name.strip().lower() or "auto"
    if markup not in MARKUPS:
        raise ValueError(f"{name!r} is no markup that is known; there are {', '.join(MARKUPS)}")
    return markup


def language_named(name: str) -> str:
    """Return the ISO 639 code of a language by a code, a tag (``en-US``) or its English name.

    Empty and ``und`` mean that the language is to be identified. A code that is not in use here becomes ``mis``: surely
    not English.

    Raises
    ------
    ValueError
        It is neither a code nor a name that is known.
    """
    language = name.strip().lower()
    tag = _TAG.fullmatch(language)
    code = tag[1] if tag else language
    if code in ("", _UNDETERMINED):
        return ""
    if code in _CODES:
        return _CODES[code]
    if tag is None:
        raise ValueError(f"{name!r} is no language that is known; write an ISO 639 code, as en or es")
    return _ANOTHER
