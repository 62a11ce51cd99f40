"""Checkpoint of the fitted model, so that a restarted run does not fit again."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.imputer import TabSODAImputer
from tabsoda.survey import Survey

# Folder of the model inside the checkpoint folder.
KEPT_MODEL = "model"


def save_whole(imputer: TabSODAImputer, folder: Path, checkpoint: Path) -> None:
    """Save a fitted imputer; the folder appears in one step, with all of its files.

    Parameters
    ----------
    imputer : TabSODAImputer
    folder : Path
        Must not exist; its parent must.
    checkpoint : Path
        Where files are written first; must be on the same disk as ``folder``.
    """
    with tempfile.TemporaryDirectory(dir=checkpoint) as place:
        imputer.save(Path(place) / "model")
        (Path(place) / "model").replace(folder)


def load_kept(imputer: TabSODAImputer, folder: Path, survey: Survey) -> bool:
    """Load the fit saved by an earlier start of the same run; return whether there was one.

    Parameters
    ----------
    imputer : TabSODAImputer
        Has the parameters of that run.
    folder : Path
        As :func:`save_whole` wrote it.
    survey : Survey
        The survey to impute. Its events come first in the imputer's events, as after a fit.
    """
    if not folder.is_dir():
        return False
    try:
        imputer.resume(folder)
    except InputError as error:
        survey.events.add("saved_model_not_used", message=str(error))
        shutil.rmtree(folder)
        return False
    imputer.events_ = EventLog([*survey.events, *imputer.engine_.events])
    version = json.loads((folder / "model.json").read_text(encoding="utf-8"))["tabsoda"]
    imputer.events_.add("fitted_model_reused", version=version)
    return True
