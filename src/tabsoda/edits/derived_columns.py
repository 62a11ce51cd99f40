"""Adds derived variables that are not in the file to a survey, so that they are predictors, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tabsoda.edits.edit_set import EditSet
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.states.cell_states import CellStates
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
    table = survey.table
    named = {name: table.values[:, position] for position, name in enumerate(table.names)}
    names = tuple(column.name for column in added)
    blank = {name: np.full(table.shape[0], np.nan) for name in names}
    everywhere = {name: np.ones(table.shape[0], dtype=bool) for name in names}
    named = edits.derive(named | blank, everywhere)
    values = np.column_stack([named[name] for name in (*table.names, *names)])
    nowhere = np.zeros((table.shape[0], len(names)), dtype=np.uint8)
    states = CellStates.from_masks(
        ~np.isnan(values),
        np.hstack([survey.states.skipped, nowhere.astype(bool)]),
        (*table.names, *names),
        np.hstack([survey.states.reasons, nowhere]),
    )
    import polars as pl

    frame = survey.frame.with_columns(
        pl.Series(name, named[name], nan_to_null=True) for name in names
    )
    for one in absent:
        survey.events.add("variable_derived", column=one.name, formula=one.formula)
    coded = CodedTable((*table.columns, *added), values, states)
    return skip_derived(replace(survey, frame=frame, schema=schema, table=coded))


def names_in_file(survey: Survey) -> list[str]:
    """Return the columns of a survey that were read, without those that were computed."""
    computed = {event.column for event in survey.events if event.kind == "variable_derived"}
    return [name for name in survey.frame.columns if name not in computed]


def skip_derived(survey: Survey) -> Survey:
    """Return the survey with derived variables skipped where a part is skipped."""
    if not survey.schema.derivations:
        return survey
    skipped, place = survey.states.skipped.copy(), survey.table.names.index
    for name, formula in EditSet.of(survey.schema, None).derived.items():
        parts = [place(part) for part in formula.parts]
        own = survey.states.skipped[:, parts].any(axis=1)
        skipped[:, place(name)] |= own & survey.states.missing[:, place(name)]
    return survey.with_states(survey.states.with_skips(skipped))
