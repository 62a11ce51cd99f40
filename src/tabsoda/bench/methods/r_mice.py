"""R's ``mice`` package, run through Rscript."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.pooled_draws import pool_draws
from tabsoda.bench.methods.skip_views import as_shown
from tabsoda.errors import InputError
from tabsoda.table import CodedTable

Numbers = NDArray[np.float64]

_INSTALL = (
    "Install R with mice, nnet and MASS (Debian: r-cran-mice, r-cran-nnet, r-cran-mass),"
    " or leave this method out"
)
# mice loads the other two only for categorical questions.
_PACKAGES = ("mice", "nnet", "MASS")


@cache
def available() -> bool:
    """Whether Rscript and the R packages it needs are installed."""
    program = shutil.which("Rscript")
    if program is None:
        return False
    needed = " && ".join(f"requireNamespace('{package}', quietly = TRUE)" for package in _PACKAGES)
    check = [program, "-e", f"quit(status = !({needed}))"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class RMice:
    """R mice: pmm for numbers, logreg, polyreg and polr for levels, predictors by quickpred.

    Draws are pooled by :func:`~tabsoda.bench.methods.pooled_draws.pool_draws`. Shown as a level, a
    skip is a separate level, the lowest of an ordinal, and draws of it do not count; for a number
    it is an additional indicator, and the skipped cells themselves are blanks.

    Parameters
    ----------
    n_draws : int
    rounds : int
        ``maxit`` of mice.
    min_correlation : float
        ``mincor`` of quickpred.
    timeout_s : float, optional
        Seconds after which R is stopped; by default never.
    """

    n_draws: int = 5
    rounds: int = 5
    min_correlation: float = 0.1
    timeout_s: float | None = None
    name = "mice (R)"
    knows_skips = False

    def impute(self, table: CodedTable, seed: int, skip_view: SkipView) -> Estimates:
        """Estimate every missing cell."""
        if not available():
            raise InputError("R with its package mice is not installed", next_step=_INSTALL)
        shown = as_shown(table, skip_view)
        drawn = self._run(shown, seed) if table.states.missing.any() else []
        return pool_draws(table, drawn)

    def _run(self, shown: CodedTable, seed: int) -> list[Numbers]:
        """Return the draws of R; each of shape (n_rows, n_columns), skips as -1."""
        state = int(numpy_generator(seed, "r mice").integers(2**31 - 1))
        with (
            tempfile.TemporaryDirectory(prefix="tabsoda-mice-") as name,
            as_file(files("tabsoda.bench.methods") / "r_mice.R") as script,
        ):
            folder = Path(name)
            _write(shown, folder)
            settings = (self.n_draws, self.rounds, self.min_correlation, state)
            command = ["Rscript", "--vanilla", str(script), str(folder), *map(str, settings)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=self.timeout_s
                )
            except subprocess.TimeoutExpired as error:
                raise InputError(
                    "R mice took too long",
                    found=f"more than {self.timeout_s:g} seconds",
                    next_step="Give it more time, fewer rounds or a smaller table",
                ) from error
            if done.returncode:
                raise InputError(
                    "R mice failed",
                    found=" ".join(done.stderr.split())[-400:],
                    next_step="Leave this method out, or use 'mice', which needs no R",
                )
            paths = [folder / f"draw_{number}.csv" for number in range(1, self.n_draws + 1)]
            shift = np.array([1.0 if column.is_categorical else 0.0 for column in shown.columns])
            return [_read(path)[:, : shift.size] - shift for path in paths]


def _write(shown: CodedTable, folder: Path) -> None:
    """Write levels from 1 up with 0 for a skip, empty fields for blanks, and skip indicators."""
    values, states, kinds = shown.values.copy(), shown.states, []
    for position, column in enumerate(shown.columns):
        kinds.append(column.kind.value)
        if column.is_categorical:
            values[:, position] += 1
            values[states.skipped[:, position], position] = 0
    indicated = [
        p
        for p, c in enumerate(shown.columns)
        if not c.is_categorical and states.skipped[:, p].any()
    ]
    values = np.column_stack([values, states.skipped[:, indicated]])
    kinds += ["indicator"] * len(indicated)
    names = [f"q{number}" for number in range(values.shape[1])]
    with (folder / "columns.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("name", "kind"), *zip(names, kinds, strict=True)])
    with (folder / "values.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([["" if x != x else f"{x:.17g}" for x in row] for row in values.tolist()])


def _read(path: Path) -> Numbers:
    return np.genfromtxt(path, delimiter=",", skip_header=1, missing_values="NA", ndmin=2)
