import subprocess
import sys

import pytest

from tabsoda.bench.methods.registry import METHODS, method
from tabsoda.errors import InputError


@pytest.mark.parametrize("name", METHODS)
def test_every_name_leads_to_a_method(name):
    built = method(name)
    assert built.name
    assert built.knows_skips == name.startswith("tabsoda")
    assert callable(built.impute)


def test_names_in_tables_are_unique():
    names = [method(name).name for name in METHODS]
    assert len(set(names)) == len(names)


def test_options_reach_the_method():
    assert method("missforest", n_trees=7).n_trees == 7


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
