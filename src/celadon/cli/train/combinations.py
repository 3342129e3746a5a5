"""``celadon train celadon``, ``combine``, ``morcela``, ``sumqe``, ``gleu``: metrics fitted to ratings or to damage."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.train.options import (
    TERMINAL,
    add_corpus,
    add_kind,
    add_ratings,
    chosen,
    print_used,
    ratings_options,
    recipe_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celadon.io.weight_files import Combination
    from celadon.train.combinations.combine import Trained
    from celadon.train.combinations.morcela import Learned
    from celadon.train.combinations.sumqe import Figure, TrainedSumqe

# From here on the smaller of two features is as good as not there.
_UNEVEN = 10
_CELADON = """\
Passages of the articles kept apart and of other genres are damaged: words dropped, sentences repeated, shuffled, of
other documents, a phrase looped, the end cut off. Sentences learn what tells sound passages from damaged ones and what
people corrected; then each aspect, what it costs. The scale is such that 3 in 100 sound passages are below 0.6.

example:
  celadon train celadon corpus.txt.xz --genres docs.jsonl --edits corrections.jsonl --output mine.json
  celadon score new.jsonl --metric 'celadon[weights=mine.json]'
"""
_COMBINE = """\
The regression is the one of Kann et al. (2018): scikit-learn's SVR with default parameters (radial kernel, C 1,
epsilon 0.1) on the features as they are. --scale standard gives each feature the same weight at the start. --gamma auto
is the kernel's width by default in 2018; scale is the default since scikit-learn 0.22.

example:
  celadon train combine rated.jsonl --rating overall --features wpslor,rougeL --train 500 --output mine.json
  celadon score new.jsonl --metric 'combined[file=mine.json]'
"""
_MORCELA = """\
MORCELA (Tjuatja et al. 2024) is (ln p_M - beta * ln p_u + gamma) / |S|; SLOR is beta 1 and gamma 0. Each text is one
sequence: give sentences. Ratings are fitted by least squares, two labels by logistic regression.

example:
  celadon train morcela in_domain_train.tsv --model builtin --output weights.json
  celadon score new.jsonl --metric 'morcela[weights=weights.json]'
"""
_SUMQE = """\
In the way of SUM-QE (Xenouleas et al. 2019): a linear head for each rating, on the sentence encoder's vectors and on
what celadon sees of how a text reads. Each file is a set. Several sets are left out in turn, one set by fifths of its
items; the figures are of what was left out, for each rating on its own (single) and for all together (multi).

examples:
  celadon train sumqe rated.jsonl --rating grammar,focus --output mine.json
  celadon train sumqe news.jsonl mail.jsonl --rating overall --output mine.json
  celadon train sumqe --damaged corpus.txt.xz --output mine.json
  celadon score new.jsonl --metric 'sumqe[model=mine.json]'
"""
_GLEU = """\
Real sentences of the corpus are told from as many that are glued together word by word, by what three parsers make of
them; for gleu_plus half of the others are real sentences damaged on purpose. The extras parse and train are needed.

example:
  celadon train gleu corpus.txt.xz --output mine.json
  celadon score new.jsonl --metric 'gleu[weights=mine.json]'
  celadon train gleu corpus.txt.xz --variant paper --output mine-paper.json
  celadon train gleu corpus.txt.xz --grammar ./my-grammar --output mine.json
  celadon score new.jsonl --metric 'gleu[weights=mine.json,grammar=./my-grammar]'
