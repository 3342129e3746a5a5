"""``celadon realize``: unordered dependency trees into sentences."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from celadon.io.conllu import TreeSentence
    from celadon.realize.fergus import Realized, Realizer
    from celadon.realize.lp_chooser import Sentence
    from celadon.realize.trees import Arranged
    from celadon.realize.xtag_sites import Coverage, XtagSites

_REFUSED = 2
_AT_ONCE = 8

_EPILOG = """\
Trees are CoNLL-U, or JSON lines (.jsonl): {"id": "a", "words": ["sleeps", "the", "cat"], "heads": [0, 3, 1]} or
{"id": "a", "tree": {"word": "sleeps", "daughters": [{"word": "cat", "daughters": [{"word": "the"}]}]}}. The order of
words, nodes and lines of a tree is ignored. Words are taken as they are, fully inflected; marks of punctuation are
left out, and the first word of a CoNLL-U sentence loses its capital unless it is a name.

examples:
  celadon realize trees.conllu
  celadon realize trees.jsonl --nbest 5 --explain
  celadon realize trees.conllu --rescore smollm2 --output sentences.jsonl
  celadon realize trees.conllu --model baseline
  celadon realize trees.conllu --grammar xtag:xtag-english-2001.tar.xz

exit codes: 0 all trees were realized; 2 some were refused (which, and why, is on the standard error stream; the others
were realized), or the request or the input is wrong; 3 a part is not installed; 4 a result cannot be written
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Turn unordered dependency trees of fully inflected words into sentences, one a line."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("trees", metavar="TREES", help="CoNLL-U or JSON lines, also .gz, .xz, .zst; - for stdin")
    command.add_argument(
        "--model",
        default="builtin-fergus",
        metavar="NAME",
        help="a folder that celadon train fergus wrote, or baseline (baseline:FOLDER) (default: builtin-fergus)",
    )
    command.add_argument(
        "--grammar", metavar="xtag:PATH", help="take attachment sites from a release of XTAG, a folder or a tar archive"
    )
    command.add_argument("--nbest", type=_positive, default=1, metavar="N", help="the N best sentences of each tree")
    command.add_argument("--rescore", metavar="MODEL", help="rank the best sentences again with a model: smollm2")
    command.add_argument("--candidates", type=_positive, metavar="N", help="how many are ranked again (default: 30)")
    command.add_argument("--beam", type=_positive, default=128, metavar="N", help="parts kept a state (default: 128)")
    command.add_argument("--relations", action="store_true", help="use the relations that the trees name")
    command.add_argument("--tokens", action="store_true", help="words with spaces between, as they came, no capital")
    command.add_argument("--format", choices=("conllu", "json"), help="instead of the file's ending")
    command.add_argument("--only", metavar="ID", help="realize only the tree of that id")
    command.add_argument("--explain", action="store_true", help="show supertags, the lattice's size and the scores")
    command.add_argument("--lattice", metavar="SVG", help="draw the lattice of the tree, or of the first one")
    command.add_argument("-o", "--output", metavar="OUT", help="write there instead: .jsonl rows, else lines of text")
    command.set_defaults(run=run)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


class _RealizedTree(NamedTuple):
    """A tree and what was made of it."""

    source: TreeSentence
    arranged: Arranged
    realized: Realized
    sentences: tuple[Sentence, ...]
    coverage: Coverage | None = None


def run(arguments: argparse.Namespace) -> int:
    """Read, realize and write."""
    from celadon.io.atomic import StagedText, check_distinct

    for output in filter(None, (arguments.output, arguments.lattice)):
        check_distinct(output, [arguments.trees])
    trees, refused = _read(arguments)
    realizer, sites = _opened(arguments)
    lines: list[str] = []
    coverages = []
    for number, realized in enumerate(_realized(arguments, realizer, sites, trees)):
        coverages.append(realized.coverage)
        if arguments.lattice and number == 0:
            with StagedText(arguments.lattice, _drawn(realized)) as staged:
                staged.commit()
        own_lines = (
            _rows(realized, arguments) if (arguments.output or "").endswith(".jsonl") else _lines(realized, arguments)
        )
        if arguments.output:
            lines += own_lines
        else:
            for line in own_lines:
                print(line)
    if arguments.output:
        with StagedText(arguments.output, "".join(f"{line}\n" for line in lines)) as staged:
            staged.commit()
    if covered := [each for each in coverages if each is not None]:
        print(f"xtag: {sum(covered[1:], covered[0])}", file=sys.stderr)
    return _REFUSED if refused else 0


