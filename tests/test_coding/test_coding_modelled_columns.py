"""Columns with nothing to learn keep out of the model, and say so."""

import numpy as np
import pytest

from tabsoda.coding.modelled_columns import find_modelled_columns
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.settings import EncodingSettings
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

NAN = np.nan


def table_of_oddities() -> tuple[CodedTable, np.ndarray]:
    columns = (
        Column("constant", ColumnKind.CONTINUOUS),
        Column("one_level", ColumnKind.ORDINAL, levels=(7, 8), level_labels={8: "Often"}),
        Column("all_missing", ColumnKind.NOMINAL, levels=("a", "b")),
        Column("all_skipped", ColumnKind.CONTINUOUS),
        Column("held_out", ColumnKind.CONTINUOUS),
        Column("usual", ColumnKind.CONTINUOUS),
    )
    values = np.array(
        [
            [2.5, 1, NAN, NAN, 4.0, 1.0],
            [NAN, 1, NAN, NAN, 5.0, 2.0],
            [2.5, NAN, NAN, NAN, NAN, 3.0],
        ]
    )
    skipped = np.zeros(values.shape, dtype=bool)
    skipped[:, 3] = True
    table = CodedTable.from_values(columns, values, skipped)
    visible = table.states.answered.copy()
    visible[:, 4] = False
    return table, visible


def test_each_oddity_has_its_own_event_and_value() -> None:
    table, visible = table_of_oddities()
    events = EventLog()
    found = find_modelled_columns(table, visible, events)
    assert found.modelled.tolist() == [False] * 5 + [True]
    np.testing.assert_array_equal(found.constants, [2.5, 1.0, NAN, NAN, NAN, NAN])
    assert {event.column: (event.kind, event.counts.get("answer")) for event in events} == {
        "constant": ("constant_column_not_modelled", "2.5"),
        "one_level": ("constant_column_not_modelled", "8 'Often'"),
        "all_missing": ("blank_column_not_modelled", None),
        "all_skipped": ("skipped_column_not_modelled", None),
        "held_out": ("held_out_column_not_modelled", None),
    }


def test_decoding_gives_passed_columns_their_value() -> None:
    table, visible = table_of_oddities()
    codec = TableCodec.fit(table, visible, EncodingSettings(), EventLog())
    assert codec.coordinate_names == ("usual",)
    assert codec.modelled.tolist() == [False] * 5 + [True]
    decoded = codec.decode_point(codec.encode(table.values, visible))
    np.testing.assert_allclose(decoded[0], [2.5, 1.0, NAN, NAN, NAN, 1.0], atol=1e-6)
    again = TableCodec.from_state(*codec.to_state())
    np.testing.assert_array_equal(again.pass_value, codec.pass_value)


@pytest.mark.parametrize(("n_different", "logged"), [(30, True), (15, False)])
def test_nominals_that_look_like_identifiers_are_logged(n_different: int, logged: bool) -> None:
    column = Column("serial", ColumnKind.NOMINAL, levels=tuple(range(30)))
    values = (np.arange(30.0) % n_different)[:, None]
    table = CodedTable.from_values((column,), values)
    events = EventLog()
    assert find_modelled_columns(table, table.states.answered, events).modelled.all()
    assert [(e.kind, *e.counts.values()) for e in events] == [
        ("nominal_nearly_unique", 30, 30)
    ] * logged
