"""A saved model is the same model; anything else in its folder is refused by name."""

import json

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from tabsoda.errors import InputError
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.files import load_engine, save_engine
from tabsoda.table import CodedTable


@pytest.fixture(scope="module")
def engine(mixed_table, tiny_settings):
    settings = tiny_settings("path", encoding={"continuous": "normal_score"})
    return PaperEngine.fit(mixed_table(), settings, seed=3, device="cpu")


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


@pytest.mark.parametrize("preset", ["small", "path", "nsduh"])
def test_a_loaded_model_imputes_the_same(
    preset, mixed_table, tiny_settings, tmp_path, differing, same_cells
):
    table, new = mixed_table(), mixed_table(30, seed=8)
    engine = PaperEngine.fit(table, tiny_settings(preset), seed=3, device="cpu")
    save_engine(engine, tmp_path)
    loaded = load_engine(tmp_path, "cpu")
    assert differing(engine, loaded) == set()
    assert same_cells(engine.impute(table, 2), loaded.impute(table, 2))
    assert same_cells(engine.impute(new, 3), loaded.impute(new, 3))
    probable, again = engine.level_probabilities(new), loaded.level_probabilities(new)
    for position, expected in probable.items():
        np.testing.assert_array_equal(again[position], expected)
    assert loaded.columns == engine.columns
    assert loaded.history == engine.history
    assert loaded.model.settings == engine.model.settings
    assert loaded.events.to_dicts() == engine.events.to_dicts()


@pytest.mark.parametrize("preset", ["small"])
def test_a_model_of_constant_columns_can_be_saved(preset, tiny_settings, mixed_table, tmp_path):
    table = mixed_table()
    values = np.where(table.states.answered, 1.0, np.nan)
    constant = CodedTable(table.columns, values, table.states)
    save_engine(PaperEngine.fit(constant, tiny_settings(preset), device="cpu"), tmp_path)
    cells = load_engine(tmp_path, "cpu").impute(constant, 1)
    assert cells.rows.size == table.states.missing.sum()
    assert (cells.draws == 1.0).all()


def test_the_folder_holds_text_and_tensors_only(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["model.json", "model.safetensors"]
    json.loads((folder / "model.json").read_text())
    content = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert all({"dtype", "shape", "data_offsets"} == set(v) for v in header.values())
    # A pickle of protocol 2 or later starts with these bytes, a zipped torch file with these.
    assert not content.startswith((b"\x80", b"PK"))


@pytest.mark.parametrize("content", [b"", b"garbage", b"[1, 2]", b"{}", b"\xff\xfe\x00", b"null"])
def test_garbage_in_the_text_is_refused_by_name(content, folder):
    (folder / "model.json").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.json") as caught:
        load_engine(folder, "cpu")
    assert caught.value.next_step


@pytest.mark.parametrize("kept", [0, 5, 200, 5000])
def test_truncated_tensors_are_refused_by_name(kept, folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"model\.safetensors"):
        load_engine(folder, "cpu")


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_an_absent_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        load_engine(folder, "cpu")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        load_engine(tmp_path / "nowhere", "cpu")


def test_another_format_version_is_refused(folder):
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
