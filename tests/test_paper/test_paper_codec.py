"""The whole table: round trips, blindness to what is not visible, and saved state."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.latents import interval_means
from tabsoda.paper.settings import EncodingSettings
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CONTINUOUS, NOMINAL, ORDINAL = ColumnKind.CONTINUOUS, ColumnKind.NOMINAL, ColumnKind.ORDINAL


def survey(n: int = 300, seed: int = 0) -> CodedTable:
    """Return all kinds and routes: numbers, nominals, and ordinals of which one is lopsided."""
    rng = np.random.default_rng(seed)
    columns = (
        Column("likes", ORDINAL, levels=tuple("abcde")),
        Column("income", CONTINUOUS),
        Column("region", NOMINAL, levels=tuple(range(11))),
        Column("rarely", ORDINAL, levels=(1, 2, 3)),
        Column("children", CONTINUOUS),
        Column("agrees", ORDINAL, levels=(1, 2, 3)),
        Column("sex", NOMINAL, levels=("f", "m")),
    )
    values = np.column_stack(
        [
            rng.integers(0, 5, n),
            np.exp(rng.normal(8, 2, n)),
            rng.integers(0, 11, n),
            rng.choice(3, n, p=[0.8, 0.1, 0.1]),
            rng.integers(0, 6, n),
            rng.integers(0, 3, n),
            rng.integers(0, 2, n),
        ]
    ).astype(float)
    blank = rng.random(values.shape) < 0.2
    skipped = blank & (rng.random(values.shape) < 0.5)
    values[blank] = np.nan
    return CodedTable.from_values(columns, values, skipped)


def fit(table: CodedTable, events: EventLog | None = None, **options: object) -> TableCodec:
    log = EventLog() if events is None else events
    return TableCodec.fit(table, table.states.answered, EncodingSettings(**options), log)


@pytest.mark.parametrize("continuous", ["standard", "normal_score"])
@pytest.mark.parametrize("ordinal", ["latent", "bits"])
@pytest.mark.parametrize("drawn", [False, True])
def test_answers_come_back_by_interval(continuous: str, ordinal: str, drawn: bool) -> None:
    table = survey()
    codec = fit(table, continuous=continuous, ordinal=ordinal)
    shape = (table.shape[0], codec.layout.ordinal_columns.size)
    uniforms = torch.tensor(np.random.default_rng(1).random(shape))
    encoded = codec.encode(table.values, latents=uniforms if drawn else "mean")
    back = codec.decode_point(encoded, rule="interval")
    answered = table.states.answered
    categorical = [0, 2, 3, 5, 6]
    assert (back == table.values)[:, categorical][answered[:, categorical]].all()
    assert (back == table.values)[:, 4][answered[:, 4]].all()
    income = answered[:, 1]
    tolerance = 1e-5 * np.nanmax(table.values[:, 1])
    np.testing.assert_allclose(back[income, 1], table.values[income, 1], atol=tolerance)


def test_routes_widths_and_events() -> None:
    events = EventLog()
    codec = fit(survey(), events)
    names = np.array(codec.names)
    assert names[codec.layout.continuous_columns].tolist() == ["income", "children"]
    assert names[codec.layout.bit_columns].tolist() == ["region", "rarely", "sex"]
    assert names[codec.layout.ordinal_columns].tolist() == ["likes", "agrees"]
    assert codec.layout.n_coordinates == 2 + (4 + 2 + 1) + 2
    assert {(event.column, event.kind) for event in events} == {
        ("rarely", "ordinal_encoded_as_bits"),
        ("children", "whole_numbers_kept_whole"),
    }


def test_unanswered_cells_are_zero_and_visible_latents_are_interval_means() -> None:
    table = survey()
    codec = fit(table)
    encoded = codec.encode(table.values)
    assert encoded.dtype == np.float32
    assert (encoded[~codec.layout.widen(table.states.answered)] == 0).all()
    means = interval_means(torch.tensor(codec.cutpoints)).numpy()
    seen = table.states.answered[:, 0]
    levels = table.values[seen, 0].astype(int)
    first = codec.layout.ordinal_coordinates[0]
    assert (encoded[seen, first] == means[0][levels]).all()


def test_hidden_answers_change_nothing() -> None:
    table = survey()
    hidden = table.states.answered & (np.random.default_rng(9).random(table.shape) < 0.3)
    visible = table.states.answered & ~hidden
    settings = EncodingSettings(continuous="normal_score")
    codec = TableCodec.fit(table, visible, settings, EventLog())
    spoiled = table.values.copy()
    spoiled[hidden] = 1.0
    spoiled_table = CodedTable(table.columns, spoiled.copy(), table.states)
    other = TableCodec.fit(spoiled_table, visible, settings, EventLog())
    for name, array in codec.to_state()[0].items():
        np.testing.assert_array_equal(array, other.to_state()[0][name], err_msg=name)
    spoiled[hidden] = 1e300
    assert np.array_equal(codec.encode(spoiled, visible), codec.encode(table.values, visible))


def test_missing_cells_start_at_means_and_latents_at_medians() -> None:
    table = survey()
    codec = fit(table)
    encoded = codec.encode(table.values)
    visible = codec.layout.widen(table.states.answered)
    for coordinate in range(codec.layout.n_coordinates):
        seen = encoded[visible[:, coordinate], coordinate].astype(np.float64)
        is_latent = coordinate in codec.layout.ordinal_coordinates
        expected = np.median(seen) if is_latent else seen.mean()
        np.testing.assert_allclose(codec.fill[coordinate], expected, atol=1e-6)


def test_reencoding_moves_categories_onto_codes_and_leaves_numbers() -> None:
    codec = fit(survey())
    wild = np.random.default_rng(4).normal(0.4, 1.0, (80, codec.layout.n_coordinates))
    wild = wild.astype(np.float32)
    clean = codec.reencode(wild)
    numbers = codec.layout.continuous_coordinates
    assert np.array_equal(clean[:, numbers], wild[:, numbers])
    bits = codec.layout.bit_coordinates[codec.layout.bit_valid]
    assert set(clean[:, bits].ravel()) == {0.0, 1.0}
    before = codec.decode_point(wild, rule="interval")
    after = codec.decode_point(clean, rule="interval")
    assert np.array_equal(before, after)
    assert np.array_equal(codec.reencode(clean), clean)
    assert np.array_equal(codec.reencode(torch.from_numpy(wild)), clean)


def test_rules_differ_only_on_latent_ordinals() -> None:
    codec = fit(survey())
    wild = np.random.default_rng(5).normal(0.0, 1.5, (500, codec.layout.n_coordinates))
    decoded = {rule: codec.decode_point(wild, 1.0, rule) for rule in ("mode", "median", "interval")}
    others = np.setdiff1d(np.arange(7), codec.layout.ordinal_columns)
    probabilities = codec.level_probabilities(wild)
    for position, column in enumerate(codec.categorical_columns):
        if column in codec.layout.ordinal_columns:
            p = probabilities[:, position]
            assert np.array_equal(decoded["mode"][:, column], p.argmax(1))
            assert np.array_equal(decoded["median"][:, column], (p.cumsum(1) < 0.5).sum(1))
    for rule in ("median", "interval"):
        assert np.array_equal(decoded[rule][:, others], decoded["mode"][:, others])
        assert (decoded[rule] != decoded["mode"]).any()
    cold = codec.decode_point(wild, np.zeros(2), "mode")
    assert np.array_equal(cold, decoded["interval"])


def test_decoder_cutpoints_can_differ_from_the_encoder_s() -> None:
    codec = fit(survey())
    encoded = np.zeros((1, codec.layout.n_coordinates), dtype=np.float32)
    far_left = np.where(np.isfinite(codec.cutpoints), codec.cutpoints - 9, np.inf)
    decoded = codec.decode_point(encoded, rule="interval", cutpoints=far_left)
    assert decoded[0, [0, 5]].tolist() == [4.0, 2.0]
    moved = codec.with_cutpoints(torch.tensor(far_left))
    assert moved.encode(np.zeros((1, 7)))[0, codec.layout.ordinal_coordinates[0]] < -9


def test_probabilities_are_probabilities_in_blocks_too() -> None:
    codec = fit(survey())
    rng = np.random.default_rng(6)
    wild = rng.normal(0.5, 1.0, (9000, codec.layout.n_coordinates)).astype(np.float32)
    found = codec.level_probabilities(wild, temperature=0.7)
    n_levels = codec.layout.n_levels[codec.categorical_columns]
    assert found.shape == (9000, 5, 11)
    np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-5)
    assert (found[:, np.arange(11) >= n_levels[:, None]] == 0).all()
    np.testing.assert_allclose(found[8999], codec.level_probabilities(wild[8999:], 0.7)[0])


def test_state_survives_json_and_arrays() -> None:
    codec = fit(survey(), continuous="normal_score")
    arrays, content = codec.to_state()
    again = TableCodec.from_state(arrays, json.loads(json.dumps(content)))
    wild = np.random.default_rng(8).normal(0.0, 1.0, (50, codec.layout.n_coordinates))
    assert np.array_equal(again.decode_point(wild), codec.decode_point(wild))
    values = survey(seed=3).values
    assert np.array_equal(again.encode(values), codec.encode(values))
    assert again.coordinate_names == codec.coordinate_names


def test_a_broken_state_is_refused() -> None:
    arrays, content = fit(survey()).to_state()
    with pytest.raises(InputError, match="incomplete"):
        TableCodec.from_state({k: v for k, v in arrays.items() if k != "fill"}, content)
    with pytest.raises(InputError, match="are inconsistent"):
        TableCodec.from_state(arrays | {"fill": arrays["fill"][:-1]}, content)


def test_bad_masks_levels_and_rules_are_refused() -> None:
    table = survey()
    with pytest.raises(InputError, match="'likes' has visible cells without an answer"):
        TableCodec.fit(table, np.ones(table.shape, dtype=bool), EncodingSettings(), EventLog())
    codec = fit(table)
    unseen = np.full((2, 7), np.nan)
    unseen[1, 2] = 11
    with pytest.raises(InputError, match=r"'region' contains a level.*row 2.*0 to 10"):
        codec.encode(unseen)
    with pytest.raises(InputError, match="decoding rule"):
        codec.decode_point(codec.fill[None], rule="mean")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [CONTINUOUS, NOMINAL, ORDINAL])
def test_one_column_of_one_kind(kind: ColumnKind) -> None:
    column = Column("only", kind, levels=() if kind is CONTINUOUS else (1, 2, 3))
    table = CodedTable.from_values((column,), np.array([[0.0], [1.0], [2.0], [np.nan]]))
    codec = fit(table)
    back = codec.decode_point(codec.encode(table.values), rule="interval")
    assert back[:3, 0].tolist() == [0.0, 1.0, 2.0]


def test_no_rows_and_no_columns_to_model() -> None:
    table = CodedTable.from_values((Column("wave", CONTINUOUS),), np.array([[3.0], [np.nan]]))
    codec = fit(table)
    encoded = codec.encode(table.values)
    assert encoded.shape == (2, 0)
    assert codec.decode_point(encoded).tolist() == [[3.0], [3.0]]
    whole = fit(survey())
    nobody = whole.encode(np.empty((0, 7)))
    assert whole.decode_point(nobody).shape == (0, 7)


def test_the_encoding_needs_no_data_frame_library() -> None:
    code = (
        "import sys\n"
        "for name in ('polars', 'pandas', 'narwhals', 'pydantic', 'pyreadstat', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "import tabsoda.paper.codec, tabsoda.paper.temperatures\n"
        "import tabsoda.paper.standardizer\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