def _opened(arguments: argparse.Namespace) -> tuple[Realizer, XtagSites | None]:
    """The realizer, and the grammar that tells it the sites, if there is one."""
    from dataclasses import replace

    from celadon.core import UsageError
    from celadon.realize.fergus import Fergus
    from celadon.realize.model_files import open_realizer

    realizer, _ = open_realizer(arguments.model)
    if arguments.grammar is None:
        return realizer, None
    if not isinstance(realizer, Fergus):
        raise UsageError(
            "--grammar tells where supertags are attached, and the baseline has none; leave one of them out"
        )
    from celadon.realize.xtag_sites import open_sites

    sites = open_sites(arguments.grammar)
    return replace(realizer, sites=sites), sites


def _read(arguments: argparse.Namespace) -> tuple[list[TreeSentence], int]:
    """The trees that can be realized, and how many were refused, each with a line that says why."""
    from celadon.cli.failures import complain
    from celadon.core import InputError
    from celadon.realize.tree_input import read_trees, refusal

    trees, refused = [], 0
    for sentence in read_trees(arguments.trees, arguments.format):
        if arguments.only is not None and sentence.id != arguments.only:
            continue
        reason = refusal(sentence)
        if reason is None:
            trees.append(sentence)
        else:
            refused += 1
            complain(f"{sentence.origin}: sentence {sentence.id or 'without an id'} is refused: {reason}")
    if not trees and not refused:
        named = f"no sentence with the id {arguments.only!r}" if arguments.only is not None else "no trees"
        raise InputError(f"{arguments.trees}: there is {named} in it")
    return trees, refused


def _realized(
    arguments: argparse.Namespace, realizer: Realizer, sites: XtagSites | None, trees: Sequence[TreeSentence]
) -> Iterator[_RealizedTree]:
    from celadon.cli.progress import CountProgress
    from celadon.realize.lp_chooser import NBEST, Beam
    from celadon.realize.tree_input import arrange_sentence

    wanted = arguments.nbest
    if arguments.rescore:
        wanted = max(wanted, arguments.candidates or NBEST)
    beam = Beam(max(arguments.beam, wanted), wanted)
    with CountProgress("trees") as progress:
        for at in range(0, len(trees), _AT_ONCE):
            some = []
            for sentence in trees[at : at + _AT_ONCE]:
                arranged = arrange_sentence(sentence, arguments.relations)
                realization = realizer.realize(arranged.tree, beam)
                coverage = sites.coverage(arranged.tree, realization.chosen) if sites and realization.chosen else None
                some.append(_RealizedTree(sentence, arranged, realization, realization.sentences, coverage))
            yield from _ranked_again(arguments, realizer, some)
            progress(min(at + _AT_ONCE, len(trees)), len(trees))


def _ranked_again(
    arguments: argparse.Namespace, realizer: Realizer, some: list[_RealizedTree]
) -> Iterator[_RealizedTree]:
    from celadon.models.language.language_model import language_model
    from celadon.realize.lp_chooser import rescore
    from celadon.synth.tokens import capitalised, text_of

    if not arguments.rescore:
        yield from some
        return
    model, weight = language_model(arguments.rescore), realizer.settings.rescore_weight
    candidates = [each.sentences for each in some]
    ranked = rescore(candidates, model, weight, lambda words: text_of((*capitalised(words), ".")))
    yield from (each._replace(sentences=sentences) for each, sentences in zip(some, ranked, strict=True))


def _written(words: Sequence[str], arguments: argparse.Namespace) -> str:
    from celadon.synth.tokens import capitalised, text_of
    from celadon.text.layout import printable

    return printable(" ".join(words) if arguments.tokens else text_of(capitalised(words)))


