"""Read DDI-Codebook XML: labels, categories, invalid ranges, measurement level, universe."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse

from tabsoda.errors import InputError
from tabsoda.schema.codes import as_number, numeric_if_possible
from tabsoda.schema.column import Code
from tabsoda.schema.hints import ColumnHints

_MEASURES = {"nominal": "nominal", "ordinal": "ordinal", "interval": "scale", "ratio": "scale"}


def read_codebook(path: str | Path) -> dict[str, ColumnHints]:
    """Read the metadata of each variable from a DDI-Codebook (2.x).

    ``universe`` text is kept verbatim: it is displayed and never parsed.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict of str to ColumnHints
        By variable name.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"The codebook '{path}' does not exist", next_step="Check the path")
    try:
        root = parse(path).getroot()
    except (ParseError, DefusedXmlException) as error:
        raise InputError(
            f"The codebook '{path.name}' is not valid XML",
            found=str(error) or type(error).__name__,
            expected="DDI-Codebook 2.x",
            next_step="It may be truncated, or not XML; download it again",
        ) from error
    hints = {}
    for variable in root.iter():
        if _tag(variable) == "var" and variable.get("name"):
            hints[variable.get("name")] = _hints(variable)
    if not hints:
        raise InputError(
            f"The codebook '{path.name}' describes no variable",
            found=f"a <{_tag(root)}> document without <var name=...>",
            expected="DDI-Codebook 2.x",
        )
    return hints


def _tag(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _children(element: Any, name: str) -> Iterator[Any]:
    return (child for child in element if _tag(child) == name)


def _text(element: Any, name: str) -> str:
    for child in _children(element, name):
        text = " ".join("".join(child.itertext()).split())
        if text:
            return text
    return ""


def _hints(variable: Any) -> ColumnHints:
    labels: dict[Code, str] = {}
    codes: list[Code] = []
    for category in _children(variable, "catgry"):
        value = _text(category, "catValu")
        if not value:
            continue
        code = numeric_if_possible(value)
        label = _text(category, "labl")
        if label:
            labels[code] = label
        if category.get("missing", "").upper() in ("Y", "YES", "TRUE"):
            codes.append(code)
    ranges: list[tuple[float, float]] = []
    for invalid in _children(variable, "invalrng"):
        for item in _children(invalid, "item"):
            codes.append(numeric_if_possible(item.get("VALUE", item.get("value", ""))))
        for span in _children(invalid, "range"):
            low, high = (as_number(span.get(end)) for end in ("min", "max"))
            # A range without bounds would make every answer invalid; ignore it.
            if low is not None or high is not None:
                ranges.append(
                    (-math.inf if low is None else low, math.inf if high is None else high)
                )
    question = next((_text(q, "qstnLit") for q in _children(variable, "qstn")), "")
    return ColumnHints(
        label=_text(variable, "labl") or question,
        level_labels=labels,
        measure=_MEASURES.get(variable.get("nature", ""), ""),
        missing_codes=tuple(code for code in codes if code != ""),
        missing_ranges=tuple(ranges),
        universe=_text(variable, "universe"),
    )
