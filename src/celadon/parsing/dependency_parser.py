"""The dependency parser: spaCy's, with the weights of en_core_web_sm.

Only data are loaded: four files of msgpack, whose reader knows numbers, texts and arrays but no objects. The shape of
the network is stated here, so that no configuration is taken from a file. Each sentence is parsed on its own, because
sums over a batch are rounded in another way, which may turn a close decision.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from celadon.core import MissingExtraError
from celadon.models.store import folder_of
from celadon.models.store.importing import check_weight_file
from celadon.models.store.model_files import files_digest, loading
from celadon.parsing import TIME_LIMIT, Failure, Reason
from celadon.text.scripts import is_in_scripts, is_wordless

NAME = "spacy-sm"
SCRIPTS = ("Latin",)
MAX_WORDS = 250
MAX_CHARACTERS = 4_000
"""spaCy's tokenizer takes time by the square of a run of brackets."""

FILES = ("tok2vec.msgpack", "parser.msgpack", "moves.msgpack", "lookups.msgpack")

_WIDTH = 96
_TOK2VEC = {
    "@architectures": "spacy.Tok2Vec.v2",
    "embed": {
        "@architectures": "spacy.MultiHashEmbed.v2",
        "width": _WIDTH,
        "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE", "SPACY", "IS_SPACE"],
        "rows": [5000, 1000, 2500, 2500, 50, 50],
        "include_static_vectors": False,
    },
    "encode": {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": _WIDTH,
        "depth": 4,
        "window_size": 1,
        "maxout_pieces": 3,
    },
}
_PARSER = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "parser",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "nO": None,
    "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": _WIDTH, "upstream": "tok2vec"},
}
_CHARACTERS = {0: " "} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


@dataclass(frozen=True)
class DependencyParse:
    """What the dependency parser makes of a sentence: the characters of each word, begin and end, and the word it
    depends on.

    A root of a tree depends on itself. ``confidence`` is the mean natural logarithm of the probability of the parser's
    decisions; 0 would be certainty.
    """

    words: tuple[tuple[int, int], ...]
    heads: tuple[int, ...]
    confidence: float

    @property
    def fragments(self) -> int:
        """The number of separate trees."""
        return sum(head == word for word, head in enumerate(self.heads))


class DependencyParser:
    """spaCy's parser with its weights; :func:`dependency_parser` opens one; ``time_limit`` is in processor time."""

    def __init__(self, folder: Path, name: str = NAME, time_limit: float = TIME_LIMIT) -> None:
        self.name = name
        self._time_limit = time_limit
        self._digest = files_digest(folder, FILES)
        self._lock = Lock()
        self._language = _loaded(folder)
        self._tok2vec = self._language.get_pipe("tok2vec")
        self._parser = self._language.get_pipe("parser")
        self._moves = tuple(self._parser.move_names)
        kinds = [move[0] for move in self._moves]
        # whether a move may be made depends on its kind, not on its label
        self._of_kind = {kind: np.array([each == kind for each in kinds]) for kind in dict.fromkeys(kinds)}
        self._example = {kind: self._moves[kinds.index(kind)] for kind in self._of_kind}

    @property
    def facts(self) -> Mapping[str, str]:
        """The version of spaCy, and the digest of the weights."""
        return {"spacy": version("spacy"), "dependencies": self._digest[:8]}

    def parse(self, sentences: Sequence[str]) -> list[DependencyParse | Failure]:
        """Parse sentences; one entry per sentence, in their order."""
        # what spaCy remembers of words is let go at the end of each call
        with self._lock, self._language.memory_zone():
            return [self._parse(sentence) for sentence in sentences]

    def _parse(self, sentence: str) -> DependencyParse | Failure:
        if is_wordless(sentence):
            return Failure(Reason.NO_WORDS)
        if not is_in_scripts(sentence, SCRIPTS):
            return Failure(Reason.UNKNOWN_SCRIPT)
        if len(sentence) > MAX_CHARACTERS:
            return Failure(Reason.TOO_LONG)
        from spacy.tokens import Doc

        until = time.thread_time() + self._time_limit
        tokens = [token for token in self._language.tokenizer(sentence.translate(_CHARACTERS)) if not token.is_space]
        if len(tokens) > MAX_WORDS:
            return Failure(Reason.TOO_LONG)
        spaces = [bool(token.whitespace_) for token in tokens]
        document = self._tok2vec(Doc(self._language.vocab, [token.text for token in tokens], spaces))
        if (decided := self._decided(document, until)) is None:
            return Failure(Reason.TIME_LIMIT)
        return DependencyParse(tuple((t.idx, t.idx + len(t)) for t in tokens), *decided)

    def _decided(self, document: Any, until: float) -> tuple[tuple[int, ...], float] | None:
        """The heads that the best move at each step leads to, and how sure these moves were; None if time is up."""
        moves = self._parser.moves
        state = moves.init_batch([document])[0]
        step = self._parser.model.predict([document])
        total, count = 0.0, 0
        while not state.is_final():
            if time.thread_time() > until:
                return None
            allowed = np.zeros(len(self._moves), dtype=np.bool_)
            for kind, example in self._example.items():
                if moves.is_valid(state, example):
                    allowed |= self._of_kind[kind]
            scores = np.where(allowed, step.predict([state])[0].astype(np.float64), -np.inf)
            best = int(scores.argmax())
            total -= float(np.log(np.exp(scores - scores[best]).sum()))
            count += 1
            moves.apply_transition(state, self._moves[best])
        self._parser.set_annotations([document], [state])
        return tuple(token.head.i for token in document), total / max(count, 1)


def dependency_parser(name: str = NAME) -> DependencyParser:
    """Open the dependency parser ``spacy-sm``, or a folder with the same files."""
    if find_spec("spacy") is None:
        raise MissingExtraError("spaCy", "parse")
    return DependencyParser(folder_of(name), name)


def _loaded(folder: Path) -> Any:
    for file in FILES:
        check_weight_file(folder / file, (".msgpack",))
    import spacy
    import srsly

    language: Any = spacy.blank("en")
    tok2vec = language.add_pipe("tok2vec", config={"model": _TOK2VEC})
    parser = language.add_pipe("parser", config={"model": _PARSER})
    tok2vec_file, parser_file, moves_file, lookups_file = (folder / file for file in FILES)
    with loading(lookups_file):
        language.vocab.from_bytes(srsly.msgpack_dumps({"lookups": lookups_file.read_bytes()}))
    with loading(tok2vec_file):
        tok2vec.model.from_bytes(tok2vec_file.read_bytes())
    with loading(parser_file):
        parts = {"moves": moves_file.read_bytes(), "model": parser_file.read_bytes()}
        parser.from_bytes(srsly.msgpack_dumps(parts))
    return language
