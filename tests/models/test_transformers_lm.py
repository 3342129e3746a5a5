"""Models of transformers against the networks themselves, run on one text at a time, and against minicons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.models.language.language_model import TokenScores
from celadon.models.language.transformers_lm import TransformersLanguageModel, surroundings
from tests.models.tiny_checkpoints import CORPUS, make_checkpoints, network, torch

TEXTS = [
    *CORPUS,
    "the",
    "Bridge the of approved council unexpectedly debating.",
    "Rebuilding   unbelievable libraries!",
    "Caf\u00e9s \U0001f600 and \u0e01\u0e32\u0e23\u0e17\u0e14 \u05e9\u05dc\u05d5\u05dd",
    "x",
]
LONG = " ".join(CORPUS * 4)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    # networks this small are far slower where threads wait for each other on a busy machine
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of its own, and a hub's cache that holds nothing."""
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="session")
def models(folders: dict[str, Path]) -> dict[str, TransformersLanguageModel]:
    return {name: TransformersLanguageModel.open(folder) for name, folder in folders.items()}


def next_token_logprobs(model: Any, context: list[int], ids: list[int]) -> list[float]:
    """One text at a time: ids one after another, given what is before them."""
    with torch.no_grad():
        logits = model(torch.tensor([context + ids])).logits[0].double()
    table = logits.log_softmax(dim=-1)
    return [float(table[len(context) - 1 + at, token]) for at, token in enumerate(ids)]


def masked_logprob(model: Any, ids: list[int], at: int, also: list[int], mask: int) -> float:
    """One token at a time, with the others that are masked along with it."""
    hidden = torch.tensor([[mask if k == at or k in also else token for k, token in enumerate(ids)]])
    with torch.no_grad():
        table = model(hidden).logits[0].double().log_softmax(dim=-1)
    return float(table[at, ids[at]])


def pseudo_by_hand(model: Any, tokenizer: Any, text: str, variant: str) -> list[float]:
    encoded = tokenizer(text)
    ids, words = encoded["input_ids"], encoded.word_ids()
    found = []
    for at, word in enumerate(words):
        if word is not None:
            later = [k for k in range(at + 1, len(ids)) if words[k] == word] if variant == "l2r" else []
            found.append(masked_logprob(model, ids, at, later, tokenizer.mask_token_id))
    return found


def together(scores: list[TokenScores]) -> Any:
    return np.concatenate([each.logprobs for each in scores])


@pytest.mark.parametrize(("name", "begin"), [("gpt2", "<|end|>"), ("llama", "<s>")])
def test_causal_scores_are_those_of_the_network_alone(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel], name: str, begin: str
) -> None:
    model, tokenizer = network(folders[name], masked=False)
    first = tokenizer.convert_tokens_to_ids(begin)
    assert models[name].facts == {"kind": "causal", "begin": begin, "end": "left-out"}
    for text, scores in zip(TEXTS, models[name].score(TEXTS), strict=True):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        np.testing.assert_allclose(scores.logprobs, next_token_logprobs(model, [first], ids), atol=1e-4)
        np.testing.assert_array_equal(models[name].token_ids(text), ids)
        assert scores.known.all()


def test_without_a_mark_the_first_token_is_left_out(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel]
) -> None:
    model, tokenizer = network(folders["markless"], masked=False)
    assert models["markless"].facts["begin"] == "none"
    for text, scores in zip(TEXTS, models["markless"].score(TEXTS), strict=True):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert len(scores) == len(scores.starts) == len(scores.unigrams) == len(ids) - 1
        if len(ids) > 1:
            np.testing.assert_allclose(scores.logprobs, next_token_logprobs(model, ids[:1], ids[1:]), atol=1e-4)
    assert len(models["markless"].score(["x"])[0]) == 0


