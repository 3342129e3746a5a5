"""Unigram tables: how likely each token is by itself, from counts over a corpus.

Smoothing: one is added to every count, so that the probability of a token is (count + 1) / (tokens + vocabulary), and
that of a token never seen is finite. The corpus is cut into sentences first, as scoring does, because many tokenizers
write the first word of a text in another way than the same word after a space.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray, MissingExtraError, UsageError
from celadon.io.atomic import write_atomically
from celadon.io.lines import corpus_size, read_paragraphs
from celadon.models.store.importing import add_file
from celadon.models.store.manifest import MANIFEST, write_manifest
from celadon.models.store.places import HF_PREFIX, Say, byte_bar, home, make_folder, say_on_stderr, unigram_path
from celadon.models.store.resolving import folder_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLE = "unigrams.npy"
_AT_ONCE = 4096


def smoothed(counts: IntArray) -> npt.NDArray[np.float32]:
    """Return the natural logarithm of each token's probability, one added to every count."""
    total = float(counts.sum()) + len(counts)
    return np.log((counts.astype(np.float64) + 1.0) / total).astype(np.float32)


def count_tokens(
    texts: Iterable[str], tokenizer: Tokenizer, vocabulary: int | None = None, end_id: int | None = None
) -> IntArray:
    """Count the tokens of sentences, which are streamed; the table has as many entries as the tokenizer knows, or more.

    ``end_id`` is the token that ends every text, where the model counts one.
    """
    counts = np.zeros(tokenizer.get_vocab_size() if vocabulary is None else vocabulary, dtype=np.int64)
    rest = iter(texts)
    while batch := list(islice(rest, _AT_ONCE)):
        ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False)]
        found = np.bincount(np.fromiter(chain.from_iterable(ids), dtype=np.int64), minlength=len(counts))
        if len(found) > len(counts):
            raise InputError(f"the tokenizer made the token {len(found) - 1}, but the table has {len(counts)} entries")
        counts += found
        if end_id is not None:
            counts[end_id] += len(batch)
    return counts


def sentences_of(corpora: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of text files (also .xz, .gz, .zst), a paragraph a line, with a progress bar."""
    from celadon.text.sentences import split_sentences

    with byte_bar("counting", corpus_size(corpora)) as bar:
        for text in read_paragraphs(corpora, bar.update):
            for start, end in split_sentences(text):
                yield text[start:end]


def estimate_unigrams(
    name: str, corpora: Sequence[str], output: Path | None = None, say: Say = say_on_stderr
) -> tuple[Path, int]:
    """Estimate the unigram table of a model and put it where the model looks for it, or into ``output`` (npy).

    ``name`` is ``hf:NAME_OR_FOLDER``, a name of the catalog, or a folder; ``corpora`` are text files, a paragraph a
    line. Returns the file that was written, and how many tokens were counted.
    """
    if name == HF_PREFIX:
        raise UsageError("say which model: hf:NAME_OR_FOLDER")
    corpus_size(corpora)  # a misspelt corpus is told before a model is fetched
    if name.startswith(HF_PREFIX):
        folder, (tokenizer, vocabulary, end_id) = None, _of_transformers(name.removeprefix(HF_PREFIX))
    else:
        folder = folder_of(name, say=say)
        if (folder / "config.json").is_file() and not (folder / "model.json").is_file():
            return estimate_unigrams(f"{HF_PREFIX}{folder}", corpora, output, say)
        _check_writable(name, folder, output)
        tokenizer, vocabulary, end_id = _of_folder(folder)
    counts = count_tokens(sentences_of(corpora), tokenizer, vocabulary, end_id)
    tokens = int(counts.sum())
    if not tokens:
        raise InputError(f"{', '.join(corpora)}: there are no words to count")
    return _keep(name, folder, smoothed(counts), output, say), tokens


def _check_writable(name: str, folder: Path, output: Path | None) -> None:
    from celadon.models.store.catalog import load_catalog

    model = load_catalog().find(name)
    if output is None and model is not None and folder == model.builtin:
        raise UsageError(f"{name} comes with its own table; to write another one somewhere, give --output FILE")


def _keep(name: str, folder: Path | None, table: npt.NDArray[np.float32], output: Path | None, say: Say) -> Path:
    content = io.BytesIO()
    np.save(content, table, allow_pickle=False)
    if folder is not None and output is None and folder.parent == home() / "models":
        add_file(folder.name, TABLE, content.getvalue(), say)
        return folder / TABLE
    target = output or (unigram_path(name) if folder is None else folder / TABLE)
    if output is None:
        make_folder(target.parent)
    with write_atomically(str(target)) as file:
        file.write(content.getvalue())
    if folder is not None and output is None and (folder / MANIFEST).is_file():
        write_manifest(folder, added=[TABLE])
    return target


def _of_folder(folder: Path) -> tuple[Tokenizer, int, int | None]:
    """The tokenizer of a model of ours, the size of its table and the token that ends a text."""
    from tokenizers import Tokenizer

    try:
        facts: Any = json.loads((folder / "model.json").read_bytes())
        end_id = facts.get("end_id")
        # tokenizers raises a plain Exception for what it cannot read
        tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text(encoding="utf-8"))
    except Exception as error:
        raise InputError(f"{folder}: has no model.json and tokenizer.json that can be read: {error}") from error
    return _plain(tokenizer), _table_size(folder, tokenizer), end_id


def _table_size(folder: Path, tokenizer: Tokenizer) -> int:
    """A model may have more entries than its tokenizer has tokens; a table that is there knows how many."""
    from celadon.models.store.importing import load_array

    size = tokenizer.get_vocab_size()
    return max(size, len(load_array(folder / TABLE))) if (folder / TABLE).is_file() else size


def _of_transformers(name: str) -> tuple[Tokenizer, int, int | None]:
    """The tokenizer of a checkpoint and the rows of its table; the end of a text is not counted there."""
    from celadon.models.networks.transformers_files import find_checkpoint

    try:
        from tokenizers import Tokenizer
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("transformers", "hf") from error
    folder = find_checkpoint(name).folder
    try:
        loaded: Any = AutoTokenizer.from_pretrained(
            str(folder), use_fast=True, trust_remote_code=False, local_files_only=True
        )
        tokenizer = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: its tokenizer cannot be loaded: {error}") from error
    config: Any = json.loads((folder / "config.json").read_bytes())
    rows = config.get("vocab_size") or config.get("text_config", {}).get("vocab_size") or 0
    return _plain(tokenizer), max(int(rows), tokenizer.get_vocab_size()), None


def _plain(tokenizer: Tokenizer) -> Tokenizer:
    """Neither cuts nor pads, and takes "[MASK]" in a text for what a reader sees."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
