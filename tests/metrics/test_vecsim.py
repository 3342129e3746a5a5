"""Cosines of embeddings against sums written out in the tests, and against transformers run directly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, Sample, UsageError
from celadon.metrics.registry import load
from celadon.models.words.word_vectors import word_vectors
from celadon.scoring.batch import Batch
from tests.conftest import builtin_is_there, missing_part

TEXTS = ("The boat was on the river. A judge spoke.", "Nobody in the court heard the music of the guitar.")


@pytest.fixture(autouse=True)
def _builtin() -> None:
    if not builtin_is_there():
        missing_part("the builtin encoder", "train it, or check out its weights")


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def value(spec: str, text: str, *references: str) -> float:
    return float(load(spec).score(Batch([Sample(text, references)])).values[0])


class TestBuiltin:
    def test_the_cosine_of_the_means_of_sentences(self) -> None:
        from celadon.models.encoders.encoder import sentence_encoder

        encoder = sentence_encoder()
        first = encoder.encode(["The boat was on the river.", "A judge spoke."]).meaning.astype(float).mean(axis=0)
        second = encoder.encode([TEXTS[1]]).meaning[0].astype(float)
        assert value("vecsim", *TEXTS) == pytest.approx(cosine(first, second), abs=1e-5)

    def test_paraphrases_are_nearer_than_strangers(self) -> None:
        text = "The company will close its factory next year."
        near, far = "The firm is going to shut the plant next year.", "Bees like warm gardens with many flowers."
        assert value("vecsim", text, near) > value("vecsim", text, far) + 0.3
        assert value("vecsim", text, far, near) == value("vecsim", text, near)
        assert value("vecsim", text, text) == pytest.approx(1.0)

    def test_nulls(self) -> None:
        rows = [Sample("A text.", ("река",)), Sample("река и мост", ("A text.",)), Sample("A text.", ("!", "A text."))]
        found = load("vecsim").score(Batch(rows))
        assert np.isnan(found.values).tolist() == [True, True, False]
        assert "no reference" in found.reasons[0]
        assert "Latin" in found.reasons[1]

    def test_evidence_names_the_nearest_sentence(self) -> None:
        text = "A judge spoke in court. The boat was on the river."
        evidence = load("vecsim").evidence(Sample(text, ("Bees fly.", "The boat was on the river. The judge talked.")))
        assert evidence is not None
        assert evidence.reference == 1
        first, second = evidence.text_spans
        assert (text[first.start : first.end], first.label) == ("A judge spoke in court.", "other")
        assert first.note.startswith("The judge talked., 0.")
        assert (second.label, second.note) == ("match", "The boat was on the river., 1.00")
        assert load("vecsim").evidence(Sample("река", ("A text.",))) is None


class TestAverage:
    def test_the_cosine_of_the_means_of_words(self) -> None:
        table = word_vectors()
        words = (["boat", "river", "boat", "judge"], ["court", "music"])
        means = [table.lookup(side).vectors.astype(float).mean(axis=0) for side in words]
        found = value("vecsim[encoder=average]", "The boat, the river. A boat! Some judge", "court or music")
        assert found == pytest.approx(cosine(*means), abs=1e-6)

    def test_of_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "v.txt").write_text("river 3 0\nlake 0 2\nmusic -1 0\n")
        spec = f"vecsim[encoder=average,vectors={tmp_path}/v.txt]"
        assert value(spec, "river", "river lake") == pytest.approx(math.sqrt(0.5))
        assert value(spec, "river", "music") == pytest.approx(-1.0)
        assert math.isnan(value(spec, "unheard", "river"))
        assert "v.txt@" in load(spec).signature

    def test_vectors_are_for_averages_alone(self) -> None:
        for wrong in ("vectors=glove", "encoder=", "encoder=average,vectors="):
            with pytest.raises(UsageError):
                load(f"vecsim[{wrong}]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT with random weights and a window of 48 tokens."""
    from tests.models.tiny_checkpoints import save, torch, transformers, word_pieces

    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=110, max_position_embeddings=48, **sizes)
    return save(tmp_path_factory.mktemp("checkpoints") / "bert", transformers.BertForMaskedLM(config), word_pieces())


class TestTransformers:
    def vector(self, folder: Path, sentence: str) -> np.ndarray:
        """The mean of the last layer over all tokens, straight from transformers."""
        import torch
        import transformers

        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        model = transformers.AutoModel.from_pretrained(str(folder)).eval()
        with torch.inference_mode():
            states = model(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0]
        mean = states.double().mean(dim=0).numpy()
        return np.asarray(mean / np.linalg.norm(mean))

    def test_means_of_the_last_layer(self, folder: Path) -> None:
        from celadon.models.encoders.mean_pooled import mean_pooled_encoder

        encoder = mean_pooled_encoder(f"hf:{folder}")
        sentences = ["A judge spoke.", "The council approved the bridge.", "A judge spoke."]
        found = encoder.encode(sentences)
        for sentence, row in zip(sentences, found, strict=True):
            np.testing.assert_allclose(row, self.vector(folder, sentence), atol=1e-5)
        np.testing.assert_allclose(encoder.encode(sentences[:1])[0], found[0], atol=1e-7)

    def test_the_metric(self, folder: Path) -> None:
        first = (self.vector(folder, "The boat was on the river.") + self.vector(folder, "A judge spoke.")) / 2
        spec = f"vecsim[encoder=hf:{folder}]"
        assert value(spec, *TEXTS) == pytest.approx(cosine(first, self.vector(folder, TEXTS[1])), abs=1e-5)
        assert f"hf:{folder}@" in load(spec).signature

    def test_long_texts_are_read_to_their_end(self, folder: Path) -> None:
        spec = f"vecsim[encoder=hf:{folder}]"
        long = "the council approved the bridge and " * 200
        assert value(spec, f"{long} the library", f"{long} the library") == pytest.approx(1.0)
        assert value(spec, f"{long} unbelievably nobody", f"{long} the library") < 1 - 1e-9

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such folder"):
            value(f"vecsim[encoder=hf:{tmp_path}/nowhere]", *TEXTS)
