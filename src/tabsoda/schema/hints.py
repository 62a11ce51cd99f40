"""Metadata of a column as declared by a file or a codebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tabsoda.schema.codes import CodeBook, as_number
from tabsoda.schema.column import Code, Reason


@dataclass(frozen=True)
class ColumnHints:
    """Metadata of one column.

    Attributes
    ----------
    label : str
        The question's text.
    level_labels : mapping of Code to str
        Labels of values, including missing codes.
    measure : str
        ``"nominal"``, ``"ordinal"``, ``"scale"`` or empty, as in SPSS and DDI.
    order : tuple of Code
        Levels in an order given by the file itself (an ordered Categorical, an Enum).
    is_category : bool
        Whether the table stores the column as unordered categories.
    missing_codes : tuple of Code
        Codes that the file declares missing.
    missing_ranges : tuple of (low, high)
        Ranges that the file declares missing, both ends included.
    universe : str
        Who was asked.
    file_reasons : mapping of Code to Reason
        The meaning of codes on which all other columns of the file agree.
    language : str
        The language of the file's labels, such as ``"Spanish"``; empty if not known.
    """

    label: str = ""
    level_labels: Mapping[Code, str] = field(default_factory=dict)
    measure: str = ""
    order: tuple[Code, ...] = ()
    is_category: bool = False
    missing_codes: tuple[Code, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    universe: str = ""
    file_reasons: Mapping[Code, Reason] = field(default_factory=dict)
    language: str = ""

    def is_missing(self, value: object) -> bool:
        """Whether the file itself declares a value missing."""
        if CodeBook(self.missing_codes).find(value) is not None:
            return True
        number = as_number(value)
        return number is not None and any(
            low <= number <= high for low, high in self.missing_ranges
        )

    def filled_from(self, other: ColumnHints) -> ColumnHints:
        """Return these hints with every gap filled from others."""
        known = CodeBook(self.level_labels)
        added = {
            code: text for code, text in other.level_labels.items() if known.find(code) is None
        }
        return replace(
            self,
            label=self.label or other.label,
            level_labels={**self.level_labels, **added},
            measure=self.measure or other.measure,
            order=self.order or other.order,
            is_category=self.is_category or other.is_category,
            missing_codes=tuple(dict.fromkeys((*self.missing_codes, *other.missing_codes))),
            missing_ranges=tuple(dict.fromkeys((*self.missing_ranges, *other.missing_ranges))),
            universe=self.universe or other.universe,
        )
