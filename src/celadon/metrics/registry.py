"""Which metrics there are, and the notation they are asked for in: ``name[option=value,option=value]``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple, get_args, get_type_hints

from celadon.core import Metric, UsageError

ENTRY_POINTS = "celadon.metrics"

# Name -> where its class is; modules are imported only when the metric is asked for.
_OURS = {
    "simple_string_accuracy": "string_accuracy:SimpleStringAccuracy",
    "generation_string_accuracy": "string_accuracy:GenerationStringAccuracy",
    "simple_tree_accuracy": "tree_accuracy:SimpleTreeAccuracy",
    "generation_tree_accuracy": "tree_accuracy:GenerationTreeAccuracy",
    "understandability_accuracy": "tree_accuracy:UnderstandabilityAccuracy",
    "quality_accuracy": "tree_accuracy:QualityAccuracy",
    "rouge1": "overlap:Rouge1",
    "rouge2": "overlap:Rouge2",
    "rouge3": "overlap:Rouge3",
    "rouge4": "overlap:Rouge4",
    "rougeL": "overlap:RougeL",
    "rougeLsum": "overlap:RougeLsum",
    "rougeW": "overlap:RougeW",
    "lr2_f": "overlap:Lr2F",
    "lr3_f": "overlap:Lr3F",
    "lr2_r": "overlap:Lr2R",
    "lr3_r": "overlap:Lr3R",
    "bleu": "translation:Bleu",
    "bleu1": "translation:Bleu1",
    "bleu2": "translation:Bleu2",
    "bleu3": "translation:Bleu3",
    "bleu4": "translation:Bleu4",
    "chrf": "translation:Chrf",
    "ter": "translation:Ter",
    "meteor": "meteor:Meteor",
    "sari": "sari:Sari",
    "slor": "likelihood:Slor",
    "wpslor": "likelihood:Wpslor",
    "wordslor": "likelihood:Wordslor",
    "morcela": "likelihood:Morcela",
    "rouge_lm": "rouge_lm:RougeLm",
    "nce": "likelihood:Nce",
    "ppl": "likelihood:Ppl",
    "pll": "likelihood:Pll",
    "celadon": "reading.celadon:Celadon",
    "celadon.grammaticality": "reading.celadon:CeladonGrammaticality",
    "celadon.redundancy": "reading.celadon:CeladonRedundancy",
    "celadon.focus": "reading.celadon:CeladonFocus",
    "celadon.coherence": "reading.celadon:CeladonCoherence",
    "gruen": "gruen.gruen:Gruen",
    "gruen.grammaticality": "gruen.grammaticality:GruenGrammaticality",
    "gruen.redundancy": "gruen.redundancy:GruenRedundancy",
    "gruen.focus": "gruen.focus:GruenFocus",
    "gruen.coherence": "gruen.coherence:GruenCoherence",
    "gleu": "gleu:Gleu",
    "gleu_plus": "gleu:GleuPlus",
    "wmd": "movers:Wmd",
    "smd": "movers:Smd",
    "s_wmd": "movers:SWmd",
    "vecsim": "vecsim:Vecsim",
    "sumqe": "sumqe:Sumqe",
    "bertscore": "bertscore:Bertscore",
    "moverscore": "moverscore:Moverscore",
    "formula": "combined:Formula",
    "combined": "combined:Combined",
}

DEFAULTS_WITH_REFERENCES = ("celadon", "rougeL", "chrf", "simple_string_accuracy", "generation_string_accuracy")
DEFAULTS_WITHOUT_REFERENCES = ("celadon",)


def names() -> tuple[str, ...]:
    """All metrics: ours, then those of installed packages."""
    return (*_OURS, *(name for name in _installed() if name not in _OURS))


def _installed() -> dict[str, Any]:
    """Metrics that other packages offer through the entry point ``celadon.metrics``."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


class NamedPart(NamedTuple):
    """A metric in its notation, and one of its parts; None for the metric itself."""

    spec: str
    part: str | None


