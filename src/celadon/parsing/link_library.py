"""Link Grammar's C library.

A bare interpreter runs this file (see ``worker_parser``), so it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import time
from typing import Any

_OBJECT = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_INT = ctypes.c_int
_SIZE = ctypes.c_size_t

# The functions in use: what each returns, then what it takes
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "linkgrammar_get_version": (_TEXT,),
    "linkgrammar_get_dict_version": (_TEXT, _OBJECT),
    "lg_error_set_handler": (_OBJECT, _OBJECT, _OBJECT),
    "dictionary_create_lang": (_OBJECT, _TEXT),
    "parse_options_create": (_OBJECT,),
    "parse_options_set_verbosity": (None, _OBJECT, _INT),
    "parse_options_set_spell_guess": (None, _OBJECT, _INT),
    "parse_options_set_repeatable_rand": (None, _OBJECT, ctypes.c_bool),
    "parse_options_set_linkage_limit": (None, _OBJECT, _INT),
    "parse_options_set_max_parse_time": (None, _OBJECT, _INT),
    "parse_options_set_min_null_count": (None, _OBJECT, _INT),
    "parse_options_set_max_null_count": (None, _OBJECT, _INT),
    "parse_options_reset_resources": (None, _OBJECT),
    "parse_options_resources_exhausted": (ctypes.c_bool, _OBJECT),
    "sentence_create": (_OBJECT, _TEXT, _OBJECT),
    "sentence_delete": (None, _OBJECT),
    "sentence_split": (_INT, _OBJECT, _OBJECT),
    "sentence_parse": (_INT, _OBJECT, _OBJECT),
    "sentence_length": (_INT, _OBJECT),
    "sentence_null_count": (_INT, _OBJECT),
    "sentence_num_linkages_found": (_INT, _OBJECT),
    "sentence_num_linkages_post_processed": (_INT, _OBJECT),
    "sentence_num_valid_linkages": (_INT, _OBJECT),
    "linkage_create": (_OBJECT, _SIZE, _OBJECT, _OBJECT),
    "linkage_delete": (None, _OBJECT),
    "linkage_get_num_words": (_SIZE, _OBJECT),
    "linkage_get_num_links": (_SIZE, _OBJECT),
    "linkage_get_link_lword": (_SIZE, _OBJECT, _SIZE),
    "linkage_get_link_rword": (_SIZE, _OBJECT, _SIZE),
    "linkage_get_word_byte_start": (_SIZE, _OBJECT, _SIZE),
    "linkage_get_word_byte_end": (_SIZE, _OBJECT, _SIZE),
    "linkage_unused_word_cost": (_INT, _OBJECT),
    "linkage_disjunct_cost": (ctypes.c_float, _OBJECT),
    "linkage_link_cost": (_INT, _OBJECT),
}

# The words that the library adds before and after a sentence
_WALLS = 2

# What sentence_parse returns for a sentence that is longer than its tables
_TOO_LONG = -2


class Library:
    """Link Grammar with its English dictionary.

    ``seconds`` of processor time is what one sentence may take, and ``linkages`` how many of its linkages are examined.
    """

    def __init__(self, seconds: int, linkages: int) -> None:
        self._c: Any = _load()
        # Without a handler, the library's complaints go nowhere.
        self._c.lg_error_set_handler(None, None)
        self._dictionary = self._c.dictionary_create_lang(b"en")
        if not self._dictionary:
            raise ImportError("the English dictionary of Link Grammar")
        self._seconds = seconds
        self._options = self._c.parse_options_create()
        self._c.parse_options_set_verbosity(self._options, 0)
        self._c.parse_options_set_spell_guess(self._options, 0)
        self._c.parse_options_set_repeatable_rand(self._options, True)
        self._c.parse_options_set_linkage_limit(self._options, linkages)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the library and of its dictionary."""
        library, dictionary = self._c.linkgrammar_get_version(), self._c.linkgrammar_get_dict_version(self._dictionary)
        return {"library": library.decode().removeprefix("link-grammar-"), "dictionary": dictionary.decode()}

    def parse(self, sentence: str) -> dict[str, Any]:
        """Return what ``LinkParse`` says of a sentence, or ``failure`` with the name of a reason."""
        text = sentence.encode()
        parsed = self._c.sentence_create(text, self._dictionary)
        try:
            if self._c.sentence_split(parsed, self._options) < 0:
                return {"failure": "NO_WORDS"}
            if failure := self._link(parsed):
                return {"failure": failure}
            return self._counts(parsed) | self._best(parsed, text)
        finally:
            self._c.sentence_delete(parsed)

    def _link(self, parsed: int) -> str | None:
        """Link the words with as few of them left out as can be; where that fails, return why.

        The first pass leaves none out and is the quicker for it. Later ones go on where one found linkages without a
        valid one among those that it examined.
        """
        end = time.process_time() + self._seconds
        length = self._c.sentence_length(parsed)
        least, most = 0, 0
        while least <= length:
            self._c.parse_options_set_min_null_count(self._options, least)
            self._c.parse_options_set_max_null_count(self._options, most)
            self._c.parse_options_set_max_parse_time(self._options, max(1, round(end - time.process_time())))
            self._c.parse_options_reset_resources(self._options)
            status = self._c.sentence_parse(parsed, self._options)
            if status < 0:
                return "TOO_LONG" if status == _TOO_LONG else "NOT_PARSED"
            if self._c.parse_options_resources_exhausted(self._options):
                return "TIME_LIMIT"
            if self._c.sentence_num_valid_linkages(parsed) > 0:
                return None
            least, most = self._c.sentence_null_count(parsed) + 1, length
        return "NOT_PARSED"

    def _counts(self, parsed: int) -> dict[str, int]:
        return {
            "length": self._c.sentence_length(parsed) - _WALLS,
            "null_count": self._c.sentence_null_count(parsed),
            "found": self._c.sentence_num_linkages_found(parsed),
            "examined": self._c.sentence_num_linkages_post_processed(parsed),
            "valid": self._c.sentence_num_valid_linkages(parsed),
        }

    def _best(self, parsed: int, text: bytes) -> dict[str, Any]:
        """Return the cost of the best linkage, its words and those that it left out."""
        linkage = self._c.linkage_create(0, parsed, self._options)
        try:
            links = range(self._c.linkage_get_num_links(linkage))
            linked = {self._c.linkage_get_link_lword(linkage, link) for link in links}
            linked |= {self._c.linkage_get_link_rword(linkage, link) for link in links}
            spans = [
                (self._c.linkage_get_word_byte_start(linkage, word), self._c.linkage_get_word_byte_end(linkage, word))
                for word in range(self._c.linkage_get_num_words(linkage))
            ]
            # Only the walls have no letters.
            words = [word for word, (start, end) in enumerate(spans) if start < end]
            return {
                "unused_cost": self._c.linkage_unused_word_cost(linkage),
                # The library adds in single precision; the dictionary's costs have three decimals at most.
                "disjunct_cost": round(self._c.linkage_disjunct_cost(linkage), 3),
                "length_cost": self._c.linkage_link_cost(linkage),
                "words": [[len(text[:place].decode(errors="ignore")) for place in spans[word]] for word in words],
                "unused": [place for place, word in enumerate(words) if word not in linked],
            }
        finally:
            self._c.linkage_delete(linkage)


def _load() -> ctypes.CDLL:
    for name in ("liblink-grammar.so.5", ctypes.util.find_library("link-grammar")):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            library = None
        if library is not None:
            break
    else:
        raise ImportError("Link Grammar")
    for function, (returns, *takes) in _FUNCTIONS.items():
        bound = getattr(library, function)
        bound.restype, bound.argtypes = returns, takes
    return library
