"""MoverScore against the definition of the authors' package, written out here one pair at a time.

The package, moverscore 1.0.3, cannot be imported today; benchmarks/embedding_metrics.py runs its own code with
stand-ins for what it misses, and finds differences below 1e-4.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import Sample, UsageError
from celadon.metrics.registry import load
from celadon.models.words.word_mover import STOP_WORDS
from celadon.scoring.batch import Batch
from tests.conftest import builtin_is_there, missing_part

TEXTS = [
    "The council approved the bridge.",
    "nobody in the room, had read the unexpected report",
    "A storm reached the coast; players celebrated wildly.",
    "rebuilding would cost more",
]
REFERENCES = [
    "The new bridge was approved by the council of the town.",
    "Unbelievably, nobody had read the report before the meeting.",
    "A storm is expected to reach the coast by Friday.",
    "She said it would cost euros.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT with random weights: six layers, so that the last five are not all."""
    from tests.models.tiny_checkpoints import save, torch, transformers, word_pieces

    torch.manual_seed(7)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 6, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=110, max_position_embeddings=48, **sizes)
    return save(tmp_path_factory.mktemp("checkpoints") / "bert", transformers.BertModel(config), word_pieces())


class Definition:
    """The score of one pair, straight from transformers."""

    def __init__(self, folder: Path, variant: str, n: int = 1, stop_words: tuple[str, ...] = ()) -> None:
        import transformers

        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        self.model = transformers.AutoModel.from_pretrained(str(folder)).eval()
        self.variant, self.n, self.stop_words = variant, n, stop_words

    def idf(self, texts: list[str]) -> dict[str, float]:
        counts = Counter(piece for text in texts for piece in set(self.tokenizer.tokenize(text)) | {"[CLS]", "[SEP]"})
        return {piece: math.log((len(texts) + 1) / (count + 1)) for piece, count in counts.items()}

    def grams(self, text: str, idf: dict[str, float] | None) -> tuple[np.ndarray, np.ndarray]:
        """The vectors and weights of the n-grams of a text."""
        import torch

        pieces = ["[CLS]", *self.tokenizer.tokenize(text), "[SEP]"]
        with torch.inference_mode():
            made = self.model(torch.tensor([self.tokenizer.convert_tokens_to_ids(pieces)]), output_hidden_states=True)
        layers = np.stack([states[0].double().numpy() for states in made.hidden_states])
        if self.variant == "v1":
            layers = layers[-5:] / np.linalg.norm(layers[-5:], axis=-1, keepdims=True)
            vectors = np.concatenate([layers.min(axis=0), layers.mean(axis=0), layers.max(axis=0)], axis=-1)
        else:
            vectors = layers[-1]
        kept = [
            at
            for at, piece in enumerate(pieces)
            if piece not in string.punctuation and "##" not in piece and piece not in self.stop_words
        ]
        weights = [1.0 if idf is None else idf[piece] for piece in pieces]
        runs = [kept[at : at + self.n] for at in range(max(1, len(kept) - self.n + 1))]
        totals = np.array([sum(weights[at] for at in run) for run in runs])
        means = np.stack([sum(weights[at] * vectors[at] for at in run) for run in runs])
        means /= np.linalg.norm(means, axis=1, keepdims=True) + 1e-30
        return means[totals > 0], totals[totals > 0] / totals.sum()

    def score(self, text: str, reference: str, idf: tuple[Any, Any] = (None, None)) -> float:
        import ot

        (left, out), (right, into) = self.grams(text, idf[0]), self.grams(reference, idf[1])
        costs = np.array([[math.dist(one, other) for other in right] for one in left])
        return 1 - float(ot.emd2(out, into, costs**2 if self.variant == "v1" else costs))


def values(spec: str, references: list[Any] = REFERENCES, texts: list[str] = TEXTS) -> np.ndarray:
    rows = [
        Sample(text, (one,) if isinstance(one, str) else tuple(one))
        for text, one in zip(texts, references, strict=True)
    ]
    return load(spec).score(Batch(rows)).values


