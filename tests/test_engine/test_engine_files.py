"""A saved model is the same model; anything else in its folder is refused by name."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tabsoda.coding.model_folder import readable
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.files import engine_from_state, engine_state
from tabsoda.errors import InputError, TabSODAError
from tabsoda.table import CodedTable

MEMBERS = {"network": {"members": 3}}
PARTS = {"codec", "network", "blend", "trees", "regressions", "draw_regressions"}


@pytest.fixture(scope="module")
def engine(mixed_table, quick_settings):
    return DefaultEngine.fit(mixed_table(), quick_settings(**MEMBERS), seed=3, device="cpu")


@pytest.fixture
def folder(engine, tmp_path):
    engine.save(tmp_path / "model")
    return tmp_path / "model"


def edit_text(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("quality", "changes"),
    [
        ("fast", {}),
        ("balanced", {"trees": {"effort": "none"}}),
        ("balanced", {"draws": {"method": "sequential"}, "regressions": {"sets": 0}}),
        ("balanced", MEMBERS | {"regressions": {"point_sets": 0}}),
        ("best", MEMBERS),
    ],
)
def test_a_loaded_model_imputes_the_same(
    quality, changes, mixed_table, quick_settings, tmp_path, differing, same_cells
):
    table, new = mixed_table(), mixed_table(30, seed=8)
    engine = DefaultEngine.fit(table, quick_settings(quality, **changes), seed=3, device="cpu")
    engine.save(tmp_path)
    loaded = DefaultEngine.load(tmp_path, "cpu")
    assert differing(engine, loaded) == set()
    assert same_cells(engine.impute(table, 2), loaded.impute(table, 2))
    # Three draws, so that every member draws once.
    assert same_cells(engine.impute(new, 3), loaded.impute(new, 3))
    probable, again = engine.level_probabilities(new), loaded.level_probabilities(new)
    assert probable.keys() == again.keys()
    for position, expected in probable.items():
        np.testing.assert_array_equal(again[position], expected)
    assert (loaded.columns, loaded.seed) == (engine.columns, 3)
    assert loaded.history == engine.history
    assert loaded.settings == engine.settings
    assert loaded.events.to_dicts() == engine.events.to_dicts()
    assert loaded.fingerprint() == engine.fingerprint()


def test_a_model_of_constant_columns_can_be_saved(quick_settings, mixed_table, tmp_path):
    table = mixed_table()
    values = np.where(table.states.answered, 1.0, np.nan)
    constant = CodedTable(table.columns, values, table.states)
    DefaultEngine.fit(constant, quick_settings(), device="cpu").save(tmp_path)
    cells = DefaultEngine.load(tmp_path, "cpu").impute(constant, 1)
    assert cells.rows.size == table.states.missing.sum()
    assert (cells.draws == 1.0).all()


def test_the_folder_holds_text_and_tensors_only(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["model.json", "model.safetensors"]
    json.loads((folder / "model.json").read_text())
    content = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert all({"dtype", "shape", "data_offsets"} == set(v) for v in header.values())
    assert {name.partition(".")[0] for name in header} == PARTS


@pytest.mark.parametrize("content", [b"", b"garbage", b"[1, 2]", b"{}", b"\xff\xfe\x00", b"null"])
def test_garbage_in_the_text_is_refused_by_name(content, folder):
    (folder / "model.json").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.json") as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


@pytest.mark.parametrize("kept", [0, 5, 200, 5000])
def test_truncated_tensors_are_refused_by_name(kept, folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"model\.safetensors") as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_an_absent_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name.replace(".", r"\.")) as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        DefaultEngine.load(tmp_path / "nowhere", "cpu")


def test_a_model_of_another_format_version_is_refused_with_its_version(folder):
    edit_text(folder, format_version=99, tabsoda="7.0")
    with pytest.raises(InputError, match=r"format version\. Found: 99\. .*tabsoda 7\.0"):
        DefaultEngine.load(folder, "cpu")


@pytest.mark.parametrize("with_tensors", [True, False])
def test_a_model_of_the_first_format_is_refused_with_its_version(with_tensors, tmp_path):
    head = {"format": "tabsoda-model", "format_version": 1, "tabsoda": "0.3"}
    (tmp_path / "model.json").write_text(json.dumps(head))
    if with_tensors:
        save_file({"temperatures": torch.ones(2)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"format version\. Found: 1\. Expected: 2") as caught:
        DefaultEngine.load(tmp_path, "cpu")
    assert str(tmp_path) in str(caught.value)
    assert "tabsoda 0.3" in caught.value.next_step
    assert "fit it again" in caught.value.next_step


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"training": {"max_steps": 0}}},
        {"settings": {"magic": {}}},
        {"settings": None},
        {"columns": []},
        {"columns": [{"name": "a", "kind": "banana"}]},
        {"state": {}},
        {"state": {"codec": {}, "predictors": {}}},
        {"seed": "one"},
        {"events": [{"nothing": 1}]},
    ],
    ids=lambda changes: "-".join(map(str, changes.items()))[:40],
)
def test_tampered_text_is_refused_by_name(changes, folder):
    edit_text(folder, **changes)
    with pytest.raises(InputError, match=f"'{folder}' cannot be read") as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["blend.temperatures", "codec.constants", "network.1.vectors"])
def test_tampered_tensors_are_refused_by_name(name, folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors[name]
    save_file(tensors, path)
    with pytest.raises(InputError, match=f"'{folder}' cannot be read") as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


def rebuilt(engine, arrays):
    return engine_from_state(
        arrays,
        engine_state(engine)[1],
        engine.columns,
        engine.settings,
        engine.seed,
        engine.device,
        engine.history,
        engine.events,
    )


def test_every_array_that_is_absent_or_too_short_is_noticed(engine, tmp_path):
    arrays, _ = engine_state(engine)
    for name, array in arrays.items():
        others = {key: one for key, one in arrays.items() if key != name}
        with pytest.raises(InputError, match="cannot be read"), readable(tmp_path):
            rebuilt(engine, others)
        # The trees of two classes without the second are those of one class.
        if array.shape[0] > 0 and not name.endswith(".spread"):
            with pytest.raises(InputError, match="cannot be read"), readable(tmp_path):
                rebuilt(engine, others | {name: array[:-1]})


def test_tampered_trees_are_refused(folder):
    state = json.loads((folder / "model.json").read_text())["state"]
    assert state["predictors"]["trees"]
    state["predictors"]["trees"] = {"questions": "none"}
    edit_text(folder, state=state)
    with pytest.raises(InputError) as caught:
        DefaultEngine.load(folder, "cpu")
    assert caught.value.next_step


def test_equal_fits_have_equal_fingerprints_and_others_have_not(engine, mixed_table, tmp_path):
    table, settings = mixed_table(), engine.settings

    def print_of(settings=settings, seed=3, table=table):
        return DefaultEngine.fit(table, settings, seed=seed, device="cpu").fingerprint()

    assert print_of() == engine.fingerprint()
    values = table.values.copy()
    values[np.flatnonzero(table.states.answered[:, 1])[0], 1] += 1
    others = [
        print_of(seed=4),
        print_of(settings.replace(training={"max_steps": 8})),
        # The same fit, drawn in other blocks: the settings differ.
        print_of(settings.replace(draws={"block_rows": 7})),
        print_of(table=CodedTable(table.columns, values, table.states)),
    ]
    assert len({engine.fingerprint(), *others}) == 5


def changed(array):
    """Return a copy of which the first entry differs."""
    copy = array.copy()
    copy.flat[0] = 1 if copy.flat[0] == 0 else 0
    return copy


def test_the_fingerprint_depends_on_every_fitted_array(engine):
    arrays, _ = engine_state(engine)
    differ = set()
    for name, array in arrays.items():
        if array.size == 0:
            continue
        try:
            other = rebuilt(engine, arrays | {name: changed(array)})
        except (TabSODAError, ValueError, LookupError, RuntimeError):
            # What cannot be is refused.
            continue
        assert other.fingerprint() != engine.fingerprint(), name
        differ.add(name.partition(".")[0])
    assert differ == PARTS
