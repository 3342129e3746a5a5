"""`bertscore` and `moverscore` against the packages bert_score 0.3.13 and moverscore 1.0.3: one run, one encoder.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
    python benchmarks/embedding_metrics.py agreement    # the greatest differences over 300 pairs
    python benchmarks/embedding_metrics.py speed        # pairs a second, each side with the encoder loaded
    python benchmarks/embedding_metrics.py memory       # peak memory of celadon score at 10,000 and 100,000 pairs

The encoder is a BERT with random weights, made here: small, or as large as MiniLM with ``--layers 6 --width 384``. The
larger it is, the more of the time is the network's, which is the same for both; so --builtin also times the builtin
encoder, which is of that size and runs in 8 bits.

bert_score is in the extra test. moverscore is no part of celadon: pip install --no-deps --target FOLDER
moverscore==1.0.3 pyemd, and give FOLDER as --packages. As it is published it cannot be imported today: it asks for
pytorch_pretrained_bert, for a GPU, and for numpy's np.float, and it fetches its model when it is imported. Here it is
given stand-ins for these, with our encoder in place of its own; its own code does all the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import statistics
import sys
import tempfile
import time
import types
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from movers import memory, word_pairs

from celadon.core import Sample, is_set_relative
from celadon.metrics.registry import load
from celadon.models.encoders.token_encoder import forget_token_encoders
from celadon.models.store import folder_of
from celadon.scoring.batch import Batch

LEAST_GAIN = 3.0
Pairs = list[tuple[str, str]]


def make_encoder(folder: Path, layers: int, width: int) -> Path:
    """A BERT with random weights and the vocabulary of the builtin encoder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, processors

    made = Tokenizer.from_file(str(folder_of("builtin-encoder") / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    marks = [(mark, made.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=512, **names)
    torch.manual_seed(3)
    sizes = {"hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": layers}
    config = transformers.BertConfig(num_attention_heads=max(1, width // 32), initializer_range=0.1, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def text_pairs(words: int, count: int, seed: int = 1) -> Pairs:
    """Texts of so many words, with some punctuation, and of many lengths."""
    generator = np.random.default_rng(seed)
    pairs = []
    for text, reference in word_pairs(words, count, seed):
        both = []
        for side in (text, reference):
            kept = side[: int(generator.integers(words // 3, words + 1))]
            both.append(f"{' '.join(kept[: len(kept) // 2])}, {' '.join(kept[len(kept) // 2 :])}.")
        pairs.append((both[0], both[1]))
    return pairs


def ours(spec: str, pairs: Pairs) -> np.ndarray:
    """Our scores, in batches as the engine makes them; with an idf, in its two passes."""
    metric = load(spec)
    batches = [
        Batch([Sample(text, (reference,)) for text, reference in pairs[at : at + 512]])
        for at in range(0, len(pairs), 512)
    ]
    if is_set_relative(metric):
        found = [metric.statistics(batch, metric.components(batch)) for batch in batches]
        total = found[0]
        for more in found[1:]:
            total = total.merged(more)
        metric = metric.fit(total)
    return np.concatenate([metric.score(batch).values for batch in batches])


def bert_score(folder: Path, layer: int) -> Callable[[Pairs, bool], np.ndarray]:
    """The package's F, with its encoder loaded once."""
    from bert_score import BERTScorer

    plain, weighed = (
        BERTScorer(model_type=str(folder), num_layers=layer, device="cpu", nthreads=0, idf=idf, idf_sents=["a"])
        for idf in (False, True)
    )

    def score(pairs: Pairs, idf: bool) -> np.ndarray:
        texts, references = ([pair[side] for pair in pairs] for side in (0, 1))
        if idf:
            weighed.compute_idf(references)
        return np.asarray((weighed if idf else plain).score(texts, references)[2].numpy())

    return score


class _Tokenizer:
    """What moverscore asks of its tokenizers."""

    max_len = 512

    def __init__(self, folder: Path) -> None:
        import transformers

        self._own = transformers.AutoTokenizer.from_pretrained(str(folder))

    def tokenize(self, text: str) -> list[str]:
        return list(self._own.tokenize(text))

    def convert_tokens_to_ids(self, tokens: list[str]) -> list[int]:
        return list(self._own.convert_tokens_to_ids(tokens))


def _network(folder: Path, variant: str) -> Any:
    """What moverscore asks of its encoders."""
    import torch
    import transformers

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own = transformers.AutoModel.from_pretrained(str(folder))

        def to(self, *_: Any, **__: Any) -> Any:
            # there is no GPU
            return self

        def forward(self, *ids: Any, attention_mask: Any, input_ids: Any = None, **_: Any) -> Any:
            given = ids[0] if ids else input_ids
            made = self.own(input_ids=given, attention_mask=attention_mask, output_hidden_states=True)
            if variant == "v1":
                return list(made.hidden_states[1:]), made.pooler_output
            return made.last_hidden_state, made.hidden_states, None

    return Encoder()


def moverscore(folder: Path, packages: str, variant: str) -> Callable[..., np.ndarray]:
    """The package's scores, with our encoder in place of its own."""
    import torch

    def loads(made: Any) -> Any:
        return type("Loads", (torch.nn.Module,), {"from_pretrained": staticmethod(lambda *_, **__: made)})

    encoder, tokenizer = loads(_network(folder, variant)), loads(_Tokenizer(folder))
    names = {"BertTokenizer": tokenizer, "BertModel": encoder, "BertPreTrainedModel": encoder}
    names |= {"DistilBertTokenizer": tokenizer, "DistilBertModel": encoder, "DistilBertConfig": encoder}
    stand_ins = {}
    for name in ("pytorch_pretrained_bert", "pytorch_pretrained_bert.modeling", "transformers"):
        stand_ins[name] = types.ModuleType(name)
        vars(stand_ins[name]).update(names, __all__=list(names))
    # what it would fetch is taken for fetched
    (folder / "MNLI_BERT.zip").touch()
    os.environ["MOVERSCORE"] = str(folder)
    sys.path.insert(0, packages)
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        package: Any = importlib.import_module("moverscore" if variant == "v1" else "moverscore_v2")
    finally:
        for name, module in before.items():
            sys.modules.pop(name) if module is None else sys.modules.__setitem__(name, module)
    package.device = "cpu"
    np.float = float  # type: ignore[attr-defined]

    def score(pairs: Pairs, idf: bool, n: int = 1) -> np.ndarray:
        texts, references = ([pair[side] for pair in pairs] for side in (0, 1))
        weights = [_idf(package, side) if idf else defaultdict(lambda: 1.0) for side in (references, texts)]
        found = package.word_mover_score(references, texts, *weights, n_gram=n, batch_size=64, device="cpu")
        return np.array(found)

    return score


def _idf(package: Any, texts: list[str]) -> Any:
    """Its own count, without its four processes, which cannot be started from here."""
    one = types.SimpleNamespace(map=map)
    package.Pool = lambda _: contextlib.nullcontext(one)
    return package.get_idf_dict(texts)


def peers(
    folder: Path, packages: str | None, layer: int, builtin: bool
) -> list[tuple[str, str, Callable[[Pairs], np.ndarray]]]:
    """What is compared: a name, our notation, and their scores."""
    berts = bert_score(folder, layer)
    given = f"encoder=hf:{folder}"
    found: list[tuple[str, str, Callable[[Pairs], np.ndarray]]] = [
        ("bertscore", f"bertscore[{given},layer={layer}]", lambda pairs: berts(pairs, False)),
        ("bertscore, idf", f"bertscore[{given},layer={layer},idf=set]", lambda pairs: berts(pairs, True)),
    ]
    if builtin:
        found += [("bertscore, builtin in place of theirs", "bertscore", lambda pairs: berts(pairs, False))]
    if packages:
        first, second = (moverscore(folder, packages, variant) for variant in ("v1", "v2"))
        found += [
            ("moverscore v1", f"moverscore[{given}]", lambda pairs: first(pairs, False)),
            ("moverscore v1, idf", f"moverscore[{given},idf=set]", lambda pairs: first(pairs, True)),
            ("moverscore v1, n=2, idf", f"moverscore[{given},idf=set,n=2]", lambda pairs: first(pairs, True, 2)),
            ("moverscore v2", f"moverscore[{given},variant=v2]", lambda pairs: second(pairs, False)),
            ("moverscore v2, idf", f"moverscore[{given},variant=v2,idf=set]", lambda pairs: second(pairs, True)),
        ]
    return found


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Print the greatest differences, or the speeds."""
    import torch

    torch.set_num_threads(1)
    slow = []
    for name, spec, theirs in peers(folder, arguments.packages, max(1, arguments.layers - 1), arguments.builtin):
        pairs = text_pairs(arguments.words, arguments.pairs)
        if arguments.what == "agreement":
            apart = np.abs(ours(spec, pairs) - quietly(theirs, pairs))
            print(f"{name}: {len(pairs)} pairs, greatest difference {apart.max():.1e}", flush=True)
            continue
        # words that the metric before has met must be new to this one
        forget_token_encoders()
        ours(spec, pairs[:20])
        quietly(theirs, pairs[:20])
        rates = []
        for number in range(arguments.rounds):
            pairs = text_pairs(arguments.words, arguments.pairs, seed=number)
            begin = time.process_time()
            ours(spec, pairs)
            middle = time.process_time()
            quietly(theirs, pairs)
            rates.append((len(pairs) / (middle - begin), len(pairs) / (time.process_time() - middle)))
        ratio = statistics.median(mine / their for mine, their in rates)
        mine, their = (statistics.median(rate[side] for rate in rates) for side in (0, 1))
        print(f"{name}: {mine:,.0f} pairs/s, package {their:,.0f}: {ratio:.1f} times", flush=True)
        slow += [name] if ratio < LEAST_GAIN else []
    if slow:
        print(f"less than {LEAST_GAIN:g} times: {', '.join(slow)}")


def quietly(score: Callable[[Pairs], np.ndarray], pairs: Pairs) -> np.ndarray:
    """Score without what the packages print."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return score(pairs)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("agreement", "speed", "memory"))
    parser.add_argument("--packages", metavar="FOLDER", help="where moverscore and pyemd are")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument(
        "--builtin", action="store_true", help="time the builtin encoder, in 8 bits, beside the package's"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--metric", default="bertscore", choices=("bertscore", "moverscore"), help="for memory")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000], help="for memory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        encoder = make_encoder(Path(folder), arguments.layers, arguments.width)
        if arguments.what == "memory":
            memory(f"{arguments.metric}[encoder=hf:{encoder}]", arguments.rows)
        else:
            compare(encoder, arguments)


if __name__ == "__main__":
    sys.exit(main())
