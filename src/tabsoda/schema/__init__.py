"""Stage 2, describe: what each column means.

Input: a table and whatever the file, a codebook or the user says about it.
Output: a :class:`Schema`, the columns in questionnaire order.
"""

from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Confidence, Reason
from tabsoda.schema.schema import Schema

__all__ = ["Code", "Column", "ColumnKind", "ColumnRole", "Confidence", "Reason", "Schema"]
