"""Damaged survey files of every format, through the commands that read them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from damage import damaged_copies
from outcomes import ORDERLY, Outcomes, run_here

FORMATS = ("csv", "parquet", "xlsx", "sav", "zsav", "por", "dta", "xpt", "sas7bdat")


def write_survey(folder: Path, ending: str, n_rows: int = 60) -> Path:
    """Write a small survey with labels, missing codes and a routing rule in one format."""
    import pandas as pd
    import pyreadstat

    rng = np.random.default_rng(3)
    smokes = rng.integers(1, 3, n_rows).astype(float)
    frame = pd.DataFrame(
        {
            "SMOKES": smokes,
            "CIGS": np.where(smokes == 1, rng.integers(1, 30, n_rows), np.nan),
            "AGE": rng.integers(18, 90, n_rows).astype(float),
            "REGION": rng.choice(["north", "south", "west"], n_rows),
        }
    )
    frame.loc[::7, "AGE"] = np.nan
    frame.loc[::9, "SMOKES"] = 9.0
    path = folder / f"survey.{ending}"
    labels = {"SMOKES": {1.0: "Yes", 2.0: "No", 9.0: "Refused"}}
    names = {"column_labels": ["Do you smoke?", "How many?", "Age", "Region"]}
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    elif ending == "xlsx":
        frame.to_excel(path, index=False)
    elif ending in ("sav", "zsav"):
        pyreadstat.write_sav(
            frame,
            str(path),
            variable_value_labels=labels,
            missing_ranges={"SMOKES": [9.0]},
            compress=ending == "zsav",
            **names,
        )
    elif ending == "dta":
        stata = frame.assign(SMOKES=[int(value) for value in frame["SMOKES"]])
        pyreadstat.write_dta(stata, str(path), variable_value_labels=labels, **names)
    elif ending == "por":
        pyreadstat.write_por(frame, str(path), **names)
    else:
        pyreadstat.write_xport(frame, str(path), **names)
    return path


def commands(path: Path, folder: Path) -> list[list[str]]:
    """Return the commands that read a survey and its routing."""
    rules = str(folder / "rules.toml")
    return [
        ["inspect", str(path)],
        ["mine", str(path), "-o", str(folder / "mined.toml"), "--force"],
        ["check", str(path), "--rules", rules],
        ["impute", str(path), "-o", str(folder / "out"), "--dry-run", "--quality", "tiny"],
    ]


def damaged_inputs(n_copies: int, seed: int, formats: Sequence[str] = FORMATS) -> list[Outcomes]:
    """Read damaged files; every command must end with an exit code, and write nothing.

    Parameters
    ----------
    n_copies : int
        Damaged files per format. The first command reads all, the others every fourth.
    seed : int
    formats : sequence of str
    """
    groups = []
    for ending in formats:
        found = Outcomes(f"damaged .{ending} files")
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            good = (
                _sas_file() if ending == "sas7bdat" else write_survey(folder, ending).read_bytes()
            )
            if good is None:
                found.notes.append(
                    "not tried: R and its package haven, which has one, are not here"
                )
                groups.append(found)
                continue
            write_survey(folder, "csv")
            run_here(["mine", str(folder / "survey.csv"), "-o", str(folder / "rules.toml")])
            for number, (how, content) in enumerate(damaged_copies(good, n_copies, seed)):
                path = folder / f"damaged.{ending}"
                path.write_bytes(content)
                chosen = commands(path, folder)
                for command in chosen if number % 4 == 0 else chosen[:1]:
                    _try(found, command, f".{ending}, {how}")
                found.expect(not (folder / "out").exists(), f".{ending}, {how}: wrote a folder")
        groups.append(found)
    return groups


def _sas_file() -> bytes | None:
    """Return a file that SAS wrote; nothing else writes them. R's package haven contains one."""
    line = 'cat(system.file("examples", "iris.sas7bdat", package = "haven"))'
    try:
        done = subprocess.run(["Rscript", "-e", line], capture_output=True, text=True)
    except OSError:
        return None
    path = Path(done.stdout.strip() or "none")
    return path.read_bytes() if path.is_file() else None


def _try(found: Outcomes, command: list[str], how: str) -> None:
    code, text = run_here(command)
    # check ends with 1 if the answers contradict the rules, as damaged answers may.
    orderly = (*ORDERLY, 1) if command[0] == "check" else ORDERLY
    is_orderly = code in orderly and "Traceback" not in text
    found.expect(is_orderly, f"{command[0]} {how}: {code} {text}")
