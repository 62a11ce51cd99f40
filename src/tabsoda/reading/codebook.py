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

    ``universe`` text is kept verbatim; :mod:`tabsoda.questionnaire.ddi` reads it as a condition.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict of str to ColumnHints
        By variable name.
    """
    return {one.get("name"): hints_of(one) for one in codebook_variables(Path(path))}


def codebook_variables(path: Path) -> list[Any]:
    """Return the elements of all variables of a DDI-Codebook, in their order."""
    if not path.is_file():
        raise InputError(f"The codebook '{path}' does not exist", next_step="Check the path")
    try:
        root = parse(path).getroot()
    except DefusedXmlException as error:
        raise InputError(
            f"The codebook '{path.name}' declares entities, which are not read",
            found=getattr(error, "name", "") or type(error).__name__,
            expected="DDI-Codebook 2.x without entities: they can fill the memory or name files",
            next_step="Save it again without a DOCTYPE with entities",
        ) from error
    except (ParseError, ValueError, LookupError) as error:
        # LookupError and ValueError: an unknown encoding.
        raise InputError(
            f"The codebook '{path.name}' is not valid XML",
            found=str(error) or type(error).__name__,
            expected="DDI-Codebook 2.x",
            next_step="It may be truncated, or not XML; download it again",
        ) from error
    found = [one for one in root.iter() if _tag(one) == "var" and one.get("name")]
    if not found:
        raise InputError(
            f"The codebook '{path.name}' describes no variable",
            found=f"a <{_tag(root)}> document without <var name=...>",
            expected="DDI-Codebook 2.x",
        )
    return found


def _tag(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children_of(element: Any, name: str) -> Iterator[Any]:
    """Return the children of an element with a name, whatever their namespace."""
    return (child for child in element if _tag(child) == name)


def text_of(element: Any, name: str) -> str:
    """Return the text of the first child with a name that has one; else an empty text."""
    for child in children_of(element, name):
        text = " ".join("".join(child.itertext()).split())
        if text:
            return text
    return ""


def hints_of(variable: Any) -> ColumnHints:
    """Return what a variable's element says about its column."""
    labels: dict[Code, str] = {}
    codes: list[Code] = []
    for category in children_of(variable, "catgry"):
        value = text_of(category, "catValu")
        if not value:
            continue
        code = numeric_if_possible(value)
        label = text_of(category, "labl")
        if label:
            labels[code] = label
        if category.get("missing", "").upper() in ("Y", "YES", "TRUE"):
            codes.append(code)
    ranges: list[tuple[float, float]] = []
    for invalid in children_of(variable, "invalrng"):
        for item in children_of(invalid, "item"):
            codes.append(numeric_if_possible(item.get("VALUE", item.get("value", ""))))
        for span in children_of(invalid, "range"):
            low, high = (as_number(span.get(end)) for end in ("min", "max"))
            # A range without bounds would make every answer invalid; ignore it.
            if low is not None or high is not None:
                ranges.append(
                    (-math.inf if low is None else low, math.inf if high is None else high)
                )
    question = next((text_of(q, "qstnLit") for q in children_of(variable, "qstn")), "")
    return ColumnHints(
        label=text_of(variable, "labl") or question,
        level_labels=labels,
        measure=_MEASURES.get(variable.get("nature", ""), ""),
        missing_codes=tuple(code for code in codes if code != ""),
        missing_ranges=tuple(ranges),
        universe=text_of(variable, "universe"),
    )
