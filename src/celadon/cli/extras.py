"""The extras: what each gives, what it needs, and what of that is missing here."""

from __future__ import annotations

import re
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

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def requirements_of_extras() -> dict[str, list[str]]:
    """Return each extra's requirements, as the installed package states them."""
    from importlib.metadata import metadata

    facts = metadata(DISTRIBUTION)
    found: dict[str, list[str]] = {name: [] for name in facts.get_all("Provides-Extra") or []}
    for line in facts.get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        for name, requirements in found.items():
            if f"extra == '{name}'" in marker.replace('"', "'"):
                requirements.append(requirement.strip())
    return found


def missing_python(requirements: Iterable[str]) -> list[str]:
    """Return the distributions among the requirements that are not installed, whatever their version."""
    from importlib.metadata import PackageNotFoundError, version

    missing = []
    for requirement in requirements:
        match = _NAME.match(requirement)
        assert match is not None
        try:
            version(match[0])
        except PackageNotFoundError:
            missing.append(match[0])
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
