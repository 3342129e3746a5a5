"""The extras: what each gives, what it needs, and what of that is missing here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence

DISTRIBUTION = "celadon-text"

GIVES = {
    "pandas": "scores.to_pandas()",
    "polars": "scores.to_polars()",
    "parquet": "Parquet files, and runs into a folder of shards",
    "plots": "plots of celadon meta, judge analyse and train combine",
    "wordnet": "synonyms for meteor",
    "hf": "language models and encoders from Hugging Face",
    "ngram": "n-gram models in ARPA files",
    "train": "celadon train: language models, encoders, combinations of metrics",
    "parse": "parsers: Link Grammar, constituents, dependencies",
    "rules": "LanguageTool's rules for gleu_plus[rules=true]; Linux on x86_64",
    "ray": "runs on a Ray cluster",
    "s3": "files on S3",
    "gs": "files on Google Cloud Storage",
    "serve": "the scoring service, and judgement experiments on web pages",
    "test": "the tests and checks of celadon itself",
}
"""What each extra is good for, in the order in which they are listed."""

DEBIAN = {
    "wordnet": ("wordnet-base",),
    "parse": ("liblink-grammar5",),
    "test": ("chromium", "postgresql", "wordnet-base", "link-grammar", "liblink-grammar5"),
}
"""Debian packages that an extra needs beside its Python packages."""


def requirements_of_extras() -> dict[str, list[str]]:
    """Return each extra's requirements that hold for this Python and system, as the installed package states them."""
    from importlib.metadata import metadata

    from packaging.requirements import Requirement

    facts = metadata(DISTRIBUTION)
    stated = [Requirement(line) for line in facts.get_all("Requires-Dist") or []]
    return {
        extra: [
            str(requirement).partition(";")[0].strip()
            for requirement in stated
            if requirement.marker is not None
            and not requirement.marker.evaluate({"extra": ""})
            and requirement.marker.evaluate({"extra": extra})
        ]
        for extra in facts.get_all("Provides-Extra") or []
    }


def missing_python(requirements: Iterable[str]) -> list[str]:
    """Return the distributions among the requirements that are not installed, whatever their version."""
    from importlib.metadata import PackageNotFoundError, version

    from packaging.requirements import Requirement

    missing = []
    for name in (Requirement(requirement).name for requirement in requirements):
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    return missing


def missing_debian(packages: Sequence[str]) -> list[str]:
    """Return the Debian packages that are not installed; on other systems all of them."""
    if not shutil.which("dpkg-query"):
        return list(packages)
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}"]
    return [
        package
        for package in packages
        if subprocess.run([*query, package], check=False, capture_output=True, text=True).stdout != "installed"
    ]