"""


def add_parsers(kinds: Any) -> None:
    """Add these kinds."""
    _add_celadon(kinds)
    _add_combine(kinds)
    description = (
        "Learn beta and gamma of MORCELA from sentences with human ratings or labels. A TSV file of CoLA, "
        "which has no header, is known by its first line."
    )
    meaning = "learn MORCELA's weights of length and word frequency for a language model"
    command = add_kind(kinds, "morcela", _train_morcela, meaning, description, _MORCELA)
    add_ratings(command, references=False)
    command.add_argument("--model", default="builtin", metavar="NAME", help="the language model (default: builtin)")
    regressions = ("auto", "linear", "logistic")
    command.add_argument("--kind", choices=regressions, default="auto", help="of regression (default: auto)")
    _add_sumqe(kinds)
    _add_gleu(kinds)


def _add_celadon(kinds: Any) -> None:
    description = "Fit the weights of celadon, the score of how well a text reads, on damaged documents."
    meaning = "fit the weights of celadon on damaged documents"
    command = add_kind(kinds, "celadon", _fit_celadon, meaning, description, _CELADON)
    add_corpus(command, "where the weights are to be, .json", "FILE")
    add = command.add_argument
    add("--tier", default="builtin", metavar="NAME", help="which models read (default: builtin)")
    add("--encoder", metavar="FOLDER", help="read with this encoder instead of the tier's")
    genres = "sound texts of many genres, one JSON object a line; documents of the fit half are used"
    add("--genres", action="append", default=[], metavar="FILE", help=genres)
    edits = "sentences before and after a correction, of the fit half too"
    add("--edits", action="append", default=[], metavar="FILE", help=edits)
    per_cell = "the most passages of a genre and length (default: 60)"
    add("--per-cell", type=int, default=60, metavar="N", help=per_cell)
    extracts = "sound passages of articles with sentences left out, as in a summary (default: 200)"
    add("--extracts", type=int, default=200, metavar="N", help=extracts)
    slope = "how much faults cost from the beginning, beside what they cost beyond what is usual (default: 1)"
    add("--slope", type=float, default=1.0, metavar="X", help=slope)
    add("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")


def _add_combine(kinds: Any) -> None:
    description = (
        "Fit a support vector regression from metrics to a human rating. Features that the table has as columns are "
        "taken as they are; metrics that it lacks are computed. Needs the extra train."
    )
    meaning = "fit metrics to human ratings by support vector regression; the result is a metric"
    command = add_kind(kinds, "combine", _train_combination, meaning, description, _COMBINE)
    add_ratings(command, references=True)
    add = command.add_argument
    features = "columns of the table, metrics, and parts of metrics (rougeL.precision)"
    add("--features", action="append", default=[], metavar="A,B", help=features)
    add("--scale", choices=("none", "standard"), default="none", help="default: none, as in the paper")
    add("--gamma", choices=("scale", "auto"), default="scale", help="of the kernel (default: scale)")
    add("--name", metavar="NAME", help="of the combination (default: the rating's name)")
    add("--plot", metavar="FILE", help="draw predicted against rated, as .png or .svg")


def _add_sumqe(kinds: Any) -> None:
    description = "Train the heads of sumqe, by ridge regression from features of texts to ratings."
    meaning = "an estimator of quality from human ratings: linear heads on an encoder; the result is sumqe's model"
    add = add_kind(kinds, "sumqe", _train_sumqe, meaning, description, _SUMQE).add_argument
    add("ratings", nargs="*", metavar="RATINGS", help="texts with human ratings: JSONL, CSV, TSV, Parquet")
    rating = "the ratings; overall also means scores.overall (default: all columns scores.NAME)"
    add("--rating", action="append", default=[], metavar="A,B", help=rating)
    add("--lower-is-better", action="append", default=[], metavar="A,B", help="ratings of which less is better")
    add("--scale", metavar="LOW:HIGH", help="of the ratings (default: the least and the greatest of each set)")
    add("--set-field", metavar="NAME", help="a column that tells the sets of one file apart")
    add("--format", metavar="NAME", help="jsonl, csv, tsv, parquet, or a data set of celadon meta load --list")
    add("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    damaged = "paragraphs of a corpus, damaged by known amounts, which stand for DUC's five questions"
    add("--damaged", action="append", default=[], metavar="CORPUS", help=damaged)
    add("--documents", type=int, default=2_000, metavar="N", help="paragraphs of it (default: 2000)")
    add("--treebank", action="append", default=[], metavar="FILE", help="more such documents, in CoNLL-U")
    add("-o", "--output", required=True, metavar="FILE", help="where the estimator goes, .json")
    tasks = "each rating for itself, or all with a shared projection (default: single; figures are of both)"
    add("--tasks", choices=("single", "multi"), default="single", help=tasks)
    features = "the vectors of the encoder, what celadon sees of how a text reads, or both (default)"
    add("--features", choices=("both", "reading", "encoder"), default="both", help=features)
    add("--likelihood", default="builtin", metavar="NAME", help="language model (default: builtin)")
    add("--encoder", default="builtin", metavar="NAME", help="sentence encoder (default: builtin)")
    add("--name", metavar="NAME", help="of the estimator (default: the output's name)")
    add("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")
    add("--about", default="", metavar="TEXT", help="what the data are, their licence")
    add("--json", action="store_true", help="print the figures in full precision as JSON")


def _add_gleu(kinds: Any) -> None:
    description = "Train the support vector machine of gleu: fluency by what parsers make of a sentence."
    meaning = "the weights of gleu, from real and glued sentences"
    command = add_kind(kinds, "gleu", _train_gleu, meaning, description, _GLEU)
    add_corpus(command, "where the weights are to be, .json", "FILE")
    add = command.add_argument
    add("--metric", default="gleu", metavar="NAME", help="gleu or gleu_plus (default: gleu)")
    variant = "of gleu: structure or paper (default: structure)"
    add("--variant", default="structure", metavar="NAME", help=variant)
    add("--length", type=int, default=24, metavar="N", help="tokens of a sentence (default: 24)")
    add("--count", type=int, default=1_000, metavar="N", help="sentences of each kind (default: 1000)")
    held_out = "of each kind, kept apart for the figures (default: 150)"
    add("--held-out", type=int, default=150, metavar="N", help=held_out)
    add("--tokens", type=int, default=3_000_000, metavar="N", help="read the corpus so far (default: 3000000)")
    add("--seed", type=int, default=0, metavar="N", help="for all that is drawn (default: 0)")
    grammar = "another grammar for the chart parser (default: the package's)"
    add("--grammar", default="", metavar="PATH", help=grammar)
    add("--rules", action="store_true", help="for gleu_plus[rules=true]: ask the rule checker too")


def _fit_celadon(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable, table
    from celadon.train.combinations.celadon import fit_celadon

    options = chosen(arguments, "tier", "encoder", "genres", "edits", "per_cell", "extracts", "slope", "seed")
    fitted = fit_celadon(arguments.corpus, arguments.output, **options, report=TERMINAL)
    cells = [[printable(name), f"{figure:.3f}"] for name, figure in fitted.figures.items()]
    print(table(["damaged copies below sound passages", ""], cells))
    return 0


def _train_gleu(arguments: argparse.Namespace) -> int:
    from celadon.text.layout import printable, table
    from celadon.train.combinations.gleu import GleuRecipe, train_gleu

    recipe = recipe_of(arguments, GleuRecipe)
    trained = train_gleu(arguments.corpus, arguments.output, recipe, tokens=arguments.tokens, report=TERMINAL)
    rows = [[printable(name), f"{figure:.3f}"] for name, figure in trained.figures.items()]
    print(table(["on sentences kept apart", ""], rows))
    return 0


def _train_combination(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from celadon.core import UsageError
    from celadon.report.plots.style import require_matplotlib
    from celadon.train.combinations.combine import train_combination
    from celadon.train.combinations.ratings import check_output

    features, plot = meta_tables.named(arguments.features), arguments.plot
    if plot:
        if not plot.lower().endswith((".png", ".svg")):
            raise UsageError(f"{plot}: a plot is written as .png or .svg")
        require_matplotlib()
        check_output(plot, [arguments.ratings, arguments.test])
        if Path(plot).resolve() == Path(arguments.output).resolve():
            raise UsageError("the outputs must be different files")
    options = {**chosen(arguments, "scale", "gamma", "name"), **ratings_options(arguments)}
    trained = train_combination(arguments.ratings, arguments.output, features, **options)
    combination = trained.combination
    if plot:
        _draw(plot, trained)
    if arguments.json:
        meta_tables.print_json(combination.facts)
    else:
        _print_combination(trained)
    print_used(arguments.output, f"combined[file={arguments.output}]", trained.left_out, trained.rows)
    notes = [_uneven(combination)]
    if trained.from_table:
        notes.insert(0, f"{', '.join(trained.from_table)}: taken from the table here, computed when texts are scored")
    columns = [feature.name for feature in combination.features if not feature.is_metric]
    if columns:
        notes.append(f"{', '.join(columns)}: no metric, so that every file to be scored must have it as a column")
    for note in filter(None, notes):
        print(note, file=sys.stderr)
    return 0


def _print_combination(trained: Trained) -> None:
    from celadon.text.layout import printable

    combination = trained.combination
    names = ", ".join(feature.name for feature in combination.features)
    print(
        printable(
            f"{combination.name}: {names} to {combination.rating}; {len(combination.coefficients):,} support vectors"
        ),
        end="\n\n",
    )
    columns = ("pearson", "spearman", "mse")
    if trained.held_out:
        _print_figures(f"held out, {trained.held_out[0].n:,} rows", trained.held_out, columns)
    _print_figures(f"trained on, {trained.training[0].n:,} rows", trained.training, columns)
    if not trained.held_out:
        print("nothing was held out: these figures are of the rows trained on, and flatter the combination")


def _print_figures(title: str, figures: Sequence[Any], columns: Sequence[str]) -> None:
    from celadon.text.layout import printable, table

    cells = [[printable(row.name), *(meta_tables.figure(getattr(row, each)) for each in columns)] for row in figures]
    print(table([title, *columns], cells), end="\n\n")


def _uneven(combination: Combination) -> str:
    """Say where one feature drowns another, which a radial kernel on features as they are lets it do."""
    least, most = (choice(combination.features, key=lambda feature: feature.sd) for choice in (min, max))
    times = most.sd / least.sd
    if combination.scale != "none" or times < _UNEVEN:
        return ""
    return f"{most.name} varies {times:,.0f} times as much as {least.name}, which hardly counts; try --scale standard"


def _draw(path: str, trained: Trained) -> None:
    from celadon.io.atomic import write_atomically
    from celadon.report.plots.figures import scatter
    from celadon.report.plots.style import png_bytes, svg_bytes

    rating = trained.combination.rating
    part = "held out" if trained.held_out else "trained on"
    drawn = scatter(trained.predicted, trained.rated, metric=f"predicted {rating} ({part})", human=rating)
    content = png_bytes(drawn) if path.lower().endswith(".png") else svg_bytes(drawn)
    with write_atomically(path) as file:
        file.write(content)


def _train_morcela(arguments: argparse.Namespace) -> int:
    from celadon.train.combinations.morcela import train_morcela

    options = {**chosen(arguments, "model", "kind"), **ratings_options(arguments)}
    learned = train_morcela(arguments.ratings, arguments.output, **options)
    if arguments.json:
        meta_tables.print_json(learned.content)
    else:
        _print_morcela(learned, arguments.model)
    notation = f"morcela[model={arguments.model},weights={arguments.output}]"
    print_used(arguments.output, notation, learned.left_out, learned.rows)
    return 0


def _print_morcela(learned: Learned, model: str) -> None:
    from celadon.text.layout import printable, table
    from celadon.train.combinations.morcela import interval

    weights = learned.weights
    print(printable(f"{model}, {weights.kind} regression on {weights.rows:,} texts"), end="\n\n")
    cells = [
        [name, f"{value:.4f}", f"{error:.4f}", meta_tables.bounds(*interval(value, error)), usual]
        for name, value, error, usual in (
            ("beta", weights.beta, weights.beta_error, "1"),
            ("gamma", weights.gamma, weights.gamma_error, "0"),
        )
    ]
    print(table(["weight", "value", "error", "95% interval", "of SLOR"], cells), end="\n\n")
    for what, figures in (("held out", learned.held_out), ("trained on", learned.training)):
        if figures:
            labelled = any(row.auc == row.auc for row in figures)
            columns = ("pearson", "spearman", "auc", "mcc") if labelled else ("pearson", "spearman")
            _print_figures(f"{what}, {figures[0].n:,} texts", figures, columns)
    if interval(weights.coefficients[1], weights.errors[1])[0] <= 0:
        print("the likelihood hardly tells the ratings apart here, so that the weights mean little")


def _train_sumqe(arguments: argparse.Namespace) -> int:
    from celadon.train.combinations.sumqe import train_sumqe

    names = ("set_field", "format", "text_field", "damaged", "documents", "treebank", "tasks", "features")
    trained = train_sumqe(
        arguments.ratings,
        arguments.output,
        rating=meta_tables.named(arguments.rating),
        lower_is_better=meta_tables.named(arguments.lower_is_better),
        scale=_scale(arguments.scale),
        **chosen(arguments, *names, "likelihood", "encoder", "name", "seed", "about"),
        report=TERMINAL,
    )
    if arguments.json:
        meta_tables.print_json({"trained_on": trained.model.trained_on, "held_out": trained.figures})
    else:
        _print_sumqe(trained)
    output = arguments.output
    print(f"wrote {output}; use it with: celadon score FILE --metric 'sumqe[model={output}]'", file=sys.stderr)
    if trained.left_out:
        print(f"{trained.left_out:,} texts were left out: no words, or a script that is not known", file=sys.stderr)
    return 0


def _scale(text: str | None) -> tuple[float, float] | None:
    from celadon.core import UsageError

    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (0.0, 0.0)
    if not ends[0] < ends[1]:
        raise UsageError(f"--scale {text}: is LOW:HIGH, for example 1:5")
    return ends


def _print_sumqe(trained: TrainedSumqe) -> None:
    from celadon.text.layout import printable, table

    for each in trained.model.trained_on:
        rated = ", ".join(f"{name} {many:,}" for name, many in each["ratings"].items())
        print(printable(f"{each['name']}: {each['texts']:,} texts; {rated}"))
    rows: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in trained.figures:
        rows.setdefault((figure.held_out, figure.rating), {})[figure.tasks] = figure
    cells = [
        [
            *map(printable, names),
            *(
                meta_tables.figure(value)
                for each in ("single", "multi")
                for value in (of[each].pearson, of[each].spearman)
            ),
            f"{of['single'].n:,}",
        ]
        for names, of in rows.items()
    ]
    header = ["left out", "rating", "single r", "single rho", "multi r", "multi rho", "n"]
    print(f"\n{table(header, cells)}" if cells else "\nno rating is in two sets, so that none could be left out")