@pytest.mark.parametrize("variant", ["l2r", "original"])
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_pseudo_log_likelihood_is_that_of_masking_by_hand(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel], name: str, variant: Any
) -> None:
    model, tokenizer = network(folders[name], masked=True)
    texts = [text for text in TEXTS if len(tokenizer(text)["input_ids"]) <= 48]
    assert len(texts) > 6
    for text, scores in zip(texts, models[name].pseudo(texts, variant), strict=True):
        np.testing.assert_allclose(scores.logprobs, pseudo_by_hand(model, tokenizer, text, variant), atol=1e-4)
    default = TransformersLanguageModel.open(folders[name], within_word=variant == "l2r")
    assert default.facts["kind"] == "masked (pseudo-log-likelihood)"
    assert default.facts.get("masking", "l2r") == variant
    np.testing.assert_array_equal(together(default.score(texts)), together(models[name].pseudo(texts, variant)))


def test_the_variants_differ_only_within_words(models: dict[str, TransformersLanguageModel]) -> None:
    text = "unbelievable the"
    (l2r,), (original,) = models["bert"].pseudo([text], "l2r"), models["bert"].pseudo([text], "original")
    inner = np.flatnonzero(np.abs(l2r.logprobs - original.logprobs) > 1e-6)
    pieces = np.flatnonzero(l2r.ends <= len("unbelievable"))
    assert len(pieces) > 1
    np.testing.assert_array_equal(inner, pieces[:-1])


@pytest.mark.parametrize("name", ["gpt2", "llama", "markless", "bert", "roberta"])
def test_neither_neighbours_nor_order_nor_threads_matter(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel], name: str
) -> None:
    words = " ".join(CORPUS).split()
    texts = [" ".join(words[at : at + 1 + at % 9]) for at in range(62)] + ["", words[0]]
    model = models[name]
    alone = together([model.score([text])[0] for text in texts])
    np.testing.assert_allclose(together(model.score(texts)), alone, atol=1e-4)
    np.testing.assert_allclose(together(model.score(texts[::-1])[::-1]), alone, atol=1e-4)
    before = torch.get_num_threads()
    for threads in (1, 2):
        some = TransformersLanguageModel.open(folders[name], threads=threads)
        np.testing.assert_allclose(together(some.score(texts[:9])), together(model.score(texts[:9])), atol=1e-4)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "roberta"])
def test_every_character_that_is_not_space_is_in_a_span(
    models: dict[str, TransformersLanguageModel], name: str
) -> None:
    for text, scores in zip(TEXTS, models[name].score(TEXTS), strict=True):
        covered = np.zeros(len(text), dtype=bool)
        for start, end in zip(scores.starts, scores.ends, strict=True):
            covered[start:end] = True
            assert not text[start:end][:1].isspace() or text[start:end].isspace()
        assert all(covered[at] for at, character in enumerate(text) if not character.isspace())
        assert (np.diff(scores.starts) >= 0).all()


def test_what_has_no_piece_is_not_known(models: dict[str, TransformersLanguageModel]) -> None:
    (scores,) = models["bert"].score(["the \u0e01 bridge"])
    assert [
        (int(s), int(e)) for s, e in zip(scores.starts[~scores.known], scores.ends[~scores.known], strict=True)
    ] == [(4, 5)]


def test_special_tokens_in_a_text_are_plain_characters(models: dict[str, TransformersLanguageModel]) -> None:
    (scores,) = models["bert"].score(["the [MASK] bridge"])
    assert models["bert"].token_ids("[MASK]").tolist() != [4]
    assert len(scores) == len(models["bert"].token_ids("the [MASK] bridge"))
    assert 0 not in models["gpt2"].token_ids("end <|end|>")


def test_odd_texts(models: dict[str, TransformersLanguageModel]) -> None:
    texts = ["", "   ", "\x00", "a\ud800b", "\u202eabc", "\n"]
    for model in models.values():
        scores = model.score(texts)
        assert len(scores[0]) == 0
        assert all(np.isfinite(each.logprobs).all() for each in scores)
        np.testing.assert_allclose(scores[3].logprobs, model.score(["a\ufffdb"])[0].logprobs, atol=1e-5)
        assert model.score([]) == []


