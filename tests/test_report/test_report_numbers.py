"""The numbers of a report are those of the data: shares, distances, densities, states, flags."""

import base64
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from tabsoda.errors import InputError
from tabsoda.report.comparison import MOST_LEVELS, compare_answers
from tabsoda.report.convergence import describe_convergence
from tabsoda.report.flags import find_flags
from tabsoda.report.state_map import png, state_map
from tabsoda.report.strata import make_strata
from tabsoda.report.summary import summarise_result
from tabsoda.results import Imputations, ImputedCells
from tabsoda.routing import RoutingRecord
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


@given(
    st.lists(st.integers(0, 39), min_size=1, max_size=80),
    st.lists(st.lists(st.integers(0, 39), min_size=35, max_size=35), min_size=1, max_size=4),
)
def test_shares_add_up_and_their_distance_is_total_variation(observed, drawn):
    column = Column("q", ColumnKind.NOMINAL, tuple(range(40)))
    observed, drawn = np.array(observed, float), np.array(drawn, float)
    found = compare_answers(column, observed, drawn)
    rows = found["shares"]
    assert len(rows) == MOST_LEVELS
    for name in ("observed", "imputed"):
        assert sum(row[name] for row in rows) == pytest.approx(1, abs=1e-3)
    gap = sum(abs(row["observed"] - row["imputed"]) for row in rows) / 2
    assert found["distance"] == pytest.approx(gap, abs=1e-3)
    assert all(row["low"] - 1e-5 <= row["imputed"] <= row["high"] + 1e-5 for row in rows)


def test_cells_that_a_draw_leads_past_count_for_no_level():
    column = Column("q", ColumnKind.NOMINAL, ("a", "b"))
    drawn = np.array([[0, 0, np.nan, 1.0], [0, np.nan, np.nan, np.nan]])
    shares = compare_answers(column, np.array([0.0, 1.0]), drawn)["shares"]
    assert [row["imputed"] for row in shares] == [0.75, 0.25]
    assert [(row["low"], row["high"]) for row in shares] == [(0.66667, 1.0), (0.0, 0.33333)]


@pytest.mark.parametrize("observed", [np.zeros(0), np.array([1.0, 2.0, 2.0])])
def test_where_nobody_answered_or_too_few_to_show_there_is_nothing_to_compare(observed):
    found = compare_answers(
        Column("x", ColumnKind.CONTINUOUS), observed, np.zeros((2, 0)), suppress_below=5
    )
    assert found == {"shares": [], "distance": None}


def test_numbers_have_the_distance_and_the_density_of_the_textbooks():
    rng = np.random.default_rng(0)
    observed, drawn = rng.normal(0, 1, 4000), rng.normal(1, 1, (3, 500))
    found = compare_answers(Column("x", ColumnKind.CONTINUOUS), observed, drawn)
    expected = ks_2samp(observed, drawn.ravel()).statistic
    assert found["distance"] == pytest.approx(expected, abs=1e-4)
    density = found["numbers"]["density"]
    x, curve = np.array(density["x"]), np.array(density["observed"])
    normal = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[-1] - x[0])
    assert np.abs(curve - normal).max() < 0.15 * normal.max()
    assert np.trapezoid(curve, x) / (x[-1] - x[0]) == pytest.approx(1, abs=0.05)
    beyond = (drawn > observed.max()) | (drawn < observed.min())
    assert found["numbers"]["outside"] == pytest.approx(beyond.mean(), abs=1e-5)


def test_numbers_heaped_at_zero_are_shown_in_bands():
    column = Column("a_day", ColumnKind.CONTINUOUS)
    observed = np.concatenate([np.zeros(60), np.arange(1.0, 41.0)])
    drawn = np.array([[0.0] * 15 + [2.0] * 10 + [40.0] * 5] * 2)
    numbers = compare_answers(column, observed, drawn)["numbers"]
    assert numbers["density"] is None
    bands = numbers["bands"]
    assert (bands[0]["level"], bands[0]["observed"], bands[0]["imputed"]) == ("0", 0.6, 0.5)
    assert bands[1]["level"] == "1 to 5"
    assert bands[1]["imputed"] == pytest.approx(1 / 3, abs=1e-4)
    assert bands[-1]["level"] == "36 or more"
    assert sum(one["observed"] for one in bands) == pytest.approx(1)
    assert sum(one["imputed"] for one in bands) == pytest.approx(1, abs=1e-4)
    spread = compare_answers(column, np.arange(100.0), drawn)["numbers"]
    assert spread["bands"] is None
    assert spread["density"] is not None


