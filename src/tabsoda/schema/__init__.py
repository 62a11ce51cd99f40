"""Describe the columns of a survey: their meaning, kind, role and special codes."""

from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Confidence, Reason
from tabsoda.schema.edit import Derivation, Edit
from tabsoda.schema.schema import Schema

__all__ = [
    "Code",
    "Column",
    "ColumnKind",
    "ColumnRole",
    "Confidence",
    "Derivation",
    "Edit",
    "Reason",
    "Schema",
]
