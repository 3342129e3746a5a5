"""Checkpoints of transformers that hold a head for a whole text: finding, checking and loading them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.core import MissingExtraError, UsageError
from celadon.models.language.transformers_lm import load_tokenizer
from celadon.models.networks.transformers_files import Checkpoint, class_names, find_folder
from celadon.models.networks.transformers_network import load_model, quiet_transformers, torch_failures

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class HeadFiles:
    """A checkpoint on this machine.

    Attributes
    ----------
    name
        The name or folder it was asked for by.
    folder
        Where its files are.
    kind
        The class of transformers that loads it.
    head
        What its head does, for messages.
    idle
        How the names of weights begin that are not used, and so may be missing; empty where all are.
    """

    name: str
    folder: Path
    kind: str
    head: str
    idle: str = ""

    def digest(self) -> str:
        """Return the sha256 over the names and contents of the configuration, the weights and the tokenizer."""
        return Checkpoint(self.name, self.folder, masked=False).digest()


def find_classifier(name: str) -> HeadFiles:
    """Find a classifier of two labels by its folder or by its name on the hub."""
    folder = find_folder(name)
    config = _config(name, folder)
    stated = getattr(config, "architectures", None) or []
    if stated and not set(stated) & _classifiers():
        raise UsageError(f"{name} is no classifier of texts: its config.json says {', '.join(stated)}")
    if config.num_labels != 2:
        raise UsageError(
            f"{name} has {config.num_labels} labels; a classifier of acceptability has two, as when fine-tuned on CoLA"
        )
    return HeadFiles(name, folder, "AutoModelForSequenceClassification", "head that classifies")


def find_order_head(name: str) -> HeadFiles:
    """Find an ALBERT with its order head by its folder or by its name on the hub."""
    folder = find_folder(name)
    config = _config(name, folder)
    if config.model_type != "albert":
        raise UsageError(
            f"{name} has no head for the order of sentences, which only ALBERT has; its config.json says "
            f"{config.model_type} (the next-sentence head of BERT and its kin tells other texts apart, not the order)"
        )
    if config.num_labels != 2:
        raise UsageError(f"{name} has {config.num_labels} labels; an order head has two, in order and swapped")
    return HeadFiles(name, folder, "AlbertForPreTraining", "order head", idle="predictions.")


def load_head(files: HeadFiles) -> Any:
    """Load the network, ready to be run; refused where weights of it are missing."""
    return load_model(files.name, files.folder, files.kind, files.head, files.idle)


def load_text_tokenizer(files: HeadFiles) -> tuple[Tokenizer, int]:
    """Return the tokenizer, which neither cuts nor pads, and the id to fill up short rows with."""
    tokenizer, _, pad_id = load_tokenizer(Checkpoint(files.name, files.folder, masked=False))
    return tokenizer, pad_id


def _config(name: str, folder: Path) -> Any:
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    with quiet_transformers(), torch_failures(name):
        return transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)


def _classifiers() -> set[str]:
    from transformers.models.auto import modeling_auto

    return class_names(modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES)