@given(
    heap=st.integers(-3, 3).map(float),
    others=st.lists(st.integers(-50, 50).map(float), min_size=20, max_size=80),
    extra=st.lists(st.integers(-60, 60).map(float), min_size=1, max_size=20),
)
def test_every_number_belongs_to_one_band(heap, others, extra):
    observed = np.array([heap] * 40 + others)
    drawn = np.array([extra])
    found = compare_answers(Column("n", ColumnKind.CONTINUOUS), observed, drawn)
    assume("numbers" in found)
    bands = found["numbers"]["bands"]
    assert sum(one["count"] for one in bands) == observed.size
    assert sum(one["imputed"] for one in bands) == pytest.approx(1, abs=1e-3)
    own = next(one for one in bands if one["level"] == f"{heap:.6g}")
    assert own["count"] == (observed == heap).sum()


def test_strata_split_every_respondent_once(mixed_table):
    table = mixed_table(200)
    rows, positions = np.nonzero(table.states.missing)
    value = np.zeros(rows.size)
    result = Imputations(
        table, ImputedCells(rows, positions, np.zeros((1, rows.size)), value, value)
    )
    strata = make_strata(result, ["sex", "age"])
    for groups in strata.values():
        assert (sum(rows.astype(int) for rows in groups.values()) == 1).all()
    assert list(strata["sex"]) == ["f", "m", "not answered"]
    age = table.values[:, 1]
    assert len(strata["age"]) == 5
    first = next(iter(strata["age"].values()))
    assert np.nanmax(age[first]) <= np.nanquantile(age, 0.25)


def test_a_column_with_too_many_groups_is_refused():
    column = Column("town", ColumnKind.NOMINAL, tuple(range(40)))
    table = CodedTable.from_values((column,), np.arange(40.0)[:, None])
    nothing = np.empty(0, dtype=np.int64)
    cells = ImputedCells(nothing, nothing, np.empty((1, 0)), np.empty(0), np.empty(0))
    with pytest.raises(InputError, match="Column 'town' has too many groups"):
        make_strata(Imputations(table, cells), ["town"])


def test_the_map_is_a_png_of_bounded_size_with_the_states_colours():
    pixels = np.array([[[0, 114, 178, 255], [213, 94, 0, 0]]], dtype=np.uint8)
    data = png(pixels)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (2, 1)
    length = struct.unpack(">I", data[33:37])[0]
    assert zlib.decompress(data[41 : 41 + length]) == b"\0" + pixels.tobytes()
    columns = tuple(Column(f"q{k}", ColumnKind.NOMINAL, (0, 1)) for k in range(3))
    values = np.zeros((5000, 3))
    values[:, 1] = np.nan
    values[:2500, 2] = np.nan
    skipped = np.zeros(values.shape, bool)
    skipped[:, 1] = True
    table = CodedTable.from_values(columns, values, skipped)
    found = state_map(table.states)
    image = base64.b64decode(found["image"].split(",")[1])
    assert struct.unpack(">II", image[16:24]) == (3, 240)
    length = struct.unpack(">I", image[33:37])[0]
    shape = (240, 13)
    drawn = np.frombuffer(zlib.decompress(image[41 : 41 + length]), np.uint8).reshape(shape)[:, 1:]
    drawn = drawn.reshape(240, 3, 4)
    assert (drawn[:, 0, 3] == 255).all()
    assert (drawn[:, 1, 3] == 0).all()
    red = drawn[:, 2, 0]
    assert sorted({int(value) for value in red}) == [0, 221]
    assert (red == 221).sum() == 120


def test_a_long_history_is_thinned_and_rounds_keep_their_place():
    history = [{"round": r, "losses": [1.0] * 1000, "change": 1 / r} for r in (1, 2, 3)]
    found = describe_convergence(history)
    assert len(found["losses"]) <= 400
    assert found["thinned"] == 8
    assert found["starts"] == [1, 126, 251]


