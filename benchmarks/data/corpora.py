"""Make the corpora that training reads: a paragraph a line, a blank line after each article.

    python benchmarks/data/corpora.py wikipedia wikiVisual/text --output enwiki.txt.xz
    python benchmarks/data/corpora.py reuters reuters21578 --output reuters21578.txt.xz

`wikipedia` reads a folder of files that WikiExtractor wrote: a `<doc ...>` line, the title, paragraphs, `</doc>`.
Titles, headings, lists and short paragraphs are left out. `reuters` reads the bodies of the stories in `reut2-*.sgm`.
"""

from __future__ import annotations

import argparse
import html
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# a paragraph of Wikipedia has at least so many characters and ends as a sentence does; an article has at least so many
ARTICLE_CHARACTERS, ARTICLE_PARAGRAPHS = 120, 3
SENTENCE_ENDS = (".", "!", "?", '"')
# shorter ones in Reuters are headings and rows of tables
STORY_CHARACTERS = 41
# a line that begins a paragraph is indented by four blanks or more; one blank is a table's
INDENT = " " * 4

_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.S)
_SIGNED = re.compile(r"\s*\breuters?\s*$", re.I)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def articles(text: str) -> Iterator[list[str]]:
    """Return the paragraphs of each article that has enough of them."""
    for document in re.findall(r"<doc [^\n]*>\n(.*?)</doc>", text, re.S):
        _title, *paragraphs = [line.strip() for line in document.splitlines() if line.strip()]
        kept = [p for p in paragraphs if len(p) >= ARTICLE_CHARACTERS and p.endswith(SENTENCE_ENDS)]
        if len(kept) >= ARTICLE_PARAGRAPHS:
            yield kept


def stories(text: str) -> Iterator[list[str]]:
    """Return the paragraphs of each story that has a body, without the agency's name at its end."""
    for body in _BODY.findall(text):
        lines = _SIGNED.sub("", _CONTROL.sub("", html.unescape(body))).splitlines()
        paragraphs: list[list[str]] = [[]]
        for line in lines:
            if line.startswith(INDENT):
                paragraphs.append([])
            paragraphs[-1].extend(line.split())
        kept = [joined for words in paragraphs if len(joined := " ".join(words)) >= STORY_CHARACTERS]
        if kept:
            yield kept


def write(documents: Iterable[list[str]], output: Path) -> int:
    """Write the documents, and return how many they are."""
    count = 0
    with lzma.open(output, "wt", encoding="utf-8", preset=9) as file:
        for count, paragraphs in enumerate(documents, 1):  # noqa: B007
            file.write("\n".join(paragraphs) + "\n\n")
    return count


KINDS = {"wikipedia": (articles, "**/wiki_*", "utf-8"), "reuters": (stories, "reut2-*.sgm", "latin-1")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    documents_of, pattern, encoding = KINDS[arguments.kind]
    files = sorted(path for path in arguments.folder.glob(pattern) if path.is_file())
    if not files:
        sys.exit(f"{arguments.folder}: has no file {pattern}")
    texts = (path.read_text(encoding=encoding) for path in files)
    count = write((document for text in texts for document in documents_of(text)), arguments.output)
    print(f"wrote {count:,} documents of {len(files):,} files to {arguments.output}")


if __name__ == "__main__":
    main()
