"""What the repository says of itself: version, changelog, and pages that are linked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import celadon
from tests.conftest import ROOT

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
# a source distribution has the pages, but not everything that they link to
CHECKOUT = (ROOT / "CITATION.cff").is_file() and (ROOT / "CONTRIBUTING.md").is_file()
CATEGORIES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.skipif(not CHECKOUT, reason="not a checkout")
def test_the_citation_has_the_version_of_the_package() -> None:
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert found is not None
    assert found[1] == celadon.__version__


def test_the_changelog_begins_with_what_is_unreleased_and_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
    assert versions[0] == ("Unreleased", "")
    assert celadon.__version__ in {version for version, date in versions if date}
    assert len(versions) == len(re.findall(r"^## ", text, re.M))
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= CATEGORIES


@pytest.mark.skipif(not CHECKOUT, reason="not a checkout")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_linked_files_are_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    absent = [link for link in links if not (page.parent / link).exists()]
    assert not absent
