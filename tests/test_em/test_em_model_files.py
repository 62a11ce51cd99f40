"""A saved model is the same model; anything else in its folder is refused by name."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tabsoda.em.engine import Engine
from tabsoda.em.model_files import load_engine, save_engine
from tabsoda.errors import DeviceError, InputError
from tabsoda.table import CodedTable


@pytest.fixture(scope="module")
def engine(mixed_table, tiny_settings):
    settings = tiny_settings("fast", experts={"trees": "none"})
    return Engine.fit(mixed_table(), settings, seed=3, device="cpu")


@pytest.fixture
def folder(engine, tmp_path):
    save_engine(engine, tmp_path / "model")
    return tmp_path / "model"


def edit_text(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_tensors(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


MEMBERS = {"backbone": {"members": 3, "bootstrap": True, "width": 16}}


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("fast", {}),
        ("balanced", {"experts": {"trees": "none"}}),
        ("balanced", MEMBERS),
        ("best", MEMBERS),
        ("best", {"encoding": {"ordinal": "bits"}}),
    ],
)
def test_a_loaded_model_imputes_the_same(
    preset, changes, mixed_table, tiny_settings, tmp_path, differing, same_cells
):
    table, new = mixed_table(), mixed_table(30, seed=8)
    engine = Engine.fit(table, tiny_settings(preset, **changes), seed=3, device="cpu")
    save_engine(engine, tmp_path)
    loaded = load_engine(tmp_path, "cpu")
    assert differing(engine, loaded) == set()
    assert same_cells(engine.impute(table, 2), loaded.impute(table, 2))
    # Three draws, so that every member draws once.
    assert same_cells(engine.impute(new, 3), loaded.impute(new, 3))
    probable, again = engine.level_probabilities(new), loaded.level_probabilities(new)
    for position, expected in probable.items():
        np.testing.assert_array_equal(again[position], expected)
    assert loaded.columns == engine.columns
    assert loaded.history == engine.history
    assert loaded.model.settings == engine.model.settings
    assert loaded.events.to_dicts() == engine.events.to_dicts()


@pytest.mark.parametrize("preset", ["balanced", "best"])
def test_a_model_of_constant_columns_can_be_saved(preset, tiny_settings, mixed_table, tmp_path):
    table = mixed_table()
    values = np.where(table.states.answered, 1.0, np.nan)
    constant = CodedTable(table.columns, values, table.states)
    save_engine(Engine.fit(constant, tiny_settings(preset), device="cpu"), tmp_path)
    cells = load_engine(tmp_path, "cpu").impute(constant, 1)
    assert cells.rows.size == table.states.missing.sum()
    assert (cells.draws == 1.0).all()


@pytest.mark.parametrize("content", [b"", b"garbage", b"[1, 2]", b"{}", b"\xff\xfe\x00", b"null"])
def test_garbage_in_the_text_is_refused_by_name(content, folder):
    (folder / "model.json").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.json") as caught:
        load_engine(folder, "cpu")
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_an_absent_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        load_engine(folder, "cpu")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        load_engine(tmp_path / "nowhere", "cpu")


def test_another_format_version_is_told(folder):
    edit_text(folder, format_version=99, tabsoda="7.0")
    with pytest.raises(InputError, match=r"format version\. Found: 99\. .*tabsoda 7\.0"):
        load_engine(folder, "cpu")


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"em": {"rounds": 0}}},
        {"settings": {"magic": {}}},
        {"settings": None},
        {"columns": []},
        {"columns": [{"name": "a", "kind": "banana"}]},
        {"codec": {}},
        {"seed": "one"},
        {"events": [{"nothing": 1}]},
    ],
    ids=lambda changes: "-".join(map(str, changes.items()))[:40],
)
def test_tampered_text_is_refused_by_name(changes, folder):
    edit_text(folder, **changes)
    with pytest.raises(InputError, match=f"'{folder}' cannot be read"):
        load_engine(folder, "cpu")


def shortened(name):
    def change(tensors):
        tensors[name] = tensors[name][:-1].contiguous()

    return change


def removed(name):
    return lambda tensors: tensors.pop(name)


@pytest.mark.parametrize(
    "change",
    [
        shortened("standardizer.mean"),
        shortened("standardizer.scale"),
        shortened("temperatures"),
        shortened("codec.cutpoints"),
        shortened("codec.fill"),
        shortened("codec.pass_value"),
        shortened("cutpoints.first"),
        shortened("denoiser.backbone.read_out.weight"),
        removed("temperatures"),
        removed("codec.fill"),
        removed("denoiser.backbone.read_out.weight"),
    ],
)
def test_tampered_shapes_are_refused_by_name(change, folder):
    edit_tensors(folder, change)
    with pytest.raises(InputError, match=f"'{folder}' cannot be read"):
        load_engine(folder, "cpu")


@pytest.fixture(scope="module")
def answering(mixed_table, tiny_settings):
    return Engine.fit(mixed_table(), tiny_settings("balanced", **MEMBERS), seed=3, device="cpu")


@pytest.mark.parametrize(
    "change",
    [
        shortened("estimator.blend.temperatures"),
        shortened("estimator.blend.level_share"),
        shortened("estimator.blend.number_share"),
        shortened("estimator.ordered"),
        shortened("estimator.edges"),
        shortened("estimator.pool"),
        shortened("member1.backbone.read_answers.bias"),
        removed("estimator.blend.temperatures"),
        removed("estimator.ordered"),
        removed("estimator.counts"),
        removed("member0.backbone.vectors"),
    ],
)
def test_tampered_answers_are_refused(change, answering, tmp_path):
    save_engine(answering, tmp_path)
    edit_tensors(tmp_path, change)
    with pytest.raises(InputError, match=r"cannot be read|do not fit|incomplete") as caught:
        load_engine(tmp_path, "cpu")
    assert caught.value.next_step


def test_tampered_trees_are_refused(answering, tmp_path):
    save_engine(answering, tmp_path)
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["estimator"]["experts"]
    edit_text(tmp_path, estimator={"experts": {"questions": "none"}})
    with pytest.raises(InputError) as caught:
        load_engine(tmp_path, "cpu")
    assert caught.value.next_step


def test_an_absent_device_is_not_blamed_on_the_file(folder):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(DeviceError, match="cuda"):
        load_engine(folder, "cuda")
