"""Tests of a CUDA device are skipped where there is none; they need torch, numpy and scipy."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

# A machine that is lent for its device may not have the package installed.
if importlib.util.find_spec("tabsoda") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))


def pytest_collection_modifyitems(items):
    """Skip the tests marked ``cuda`` where torch finds no device."""
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("cuda") is not None:
                item.add_marker(pytest.mark.skip(reason="there is no CUDA device"))
