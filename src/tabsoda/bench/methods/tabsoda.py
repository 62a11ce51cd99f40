"""The paper's engine and the default engine as methods under comparison.

TabSODA, TabSODA+SKIP and TabSODA-N are names of the paper, and belong to its engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsoda.bench.methods.contract import Estimates, ShareDone, SkipView, without_skips
from tabsoda.bench.methods.point_estimates import level_shares, usual_answers, within_answers
from tabsoda.engines import QUALITIES, AnySettings, fit_engine, settings_for
from tabsoda.errors import InputError
from tabsoda.paper.presets import PRESETS
from tabsoda.progress import Progress
from tabsoda.skips.miner import SkipMiner
from tabsoda.skips.settings import MinerSettings
from tabsoda.table import CodedTable

Changes = dict[str, dict[str, Any]]


class _OwnEngine:
    """An engine of this package; subclasses say which, and which skips it is shown."""

    name: str
    knows_skips = True
    # The settings that the variant changes, for every preset.
    variant: Changes = {}  # noqa: RUF012

    def __init__(self, start: str, settings: Changes | None, device: str) -> None:
        self.start = start
        self.changes = settings or {}
        self.settings_for(1, 1)
        self.device = device

    def settings_for(self, n_rows: int, n_columns: int) -> AnySettings:
        """Return the settings for a table of this size."""
        changed = settings_for(self.start, n_rows, n_columns, self.changes)
        return changed.replace(**self.variant)

    def impute(
        self,
        table: CodedTable,
        seed: int,
        skip_view: SkipView = SkipView.LEVEL,
        progress: ShareDone | None = None,
    ) -> Estimates:
        """Estimate every missing cell; ``skip_view`` changes nothing here."""
        shown = self.shown(table)
        settings = self.settings_for(*table.shape)
        update = None if progress is None else _as_share(progress)
        engine = fit_engine(
            shown, settings, seed=seed, device=self.device, draws=False, progress=update
        )
        # As for every method, see within_answers.
        cells = engine.impute(shown, whole_numbers=False)
        # Cells that the engine does not impute get the column's mode or mean, so all are scored.
        mode = np.where(table.states.answered, table.values, usual_answers(table))
        median = mode.copy()
        mode[cells.rows, cells.positions] = cells.mode
        median[cells.rows, cells.positions] = cells.median
        probabilities = engine.level_probabilities(shown)
        for position, given in probabilities.items():
            unknown = np.isnan(given).any(axis=1)
            answers = table.values[table.states.answered[:, position], position]
            given[unknown] = level_shares(answers, given.shape[1])
        return within_answers(table, Estimates(mode, median, probabilities))

    def shown(self, table: CodedTable) -> CodedTable:
        """Return the table with the skips that the method uses."""
        return table


def _as_share(progress: ShareDone) -> Progress:
    """Turn the engine's counts into the completed share of the work."""

    def update(done: int, total: int, what: str) -> None:
        progress(done / max(total, 1))

    return update


class _MinedSkips:
    """The part of a method that replaces the skips of a table by mined ones."""

    mined: NDArray[np.bool_] | None
    miner: SkipMiner

    def take_mined(self, mined: NDArray[np.bool_] | None, screen: str, miner: str) -> None:
        """Set the mask, and the screen and preset by which skips are mined without a mask."""
        self.mined = mined
        self.miner = SkipMiner(MinerSettings.preset(miner), screen=screen)

    def shown(self, table: CodedTable) -> CodedTable:
        """Return the table with the mined skips."""
        blank = without_skips(table)
        if self.mined is None:
            return blank.with_states(self.miner.mine(blank).states)
        if self.mined.shape != table.shape:
            raise InputError(
                "The mined mask does not have the shape of the table",
                found=str(self.mined.shape),
                expected=str(table.shape),
            )
        return blank.with_states(blank.states.with_skips(self.mined & ~blank.states.answered))


