import subprocess
import sys

import pytest

from tabsoda.bench.methods.registry import METHODS, method
from tabsoda.engine.settings import EngineSettings
from tabsoda.errors import InputError
from tabsoda.paper.settings import PaperSettings
from tabsoda.skips.settings import MinerSettings


@pytest.mark.parametrize("name", METHODS)
def test_every_name_leads_to_a_method(name):
    built = method(name)
    assert built.name
    assert built.knows_skips == name.startswith(("tabsoda", "default-engine"))
    assert callable(built.impute)


def test_names_in_tables_are_unique():
    names = [method(name).name for name in METHODS]
    assert len(set(names)) == len(names)


def test_options_reach_the_method():
    assert method("missforest", n_trees=7).n_trees == 7


def test_the_paper_s_names_belong_to_its_engine():
    for name, shown in (
        ("tabsoda", "TabSODA"),
        ("tabsoda-skip", "TabSODA+SKIP"),
        ("tabsoda-n", "TabSODA-N"),
    ):
        for preset in ("path", "nsduh"):
            built = method(name, preset=preset)
            assert built.name == shown
            settings = PaperSettings.preset(preset).replace(**built.variant)
            assert built.settings_for(4000, 40) == settings
        assert method(name, preset="small").name == f"{shown} (small)"
        with pytest.raises(InputError, match="use 'default-engine'"):
            method(name, quality="balanced")
        with pytest.raises(InputError, match="use the method 'default-engine'"):
            method(name, preset="balanced")
    for name in ("default-engine", "default-engine-skip"):
        assert isinstance(method(name).settings_for(4000, 40), EngineSettings)
        with pytest.raises(InputError, match="use the method 'tabsoda'"):
            method(name, quality="nsduh")


def test_a_mined_variant_uses_the_paper_s_screen_only_where_it_is_the_paper_s():
    assert method("tabsoda-skip").miner.screen == "paper"
    assert method("default-engine-skip").miner.screen == "purity"
    chosen = method("tabsoda-skip", miner="nsduh-200").miner.settings
    assert chosen == MinerSettings.preset("nsduh-200")
    with pytest.raises(InputError, match="Unknown preset of the miner"):
        method("tabsoda-skip", miner="nsduh")
    with pytest.raises(InputError, match="Unknown screen"):
        method("tabsoda-skip", screen="strict")


def test_an_unknown_method_names_those_there_are():
    with pytest.raises(InputError, match=r"'mise'.*boosting.*mice"):
        method("mise")


@pytest.mark.parametrize("option", ["trees", "name"])
def test_an_unknown_option_names_those_there_are(option):
    with pytest.raises(InputError, match=rf"no such option. Found: {option}. .*n_trees"):
        method("missforest", **{option: 5})


def test_the_classical_methods_need_no_data_frame_library():
    block = (
        "import sys\n"
        "for name in ('polars', 'pydantic', 'pandas', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "from tabsoda.bench.methods.registry import METHODS\n"
        "for name in ('mode', 'boosting', 'mice', 'r-mice', 'missforest'):\n"
        "    METHODS[name].load()\n"
    )
    subprocess.run([sys.executable, "-c", block], check=True)
