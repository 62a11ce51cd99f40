"""Adds derived variables that are not in the file to a survey, so that they are predictors, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabsoda.edits.edit_set import EditSet
from tabsoda.schema.column import Column, ColumnKind, Reason
from tabsoda.states.cell_states import CellStates, reason_code
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

NOTE = "derived"


def with_derived(survey: Survey) -> Survey:
    """Check the edits of a survey, and return it with its derived variables.

    A derived variable is blank where a part has no answer; it is skipped where a part is skipped.

    Parameters
    ----------
    survey : Survey
        As read. A derived variable that is a column of the file is left alone.
    """
    schema = survey.schema
    if not (schema.edits or schema.derivations):
        return survey
    absent = [one for one in schema.derivations if one.name not in schema]
    added = tuple(
        Column(one.name, ColumnKind.CONTINUOUS, label=one.label, note=NOTE) for one in absent
    )
    schema = replace(schema, columns=(*schema.columns, *added))
    edits = EditSet.of(schema, None)
    if not added:
        return survey
    table, states = survey.table, survey.states
    named = {name: table.values[:, table.names.index(name)] for name in table.names}
    blank = np.full(table.shape[0], np.nan)
    everywhere = {column.name: np.ones(table.shape[0], dtype=bool) for column in added}
    named = edits.derive(named | {column.name: blank for column in added}, everywhere)
    skipped, reasons = states.skipped, states.reasons
    for column in added:
        parts = [
            table.names.index(part) for part in edits.derived[column.name].parts & set(table.names)
        ]
        own = states.skipped[:, parts].any(axis=1)
        reason = np.where(own, reason_code(Reason.SKIP), reason_code(Reason.BLANK))
        reason = np.where(np.isnan(named[column.name]), reason, 0)
        skipped = np.column_stack([skipped, own])
        reasons = np.column_stack([reasons, reason.astype(reasons.dtype)])
    values = np.column_stack([named[name] for name in (*table.names, *everywhere)])
    names = (*table.names, *everywhere)
    new = CellStates.from_masks(~np.isnan(values), skipped, names, reasons)
    import polars as pl

    frame = survey.frame.with_columns(
        pl.Series(name, named[name], nan_to_null=True) for name in everywhere
    )
    for one in absent:
        survey.events.add("variable_derived", column=one.name, formula=one.formula)
    coded = CodedTable((*table.columns, *added), values, new)
    return replace(survey, frame=frame, schema=schema, table=coded)
