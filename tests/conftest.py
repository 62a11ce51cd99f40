"""What several test files share."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:
    # The tests of a CUDA device run where little more than torch is installed.
    pass
else:
    # A busy machine is slow, not wrong.
    settings.register_profile(
        "tabsoda", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
    settings.load_profile("tabsoda")

# Nothing from outside, nothing that needs a screen or a sandbox of its own.
CHROMIUM_FLAGS = (
    "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    " disable-component-update disable-sync disable-dev-shm-usage no-proxy-server"
    " window-size=1400,1000"
)


@pytest.fixture(scope="session")
def surveys() -> Path:
    """Return the folder of real surveys, or skip where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "surveys"
    folder = Path(os.environ.get("TABSODA_SURVEYS", default))
    if not folder.is_dir():
        pytest.skip("the real surveys are not here")
    return folder


@pytest.fixture(scope="session")
def mixed_table():
    """Return a maker of small tables with every kind of column, blanks and skips."""
    from tabsoda.schema import Column, ColumnKind
    from tabsoda.table import CodedTable

    columns = (
        Column("sex", ColumnKind.NOMINAL, levels=("f", "m")),
        Column("age", ColumnKind.CONTINUOUS),
        Column("region", ColumnKind.NOMINAL, levels=tuple(range(5))),
        Column("likes", ColumnKind.ORDINAL, levels=tuple("abcde")),
        Column("rarely", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("income", ColumnKind.CONTINUOUS),
        Column("agrees", ColumnKind.ORDINAL, levels=(1, 2, 3)),
        Column("pregnant", ColumnKind.NOMINAL, levels=("yes", "no")),
    )

    def make(n_rows: int = 120, seed: int = 0) -> CodedTable:
        rng = np.random.default_rng(seed)
        taste = rng.normal(size=n_rows)
        values = np.column_stack(
            [
                rng.integers(0, 2, n_rows),
                np.round(40 + 10 * taste + 3 * rng.normal(size=n_rows)),
                rng.integers(0, 5, n_rows),
                np.digitize(taste + 0.5 * rng.normal(size=n_rows), [-1, -0.3, 0.3, 1]),
                rng.choice(3, n_rows, p=[0.8, 0.1, 0.1]),
                np.exp(taste + rng.normal(size=n_rows)),
                np.digitize(taste + 0.5 * rng.normal(size=n_rows), [-0.5, 0.5]),
                rng.integers(0, 2, n_rows),
            ]
        ).astype(float)
        skipped = np.zeros(values.shape, dtype=bool)
        skipped[:, 7] = values[:, 0] == 1
        values[skipped | (rng.random(values.shape) < 0.15)] = np.nan
        return CodedTable.from_values(columns, values, skipped)

    return make


@pytest.fixture(scope="session")
def tiny_settings():
    """Return a maker of settings near a preset of the paper that fit in a fraction of a second."""
    from tabsoda.paper.settings import PaperSettings

    def make(preset: str = "small", **changes: dict) -> PaperSettings:
        training = {"max_steps": 12, "min_epoch_steps": 4, "batch_size": 64, "calibration_steps": 8}
        settings = PaperSettings.preset(preset).replace(
            backbone={"width": 16},
            training=training,
            sampler={"steps": 4, "chains": 2},
            em={"rounds": 2},
        )
        return settings.replace(**changes)

    return make


@pytest.fixture(scope="session")
def quick_settings():
    """Return a maker of settings near a quality's that fit in a fraction of a second."""
    from tabsoda.engine.presets import QUALITIES
    from tabsoda.engine.settings import EngineSettings

    def make(quality: str = "balanced", **changes: dict) -> EngineSettings:
        settings = EngineSettings().replace(**QUALITIES[quality])
        settings = settings.replace(
            network={"width": 16},
            training={"max_steps": 12, "epoch_steps": 4, "batch_size": 64},
            trees={"effort": "quick"},
            regressions={"sets": 2, "rounds": 1, "point_sets": 1},
        )
        return settings.replace(**changes)

    return make


@pytest.fixture
def parts(tmp_path_factory):
    """Return a function that lists everything fitted, by name."""
    from safetensors.numpy import load_file

    def collect(engine):
        folder = tmp_path_factory.mktemp("engine")
        engine.save(folder)
        return load_file(folder / "model.safetensors")

    return collect


@pytest.fixture
def differing(parts):
    """Return a function that names the fitted arrays in which two engines differ."""

    def compare(one, other):
        left, right = parts(one), parts(other)
        both = left.keys() & right.keys()
        different = {k for k in both if not np.array_equal(left[k], right[k], equal_nan=True)}
        # Products of predictors are saved where a regression has some.
        return different | (left.keys() ^ right.keys())

    return compare


@pytest.fixture(scope="session")
def settings_of(quick_settings, tiny_settings):
    """Return a maker of quick settings near those of a quality or of a preset of the paper."""
    from tabsoda.engine.presets import QUALITIES

    def make(name, **changes):
        return (quick_settings if name in QUALITIES else tiny_settings)(name, **changes)

    return make


@pytest.fixture(scope="session")
def same_cells():
    """Return a function that compares two results in every cell and every draw."""

    def compare(one, other):
        names = ("rows", "positions", "draws", "mode", "median")
        return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)

    return compare


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return Debian's chromium, or skip where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and its driver are not here")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in CHROMIUM_FLAGS.split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()
