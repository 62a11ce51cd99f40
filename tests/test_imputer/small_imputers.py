"""Imputers that are fitted in no time, and tables of any kind as plain lists."""

import pandas as pd
import pyarrow as pa

from tabsoda import TabSODAImputer

TINY = {
    "backbone": {"width": 16},
    "training": {"max_steps": 8, "min_epoch_steps": 4},
    "sampler": {"steps": 3, "chains": 2},
}


def imputer(changes=None, **options):
    # The paper's network has no trees beside it.
    trees = {} if options.get("preset") else {"experts": {"trees": "quick"}}
    return TabSODAImputer(settings=TINY | trees | (changes or {}), random_state=1, **options)


def cells(frame):
    """Return plain lists by column, None where empty, whatever the library."""
    if isinstance(frame, pd.DataFrame):
        return {
            name: [None if pd.isna(value) else value for value in frame[name]] for name in frame
        }
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {name: frame[name].to_list() for name in frame.columns}
