"""A small random Llama model: its numbers, and a GGUF file of them as llama.cpp would write it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from celadon.models.language.smollm2.layout import LlamaShape, Precision, Smoothing

SHAPE = LlamaShape(
    vocabulary=512,
    width=64,
    layers=2,
    heads=4,
    key_heads=2,
    inner=96,
    positions=48,
    epsilon=1e-5,
    theta=10000.0,
)
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CORPUS = [
    "The council of the town approved the new bridge on Tuesday after a long debate.",
    "In 2019 and 1984 the old library cost more than 3,500,000 euros; nobody read the report.",
    "She said: \u201cCaf\u00e9s don't open before 10:30\u201d \u2014 and the storm came.",
]


def random_weights(seed: int = 5) -> dict[str, np.ndarray]:
    """Weights by their names in transformers, outputs by inputs, large enough that layers matter."""
    draw = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return draw.normal(0, 0.2, shape).astype(np.float32)

    def around_one() -> np.ndarray:
        return draw.uniform(0.5, 1.5, SHAPE.width).astype(np.float32)

    weights = {"model.embed_tokens.weight": normal(SHAPE.vocabulary, SHAPE.width), "model.norm.weight": around_one()}
    keys = SHAPE.key_heads * SHAPE.head_width
    for layer in range(SHAPE.layers):
        parts = {
            "self_attn.q_proj": normal(SHAPE.width, SHAPE.width),
            "self_attn.k_proj": normal(keys, SHAPE.width),
            "self_attn.v_proj": normal(keys, SHAPE.width),
            "self_attn.o_proj": normal(SHAPE.width, SHAPE.width),
            "mlp.gate_proj": normal(SHAPE.inner, SHAPE.width),
            "mlp.up_proj": normal(SHAPE.inner, SHAPE.width),
            "mlp.down_proj": normal(SHAPE.width, SHAPE.inner),
            "input_layernorm": around_one(),
            "post_attention_layernorm": around_one(),
        }
        weights |= {f"model.layers.{layer}.{name}.weight": value for name, value in parts.items()}
    return weights


GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_name(name: str) -> str:
    """Return what a weight is called in GGUF."""
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{GGUF_NAMES[part]}.weight"


def neighbours_rotate(weight: np.ndarray, heads: int) -> np.ndarray:
    """Order the rows as GGUF has them: row i of a head's first half, then row i of its second half, and so on."""
    halves = weight.reshape(heads, 2, -1, weight.shape[1])
    return np.stack([halves[:, 0], halves[:, 1]], axis=2).reshape(weight.shape)


def write_gguf(
    path: Path, weights: dict[str, np.ndarray], kinds: dict[str, str], pre: str = "smollm"
) -> dict[str, np.ndarray]:
    """Write a GGUF file and return the weights as they are after their storage.

    Parameters
    ----------
    path
        The file.
    weights
        By their names in transformers.
    kinds
        For the ends of GGUF names the kind of storage: ``{"attn_q.weight": "Q4_1"}``; the rest is F32.
    pre
        How the file says that texts are split.
    """
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    tokens, merges = _vocabulary()
    writer.add_context_length(8192)
    writer.add_embedding_length(SHAPE.width)
    writer.add_block_count(SHAPE.layers)
    writer.add_feed_forward_length(SHAPE.inner)
    writer.add_head_count(SHAPE.heads)
    writer.add_head_count_kv(SHAPE.key_heads)
    writer.add_rope_freq_base(SHAPE.theta)
    writer.add_layer_norm_rms_eps(SHAPE.epsilon)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in MARKS else 1 for token in tokens])
    writer.add_token_merges(merges)
    stored = {}
    for name, weight in weights.items():
        theirs = gguf_name(name)
        heads = SHAPE.heads if "attn_q" in theirs else SHAPE.key_heads if "attn_k" in theirs else 0
        ordered = neighbours_rotate(weight, heads) if heads else weight
        kind = next((kind for end, kind in kinds.items() if theirs.endswith(end)), "F32")
        number = gguf.GGMLQuantizationType[kind]
        data = gguf.quants.quantize(ordered, number)
        writer.add_tensor(theirs, data, raw_dtype=number)
        back = gguf.quants.dequantize(data, number)
        stored[name] = _undo(back, heads) if heads else back
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return stored


def converted(path: Path, into: Path, precision: Precision, smoothing: Smoothing) -> Path:
    """Convert a GGUF file of such a model to a folder as the model store has it."""
    from celadon.models.language.smollm2.conversion import write_folder
    from celadon.models.language.smollm2.gguf import read_gguf
    from celadon.train.language_models.smollm2 import build_graph

    table = io.BytesIO()
    np.save(table, np.full(SHAPE.vocabulary, -np.log(SHAPE.vocabulary), dtype=np.float32))
    graph = build_graph(SHAPE, precision)
    write_folder(read_gguf(path), into, "tiny", precision, SHAPE, graph, table.getvalue(), smoothing)
    return into


def their_config() -> Any:
    """The shape in the words of transformers."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=SHAPE.vocabulary,
        hidden_size=SHAPE.width,
        intermediate_size=SHAPE.inner,
        num_hidden_layers=SHAPE.layers,
        num_attention_heads=SHAPE.heads,
        num_key_value_heads=SHAPE.key_heads,
        max_position_embeddings=256,
        rms_norm_eps=SHAPE.epsilon,
        rope_theta=SHAPE.theta,
        tie_word_embeddings=True,
    )


def _undo(weight: np.ndarray, heads: int) -> np.ndarray:
    pairs = weight.reshape(heads, -1, 2, weight.shape[1])
    return np.concatenate([pairs[:, :, 0], pairs[:, :, 1]], axis=1).reshape(weight.shape)


def _vocabulary() -> tuple[list[str], list[str]]:
    """Train byte pairs on a few sentences; fill the vocabulary up with tokens that no text has."""
    import json

    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = their_splitter()
    trainer = trainers.BpeTrainer(
        vocab_size=380, special_tokens=list(MARKS), initial_alphabet=_alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    tokens += [f"<unused{at}>" for at in range(SHAPE.vocabulary - len(tokens))]
    return tokens, [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]


def _alphabet() -> list[str]:
    from tokenizers import pre_tokenizers

    return pre_tokenizers.ByteLevel.alphabet()


def their_splitter() -> Any:
    """How SmolLM2's tokenizer.json on the hub splits a text, in the words of a regular expression."""
    from tokenizers import Regex, pre_tokenizers

    digits = pre_tokenizers.Split(Regex(r"\p{N}"), behavior="isolated")
    return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
