"""How good a judge of sentences SmolLM2-135M becomes in a quarter of an hour: is it worth distilling into the encoder?

    python benchmarks/teacher.py --corpus enwiki.txt.xz --cola COLA_FOLDER --data JUDGEMENTS_FOLDER [--minutes 15]

Needs `celadon install train hf` and `celadon models fetch smollm2`. CoLA and sentences of Wikipedia, each with a
damaged copy; the upper ten of thirty layers are trained. Then CoLA's dev set, GUG's dev part and Sulem: nothing is
chosen by it.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from judgement_sets import read
from tokenizers import Tokenizer
from torch import nn
from transformers import LlamaConfig, LlamaModel

from celadon.core import FloatArray
from celadon.meta.correlation import spearman
from celadon.models.smollm2.layout import SMOLLM2, Precision, plan_weights
from celadon.models.store import folder_of
from celadon.synth.sentence_damage import damage
from celadon.train.acceptability_examples import is_usable
from celadon.train.corpus import Corpus
from celadon.train.two_labels import area_under_curve

SENTENCES, SHARE, LONGEST, TRAINED = 9_000, 0.02, 220, 10
BATCH, SORTED = 32, 2_048
RATES = (3e-5, 1e-3)  # of the layers and of the head
Example = tuple[str, float]


def network(folder: Path) -> LlamaModel:
    """SmolLM2 with the weights that celadon's own graph reads."""
    shape = SMOLLM2
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        rms_norm_eps=shape.epsilon,
        rope_theta=shape.theta,
        attn_implementation="eager",
    )
    file, plan = np.memmap(folder / "weights.bin", dtype=np.uint8, mode="r"), plan_weights(shape, Precision.FP32)

    def weight(name: str) -> torch.Tensor:
        place = plan[name]
        values = file[place.offset : place.offset + place.size].view(place.kind).reshape(place.shape)
        return torch.tensor(np.array(values))

    state = {"embed_tokens.weight": weight("embedding"), "norm.weight": weight("last_norm")}
    keys = shape.key_heads * shape.head_width
    for layer in range(shape.layers):
        packed, gates = weight(f"qkv.{layer}").T, weight(f"gate_up.{layer}").T
        parts = dict(zip("qkv", packed.split([shape.width, keys, keys]), strict=True))
        state |= {f"layers.{layer}.self_attn.{name}_proj.weight": each for name, each in parts.items()}
        state |= {
            f"layers.{layer}.self_attn.o_proj.weight": weight(f"out.{layer}").T,
            f"layers.{layer}.mlp.gate_proj.weight": gates[: shape.inner],
            f"layers.{layer}.mlp.up_proj.weight": gates[shape.inner :],
            f"layers.{layer}.mlp.down_proj.weight": weight(f"down.{layer}").T,
            f"layers.{layer}.input_layernorm.weight": weight(f"attention_norm.{layer}"),
            f"layers.{layer}.post_attention_layernorm.weight": weight(f"mlp_norm.{layer}"),
        }
    model = LlamaModel(config)
    model.load_state_dict({name: each.contiguous() for name, each in state.items()})
    for part in (model.embed_tokens, *model.layers[:-TRAINED]):
        part.requires_grad_(False)
    return model


