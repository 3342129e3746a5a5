"""The files of a Hugging Face checkpoint: where they are, what kind of model they hold, and their digest.

Only weights in safetensors are taken, and no code that comes with a checkpoint is ever run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from celadon.core import InputError, MissingExtraError, MissingPartError, UsageError
from celadon.models.store.places import is_offline

_WEIGHTS = "model.safetensors"
_SHARDS = "model.safetensors.index.json"
_VOCABULARIES = ("vocab.json", "vocab.txt", "merges.txt")
_TOKENIZERS = (
    "tokenizer.json",
    *_VOCABULARIES,
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)
# what is fetched: no pickles, no copies for other frameworks, no Python
_PATTERNS = [_WEIGHTS, "model-*.safetensors", _SHARDS, "*.json", "*.txt", "*.model"]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on this machine; a ``masked`` one fills in masked tokens, another reads from left to right."""

    name: str
    folder: Path
    masked: bool

    def digest(self) -> str:
        """Return the sha256 over the names and contents of the configuration, the weights and the tokenizer."""
        total = hashlib.sha256()
        for path in sorted([self.folder / "config.json", *_weight_files(self.folder), *_tokenizer_files(self.folder)]):
            state = path.stat()
            content = _file_digest(str(path), state.st_size, state.st_mtime_ns)
            total.update(f"{path.name}\0{content}\n".encode())
        return total.hexdigest()


@lru_cache(maxsize=256)
def _file_digest(path: str, size: int, changed: int) -> str:
    """Hash a file once per process; the size and the time of the last change tell one state of it from another."""
    with Path(path).open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def find_checkpoint(name: str) -> Checkpoint:
    """Find a language model by its folder or by its name on the hub, fetching it where that is allowed."""
    folder = find_folder(name)
    return Checkpoint(name, folder, _is_masked(_read_json(folder / "config.json", name), name))


def find_folder(name: str) -> Path:
    """Return where the files of a checkpoint of any kind are, fetching them where that is allowed."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if folder.is_absolute() or name.startswith((".", "~")):
            raise InputError(f"{name}: there is no such folder")
        folder = _from_hub(name)
    config = _read_json(folder / "config.json", name)
    stated = config.get("transformers_weights") or _WEIGHTS
    if not _weight_files(folder) or not str(stated).endswith((".safetensors", _SHARDS)):
        raise InputError(f"{name}: {_no_weights(folder)}")
    if not _tokenizer_files(folder):
        raise InputError(f"{name}: there is no tokenizer (tokenizer.json) beside the weights")
    # absolute, since a digest may be taken once the process has gone elsewhere
    return folder.absolute()


def _is_offline() -> bool:
    """Tell whether the network must not be touched, by our own setting or the hub's."""
    hub = os.environ.get("HF_HUB_OFFLINE", "").strip().lower()
    return is_offline() or hub in ("1", "on", "yes", "true")


def _from_hub(name: str) -> Path:
    """Return the snapshot in the hub's cache; the network is asked only where that is not whole."""
    try:
        # the core has the hub's own package, and nothing is to be fetched that cannot be used
        import transformers  # noqa: F401
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            GatedRepoError,
            HfHubHTTPError,
            HFValidationError,
            RepositoryNotFoundError,
        )
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    # a broken connection is what the HTTP library of its version raises, of which its own error is a kind
    failures: tuple[type[Exception], ...] = (OSError, *HfHubHTTPError.__bases__)
    try:
        try:
            folder = Path(snapshot_download(name, allow_patterns=_PATTERNS, local_files_only=True))
        except FileNotFoundError:
            folder = None
        if folder is not None and _is_whole(folder):
            return folder
        if _is_offline():
            raise MissingPartError(_how_to_fetch(name, "and the network is switched off"))
        return Path(snapshot_download(name, allow_patterns=_PATTERNS))
    except HFValidationError:
        raise UsageError(f"{name!r} is neither a folder nor a name of the Hugging Face hub") from None
    except GatedRepoError:
        raise MissingPartError(
            f"the model {name} is open only to users who accepted its terms: accept them on its page, "
            "then log in with: hf auth login"
        ) from None
    except RepositoryNotFoundError:
        raise UsageError(f"the Hugging Face hub has no model {name!r}") from None
    except failures as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise MissingPartError(_how_to_fetch(name, f"and fetching it failed ({reason})")) from None


def _how_to_fetch(name: str, why: str) -> str:
    return f"the model {name} is not on this machine {why}; once online, fetch it with: hf download {name}"


def _is_whole(folder: Path) -> bool:
    shards = _weight_files(folder)
    return bool(shards) and all(map(Path.is_file, [folder / "config.json", *shards])) and bool(_tokenizer_files(folder))


def _weight_files(folder: Path) -> list[Path]:
    """List the files that transformers reads: one, or those that an index names."""
    if (folder / _WEIGHTS).is_file():
        return [folder / _WEIGHTS]
    if not (folder / _SHARDS).is_file():
        return []
    index = _read_json(folder / _SHARDS, str(folder))
    return [folder / Path(shard).name for shard in sorted(set(index.get("weight_map", {}).values()))]


def _tokenizer_files(folder: Path) -> list[Path]:
    return [folder / file for file in _TOKENIZERS if (folder / file).is_file()]


def _no_weights(folder: Path) -> str:
    pickles = sorted(path.name for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt") for path in folder.glob(pattern))
    found = f"only {pickles[0]}, a pickle, which is never loaded" if pickles else f"neither {_WEIGHTS} nor its shards"
    return f"no weights in safetensors: {found}; save the model again with transformers' save_pretrained"


def _read_json(path: Path, name: str) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{name}: there is no {path.name}, so this is no model of transformers") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {path.name} cannot be read: {error}") from None
    if not isinstance(content, Mapping):
        raise InputError(f"{name}: {path.name} is not a JSON object")
    return content


def _is_masked(config: Mapping[str, Any], name: str) -> bool:
    """Decide the kind by the architecture that the checkpoint was saved as."""
    try:
        from transformers.models.auto import modeling_auto
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    stated = config.get("architectures") or []
    causal = class_names(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    masked = class_names(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    # BertForPreTraining and its like hold a head for masked tokens beside another; whether they do is seen on loading
    masked |= {f"{known.removesuffix('MaskedLM')}PreTraining" for known in masked if known.endswith("ForMaskedLM")}
    fills_in = any(architecture in masked for architecture in stated)
    reads_on = any(architecture in causal for architecture in stated)
    if config.get("is_encoder_decoder") or not (fills_in or reads_on):
        what = f"is saved as {', '.join(stated)}" if stated else "does not say what it is saved as"
        raise UsageError(f"{name} is neither a causal nor a masked language model: its config.json {what}")
    return fills_in and not (reads_on and (config.get("is_decoder") or config.get("causal")))


def class_names(mapping: Mapping[str, str | tuple[str, ...]]) -> set[str]:
    """Return the classes that a mapping of transformers leads to."""
    values = mapping.values()
    return {name for value in values for name in ([value] if isinstance(value, str) else value)}
