"""Whether a language model gives a sentence the same scores alone and among 64, with one thread and with two.

python benchmarks/same_scores.py --data chaganty2018_cnndm.jsonl.gz --model builtin,smollm2,ngram:my-trigram
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from likelihood import sentences_of

from celadon.models.language.language_model import LanguageModel, TokenScores, open_language_model

BATCH = 64


def scored(model: LanguageModel, texts: Sequence[str]) -> list[TokenScores]:
    """Score texts; a masked model by its pseudo-likelihood."""
    pseudo = getattr(model, "pseudo", None)
    return pseudo(texts, "l2r") if pseudo else model.score(texts)


def apart(ones: Sequence[TokenScores], others: Sequence[TokenScores]) -> float:
    """The greatest difference of a token's log-probability."""
    return max(float(np.abs(one.logprobs - two.logprobs).max()) for one, two in zip(ones, others, strict=True))


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the CNN/DailyMail judgements of Chaganty et al. 2018")
    parser.add_argument("--model", default="builtin", help="language models, with commas between")
    arguments = parser.parse_args()
    texts = sentences_of(arguments.data, BATCH)
    for name in arguments.model.split(","):
        single, double = (open_language_model(name, threads) for threads in (1, 2))
        together = scored(single, texts)
        alone = [scored(single, [text])[0] for text in texts]
        print(f"{name}: batch {apart(together, alone):.1e}, threads {apart(together, scored(double, texts)):.1e}")


if __name__ == "__main__":
    main()
