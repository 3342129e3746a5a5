"""Language models of Hugging Face transformers, causal and masked (extra ``hf``).

A masked model gives no probability to a text as a whole. Its tokens are masked in turn instead, and each is scored
given all the others (Salazar et al. 2020). A word in several pieces is then scored too well, since each piece is nearly
given away by the rest of the word; so the later pieces of the same word are masked as well (Kauf and Ivanova 2023,
"PLL-word-l2r").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from celadon.core import FloatArray, InputError, IntArray, MissingExtraError, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.language.language_model import TokenScores
from celadon.models.networks.transformers_files import Checkpoint, find_checkpoint
from celadon.models.networks.transformers_network import (
    Network,
    Row,
    device_facts,
    load_network,
    quiet_transformers,
    torch_failures,
)
from celadon.models.networks.windows import plan_windows
from celadon.models.store.places import unigram_path

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# the length of each row, and how it is made
Plan: TypeAlias = tuple[Sequence[int], Callable[[int], Row]]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of one text: their ids, their characters, and the number of the word that each is a piece of."""

    ids: IntArray
    starts: IntArray
    ends: IntArray
    words: IntArray


@dataclass(frozen=True)
class Marks:
    """The special tokens of a tokenizer that scoring needs; None where it has none."""

    begin: str | None
    begin_id: int | None
    unknown_id: int | None
    frame: Frame | None


