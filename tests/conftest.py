"""What several test files share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def surveys() -> Path:
    """Return the folder of real surveys, or skip where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "surveys"
    folder = Path(os.environ.get("TABSODA_SURVEYS", default))
    if not folder.is_dir():
        pytest.skip("the real surveys are not here")
    return folder
