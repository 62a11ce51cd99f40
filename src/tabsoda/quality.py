"""What ``quality`` means for a table: the preset of that name, sized to rows and columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tabsoda.errors import InputError
from tabsoda.paper.presets import PRESETS as PAPER_PRESETS
from tabsoda.paper.settings import PaperSettings
from tabsoda.settings import Settings

QUALITIES = ("fast", "balanced", "best")

# The presets are made for tables of about this many rows.
_USUAL_ROWS = 4000
_FEW_ROWS = 2000
_SOME_ROWS = 10_000
_MANY_ROWS = 20_000
_MANY_COLUMNS = 100


def settings_for(
    name: str,
    n_rows: int,
    n_columns: int,
    changes: dict[str, dict[str, Any]] | None = None,
) -> Settings | PaperSettings:
    """Return the settings of a quality or a preset of the paper, for a table of this size.

    More rows can teach more: steps grow with their root, up to four times (``"best"``: twice), and
    wide tables get a wider network. Few rows are learned by heart: the network shrinks and drops
    out more, and ``"best"`` averages three networks. Training stops anyway where held-out cells
    are no longer better predicted.

    Parameters
    ----------
    name : str
        A quality, or a preset of the paper's engine, whose settings do not depend on the size.
    n_rows, n_columns : int
    changes : dict of dict, optional
        What differs from all that.

    Examples
    --------
    >>> [settings_for("balanced", rows, 40).training.max_steps for rows in (1000, 4000, 36000)]
    [500, 1000, 3000]
    """
    settings: Settings | PaperSettings
    if name in QUALITIES:
        usual = Settings.preset(name)
        settings = usual.replace(**_sized(usual, n_rows, n_columns))
    elif name in PAPER_PRESETS:
        settings = PaperSettings.preset(name)
    else:
        raise InputError(
            "There is no such preset",
            found=repr(name),
            expected=f"one of {', '.join(map(repr, (*QUALITIES, *PAPER_PRESETS)))}",
        )
    if changes is not None and not isinstance(changes, Mapping):
        raise InputError(
            "The settings are not usable",
            found=repr(changes),
            expected="groups of settings, such as {'em': {'rounds': 2}}",
            next_step="A quality or a preset is named by the parameter of that name",
        )
    return settings.replace(**(changes or {}))


def _sized(settings: Settings, n_rows: int, n_columns: int) -> dict[str, dict[str, Any]]:
    training, backbone = settings.training, settings.backbone
    growth = min(max(math.sqrt(n_rows / _USUAL_ROWS), 0.5), 4.0)
    if backbone.name == "tokens":
        growth = min(growth, 2.0)
    steps = 50 * round((training.max_steps or 1000) * growth / 50)
    sized: dict[str, dict[str, Any]] = {"training": {"max_steps": steps}, "backbone": {}}
    if n_rows < _FEW_ROWS:
        sized["training"]["batch_size"] = min(training.batch_size, 256)
        sized["temperature"] = {"held_out_share": 0.1}
        if backbone.name == "embedding":
            sized["backbone"] |= {"width": 128, "depth": 1, "dropout": 0.5}
    if backbone.name == "tokens" and n_rows <= _SOME_ROWS:
        sized["backbone"]["members"] = 3
    if n_rows > _SOME_ROWS or n_columns > _MANY_COLUMNS:
        sized["regressions"] = {"sets": 5, "point_sets": 3, "max_rows": _SOME_ROWS}
    if n_rows > _MANY_ROWS:
        # A network has enough to learn from there, and trees take long.
        sized["experts"] = {"trees": "quick"}
        if backbone.name == "tokens":
            sized["regressions"]["point_sets"] = 0
    if n_columns > _MANY_COLUMNS and n_rows >= _FEW_ROWS and backbone.name == "embedding":
        sized["backbone"]["width"] = 2 * backbone.width
    return sized
