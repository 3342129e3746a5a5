"""Public data sets of human judgements, each read from its own layout into one form.

Every row has id, system, domain, text, references, source; ``scores.DIM``, the published number of a dimension; and,
where single ratings are known, ``ratings.DIM``, a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from celadon.core import InputError, UsageError
from celadon.io.judgements import readers
from celadon.io.judgements.files import Row, data_files, is_common, read_common

__all__ = ["DATA_SETS", "DataSet", "Row", "load"]


@dataclass(frozen=True)
class DataSet:
    """A known data set: what it is called, what was rated, and its terms and address as the publisher gives them.

    ``pattern`` says which files of a folder are its own: patterns, of which the first that matches counts. ``read``
    goes from one file to rows. ``lower_is_better`` are the dimensions whose lower values are the better ones.
    """

    name: str
    title: str
    dimensions: tuple[str, ...]
    pattern: str
    read: Callable[..., Iterator[Row]]
    license: str
    address: str
    lower_is_better: frozenset[str] = frozenset()


_GITHUB = "https://github.com/"
_NOT_STATED = "not stated"

# docs/data.md has the same table, which tests hold equal
DATA_SETS = {
    known.name: known
    for known in (
        DataSet(
            "novikova2017",
            "dialogue outputs, medians 1 to 6 (Novikova et al. 2017)",
            readers.NOVIKOVA,
            "emnlp_data_individual_hum_scores.csv* emnlp_data_medians.csv* novikova2017_*.jsonl*",
            readers.read_novikova2017,
            "MIT",
            f"{_GITHUB}jeknov/EMNLP_17_submission",
        ),
        DataSet(
            "chaganty2018",
            "CNN/Daily Mail summaries, -1 to 1 (Chaganty et al. 2018)",
            readers.CHAGANTY,
            "chaganty2018*.jsonl* samples.jsonl* lqual.jsonl*",
            readers.read_chaganty2018,
            _NOT_STATED,
            f"{_GITHUB}yg211/summary-reward-no-reference",
            frozenset({"hter"}),
        ),
        DataSet(
            "summeval",
            "CNN/Daily Mail summaries, 1 to 5 (Fabbri et al. 2021)",
            readers.SUMMEVAL,
            "model_annotations.aligned.paired.jsonl* model_annotations.aligned.jsonl*",
            readers.read_summeval,
            "MIT",
            f"{_GITHUB}Yale-LILY/SummEval",
        ),
        DataSet(
            "webnlg2020",
            "texts from triples (WebNLG+ 2020); judgements without the texts",
            readers.WEBNLG,
            "*_humeval_data_all_teams.json* */primary.json*",
            readers.read_webnlg2020,
            _NOT_STATED,
            f"{_GITHUB}WebNLG/challenge-2020",
        ),
        DataSet(
            "gug",
            "learners' sentences, grammaticality 1 to 4 (Heilman et al. 2014)",
            readers.GRAMMATICALITY,
            "gug_annotations.tsv* gug_annotations.csv* gug*.jsonl*",
            readers.read_gug,
            "CC BY-NC-SA 4.0",
            f"{_GITHUB}EducationalTestingService/gug-data",
        ),
        DataSet(
            "cola",
            "linguists' sentences, acceptable or not (Warstadt et al. 2019)",
            readers.ACCEPTABILITY,
            "*_domain_*.tsv*",
            readers.read_cola,
            "not stated (published examples)",
            "https://nyu-mll.github.io/CoLA",
        ),
        DataSet(
            "blimp",
            "minimal pairs, acceptable or not (Warstadt et al. 2020)",
            readers.ACCEPTABILITY,
            "*.jsonl* data/*.jsonl*",
            readers.read_blimp,
            "CC BY",
            f"{_GITHUB}alexwarstadt/blimp",
        ),
        DataSet(
            "sulem2018",
            "simplifications, 1 to 5 (Sulem et al. 2018)",
            readers.SULEM,
            "sulem2018*.jsonl* structural_simplicity.csv* data/structural_simplicity.csv*",
            readers.read_sulem2018,
            "CC BY-NC-SA 4.0",
            f"{_GITHUB}feralvam/metaeval-simplification",
        ),
        DataSet(
            "toutanova2016",
            "compressions, 1 to 3 (Toutanova et al. 2016)",
            readers.TOUTANOVA,
            "test_output.*.tsv* RawData/test_output.*.tsv*",
            readers.read_toutanova2016,
            "Microsoft Research Data License Agreement",
            "https://www.microsoft.com/research (MSR Abstractive Text Compression Dataset)",
        ),
        DataSet(
            "lau2020",
            "sentences in context, acceptability 1 to 4 (Lau et al. 2020)",
            readers.LAU,
            "lau2020*.jsonl* context-none-ratings.csv* human-ratings/context-none-ratings.csv*",
            readers.read_lau2020,
            "Apache-2.0",
            f"{_GITHUB}jhlau/acceptability-prediction-in-context",
        ),
        DataSet(
            "usr2020",
            "answers in dialogues, up to 5 (Mehri and Eskenazi 2020)",
            readers.USR,
            "usr_*.jsonl* topical_chat.json* persona_chat.json* data/*_chat.json*",
            readers.read_usr2020,
            "MIT",
            f"{_GITHUB}tanyuqian/ctc-gen-eval",
        ),
        DataSet(
            "mqm",
            "translations, weighted errors (Freitag et al. 2021)",
            readers.MQM,
            "mqm*.jsonl* mqm*.tsv* ted/zhen/mqm_ted_zhen.tsv*",
            readers.read_mqm,
            "Apache-2.0",
            f"{_GITHUB}google/wmt-mqm-human-evaluation",
            frozenset(readers.MQM),
        ),
    )
}


def load(name: str, path: str, **options: Any) -> Iterator[Row]:
    """Read a data set.

    ``path`` is a file, a pattern, or a folder, in which the data set's own files are found; compressed or not. What
    ``celadon meta load`` wrote is read again, as it is. ``options`` are of the data set: ``with_references`` of
    chaganty2018. A file that cannot be read or is not of this data set raises InputError with ``file:line``.
    """
    if name not in DATA_SETS:
        close = get_close_matches(name, DATA_SETS, n=1, cutoff=0.4)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"unknown data set {name!r}{hint} (known: {', '.join(DATA_SETS)})")
    return _rows(DATA_SETS[name], data_files(path, DATA_SETS[name].pattern), options)


def _rows(known: DataSet, files: list[str], options: dict[str, Any]) -> Iterator[Row]:
    for file in files:
        empty = True
        for row in read_common(file) if is_common(file) else known.read(file, **options):
            empty = False
            yield row
        if empty:
            raise InputError(f"{file}: has no judgements of {known.name}")