class TabSODA(_OwnEngine):
    """TabSODA: the paper's engine, with the skips of the table.

    Parameters
    ----------
    preset : {"nsduh", "path", "small"}
        The first two have the paper's settings (:class:`tabsoda.PaperSettings`). ``"small"`` has
        not, and the name says so.
    settings : dict of dict, optional
        Changes to the settings.
    device : str

    Examples
    --------
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> few = {"training": {"max_steps": 10}}
    >>> method = TabSODA(preset="small", settings=few, device="cpu")
    >>> method.name
    'TabSODA (small)'
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "TabSODA"

    def __init__(
        self, *, preset: str = "nsduh", settings: Changes | None = None, device: str = "auto"
    ) -> None:
        if preset not in PRESETS:
            raise InputError(
                f"{self.name} has no such preset",
                found=repr(preset),
                expected=f"one of {', '.join(map(repr, PRESETS))}",
                next_step="For a quality of the default engine, use the method 'default-engine'",
            )
        super().__init__(preset, settings, device)
        if preset == "small":
            self.name = f"{type(self).name} (small)"


class TabSODAN(TabSODA):
    """TabSODA-N: ordinals as bits, like nominals. Parameters as in :class:`TabSODA`."""

    name = "TabSODA-N"
    variant = {"encoding": {"ordinal": "bits"}}  # noqa: RUF012


class TabSODASkip(_MinedSkips, TabSODA):
    """TabSODA+SKIP: the skips are mined; those of the table are not used.

    Missing cells that a mined rule marks as skipped get the column's mode or mean.

    Parameters
    ----------
    mined : ndarray of bool, shape (n_rows, n_columns), optional
        A mask mined before cells were hidden, as a comparison requires: hidden cells are blanks
        that no rule explains. Answered cells in it are ignored. If not given, skips are mined from
        the table itself.
    screen : {"paper", "purity"}
    miner : str
        A preset of the miner, such as ``"nsduh-200"``; see :class:`tabsoda.MinerSettings`.
    preset, settings, device
        As in :class:`TabSODA`.
    """

    name = "TabSODA+SKIP"

    def __init__(
        self,
        *,
        mined: NDArray[np.bool_] | None = None,
        screen: str = "paper",
        miner: str = "default",
        preset: str = "nsduh",
        settings: Changes | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(preset=preset, settings=settings, device=device)
        self.take_mined(mined, screen, miner)


class DefaultEngineMethod(_OwnEngine):
    """The default engine, with the skips of the table.

    Parameters
    ----------
    quality : {"fast", "balanced", "best", "tiny"}
    settings : dict of dict, optional
        Changes to the settings; see :class:`tabsoda.EngineSettings`.
    device : str
    """

    name = "Default engine"

    def __init__(
        self, *, quality: str = "balanced", settings: Changes | None = None, device: str = "auto"
    ) -> None:
        if quality not in QUALITIES:
            raise InputError(
                "The default engine has no such quality",
                found=repr(quality),
                expected=f"one of {', '.join(map(repr, QUALITIES))}",
                next_step="For a preset of the paper, use the method 'tabsoda'",
            )
        super().__init__(quality, settings, device)
        if quality != "balanced":
            self.name = f"Default engine ({quality})"


class DefaultEngineSkip(_MinedSkips, DefaultEngineMethod):
    """The default engine with mined skips; those of the table are not used.

    Parameters
    ----------
    mined, miner
        As in :class:`TabSODASkip`.
    screen : {"purity", "paper"}
    quality, settings, device
        As in :class:`DefaultEngineMethod`.
    """

    name = "Default engine (mined skips)"

    def __init__(
        self,
        *,
        mined: NDArray[np.bool_] | None = None,
        screen: str = "purity",
        miner: str = "default",
        quality: str = "balanced",
        settings: Changes | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(quality=quality, settings=settings, device=device)
        if quality != "balanced":
            self.name = f"Default engine ({quality}, mined skips)"
        self.take_mined(mined, screen, miner)
