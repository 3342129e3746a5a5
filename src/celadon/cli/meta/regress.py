"""``celadon meta regress``: how ratings follow from metrics, and the formula as a metric."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.meta.regression import Outlier, Regression, Step

_MOST_OUTLIERS = 10
_EPILOG = """\
example:
  celadon meta regress scored.jsonl --human overall --predictors rougeL,simple_string_accuracy.substitutions \\
      --name quality --output quality.json
  celadon score new.jsonl --metric 'formula[file=quality.json]'
"""


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "regress",
        help="a linear model of a rating: R2, F, p, coefficients, outliers; exported as a metric",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    meta_tables.add_table(command, human="the rating column")
    command.add_argument(
        "--predictors", action="append", default=[], metavar="A,B", help="columns: metrics, their parts, counts"
    )
    command.add_argument(
        "--stepwise", action="store_true", help="add predictors one by one, the best first, while p is below --enter"
    )
    command.add_argument("--enter", type=float, default=0.05, metavar="P", help="default: 0.05")
    command.add_argument("--item-field", metavar="NAME", help="what outliers are called by (default: id)")
    command.add_argument("--system-field", metavar="NAME", help="and who made them (default: system)")
    command.add_argument("--name", metavar="NAME", help="of the formula (default: the rating's name)")
    command.add_argument("-o", "--output", metavar="FILE", help="write the formula: JSON for formula[file=FILE]")
    command.set_defaults(run=run, domain_field=None, lower_is_better=[], metric=[])


def run(arguments: argparse.Namespace) -> int:
    """Fit, print, export."""
    from celadon.core import UsageError
    from celadon.io import atomic_write_text, check_distinct
    from celadon.meta.regression import fit, forward, outliers

    predictors = meta_tables.named(arguments.predictors)
    humans = meta_tables.humans_of(arguments)
    if not predictors:
        raise UsageError("no predictor: name the columns to fit the rating with, for example --predictors rougeL,chrf")
    if len(humans) != 1:
        raise UsageError(f"a regression is of one rating; here are {', '.join(humans)}")
    if arguments.output:
        check_distinct(arguments.output, [arguments.table])
    table = meta_tables.table_of(arguments, predictors)
    columns = {name: table.columns[name] for name in predictors}
    target = table.columns[humans[0]]
    steps: tuple[Step, ...] = ()
    if arguments.stepwise:
        steps = forward(columns, target, enter=arguments.enter, target_name=humans[0])
        if not steps:
            raise UsageError(f"no predictor of {humans[0]} has a p below {arguments.enter:g}; there is no model")
        model = steps[-1].model
    else:
        model = fit(columns, target, target_name=humans[0])
    names = [table.name_of(row) for row in range(table.rows)]
    outlying = outliers(model, ids=names)
    if arguments.json:
        meta_tables.print_json(_as_json(model, steps, outlying))
    else:
        _print(model, steps, outlying)
    if arguments.output:
        metric = model.as_metric(arguments.name or humans[0], Path(arguments.table).name)
        atomic_write_text(arguments.output, json.dumps(metric, indent=2, ensure_ascii=False) + "\n")
        use = f"celadon score FILE --metric 'formula[file={arguments.output}]'"
        print(f"wrote {arguments.output}; use it with: {use}", file=sys.stderr)
        for term in model.terms:
            if not _is_metric(term):
                print(f"{term} is no metric of celadon, so that this formula cannot score texts", file=sys.stderr)
    return 0


def _is_metric(term: str) -> bool:
    """Whether a column is a registered metric or a part of one."""
    from celadon.metrics.registry import load, named_part

    named = named_part(term)
    if named is None or meta_tables.known_metric(named.spec) is None:
        return False
    return named.part is None or named.part in load(named.spec.partition("[")[0]).info.parts


def _as_json(model: Regression, steps: tuple[Step, ...], outlying: tuple[Outlier, ...]) -> dict[str, Any]:
    facts = "r2 adjusted_r2 f df_model df_residual p residual_sd rows left_out coefficients".split()
    return {
        "target": model.target,
        "formula": model.formula(),
        **{name: getattr(model, name) for name in facts},
        "steps": [{**step.comparison._asdict(), "r2": step.model.r2} for step in steps],
        "outliers": outlying,
    }


def _print(model: Regression, steps: tuple[Step, ...], outlying: tuple[Outlier, ...]) -> None:
    from celadon.text.layout import printable, table

    chance = meta_tables.chance
    if steps:
        cells = [
            [printable(", ".join(step.added)), f"{r2:.4f}", f"{step.delta_r2:+.4f}", f"{step.f:.3f}", chance(step.p)]
            for step, r2 in ((step.comparison, step.model.r2) for step in steps)
        ]
        print(table(["added", "R2", "gain", "F", "p"], cells), end="\n\n")
    print(printable(f"{model.target} = {model.formula()}"))
    print(
        f"R2 {model.r2:.4f} (adjusted {model.adjusted_r2:.4f}), F({model.df_model}, {model.df_residual}) = "
        f"{model.f:.3f}, p {chance(model.p)}; {model.rows:,} rows, {model.left_out:,} left out for a missing value\n"
    )
    cells = [
        [
            *(printable(term.name), f"{term.value:.5g}", f"{term.error:.4g}", f"{term.t:.3f}"),
            *(chance(term.p), f"{term.low:.4g} .. {term.high:.4g}"),
        ]
        for term in model.coefficients
    ]
    print(table(["term", "coefficient", "error", "t", "p", "95% interval"], cells))
    if outlying:
        print(f"\noutliers: {len(outlying)}")
        meta_tables.print_notes([f"{one.id}: {'; '.join(one.reasons)}" for one in outlying[:_MOST_OUTLIERS]])