class Judge:
    """The network, and a head on the last token and the mean of all."""

    def __init__(self, folder: Path) -> None:
        self.model, self.head = network(folder), nn.Linear(2 * SMOLLM2.width, 1)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def numbers(self, texts: list[str]) -> list[list[int]]:
        """The tokens of texts, each with the beginning of a text before it."""
        return [[0, *encoded.ids] for encoded in self._tokenizer.encode_batch(texts)]

    def __call__(self, rows: list[list[int]]) -> torch.Tensor:
        """A logit for each row."""
        lengths = torch.tensor([len(row) for row in rows])
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        states = self.model(ids, attention_mask=mask, use_cache=False).last_hidden_state
        last = states[torch.arange(len(rows)), lengths - 1]
        mean = (states * mask[..., None]).sum(1) / lengths[:, None]
        logits: torch.Tensor = self.head(torch.cat([last, mean], 1))[:, 0]
        return logits

    def train(self, examples: list[Example], minutes: float, random: np.random.Generator) -> None:
        """One pass over the examples, or as far as time allows."""
        rows, labels = self.numbers([text for text, _ in examples]), np.array([label for _, label in examples])
        parts: list[dict[str, Any]] = [
            {"params": [each for each in self.model.parameters() if each.requires_grad]},
            {"params": self.head.parameters()},
        ]
        optimizer = torch.optim.AdamW(parts, weight_decay=0.01)
        batches = _batches(rows, random)
        began, tokens = time.monotonic(), 0
        for step, batch in enumerate(batches):
            spent = (time.monotonic() - began) / (60 * minutes)
            if spent >= 1:
                break
            for group, rate in zip(optimizer.param_groups, RATES, strict=True):
                group["lr"] = rate * min(1, (step + 1) / 30) * (1 - max(spent, step / len(batches)))
            target = torch.tensor(labels[batch], dtype=torch.float32)
            loss = nn.functional.binary_cross_entropy_with_logits(self([rows[at] for at in batch]), target)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            tokens += sum(len(rows[at]) for at in batch)
        print(f"{step:,} of {len(batches):,} batches, {tokens / (time.monotonic() - began):.0f} tokens a second")

    def score(self, texts: list[str]) -> FloatArray:
        """A logit for each text."""
        rows, found = self.numbers(texts), np.zeros(len(texts))
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        with torch.no_grad():
            for start in range(0, len(order), BATCH):
                some = order[start : start + BATCH]
                found[some] = self([rows[at] for at in some]).numpy()
        return found


def _batches(rows: list[list[int]], random: np.random.Generator) -> list[list[int]]:
    order, found = random.permutation(len(rows)).tolist(), []
    for start in range(0, len(order), SORTED):
        piece = sorted(order[start : start + SORTED], key=lambda at: len(rows[at]))
        batches = [piece[at : at + BATCH] for at in range(0, len(piece), BATCH)]
        found += [batches[at] for at in random.permutation(len(batches))]
    return found


def cola(path: Path) -> list[Example]:
    """The sentences of CoLA with their labels."""
    with path.open(encoding="utf-8") as file:
        return [(row[3], float(row[1])) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def damaged(corpus: Corpus, random: np.random.Generator) -> list[Example]:
    """Sentences of articles that are not kept apart, and a damaged copy of each."""
    sentences: list[str] = []
    for text, held_out in corpus.sentences():
        if not held_out and is_usable(text) and len(text) < LONGEST and random.random() < SHARE:
            sentences.append(text)
        if len(sentences) >= SENTENCES:
            break
    found: list[Example] = []
    for text in sentences:
        if made := damage(text, random, [sentences[int(random.integers(len(sentences)))]]):
            found += [(text, 1.0), (made.text, 0.0)]
    return found


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, type=Path)
    parser.add_argument("--cola", required=True, type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--minutes", type=float, default=15)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    judge = Judge(folder_of("smollm2"))
    examples = cola(arguments.cola / "in_domain_train.tsv") + damaged(Corpus((arguments.corpus,)), random)
    judge.train(examples, arguments.minutes, random)
    texts, labels = zip(*cola(arguments.cola / "in_domain_dev.tsv"), strict=True)
    print(f"CoLA dev, area under the curve: {area_under_curve(judge.score(list(texts)), np.array(labels) > 0.5):.3f}")
    for name in ("gug_train_dev", "sulem2018_simplification"):
        rated = read(arguments.data, name)
        scores = judge.score([sample.text for sample in rated.samples])
        print(f"{name}: {spearman(scores, rated.ratings['grammaticality']).value:.3f}", flush=True)


if __name__ == "__main__":
    main()
