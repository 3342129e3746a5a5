"""A figure as SVG inside an HTML page: small, without style attributes, its names its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from celadon.report.escape import escape
from celadon.report.plots.style import svg_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the plots call the marks they draw; other groups are matplotlib's own and need no name.
MARKS = frozenset("points fit band cells intervals values ceiling bar whole curve system box gate".split())
_LEFT_OUT = frozenset({"metadata", "style"})
_KEPT = frozenset({"x", "y", "width", "height", "d", "clip-path", "transform", "href", "preserveAspectRatio"})
_LONG = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NO_TURN = re.compile(r"rotate\(-?0 .*\)")


def inline_svg(figure: Figure, *, key: str, label: str) -> str:
    """Return the figure as an ``svg`` element; the key is one that no other figure of the page has."""
    root = ElementTree.fromstring(svg_bytes(figure))
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    inside = "".join(_written(child, key) for child in root)
    # a point of print is four thirds of a pixel of the page
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width * 4 / 3:.0f}" height="{height * 4 / 3:.0f}" role="img" '
        f'aria-label="{escape(label)}">{inside}</svg>'
    )


def _written(element: ElementTree.Element, key: str) -> str:
    tag = _local(element.tag)
    if tag in _LEFT_OUT:
        return ""
    attributes = _attributes(element, tag, key)
    shared = _shared(element, key) if tag == "g" else {}
    inside = escape(element.text or "") if tag == "text" else ""
    for child in element:
        inside += _use(child, key, shared) if shared and _local(child.tag) == "use" else _written(child, key)
    if tag in ("g", "defs") and (not inside or not (attributes or shared or tag == "defs")):
        return inside
    opening = f"<{tag}{_spelled({**attributes, **shared})}"
    return f"{opening}>{inside}</{tag}>" if inside or tag == "text" else f"{opening}/>"


def _attributes(element: ElementTree.Element, tag: str, key: str) -> dict[str, str]:
    """Return the attributes worth keeping: what styles say as attributes, numbers short, names made the figure's."""
    attributes: dict[str, str] = {}
    for long, value in element.attrib.items():
        name = _local(long)
        if name == "id":
            if tag in ("path", "clipPath"):
                attributes["id"] = key + value
            elif value in MARKS:
                attributes["class"] = value
        elif name == "style":
            attributes.update(_styled(value))
        elif name in _KEPT and not (name == "transform" and _NO_TURN.fullmatch(value)):
            attributes[name] = value if value.startswith("data:") else _short(value.replace("#", f"#{key}"))
    return attributes


def _styled(style: str) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    kept = {name.strip(): value.strip() for name, value in pairs}
    kept.pop("font-family", None)
    return {name: _short(value) for name, value in kept.items() if name != "font"}


def _shared(group: ElementTree.Element, key: str) -> dict[str, str]:
    """What all the marks of a group have in common, so that it is said once."""
    uses = [_attributes(child, "use", key) for child in group if _local(child.tag) == "use"]
    if len(uses) < 2:
        return {}
    first = {name: value for name, value in uses[0].items() if name not in ("x", "y", "href")}
    return first if all(all(use.get(name) == value for name, value in first.items()) for use in uses) else {}


def _use(element: ElementTree.Element, key: str, shared: dict[str, str]) -> str:
    own = {name: value for name, value in _attributes(element, "use", key).items() if name not in shared}
    return f"<use{_spelled(own)}/>"


def _spelled(attributes: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _short(text: str) -> str:
    """Write numbers with two decimals at most, and paths without needless spaces."""
    rounded = _LONG.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\s*([A-Za-z])\s+", r"\1", rounded.strip()) if rounded[:1] == "M" else rounded


def _local(name: str) -> str:
    return name.rpartition("}")[2]
