"""``celadon train ngram``: a trigram with modified Kneser-Ney smoothing, from a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.train.bars import bar

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from celadon.train.corpus import Corpus, EncodedSentences
    from celadon.train.language_models.lm import HeldOut
    from celadon.train.language_models.ngram_files import TrainedNgrams

_UNITS = {"wordpiece": 16_000, "word": 128_000}

_EPILOG = """\
A corpus is plain text (also .xz, .gz), a paragraph a line, a blank line between articles. The model is a folder that
is asked for as ngram:FOLDER, for example with: celadon score texts.txt --metric "slor[model=ngram:my-trigram]"
"""


def add_parser(kinds: Any) -> None:
    """Add this kind."""
    command = kinds.add_parser(
        "ngram",
        help="an n-gram model with modified Kneser-Ney smoothing",
        description="Train an n-gram language model with interpolated modified Kneser-Ney smoothing.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("corpus", nargs="+", metavar="CORPUS", help="text files, also .xz and .gz")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where the model is to be; a new folder")
    command.add_argument("--order", type=int, default=3, metavar="N", help="the longest n-grams (default: 3)")
    command.add_argument("--unit", choices=tuple(_UNITS), help="what a token is (default: wordpiece)")
    tokens = command.add_mutually_exclusive_group()
    tokens.add_argument(
        "--vocab", type=int, metavar="N", help="how many tokens (default: 16000 word pieces or 128000 words)"
    )
    tokens.add_argument("--tokenizer", metavar="FILE", help="the tokenizer.json of another model, to have its tokens")
    command.add_argument("--arpa", metavar="FILE", help="write the model as an ARPA file too (also .gz)")
    command.add_argument(
        "--hold-out",
        type=float,
        default=0.01,
        metavar="SHARE",
        help="the share of the articles kept apart to measure on (default: 0.01)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="which articles are kept apart (default: 0)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train and write."""
    from celadon.core import UsageError
    from celadon.train.corpus import Corpus
    from celadon.train.language_models.ngram_files import write_model
    from celadon.train.model_folder import check_new_folder

    if arguments.unit and arguments.tokenizer:
        raise UsageError("--unit does not go with --tokenizer, which says what a token is")
    folder = Path(arguments.output)
    check_new_folder(folder)
    _check_arpa(arguments)
    corpus = Corpus(tuple(Path(path) for path in arguments.corpus), arguments.hold_out, arguments.seed)
    _check_order(arguments)
    tokenizer = _tokenizer(arguments, corpus)
    trained, held_out = _numbered(corpus, tokenizer)
    model = _train(tokenizer, trained, arguments.order)
    measured = _measured(model, held_out)
    write_model(folder, model, _card(arguments, corpus, model, trained, measured))
    if arguments.arpa:
        _write_arpa(arguments.arpa, model)
    _tell(folder, model, measured)
    return 0


def _check_arpa(arguments: argparse.Namespace) -> None:
    from celadon.core import OutputError
    from celadon.io.atomic import check_distinct

    if arguments.arpa:
        check_distinct(arguments.arpa, arguments.corpus)
        if not Path(arguments.arpa).parent.is_dir():
            raise OutputError(f"{arguments.arpa}: the folder {Path(arguments.arpa).parent} does not exist")


def _check_order(arguments: argparse.Namespace) -> None:
    """Before the corpus is read; a tokenizer that is given is checked when it is opened."""
    from celadon.models.language.ngram_tables import bits_of

    if not arguments.tokenizer:
        bits_of(arguments.vocab or _UNITS[arguments.unit or "wordpiece"], arguments.order)