@pytest.mark.parametrize(("name", "window"), [("gpt2", 64), ("llama", 128)])
def test_long_texts_are_scored_in_windows(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel], name: str, window: int
) -> None:
    model, tokenizer = network(folders[name], masked=False)
    ids = tokenizer(LONG, add_special_tokens=False)["input_ids"]
    first = tokenizer.convert_tokens_to_ids(models[name].facts["begin"])
    room = window - 1
    assert len(ids) > 3 * window
    (scores,) = models[name].score([LONG])
    assert len(scores) == len(ids)
    assert np.isfinite(scores.logprobs).all()
    np.testing.assert_allclose(scores.logprobs[:room], next_token_logprobs(model, [first], ids[:room]), atol=1e-4)
    # later windows: half of each was scored before, and the last one ends with the text
    step, at = room // 2, room
    while at < len(ids):
        end = min(at + step, len(ids))
        expected = next_token_logprobs(model, [first, *ids[end - room : at]], ids[at:end])
        np.testing.assert_allclose(scores.logprobs[at:end], expected, atol=1e-4)
        at = end


@pytest.mark.parametrize(("name", "room"), [("bert", 46), ("roberta", 46)])
def test_long_texts_are_masked_in_windows(
    folders: dict[str, Path], models: dict[str, TransformersLanguageModel], name: str, room: int
) -> None:
    model, tokenizer = network(folders[name], masked=True)
    encoded = tokenizer(LONG)
    ids, words = encoded["input_ids"], encoded.word_ids()
    (scores,) = models[name].score([LONG])
    assert len(scores) == len(ids) - 2 > 3 * room
    starts, ends = surroundings(len(scores), room)
    for at in range(0, len(scores), 13):
        seen = [ids[0], *ids[1 + starts[at] : 1 + ends[at]], ids[-1]]
        inner = 1 + at - int(starts[at])
        later = [inner + k for k in range(1, len(seen) - 1 - inner) if words[1 + at + k] == words[1 + at]]
        expected = masked_logprob(model, seen, inner, later, tokenizer.mask_token_id)
        assert scores.logprobs[at] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("room", [2, 3, 46, 511])
def test_surroundings_are_full_and_wide(room: int) -> None:
    for length in (0, 1, room - 1, room, room + 1, 2 * room, 5 * room + 3):
        starts, ends = surroundings(length, room)
        at = np.arange(length)
        assert (starts >= 0).all()
        assert (ends <= length).all()
        assert (ends - starts == min(room, length)).all()
        assert (np.minimum(at - starts, at) >= np.minimum(room // 4, at)).all()
        assert (ends - at - 1 >= np.minimum((room - 1) // 4, length - at - 1)).all()


def test_minicons_agrees(folders: dict[str, Path], models: dict[str, TransformersLanguageModel]) -> None:
    scorer = pytest.importorskip("minicons.scorer", reason="minicons is not installed; the tests above say the same")
    texts = TEXTS[:8]
    model, tokenizer = network(folders["llama"], masked=False)
    peer = scorer.IncrementalLMScorer(model, "cpu", tokenizer)
    for text, scores in zip(texts, models["llama"].score(texts), strict=True):
        ((_, *pairs),) = peer.token_score([text], bos_token=True)
        np.testing.assert_allclose(scores.logprobs, [value for _, value in pairs], atol=1e-4)
    model, tokenizer = network(folders["bert"], masked=True)
    peer = scorer.MaskedLMScorer(model, "cpu", tokenizer)
    for text in (text for text in texts if len(tokenizer(text)["input_ids"]) <= 48):
        for variant, metric in (("l2r", "within_word_l2r"), ("original", "original")):
            # its token_score calls a method that the tokenizers of transformers 5 have no more
            (expected,) = peer.compute_stats(peer.prepare_text(tokenizer([text]), PLL_metric=metric))
            (scores,) = models["bert"].pseudo([text], variant)  # type: ignore[arg-type]
            np.testing.assert_allclose(scores.logprobs, expected, atol=1e-4)