class TestDefinition:
    @pytest.mark.parametrize(("variant", "n"), [("v1", 1), ("v1", 2), ("v2", 1)])
    def test_scores(self, folder: Path, variant: str, n: int) -> None:
        made = Definition(folder, variant, n)
        expected = [made.score(*pair) for pair in zip(TEXTS, REFERENCES, strict=True)]
        found = values(f"moverscore[encoder=hf:{folder},variant={variant},n={n}]")
        np.testing.assert_allclose(found, expected, atol=1e-4)

    @pytest.mark.parametrize("n", [1, 2])
    def test_idf_of_texts_and_of_references(self, folder: Path, n: int) -> None:
        made = Definition(folder, "v1", n)
        idf = made.idf(TEXTS), made.idf(REFERENCES)
        expected = [made.score(*pair, idf) for pair in zip(TEXTS, REFERENCES, strict=True)]
        np.testing.assert_allclose(values(f"moverscore[encoder=hf:{folder},idf=set,n={n}]"), expected, atol=1e-4)

    def test_stop_words(self, folder: Path) -> None:
        made = Definition(folder, "v1", stop_words=tuple(STOP_WORDS))
        expected = made.score(TEXTS[1], REFERENCES[0])
        found = values(f"moverscore[encoder=hf:{folder},stopwords=drop]", [REFERENCES[0]], [TEXTS[1]])
        assert found[0] == pytest.approx(expected, abs=1e-4)

    def test_several_references(self, folder: Path) -> None:
        made = Definition(folder, "v1")
        each = np.array([[made.score(text, one) for one in REFERENCES] for text in TEXTS])
        every = [REFERENCES] * len(TEXTS)
        np.testing.assert_allclose(values(f"moverscore[encoder=hf:{folder}]", every), each.max(axis=1), atol=1e-4)
        found = values(f"moverscore[encoder=hf:{folder},references=mean]", every)
        np.testing.assert_allclose(found, each.mean(axis=1), atol=1e-4)

    def test_many_texts_are_read_in_chunks(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = values(f"moverscore[encoder=hf:{folder}]")
        monkeypatch.setattr("celadon.metrics.moverscore._TOKENS_AT_ONCE", 10)
        np.testing.assert_allclose(values(f"moverscore[encoder=hf:{folder}]"), whole, atol=1e-6)


class TestBuiltin:
    @pytest.fixture(autouse=True)
    def _builtin(self) -> None:
        if not builtin_is_there():
            missing_part("the builtin encoder", "train it, or check out its weights")

    def test_paraphrases_are_nearer_than_strangers(self) -> None:
        text = "The company will close its factory next year."
        near, far = "The firm is going to shut the plant next year.", "Bees like warm gardens with many flowers."
        found = values("moverscore", [near, far, [far, near], text], [text] * 4)
        assert found[0] > found[1] + 0.1
        assert found[2] == found[0]
        assert found[3] == pytest.approx(1.0)

    def test_evidence(self) -> None:
        text = "The cat sat, unfortunately."
        sample = Sample(text, ("Dogs ran far away.", "A cat sat down."))
        evidence = load("moverscore").evidence(sample)
        assert evidence is not None
        assert evidence.reference == 1
        spans = {text[span.start : span.end]: span for span in evidence.text_spans}
        assert list(spans) == ["The", "cat", "sat", "unfortunately"]
        assert (spans["cat"].label, spans["cat"].note.partition(",")[0]) == ("match", "cat")
        cost = 1 - values("moverscore", [sample.references], [text])[0]
        assert f"costs {cost:.3f}" in evidence.summary
        assert load("moverscore[n=2]").evidence(sample) is None

    def test_nothing_to_move(self) -> None:
        rows = [Sample("the the", ("the cat sat",)), Sample("the cat", ("the the", "the cat"))]
        found = load("moverscore[idf=set]").score(Batch(rows))
        assert np.isnan(found.values[0])
        assert "no token of the text counts" in found.reasons[0]
        assert found.values[1] == pytest.approx(1.0)

    def test_an_encoder_without_marks(self, tmp_path: Path) -> None:
        from tests.models.tiny_checkpoints import make_checkpoints

        spec = f"moverscore[encoder=hf:{make_checkpoints(tmp_path)['gpt2']},stopwords=drop]"
        rows = [Sample("The bridge", ("the of the", "The council of the bridge")), Sample("the", ("The bridge",))]
        found = load(spec).score(Batch(rows))
        assert 0 < found.values[0] < 1
        assert np.isnan(found.values[1])

    def test_signature(self) -> None:
        assert "|layers:2-6|" in load("moverscore").signature
        assert "|layers:6-6|" in load("moverscore[variant=v2]").signature
        assert "|constants:of-the-set|" in load("moverscore[idf=set]").signature

    def test_windows_compare_what_stands_in_the_same_place(self) -> None:
        left, right = "boat river judge speaks loudly today", "music guitar court listens often there"
        text, swapped = f"{left} {right}", f"{right} {left}"
        assert values("moverscore[window=8]", [swapped], [text])[0] < values("moverscore", [swapped], [text])[0] - 0.02
        assert values("moverscore[window=8]", [text], [text])[0] == pytest.approx(1.0)

    def test_wrong_options(self) -> None:
        for wrong in ("n=0", "variant=v3", "references=worst", "subwords=some", "window=0"):
            with pytest.raises(UsageError):
                load(f"moverscore[{wrong}]")