def _lines(realized: _RealizedTree, arguments: argparse.Namespace) -> list[str]:
    lines = []
    for rank, sentence in enumerate(realized.sentences[: arguments.nbest], 1):
        text = _written(sentence.words, arguments)
        lines.append(
            text if arguments.nbest == 1 else f"{realized.source.id or ''}\t{rank}\t{sentence.score:.4f}\t{text}"
        )
    return [*lines, *_explained(realized)] if arguments.explain else lines


def _rows(realized: _RealizedTree, arguments: argparse.Namespace) -> list[str]:
    rows = []
    for rank, sentence in enumerate(realized.sentences[: arguments.nbest], 1):
        row: dict[str, object] = {
            "id": realized.source.id,
            "text": _written(sentence.words, arguments),
            "words": list(sentence.words),
            "rank": rank,
            "score": round(sentence.score, 6),
            "exact": realized.realized.exact,
            "orders": realized.realized.lattice.orders,
        }
        if realized.coverage is not None:
            row["xtag"] = realized.coverage.counts()
        rows.append(json.dumps(row, ensure_ascii=False))
    return rows


def _explained(result: _RealizedTree) -> list[str]:
    """Supertags, and the size of the lattice."""
    from celadon.text.layout import printable

    tree, realized = result.arranged.tree, result.realized
    lattice = realized.lattice
    lines = [
        f"  lattice: {lattice.states:,} states, {lattice.arcs:,} arcs, {lattice.orders:,} orders; exact: "
        f"{str(realized.exact).lower()}; score {result.sentences[0].score:.4f}"
    ]
    if result.coverage is not None:
        lines.append(f"  xtag: {result.coverage}")
    depth = [0] * len(tree)
    for word, mother in enumerate(tree.mothers):
        depth[word] = depth[mother] + 1 if mother >= 0 else 0
        supertag = ""
        if realized.chosen is not None:
            shares = dict(zip(realized.chosen.candidates[word], realized.chosen.shares[word].tolist(), strict=True))
            best = realized.chosen.best[word]
            supertag = f"  {best}  {shares[best]:.2f}"
        orders = lattice.treelets[word].orders if tree.daughters[word] else 0
        permitted = f"  [{orders:,} order{'s' if orders > 1 else ''}]" if orders else ""
        lines.append(printable(f"  {'  ' * depth[word]}{tree.words[word]}{supertag}{permitted}"))
    return lines


def _drawn(realized: _RealizedTree) -> str:
    from celadon.report.lattice_svg import DrawnArc, DrawnLattice, lattice_svg

    tree, lattice = realized.arranged.tree, realized.realized.lattice
    place = {word: at for at, word in enumerate(realized.sentences[0].order)}
    drawings = []
    for word, daughters in enumerate(tree.daughters):
        if not daughters:
            continue
        items, treelet = [word, *daughters], lattice.treelets[word]
        # the items' heads come in the order of the items
        order = sorted(range(len(items)), key=lambda at: place[items[at]])
        path, state = set(), 0
        for item in order:
            following = next((arc for arc in treelet.arcs[state] if arc.item == item), None)
            if following is None:
                break
            path.add((state, following))
            state = following.target
        arcs = [
            DrawnArc(source, arc.target, _label(tree.words, tree.sizes, items, arc.item), (source, arc) in path)
            for source, several in enumerate(treelet.arcs)
            for arc in several
        ]
        title = f"{tree.words[word]}: {treelet.orders:,} orders of {len(items)} items"
        drawings.append(DrawnLattice(title, [mask.bit_count() for mask in treelet.masks], arcs))
    heading = f"{realized.source.id or 'lattice'}: {lattice.orders:,} orders, {lattice.states:,} states"
    return lattice_svg(heading, drawings)


def _label(words: Sequence[str], sizes: Sequence[int], items: Sequence[int], item: int) -> str:
    word = items[item]
    return words[word] if item == 0 or sizes[word] == 1 else f"{words[word]} (+{sizes[word] - 1})"