class TransformersLanguageModel:
    """A causal or masked language model; open one with :meth:`open`.

    A causal model reads a text after its begin token: the tokenizer's own, or else its end token (as GPT-2, which has
    one mark for both). Where there is neither, the first token has no probability and is left out. A masked model is
    scored by pseudo-log-likelihood; ``within_word`` says whether the later pieces of a word are masked while an earlier
    one is scored. In both the end of the text is left out.
    """

    def __init__(
        self, checkpoint: Checkpoint, network: Network, tokenizer: Tokenizer, marks: Marks, within_word: bool = True
    ) -> None:
        self._checkpoint = checkpoint
        self._network = network
        self._tokenizer = tokenizer
        self._marks = marks
        self._variant: Variant = "l2r" if within_word else "original"
        around = marks.frame.size if marks.frame else int(marks.begin_id is not None)
        self._room = network.window - around
        if self._room < 2:
            raise InputError(f"{checkpoint.name}: its window of {network.window} tokens is too short to score a text")

    @classmethod
    def open(
        cls, name_or_folder: str | Path, threads: int | None = None, within_word: bool = True
    ) -> TransformersLanguageModel:
        """Load a model from a folder or by its name on the Hugging Face hub; without ``threads`` their number is left
        to torch.
        """
        checkpoint = find_checkpoint(str(name_or_folder))
        tokenizer, marks, pad_id = load_tokenizer(checkpoint)
        return cls(checkpoint, load_network(checkpoint, pad_id, threads), tokenizer, marks, within_word)

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return f"hf:{self._checkpoint.name}"

    @cached_property
    def digest(self) -> str:
        """The sha256 over the configuration, the weights and the tokenizer."""
        return self._checkpoint.digest()

    @property
    def masked(self) -> bool:
        """Whether it fills in masked tokens; if not, it reads from left to right."""
        return self._checkpoint.masked

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: the kind, what stands before the first token, and that the end is left out."""
        begin = {"begin": self._marks.begin or "none", "end": "left-out", **device_facts()}
        if not self.masked:
            return {"kind": "causal", **begin}
        # named only where it is not the default, lest it gainsay the metric that asks for a variant itself
        masking = {} if self._variant == "l2r" else {"masking": self._variant}
        return {"kind": "masked (pseudo-log-likelihood)", **masking, **begin}

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts it knows, which a checkpoint does not tell."""
        return ()

    @property
    def vocabulary(self) -> int:
        """The number of token ids."""
        return self._network.vocabulary

    @property
    def has_unigrams(self) -> bool:
        """Whether there is a table of unigram probabilities; without one they are NaN."""
        return self._unigrams is not None

    def token_ids(self, text: str) -> IntArray:
        """Return the ids of a text's tokens, for counting them."""
        return self._tokens(text).ids

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        """Score texts; one entry per text, in their order."""
        return self.pseudo(texts, self._variant) if self.masked else self._score_causal(texts)

    def pseudo(self, texts: Sequence[str], variant: Variant = "l2r") -> list[TokenScores]:
        """Score texts by pseudo-log-likelihood.

        ``l2r`` masks the later pieces of a word while an earlier one is scored; ``original`` masks one at a time.
        """
        frame = self._marks.frame
        if frame is None:
            raise UsageError(
                f"{self.name} is a causal language model, and pseudo-log-likelihood needs a masked one, as BERT"
            )
        if variant not in get_args(Variant):
            raise UsageError(f"there is no variant {variant!r} of pseudo-log-likelihood; take l2r or original")

        def plan(tokens: Sequence[Tokens], offsets: IntArray) -> Plan:
            laid = [masked_text(each.ids, each.words, self._room) for each in tokens]
            owners = np.repeat(np.arange(len(tokens)), np.diff(offsets))
            sizes = [int(size) + frame.size for text in laid for size in text.ends - text.starts]
            return sizes, lambda slot: laid[owners[slot]].masked(slot - offsets[owners[slot]], variant, frame, slot)

        return self._score(texts, plan)

    def _score_causal(self, texts: Sequence[str]) -> list[TokenScores]:
        begin = [] if self._marks.begin_id is None else [self._marks.begin_id]

        def plan(tokens: Sequence[Tokens], offsets: IntArray) -> Plan:
            rows = []
            for offset, each in zip(offsets, tokens, strict=False):
                for start, first, end in plan_windows(len(each.ids), self._room):
                    # without a begin token the first token of a window only stands before the others
                    wanted = np.arange(max(first, start + 1 - len(begin)), end)
                    if len(wanted):
                        ids = np.concatenate([begin, each.ids[start:end]]).astype(np.int64)
                        rows.append(Row(ids, wanted - start + len(begin) - 1, each.ids[wanted], wanted + offset))
            return [len(row.ids) for row in rows], rows.__getitem__

        return self._score(texts, plan, left_out=1 - len(begin))

    def _score(
        self, texts: Sequence[str], plan: Callable[[Sequence[Tokens], IntArray], Plan], left_out: int = 0
    ) -> list[TokenScores]:
        """Score equal texts once, each without its first ``left_out`` tokens."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        tokens = [self._tokens(text) for text in numbers]
        offsets = np.concatenate([[0], np.cumsum([len(each.ids) for each in tokens])]).astype(np.int64)
        lengths, make_row = plan(tokens, offsets)
        found = self._network.logprobs(lengths, make_row, int(offsets[-1]))
        scored = [
            self._token_scores(each, logprobs, left_out)
            for each, logprobs in zip(tokens, np.split(found, offsets[1:-1]), strict=False)
        ]
        return [scored[numbers[text]] for text in texts]

    def _token_scores(self, tokens: Tokens, logprobs: FloatArray, left_out: int) -> TokenScores:
        ids = tokens.ids[left_out:]
        return TokenScores(
            logprobs=logprobs[left_out:],
            unigrams=np.full(len(ids), np.nan) if self._unigrams is None else self._unigrams[ids],
            starts=tokens.starts[left_out:],
            ends=tokens.ends[left_out:],
            known=ids != (-1 if self._marks.unknown_id is None else self._marks.unknown_id),
        )

    def _tokens(self, text: str) -> Tokens:
        """Split a text; what a token shows of it does not begin with white space if there is anything else."""
        text = mend_surrogates(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts: list[int] = []
        ends: list[int] = []
        words: list[int] = []
        for number, ((start, end), word) in enumerate(zip(encoding.offsets, encoding.word_ids, strict=True)):
            bare = text[start:end].lstrip()
            starts.append(end - len(bare) if bare else start)
            ends.append(end)
            # a tokenizer that does not split at white space takes the whole text for one word
            spaced = bool(bare) and number > 0 and starts[-1] > starts[-2] and text[starts[-1] - 1].isspace()
            same = number > 0 and word is not None and word == encoding.word_ids[number - 1] and not spaced
            words.append(words[-1] if same else number)
        return Tokens(*(np.array(column, dtype=np.int64) for column in (encoding.ids, starts, ends, words)))

    @cached_property
    def _unigrams(self) -> FloatArray | None:
        """The table beside the weights, or else the one that was estimated on this machine."""
        for path in (self._checkpoint.folder / "unigrams.npy", unigram_path(self.name)):
            if path.is_file():
                # a table may be as long as the tokenizer's vocabulary, where the network lacks its last tokens
                longest = max(self._network.vocabulary, self._tokenizer.get_vocab_size())
                return _read_unigrams(path, (self._network.vocabulary, longest))
        return None


def _read_unigrams(path: Path, sizes: tuple[int, int]) -> FloatArray:
    try:
        table = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: the table of unigrams cannot be read: {error}") from None
    if table.ndim != 1 or len(table) not in sizes or table.dtype.kind != "f" or not np.isfinite(table).all():
        raise InputError(f"{path}: this is no table of unigrams for a model of {sizes[0]} tokens")
    return np.asarray(table, dtype=np.float64)


def load_tokenizer(checkpoint: Checkpoint) -> tuple[Tokenizer, Marks, int]:
    """Return the tokenizer, its special tokens, and the id to fill up short rows with."""
    try:
        from tokenizers import Tokenizer
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    with quiet_transformers(), torch_failures(checkpoint.name):
        loaded: Any = AutoTokenizer.from_pretrained(
            str(checkpoint.folder), use_fast=True, trust_remote_code=False, local_files_only=True
        )
    if not loaded.is_fast:
        raise InputError(f"{checkpoint.name}: it has no fast tokenizer (tokenizer.json), which offsets come from")
    # a copy of its own, which neither cuts nor pads, and takes "[MASK]" in a text for what a reader sees
    tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    fillers = (loaded.pad_token_id, loaded.eos_token_id, 0)
    pad_id = next(filler for filler in fillers if filler is not None)
    if checkpoint.masked:
        return tokenizer, _masked_marks(checkpoint, loaded, tokenizer), pad_id
    begin = loaded.bos_token or loaded.eos_token
    begin_id = loaded.convert_tokens_to_ids(begin) if begin else None
    return tokenizer, Marks(begin, begin_id, loaded.unk_token_id, None), pad_id


def _masked_marks(checkpoint: Checkpoint, loaded: Any, tokenizer: Tokenizer) -> Marks:
    """Find what the tokenizer puts around a text by letting it do so."""
    if loaded.mask_token_id is None:
        raise InputError(f"{checkpoint.name}: its tokenizer has no mask token")
    framed = tokenizer.encode("a", add_special_tokens=True)
    inner = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
    before, after = (framed.ids[: inner[0]], framed.ids[inner[-1] + 1 :]) if inner else ([], [])
    if not before and not after:
        before = [token for token in [loaded.cls_token_id] if token is not None]
        after = [token for token in [loaded.sep_token_id] if token is not None]
    begin = "".join(loaded.convert_ids_to_tokens(before)) or None
    return Marks(begin, None, loaded.unk_token_id, Frame(tuple(before), tuple(after), loaded.mask_token_id))


Variant: TypeAlias = Literal["l2r", "original"]


@dataclass(frozen=True)
class Frame:
    """What a masked model puts around a text, and what stands for a masked token."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    mask: int

    @property
    def size(self) -> int:
        """The number of ids around the text."""
        return len(self.before) + len(self.after)