def named_part(name: str) -> NamedPart | None:
    """Tell a metric from a part of it: ``slor[context=document].worst``, ``gruen.redundancy.pairs``.

    Of a name with dots, the longest beginning that is a metric is it, so that ``gruen.redundancy`` is one and not
    a part of ``gruen``. None where the name can be neither.
    """
    close = name.rfind("]") + 1
    if close:
        rest = name[close:]
        if rest and not (rest.startswith(".") and len(rest) > 1):
            return None
        return NamedPart(name[:close], rest[1:] or None)
    known = frozenset(names())
    dots = [at for at, character in enumerate(name) if character == "."]
    longest = next((at for at in (len(name), *reversed(dots)) if name[:at] in known), dots[0] if dots else len(name))
    if not name[:longest] or longest == len(name) - 1:
        return None
    return NamedPart(name[:longest], name[longest + 1 :] or None)


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric."""
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        found: type[Metric] = getattr(import_module(f"celadon.metrics.{module}"), attribute)
        return found
    installed = _installed()
    if name not in installed:
        close = get_close_matches(name, names(), n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"unknown metric {name!r}{hint} (celadon metrics lists them all)")
    return _from_entry_point(name, installed[name])


def _from_entry_point(name: str, point: Any) -> type[Metric]:
    try:
        found = point.load()
    except Exception as error:  # whatever a stranger's package raises is its fault, and the user must know whose
        raise UsageError(f"metric {name!r} of {point.value!r} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Metric)):
        raise UsageError(f"metric {name!r}: {point.value!r} is not a subclass of celadon.Metric")
    return found


def load(spec: str) -> Metric:
    """Make a metric from its notation.

    Parameters
    ----------
    spec
        A name, or a name with options: ``rougeW[weight=1.5]``.
    """
    name, bracket, rest = spec.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise UsageError(f"metric {spec!r}: the options' closing bracket is missing")
    found = metric_class(name)
    given: dict[str, str] = {}
    for item in filter(None, rest.removesuffix("]").split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"metric {spec!r}: option {item!r} has no value; write {item}=VALUE")
        given[key.strip()] = value.strip()
    metric = found(**_typed(found, given, spec))
    if metric.info.name != name:
        where = f"{found.__module__}:{found.__qualname__}"
        raise UsageError(f"metric {name!r}: {where!r} calls itself {metric.info.name!r}")
    return metric


def _typed(found: type[Metric], given: dict[str, str], spec: str) -> dict[str, Any]:
    fields = {f.name for f in dataclasses.fields(found) if f.init} if dataclasses.is_dataclass(found) else set[str]()
    hints = get_type_hints(found)
    options: dict[str, Any] = {}
    for key, value in given.items():
        if key not in fields:
            known = ", ".join(sorted(fields)) or "none"
            raise UsageError(f"metric {spec!r}: unknown option {key!r}; known: {known}")
        options[key] = _value(value, hints[key], f"metric {spec!r}: option {key!r}")
    return options


def _value(value: str, wanted: Any, where: str) -> Any:
    if type(None) in get_args(wanted):
        if value in ("", "None"):
            return None
        wanted = next(kind for kind in get_args(wanted) if kind is not type(None))
    if wanted is bool:
        if value.lower() in ("true", "yes", "1", "false", "no", "0"):
            return value.lower() in ("true", "yes", "1")
        raise UsageError(f"{where}: {value!r} is not true or false")
    if wanted in (int, float):
        try:
            return wanted(value)
        except ValueError:
            raise UsageError(f"{where}: {value!r} is not {'a whole number' if wanted is int else 'a number'}") from None
    return value


def split_specs(text: str) -> list[str]:
    """Split ``a,b[x=1,y=2],c`` at the commas outside brackets."""
    found, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
    found.append(text[begin:])
    return [spec.strip() for spec in found if spec.strip()]


def with_option(specs: Iterable[str], option: str, value: int) -> list[str]:
    """Give an option to each metric that has it and was not given one; raise ``UsageError`` where no metric has it."""
    found, has_it = [], False
    for spec in specs:
        metric = load(spec)
        has_it |= option in metric.options
        if option in metric.options and not re.search(rf"[\[,]\s*{option}\s*=", spec):
            assert dataclasses.is_dataclass(metric)
            metric = dataclasses.replace(metric, **{option: value})
        found.append(metric.spec)
    if not has_it:
        raise UsageError(f"no metric asked for by name has the option {option}; wmd, bertscore and moverscore have one")
    return found


def load_all(specs: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Make metrics, each once, in the order in which they were asked for."""
    metrics = [spec if isinstance(spec, Metric) else load(spec) for spec in specs]
    return tuple({metric.spec: metric for metric in metrics}.values())
