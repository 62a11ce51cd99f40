"""Imputers that are fitted in no time, and tables of any kind as plain lists."""

import pandas as pd
import pyarrow as pa

from tabsoda import TabSODAImputer

TINY_PAPER = {
    "backbone": {"width": 16},
    "training": {"max_steps": 8, "min_epoch_steps": 4},
    "sampler": {"steps": 3, "chains": 2},
}
# Near a quality, where its own network and losses are wanted.
QUICK = {
    "network": {"width": 16},
    "training": {"max_steps": 8, "epoch_steps": 4},
    "trees": {"effort": "quick"},
    "regressions": {"sets": 2, "rounds": 1, "point_sets": 1},
}


def imputer(changes=None, quality="tiny", preset=None, **options):
    """Return an imputer of the tiny quality, or a quick one of another quality or preset."""
    settings = TINY_PAPER if preset else {} if quality == "tiny" else QUICK
    return TabSODAImputer(
        quality=quality,
        preset=preset,
        settings=settings | (changes or {}),
        random_state=1,
        **options,
    )


def cells(frame):
    """Return plain lists by column, None where empty, whatever the library."""
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if pd.isna(value) else value for value in frame[name]] for name in frame
        }
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {name: frame[name].to_list() for name in frame.columns}