@dataclass(frozen=True, eq=False)
class MaskedText:
    """A text of which any token can be masked.

    ``word_ends`` is for each token the position after the last token of its word; ``starts`` and ``ends`` are the
    stretch of tokens among which it is scored: all of them where the model's window allows.
    """

    ids: IntArray
    word_ends: IntArray
    starts: IntArray
    ends: IntArray

    def masked(self, token: int, variant: Variant, frame: Frame, slot: int) -> Row:
        """Return the row that scores a token and puts the outcome into a slot."""
        start, end = int(self.starts[token]), int(self.ends[token])
        copy = self.ids[start:end].copy()
        last = int(self.word_ends[token]) if variant == "l2r" else token + 1
        copy[token - start : last - start] = frame.mask
        position = len(frame.before) + token - start
        return Row(
            ids=np.concatenate([frame.before, copy, frame.after]).astype(np.int64),
            positions=np.array([position]),
            targets=self.ids[token : token + 1],
            slots=np.array([slot]),
        )


def masked_text(ids: IntArray, words: IntArray, room: int) -> MaskedText:
    """Lay out a text for masking; ``words`` numbers the word of each token, ``room`` is how many the model sees at
    once.
    """
    starts, ends = surroundings(len(ids), room)
    changes = np.flatnonzero(np.diff(words)) + 1
    edges = np.concatenate([[0], changes, [len(ids)]]).astype(np.int64)
    word_ends = np.repeat(edges[1:], np.diff(edges))
    return MaskedText(ids, word_ends, starts, ends)


def surroundings(length: int, room: int) -> tuple[IntArray, IntArray]:
    """Return for each token of a text where the stretch among which it is scored starts and ends.

    A text that has room is seen whole. In a longer one, blocks of half the room are each seen with as much before as
    after, so that every token but those at the text's ends has at least a quarter of the room on both sides.
    """
    if length <= room:
        return np.zeros(length, dtype=np.int64), np.full(length, length, dtype=np.int64)
    block = max(1, room // 2)
    first = np.arange(length, dtype=np.int64) // block * block
    starts = np.clip(first - (room - block) // 2, 0, length - room)
    return starts, starts + room
