"""The fitted model of an unfinished run, so that the next start does not fit again."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.imputer import TabSODAImputer
from tabsoda.survey import Survey

# The folder of the model within that of the checkpoint.
KEPT_MODEL = "model"


def save_whole(imputer: TabSODAImputer, folder: Path, checkpoint: Path) -> None:
    """Save a fitted imputer; the folder appears in one step, with all of its files.

    Parameters
    ----------
    imputer : TabSODAImputer
    folder : Path
        Must not exist; its parent must.
    checkpoint : Path
        Where files are until all are there; on the disk of ``folder``.
    """
    with tempfile.TemporaryDirectory(dir=checkpoint) as place:
        imputer.save(Path(place) / "model")
        (Path(place) / "model").replace(folder)


def load_kept(imputer: TabSODAImputer, folder: Path, survey: Survey) -> bool:
    """Give an imputer the fit that an earlier start of the same run saved; say whether it has one.

    Parameters
    ----------
    imputer : TabSODAImputer
        With the parameters of that run.
    folder : Path
        As :func:`save_whole` wrote it.
    survey : Survey
        What is imputed. Its events come first in those of the imputer, as after a fit.
    """
    if not folder.is_dir():
        return False
    try:
        imputer.resume(folder)
    except InputError as error:
        survey.events.add("train", "kept model not used", detail=str(error))
        return False
    imputer.events_ = EventLog([*survey.events, *imputer.engine_.events])
    version = json.loads((folder / "model.json").read_text(encoding="utf-8"))["tabsoda"]
    imputer.events_.add("train", "resumed", detail=f"after the fit, made by tabsoda {version}")
    return True
