"""Language models against minicons on the same weights: the same sentences, in one run, as ratios.

Each side gets strings and gives the log-probability of every token; tokenization is part of both. minicons runs the
transformers model made from the same GGUF file, in batches of the size that is fastest for it. The sides take turns at
every 250 sentences and the best of several rounds counts, so that a noisy machine is as noisy for both. The
log-probabilities that minicons gets are those of transformers, so they also tell how far ours are from it.

    python benchmarks/likelihood.py --data chaganty2018_cnndm.jsonl.gz --work FOLDER
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from celadon.io.judgements.readers import read_chaganty2018
from celadon.models.language.language_model import open_language_model
from celadon.models.language.onnx_lm import OnnxLanguageModel
from celadon.models.language.smollm2 import convert
from celadon.models.store import folder_of, load_catalog
from celadon.models.store.places import download_place
from celadon.text.sentences import split_sentences

Scores = list[np.ndarray]
Scorer = Callable[[Sequence[str]], Scores]
BATCH_SIZES = (1, 4, 8, 32)
TRIED = 64
PART = 250


def sentences_of(path: str, count: int) -> list[str]:
    """Distinct sentences of the outputs, spread over the file."""
    texts = [str(row["text"]) for row in read_chaganty2018(path, with_references=True)]
    found = dict.fromkeys(text[start:end] for text in texts for start, end in split_sentences(text))
    sentences = list(found)
    return sentences[:: max(1, len(sentences) // count)][:count]


def our_folders(gguf: str | None, work: Path) -> tuple[Path, dict[str, Path]]:
    """The GGUF file, and the converted models: from the store, or converted here from a given file."""
    names = {"fp32": "smollm2", "int8": "smollm2-int8"}
    if gguf is None:
        folders = {precision: folder_of(name) for precision, name in names.items()}
        download = load_catalog().find("smollm2").download  # type: ignore[union-attr]
        return next(download_place(download.name).folder.glob("*.gguf")), folders  # type: ignore[union-attr]
    folders = {precision: work / precision for precision in names}
    for precision, folder in folders.items():
        if not (folder / "model.json").is_file():
            convert(Path(gguf), folder, precision)
    return Path(gguf), folders


def transformers_model(gguf: Path, work: Path) -> Any:
    """The model as transformers reads it, kept as safetensors because the reading takes a minute."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaForCausalLM

    kept = work / "transformers"
    if not (kept / "config.json").is_file():
        read = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
        config = read.config
        del config.quantization_config
        plain = LlamaForCausalLM(config)
        plain.load_state_dict(read.state_dict())
        plain.save_pretrained(str(kept))
    return AutoModelForCausalLM.from_pretrained(str(kept), dtype=torch.float32).eval()


def minicons_scorer(gguf: Path, folder: Path, work: Path) -> Callable[[Sequence[str], int], Scores]:
    """A function of texts and the size of a batch."""
    from minicons.scorer import IncrementalLMScorer
    from transformers import PreTrainedTokenizerFast

    begin = "<|endoftext|>"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), bos_token=begin, eos_token=begin, pad_token="<|im_end|>"
    )
    scorer = IncrementalLMScorer(transformers_model(gguf, work), "cpu", tokenizer=tokenizer)

    def score(texts: Sequence[str], size: int) -> Scores:
        found: Scores = []
        for at in range(0, len(texts), size):
            # the first token is the begin token, which has no score
            for tokens in scorer.token_score(list(texts[at : at + size]), bos_token=True):
                found.append(np.array([value for _, value in tokens[1:]]))
        return found

    return score


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and what came out."""
    begin = time.perf_counter()
    made = run()
    return time.perf_counter() - begin, made


def our_scores(folder: Path, name: str, threads: int) -> tuple[float, Scorer]:
    """How long loading took, and a function of texts."""
    taken, model = seconds(lambda: OnnxLanguageModel.open(folder, name, threads))
    return taken, lambda texts: [scores.logprobs for scores in model.score(texts)]


def main() -> None:
    """Print one table of speed and one of differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the CNN/DailyMail judgements of Chaganty et al. 2018")
    parser.add_argument("--work", required=True, type=Path, help="a folder for what is made once")
    parser.add_argument("--gguf", help="SmolLM2's GGUF file; by default the store's")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    arguments.work.mkdir(parents=True, exist_ok=True)
    texts = sentences_of(arguments.data, arguments.sentences)
    gguf, folders = our_folders(arguments.gguf, arguments.work)

    import torch

    torch.set_num_threads(arguments.threads)
    theirs = minicons_scorer(gguf, folders["fp32"], arguments.work)
    theirs(texts[:TRIED], max(BATCH_SIZES))  # the first run is slow for everybody
    size = min(BATCH_SIZES, key=lambda size: seconds(lambda: theirs(texts[:TRIED], size))[0])
    runs: dict[str, Scorer] = {f"minicons, batches of {size}": lambda texts: theirs(texts, size)}
    loading = {}
    for precision, folder in folders.items():
        loading[f"celadon smollm2 {precision}"], scorer = our_scores(folder, precision, arguments.threads)
        runs[f"celadon smollm2 {precision}"] = scorer
    if (builtin := load_catalog().find("builtin")) and builtin.builtin and builtin.builtin.is_dir():
        model = open_language_model("builtin", arguments.threads)
        runs["celadon builtin"] = lambda texts: [scores.logprobs for scores in model.score(texts)]
    report(runs, loading, texts, arguments.rounds)


def report(runs: dict[str, Scorer], loading: dict[str, float], texts: list[str], rounds: int) -> None:
    """Run everybody and print the tables; the first is who all are compared with."""
    best, scores = dict.fromkeys(runs, 0.0), {name: [] for name in runs}
    for run in runs.values():
        run(texts[:TRIED])
    for at in range(0, len(texts), PART):
        part = texts[at : at + PART]
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                time_of_part, found = seconds(lambda run=run, part=part: run(part))
                taken[name].append(time_of_part)
                scores[name][at:] = found
        best = {name: best[name] + min(taken[name]) for name in runs}
    peer = next(iter(runs))
    rates = {name: sum(map(len, scores[name])) / best[name] for name in runs}
    print(f"\n{len(texts)} sentences, {sum(map(len, scores[peer])):,} tokens of SmolLM2")
    print(f"{'':28} {'tokens/s':>10} {'ratio':>7} {'loads in':>9}")
    for name, rate in rates.items():
        loads = f"{loading[name]:.2f} s" if name in loading else ""
        print(f"{name:28} {rate:>10,.0f} {rate / rates[peer]:>7.2f} {loads:>9}")
    print("\nlog-probabilities of tokens, and rank correlation of sentence means")
    fp32, int8 = "celadon smollm2 fp32", "celadon smollm2 int8"
    for what, one, other in (("fp32 and transformers", fp32, peer), ("int8 and fp32", int8, fp32)):
        apart = np.abs(np.concatenate(scores[one]) - np.concatenate(scores[other]))
        means = [[float(each.mean()) for each in scores[name]] for name in (one, other)]
        rank = float(spearmanr(*means).statistic)
        print(f"{what:28} max {apart.max():.5f}  mean {apart.mean():.5f}  Spearman {rank:.5f}")


if __name__ == "__main__":
    main()
