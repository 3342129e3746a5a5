"""Make our files of genres from clones of the repositories that they come from, at the commits that docs/data.md names.

    python benchmarks/data/genres.py kubernetes website --output docs_kubernetes.jsonl.xz
    python benchmarks/data/genres.py peps peps --output docs_peps.jsonl.xz
    python benchmarks/data/genres.py sgd dstc8-schema-guided-dialogue --output dialogue_sgd.jsonl.xz
    python benchmarks/data/genres.py selfinstruct self-instruct --output instructions_selfinstruct.jsonl.xz

`benchmarks/data/ids` names the documents that were drawn; without such a list all are taken. E-mail addresses are
replaced by name@example.com.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

IDS = Path(__file__).parent / "ids"
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PUBLIC_DOMAIN = re.compile(r"public\s+domain", re.I)
_CC0 = re.compile("CC0")


def kubernetes(clone: Path) -> Iterator[Row]:
    """Read English pages and blog posts, raw Markdown with front matter."""
    content = clone / "content" / "en"
    for path in sorted(content.glob("**/*.md")):
        name = path.relative_to(content).with_suffix("").as_posix()
        if name.startswith(("docs/", "blog/_posts/")):
            genre = "blog" if name.startswith("blog/") else "docs"
            text = path.read_text(encoding="utf-8")
            yield {"id": name, "genre": genre, "licence": "CC-BY-4.0", "format": "markdown", "text": text}


def peps(clone: Path) -> Iterator[Row]:
    """Read the proposals that say of themselves that they are in the public domain, raw reStructuredText."""
    for path in sorted(clone.glob("**/pep-[0-9][0-9][0-9][0-9].rst")):
        text = path.read_text(encoding="utf-8")
        if _PUBLIC_DOMAIN.search(text):
            terms = "public domain or CC0-1.0" if _CC0.search(text) else "public domain"
            yield {"id": path.stem, "genre": "pep", "licence": terms, "format": "rst", "text": text}


def sgd(clone: Path) -> Iterator[Row]:
    """Read the dialogues, a text per turn."""
    for split in ("train", "dev", "test"):
        for path in sorted((clone / split).glob("dialogues_*.json")):
            for dialogue in json.loads(path.read_text(encoding="utf-8")):
                yield {
                    "id": f"{split}-{dialogue['dialogue_id']}",
                    "genre": "dialogue",
                    "licence": "CC-BY-SA-4.0",
                    "services": dialogue["services"],
                    "turns": [turn["utterance"] for turn in dialogue["turns"]],
                }


def selfinstruct(clone: Path) -> Iterator[Row]:
    """Read the seed tasks that are not classification: the instruction with its input, and the first answer."""
    for line in (clone / "data" / "seed_tasks.jsonl").read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        if task["is_classification"]:
            continue
        first = task["instances"][0]
        yield {
            "id": task["id"],
            "category": task["name"],
            "licence": "Apache-2.0",
            "instruction": "\n\n".join(part for part in (task["instruction"], first["input"]) if part),
            "response": first["output"],
        }


def without_mail(value: Any) -> Any:
    """Return the same value without addresses of people."""
    if isinstance(value, str):
        return _MAIL.sub("name@example.com", value)
    return [without_mail(item) for item in value] if isinstance(value, list) else value


def drawn(rows: Iterator[Row], ids: Path) -> list[Row]:
    """Return the rows that the list names, in its order; all without a list."""
    if not ids.is_file():
        return list(rows)
    by_id = {row["id"]: row for row in rows}
    wanted = ids.read_text(encoding="utf-8").split("\n")[:-1]
    absent = [name for name in wanted if name not in by_id]
    if absent:
        sys.exit(
            f"{len(absent):,} of {len(wanted):,} documents are not there, the first is {absent[0]}; another commit?"
        )
    return [by_id[name] for name in wanted]


# the reader, and the list of what was drawn
KINDS: dict[str, tuple[Callable[[Path], Iterator[Row]], str]] = {
    "kubernetes": (kubernetes, "docs_kubernetes.txt"),
    "peps": (peps, "docs_peps.txt"),
    "sgd": (sgd, "dialogue_sgd.txt"),
    "selfinstruct": (selfinstruct, "instructions_selfinstruct.txt"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("clone", type=Path, help="the folder of the clone")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--ids", type=Path, default=IDS, help="the folder of lists of documents")
    arguments = parser.parse_args()
    read, ids = KINDS[arguments.kind]
    rows = drawn(read(arguments.clone), arguments.ids / ids)
    if not rows:
        sys.exit(f"{arguments.clone}: has no documents of {arguments.kind}; is it a clone of the repository?")
    with lzma.open(arguments.output, "wt", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({key: without_mail(value) for key, value in row.items()}, ensure_ascii=False) + "\n")
    print(f"wrote {len(rows):,} rows to {arguments.output}")


if __name__ == "__main__":
    main()