def _tokenizer(arguments: argparse.Namespace, corpus: Corpus) -> Tokenizer:
    from celadon.models.language.ngram_tables import bits_of
    from celadon.models.store.model_files import load_tokenizer
    from celadon.train.corpus import TrainingTexts
    from celadon.train.language_models.vocabulary import PASSES, marks_of, train_tokenizer

    if arguments.tokenizer:
        tokenizer = load_tokenizer(Path(arguments.tokenizer))
        marks_of(tokenizer)
        bits_of(tokenizer.get_vocab_size(), arguments.order)
        return tokenizer
    unit = arguments.unit or "wordpiece"
    with bar("vocabulary", corpus.size * PASSES[unit]) as shown:
        return train_tokenizer(TrainingTexts(corpus, shown.update), unit, arguments.vocab or _UNITS[unit])


def _numbered(corpus: Corpus, tokenizer: Tokenizer) -> tuple[EncodedSentences, EncodedSentences]:
    from celadon.train.corpus import encode_corpus

    with bar("numbering", corpus.size) as shown:
        return encode_corpus(corpus.sentences(shown.update), tokenizer)


def _train(tokenizer: Tokenizer, trained: EncodedSentences, order: int) -> TrainedNgrams:
    import numpy as np

    from celadon.train.language_models.kneser_ney import train_ngrams
    from celadon.train.language_models.ngram_files import TrainedNgrams
    from celadon.train.language_models.vocabulary import marks_of

    marks, size = marks_of(tokenizer), tokenizer.get_vocab_size()
    with bar("counting and smoothing", 2 * order, unit="step") as shown:
        tables = train_ngrams(trained.ids, trained.starts, size, marks.begin, marks.end, order, shown.update)
    counts = np.bincount(trained.ids, minlength=size)
    counts[marks.end] = len(trained)
    return TrainedNgrams(tokenizer, tables, counts)


def _measured(model: TrainedNgrams, sentences: EncodedSentences) -> HeldOut | None:
    from celadon.train.language_models.lm import HeldOut

    if not len(sentences):
        return None
    logprobs = model.tables.score(sentences.ids, sentences.starts)
    return HeldOut(-float(logprobs.sum()), len(logprobs), sentences.words, len(sentences))


def _write_arpa(path: str, model: TrainedNgrams) -> None:
    from celadon.train.language_models.ngram_files import write_arpa

    with bar("ARPA file", sum(map(len, model.tables.logprobs)), unit="line") as shown:
        write_arpa(path, model, shown.update)


def _card(
    arguments: argparse.Namespace,
    corpus: Corpus,
    model: TrainedNgrams,
    trained: EncodedSentences,
    measured: HeldOut | None,
) -> str:
    """The model card; what it says of perplexity is what is printed."""
    files = ", ".join(path.name for path in corpus.paths)
    ngrams = ", ".join(f"{len(logprobs):,}" for logprobs in model.tables.logprobs)
    return f"""# {Path(arguments.output).name}

An n-gram language model of order {model.tables.order} with interpolated modified Kneser-Ney smoothing.

- corpus: {files} (sha256 {corpus.digest()})
- trained on: {len(trained):,} sentences, {trained.words:,} words, {len(trained.ids):,} tokens
- tokens: {model.unit}, a vocabulary of {model.tables.vocabulary:,}
- n-grams of each length, from 1: {ngrams}
- kept apart: {corpus.hold_out:g} of the articles, seed {corpus.seed}
- perplexity on them: {_perplexity(measured)}
"""


def _perplexity(measured: HeldOut | None) -> str:
    if measured is None:
        return "not measured, nothing was kept apart"
    return f"{measured.per_word:.1f} per word, {measured.per_token:.1f} per token ({measured.words:,} words)"


def _tell(folder: Path, model: TrainedNgrams, measured: HeldOut | None) -> None:
    from celadon.text.layout import printable

    ngrams = ", ".join(f"{len(logprobs):,}" for logprobs in model.tables.logprobs)
    print(printable(f"{folder}: n-grams of each length: {ngrams}"))
    print(f"held-out perplexity: {_perplexity(measured)}")
    print(printable(f"use it as ngram:{folder}"))
