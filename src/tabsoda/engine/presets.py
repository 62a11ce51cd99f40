"""The qualities of the default engine: their settings, sized to rows and columns."""

from __future__ import annotations

import math
from typing import Any

from tabsoda.engine.settings import EngineSettings

Changes = dict[str, dict[str, Any]]

# What each quality changes; "balanced" is the defaults. Chosen on three surveys and confirmed on
# three others (docs/decisions/0006), the length of training later (docs/decisions/0018). "tiny" is
# for tests and first tries: every part of the engine runs, none long enough for good estimates.
QUALITIES: dict[str, Changes] = {
    "fast": {
        "network": {"width": 128, "depth": 1},
        "training": {"max_steps": 400, "patience": 6},
        "trees": {"effort": "quick"},
        "regressions": {"rounds": 2, "point_sets": 2, "max_questions": 16},
    },
    "balanced": {},
    "best": {
        "network": {"name": "tokens", "width": 96, "depth": 2, "dropout": 0.15},
        "loss": {"ranked_probability": 1.0, "bins": 0.2},
        "training": {
            "batch_size": 512,
            "max_steps": 2000,
            "weight_decay": 0.1,
            "patience": 6,
        },
    },
    "tiny": {
        "network": {"width": 32, "depth": 1},
        "training": {"batch_size": 64, "max_steps": 30, "epoch_steps": 10},
        "trees": {"effort": "quick"},
        "regressions": {
            "sets": 2,
            "rounds": 1,
            "sweeps": 2,
            "point_sets": 1,
            "max_questions": 8,
            "max_rows": 1000,
        },
        "draws": {"steps": 8},
    },
}

# The settings are made for tables of about this many rows.
_USUAL_ROWS = 4000
_FEW_ROWS = 2000
_SOME_ROWS = 10_000
_MANY_ROWS = 20_000
_MANY_COLUMNS = 100


def quality_settings(name: str, n_rows: int, n_columns: int) -> EngineSettings:
    """Return the settings of a quality for a table of this size.

    More rows allow more steps: their number grows with the root of the rows, up to four times
    (``"best"``: twice), and wide tables get a wider network. With few rows the network is smaller
    and dropout stronger, and ``"best"`` averages three networks. Training stops anyway when
    held-out answers are no longer predicted better. ``"tiny"`` is the same for every table.

    Parameters
    ----------
    name : {"fast", "balanced", "best", "tiny"}
    n_rows, n_columns : int

    Examples
    --------
    >>> [quality_settings("balanced", n, 40).training.max_steps for n in (1000, 4000, 36000)]
    [350, 700, 2100]
    """
    settings = EngineSettings().replace(**QUALITIES[name])
    if name == "tiny":
        return settings
    sized = _sized(settings, n_rows, n_columns)
    if name == "balanced" and n_rows > _SOME_ROWS:
        # With 256 rows per step, estimates of 16,000 rows were worse (docs/decisions/0018).
        sized["training"]["batch_size"] = 512
    return settings.replace(**sized)


def _sized(settings: EngineSettings, n_rows: int, n_columns: int) -> Changes:
    training, network = settings.training, settings.network
    is_tokens = network.name == "tokens"
    growth = min(max(math.sqrt(n_rows / _USUAL_ROWS), 0.5), 2.0 if is_tokens else 4.0)
    sized: Changes = {
        "training": {"max_steps": 50 * round(training.max_steps * growth / 50)},
        "network": {},
    }
    if n_rows < _FEW_ROWS:
        sized["training"]["batch_size"] = min(training.batch_size, 256)
        sized["training"]["held_out_share"] = 0.1
        if not is_tokens:
            sized["network"] |= {"width": 128, "depth": 1, "dropout": 0.5}
    if is_tokens and n_rows <= _SOME_ROWS:
        sized["network"]["members"] = 3
    if n_rows > _SOME_ROWS or n_columns > _MANY_COLUMNS:
        point_sets = min(settings.regressions.point_sets, 3)
        sized["regressions"] = {"sets": 5, "point_sets": point_sets, "max_rows": _SOME_ROWS}
    if n_rows > _MANY_ROWS:
        # A network has enough to learn from there, and trees take long.
        sized["trees"] = {"effort": "quick"}
        if is_tokens:
            sized["regressions"]["point_sets"] = 0
    if n_columns > _MANY_COLUMNS and n_rows >= _FEW_ROWS and not is_tokens:
        sized["network"]["width"] = 2 * network.width
    return sized
