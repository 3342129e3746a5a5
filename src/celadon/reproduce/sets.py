"""The data sets of human judgements that the papers' tables are made from, found in one folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, Sample
from celadon.io.judgements import DATA_SETS, Row, load
from celadon.io.judgements.files import data_files
from celadon.meta.correlation import reliable_rows

ENVIRONMENT = "CELADON_DATA"
_BESIDE = Path("shared") / "data"


class Rating(NamedTuple):
    """A rating: the title that tables give it, its dimension in the data, and whether less of it is better."""

    title: str
    dimension: str
    lower_is_better: bool = False

    def rising(self, values: FloatArray) -> FloatArray:
        """Return its values so that more is better."""
        return -values if self.lower_is_better else values


@dataclass(frozen=True)
class SetPlan:
    """Where a data set is found and what of it is used.

    ``known`` is its reader, of :data:`celadon.io.judgements.DATA_SETS`; ``ratings`` are in the order of the papers'
    columns, ``fluency`` is the one that tables with one rating use; ``domains`` are the parts that are used, by the
    names that layouts give them, or empty for all. On the dimension ``agreed`` all raters must agree for an item to be
    reliable.
    """

    name: str
    title: str
    known: str
    ratings: tuple[Rating, ...]
    fluency: str
    domains: tuple[str, ...] = ()
    source_is_text: bool = True
    agreed: str | None = None


_DIALOGUE = (
    Rating("Naturalness", "naturalness"),
    Rating("Quality", "quality"),
    Rating("Informativeness", "informativeness"),
)
_SUMMARIES = (
    Rating("Overall", "overall"),
    Rating("Grammar", "grammar"),
    Rating("Non-redun", "redundancy"),
    Rating("Post-edits", "hter", lower_is_better=True),
)
_LEARNERS = (Rating("Grammaticality", "grammaticality"),)
_SIMPLE = (Rating("Grammaticality", "grammaticality"), Rating("Meaning", "meaning"), Rating("Simplicity", "simplicity"))
_COMPRESSED = (Rating("Grammar", "grammar"),)

PLANS = {
    plan.name: plan
    for plan in (
        SetPlan("cnndm", "CNN/Daily Mail", "chaganty2018", _SUMMARIES, "grammar", agreed="overall"),
        SetPlan("bagel", "BAGEL", "novikova2017", _DIALOGUE, "quality", ("bagel",), source_is_text=False),
        SetPlan("sfhotel", "SFHOTEL", "novikova2017", _DIALOGUE, "quality", ("sfhot", "sfhotel"), source_is_text=False),
        SetPlan("sfrest", "SFREST", "novikova2017", _DIALOGUE, "quality", ("sfres", "sfrest"), source_is_text=False),
        SetPlan("gug_train", "GUG train", "gug", _LEARNERS, "grammaticality", ("train",)),
        SetPlan("gug_dev", "GUG dev", "gug", _LEARNERS, "grammaticality", ("dev",)),
        SetPlan("gug_test", "GUG test", "gug", _LEARNERS, "grammaticality", ("test",)),
        SetPlan("sulem", "Sulem et al. (2018)", "sulem2018", _SIMPLE, "grammaticality"),
        SetPlan("toutanova", "Toutanova et al. (2016)", "toutanova2016", _COMPRESSED, "grammar"),
    )
}


@dataclass(frozen=True)
class RatedSet:
    """Texts, each reference once, with one number per text of each dimension; NaN where there is none.

    ``reliable`` says which texts all raters agree on; None where single ratings are not known.
    """

    plan: SetPlan
    samples: tuple[Sample, ...]
    ratings: dict[str, FloatArray]
    reliable: npt.NDArray[np.bool_] | None = None

    def with_first_reference(self) -> RatedSet:
        """The same texts, each with the first of its references alone."""
        return replace(
            self, samples=tuple(replace(sample, references=sample.references[:1]) for sample in self.samples)
        )

    @property
    def reference_counts(self) -> str:
        """How many references a text has, as the papers write it: ``0``, ``1``, ``3 – 5``."""
        counts = [len(sample.references) for sample in self.samples]
        low, high = min(counts), max(counts)
        return str(low) if low == high else f"{low} – {high}"


def digest(samples: Iterable[Sample]) -> str:
    """A hash of all that a metric can see of these texts."""
    found = hashlib.sha256()
    for sample in samples:
        found.update(json.dumps([sample.text, sample.references, sample.source]).encode() + b"\n")
    return found.hexdigest()


def find_folder(given: str | None) -> Path:
    """The folder of the judgements: the one given, else of the environment, else beside the checkout."""
    named = given or os.environ.get(ENVIRONMENT)
    if named:
        candidates = [Path(named)]
    else:
        candidates = [Path.cwd().parent / _BESIDE, Path(__file__).resolve().parents[3].parent / _BESIDE]
    for folder in candidates:
        if folder.is_dir():
            inner = folder / "judgements"
            return inner if inner.is_dir() else folder
    raise InputError(
        f"{candidates[0]}: there is no such folder of human judgements; give it with --data, "
        f"or set {ENVIRONMENT} to the folder that holds judgements/"
    )


def load_sets(folder: Path, names: Sequence[str]) -> dict[str, RatedSet]:
    """Those of the named data sets that the folder has; one that is there but broken is an error."""
    rows: dict[str, list[Row]] = {}
    found: dict[str, RatedSet] = {}
    for plan in (PLANS[name] for name in names):
        if plan.known not in rows:
            rows[plan.known] = list(load(plan.known, str(folder))) if _is_there(folder, plan.known) else []
        own = [row for row in rows[plan.known] if not plan.domains or str(row["domain"]).lower() in plan.domains]
        if own:
            found[plan.name] = _rated(plan, own)
    return found


def _is_there(folder: Path, known: str) -> bool:
    try:
        data_files(str(folder), DATA_SETS[known].pattern)
    except InputError:
        return False
    return True


def _rated(plan: SetPlan, rows: Sequence[Row]) -> RatedSet:
    samples = tuple(
        Sample(
            text=row["text"],
            references=tuple(dict.fromkeys(row["references"])),
            source=row["source"] if plan.source_is_text else None,
            id=row["id"],
            system=row["system"],
            origin=f"{plan.name} row {number}",
        )
        for number, row in enumerate(rows, 1)
    )
    scores = {
        rating.dimension: np.array(
            [
                np.nan if row.get(f"scores.{rating.dimension}") is None else row[f"scores.{rating.dimension}"]
                for row in rows
            ],
            dtype=np.float64,
        )
        for rating in plan.ratings
    }
    column = f"ratings.{plan.agreed}"
    reliable = reliable_rows([row.get(column) or [] for row in rows]) if any(row.get(column) for row in rows) else None
    return RatedSet(plan, samples, scores, reliable)
