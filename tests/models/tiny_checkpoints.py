"""Small random checkpoints of several kinds, with tokenizers trained on a few sentences."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

try:
    import tokenizers
    import torch
    import transformers
except ImportError:
    # a missing extra must fail where all parts must be there
    if os.environ.get("CI") == "true":
        raise
    pytest.skip("transformers is not installed; install it with: celadon install hf", allow_module_level=True)

__all__ = ["CORPUS", "make_checkpoints", "make_heads", "network", "torch", "transformers"]

CORPUS = [
    "The council of the town approved the new bridge on Tuesday after a long debate.",
    "Unbelievably, nobody in the room had read the report before the meeting began.",
    "She said that rebuilding the old library would cost more than three million euros.",
    "A storm is expected to reach the coast by Friday evening, forecasters warned.",
    "Players celebrated wildly; the unexpected victory ended a losing run of nine games.",
]


def byte_pieces(**marks: str) -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(dict.fromkeys(marks.values())),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks)


def word_pieces() -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=110, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def roberta_pieces() -> Any:
    tokenizer = byte_pieces(bos_token="<s>", pad_token="<pad>", eos_token="</s>", mask_token="<mask>")
    backend = tokenizer.backend_tokenizer
    backend.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **{"bos_token": "<s>", "cls_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "sep_token": "</s>"},
        mask_token="<mask>",
    )


def xlnet_pieces() -> Any:
    """Marks after the text only, the last of them in a part of its own."""
    backend = byte_pieces(unk_token="<unk>", sep_token="<sep>", cls_token="<cls>").backend_tokenizer
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A <sep> <cls>:2", special_tokens=[("<sep>", 1), ("<cls>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", sep_token="<sep>", cls_token="<cls>"
    )


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    # larger weights than a fresh network has, so that its choices are far from even
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0) if parameter.ndim > 1 else None
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_checkpoints(root: Path) -> dict[str, Path]:
    """Save a checkpoint of each kind in a folder of its own."""
    torch.manual_seed(17)
    gpt2 = transformers.GPT2Config(
        vocab_size=400, n_embd=32, n_layer=2, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=0
    )
    llama = transformers.LlamaConfig(
        vocab_size=400,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
    )
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    bert = transformers.BertConfig(vocab_size=110, max_position_embeddings=48, **sizes)
    roberta = transformers.RobertaConfig(vocab_size=400, max_position_embeddings=50, type_vocab_size=1, **sizes)
    return {
        "gpt2": save(root / "gpt2", transformers.GPT2LMHeadModel(gpt2), byte_pieces(eos_token="<|end|>")),
        "llama": save(
            root / "llama", transformers.LlamaForCausalLM(llama), byte_pieces(bos_token="<s>", eos_token="</s>")
        ),
        "markless": save(root / "markless", transformers.LlamaForCausalLM(llama), byte_pieces()),
        "bert": save(root / "bert", transformers.BertForMaskedLM(bert), word_pieces()),
        "roberta": save(root / "roberta", transformers.RobertaForMaskedLM(roberta), roberta_pieces()),
    }


def make_heads(root: Path) -> dict[str, Path]:
    """Save classifiers of two labels and an ALBERT with its order head, each in a folder of its own."""
    torch.manual_seed(23)
    # wider weights than usual, so that two texts are judged far apart
    wide = {"initializer_range": 0.06}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, **wide}
    bert = transformers.BertConfig(vocab_size=110, max_position_embeddings=48, **sizes)
    roberta = transformers.RobertaConfig(vocab_size=400, max_position_embeddings=50, type_vocab_size=1, **sizes)
    gpt2 = transformers.GPT2Config(
        vocab_size=400, n_embd=32, n_layer=2, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=0, **wide
    )
    xlnet = transformers.XLNetConfig(vocab_size=400, d_model=32, n_layer=2, n_head=2, d_inner=64, **wide)
    albert = transformers.AlbertConfig(vocab_size=110, embedding_size=16, max_position_embeddings=48, **sizes)
    classifiers = {
        "bert": (transformers.BertForSequenceClassification(bert), word_pieces()),
        "roberta": (transformers.RobertaForSequenceClassification(roberta), roberta_pieces()),
        "gpt2": (transformers.GPT2ForSequenceClassification(gpt2), byte_pieces(eos_token="<|end|>")),
        "xlnet": (transformers.XLNetForSequenceClassification(xlnet), xlnet_pieces()),
        "albert": (transformers.AlbertForPreTraining(albert), word_pieces()),
    }
    return {name: save(root / name, model, tokenizer) for name, (model, tokenizer) in classifiers.items()}


def network(folder: Path, masked: bool) -> tuple[Any, Any]:
    """The network and the tokenizer as anybody would load them."""
    kind: Any = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    return kind.from_pretrained(folder).eval(), transformers.AutoTokenizer.from_pretrained(folder)
