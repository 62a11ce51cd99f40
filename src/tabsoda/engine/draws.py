"""Draws: from the network, then redrawn from regressions whose coefficients vary between draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import stream_key
from tabsoda.engine.network.draws import draw_answers
from tabsoda.engine.network.network import Network
from tabsoda.engine.regressions.chained_regressions import ChainedRegressions
from tabsoda.engine.settings import EngineSettings
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws the missing cells of tables.

    Attributes
    ----------
    network : Network
    regressions : ChainedRegressions or None
        If None, the draws of the network are used.
    settings : EngineSettings
    seed : int
    """

    network: Network
    regressions: ChainedRegressions | None
    settings: EngineSettings
    seed: int

    def draw(self, table: CodedTable, row_keys: NDArray[np.int64], number: int) -> Values:
        """Draw the missing cells of a table once.

        Parameters
        ----------
        table : CodedTable
            Only rows with missing cells.
        row_keys : ndarray of int64, shape (n,)
        number : int
            Number of the draw, from 1.

        Returns
        -------
        ndarray of float64, shape (n, d)
            NaN in cells that were not missing, and where nothing can be drawn.
        """
        drawn = draw_answers(self.network, table, row_keys, number, self.settings.draws, self.seed)
        drawn = np.where(table.states.missing, drawn, np.nan)
        if self.regressions is None:
            return drawn
        missing = ~np.isnan(drawn)
        filled = np.where(missing, drawn, self.network.codec.with_constants(table))
        keys = torch.as_tensor(row_keys)
        uniforms = [
            keyed_uniforms(stream_key(self.seed, "redraw", number, sweep), keys, table.shape[1])
            for sweep in range(self.settings.regressions.sweeps)
        ]
        redrawn = self.regressions.redraw(
            filled,
            missing,
            table.states.skipped,
            number,
            [one.double().numpy() for one in uniforms],
        )
        return np.where(missing, redrawn, drawn)