def _flagged(result, **changes):
    summary = summarise_result(result) | changes
    return " ".join(flag["text"] for flag in find_flags(summary))


def _result(observed, drawn, history=()):
    """Return a result of one question with these answers and these draws of its blanks."""
    observed, drawn = np.asarray(observed, float), np.asarray(drawn, float)
    n_cells = drawn.shape[1]
    values = np.concatenate([observed, np.full(n_cells, np.nan)])[:, None]
    table = CodedTable.from_values((Column("q", ColumnKind.ORDINAL, (0, 1, 2)),), values)
    rows = np.arange(observed.size, observed.size + n_cells)
    cells = ImputedCells(rows, np.zeros(n_cells, int), drawn, drawn[0].copy(), drawn[0].copy())
    return Imputations(table, cells, history=list(history))


def test_flags_are_raised_where_and_only_where_they_should():
    even = np.tile([0, 1, 2], 100)
    fine = _flagged(_result(even, np.tile(even[:60], (5, 1))))
    assert fine == ""
    assert "Only 2 draws" in _flagged(_result(even, np.tile(even[:60], (2, 1))))
    assert "Nearly all" in _flagged(_result(even, np.ones((5, 60))))
    shifted = np.tile(np.r_[np.full(40, 2), np.zeros(20)], (5, 1))
    assert "differ a lot from observed ones" in _flagged(_result(even, shifted))
    assert "More than half" in _flagged(_result(even, np.tile(even, (5, 2))[:, :330]))
    moving = [{"round": 1, "change": 1.0}, {"round": 2, "change": 0.95}]
    assert "still moved by 0.95" in _flagged(_result(even, np.tile(even[:60], (5, 1)), moving))
    settled = [{"round": 1, "change": 1.0}, {"round": 2, "change": 0.4}]
    assert _flagged(_result(even, np.tile(even[:60], (5, 1)), settled)) == ""


def test_blanks_without_any_skip_are_flagged_where_they_are_many():
    even = np.tile([0, 1, 2], 100)
    many = _result(even, np.tile(even[:120], (5, 1)))
    found = find_flags(summarise_result(many))
    assert found[0]["columns"] == ["q"]
    assert "No blank is known to be a skip" in found[0]["text"]
    one_skip = np.zeros((420, 1), dtype=bool)
    one_skip[-1] = True
    table = many.table.with_states(many.table.states.with_skips(one_skip))
    assert "known to be a skip" not in _flagged(replace(many, table=table))


@pytest.mark.parametrize(("suppress_below", "amount"), [(0, "2"), (5, "Some")])
def test_cells_left_by_rules_and_cells_nobody_answers_are_flagged_apart(suppress_below, amount):
    columns = tuple(Column(name, ColumnKind.NOMINAL, (1, 2)) for name in "abc")
    values = np.array([[0, 0, np.nan], [1, np.nan, np.nan], [np.nan, 1, np.nan]] * 2)
    table = CodedTable.from_values(columns, values)
    nothing = np.zeros(2)
    cells = ImputedCells(np.array([1, 4]), np.array([1, 1]), np.zeros((5, 2)), nothing, nothing)
    routing = RoutingRecord(skipped=(0,) * 5, left_missing={("a", "r7"): 2})
    result = Imputations(table, cells, routing=routing)
    summary = summarise_result(result, suppress_below=suppress_below)
    texts = [flag["text"] for flag in summary["flags"]]
    assert any(
        text.startswith(f"{amount} cells were left missing") and "r7" in text for text in texts
    )
    unanswered = "Some" if suppress_below else "6"
    assert f"{unanswered} cells stay missing because nobody answered their question." in texts
    # Without the question nobody answers, the first flag is enough.
    answered = np.where(np.isnan(values[:, 2:]), 1.0, values[:, 2:])
    table = CodedTable.from_values(columns, np.column_stack([values[:, :2], answered]))
    found = summarise_result(Imputations(table, cells, routing=routing))["flags"]
    assert sum("missing" in flag["text"] for flag in found) == 1
