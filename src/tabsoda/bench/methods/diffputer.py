"""DiffPuter (Zhang et al. 2025): the paper's engine with skip and ordinal awareness off."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tabsoda._internal.randomness import row_keys
from tabsoda.bench.methods.contract import Estimates, SkipView
from tabsoda.bench.methods.plain_table import plain_table
from tabsoda.bench.methods.point_estimates import among_levels, fill
from tabsoda.errors import InputError
from tabsoda.paper.e_step import Sampler
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.working_table import WorkingTable
from tabsoda.table import CodedTable

# The released code: bits for every category, one standardiser from the observed cells, a network
# without masks that is trained from scratch each round on all entries, imputed or not.
_RELEASED: dict[str, dict[str, Any]] = {
    "encoding": {"ordinal": "bits", "standardizer_refresh": "once", "latent_draws": False},
    "backbone": {"width": 1024, "dropout": 0.0, "sees_visible": False, "sees_skips": False},
    "loss": {"continuous": 0.0, "nominal": 0.0, "ordinal": 0.0, "width_parity": False},
    "training": {
        "conditioning": "noisy",
        "batch_size": 4096,
        "max_epochs": 10_001,
        "patience": 500,
        "learning_rate": 1e-4,
        "plateau_factor": 0.9,
        "plateau_patience": 50,
        "low_noise_pass": False,
        "calibration_steps": 0,
        "pseudo_missing": (1.0,),
        "warm_start": False,
        "precision": "float32",
    },
    "sampler": {
        "steps": 50,
        "noise_max": 80.0,
        "noise_min": 0.002,
        "churn": 1.0,
        "refresh_cycles": 20,
        "chains": 20,
        "inner_decode": "none",
        "block_rows": 32_768,
    },
    "em": {"rounds": 10},
    "temperature": {"held_out_share": 0.0},
}
# For a CPU: more steps on smaller batches, and only as many refresh cycles as help.
_REDUCED: dict[str, dict[str, Any]] = {
    "backbone": {"width": 128},
    "training": {
        "batch_size": 256,
        "min_epoch_steps": 16,
        "max_steps": 800,
        "learning_rate": 1e-3,
    },
    "sampler": {"steps": 15, "refresh_cycles": 4, "chains": 8, "block_rows": 4096},
    "em": {"rounds": 2},
}


class DiffPuter:
    """EM with a diffusion model of whole rows, conditioned by mixing observed cells back in.

    Parameters
    ----------
    budget : {"full", "reduced"}
        The released settings, or small ones for a CPU.
    settings : dict of dict, optional
        Overrides, such as ``{"em": {"rounds": 3}, "training": {"max_steps": 2000}}``;
        see :class:`tabsoda.PaperSettings`.
    device : str

    Notes
    -----
    Differences from the released code: bits that are not a codeword decode to the nearest level; a
    column with a single distinct answer is not modelled; batches of an epoch have equal size. As
    there, the estimate is the mean of the chains in the encoded space. Level probabilities are the
    shares of chains that end at a level, with half a count added to each.

    Examples
    --------
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(200, n_columns=10).true_table
    >>> method = DiffPuter(budget="reduced", device="cpu", settings={
    ...     "training": {"max_steps": 10}, "sampler": {"steps": 3, "chains": 2}})
    >>> estimates = method.impute(table, seed=1, skip_view=SkipView.BLIND)
    >>> bool(np.isfinite(estimates.mode[table.states.missing]).all())
    True
    """

    name = "DiffPuter"
    knows_skips = False

    def __init__(
        self,
        *,
        budget: str = "full",
        settings: dict[str, dict[str, Any]] | None = None,
        device: str = "auto",
    ) -> None:
        if budget not in ("full", "reduced"):
            raise InputError("Unknown budget", found=repr(budget), expected="'full' or 'reduced'")
        chosen = PaperSettings().replace(**_RELEASED)
        if budget == "reduced":
            chosen = chosen.replace(**_REDUCED)
        self.settings = chosen.replace(**(settings or {}))
        self.device = device

    def impute(
        self, table: CodedTable, seed: int, skip_view: SkipView = SkipView.BLIND
    ) -> Estimates:
        """Estimate every missing cell of a table."""
        plain = plain_table(table, skip_view)
        engine = PaperEngine.fit(plain, self.settings, seed=seed, device=self.device)
        model, codec = engine.model, engine.model.codec
        values = np.tile(codec.pass_value, (plain.shape[0], 1))
        if codec.layout.n_coordinates == 0 or not plain.states.missing.any():
            return fill(table, values, {})
        keys = row_keys(plain.values, plain.states.states)
        data = WorkingTable.build(plain, codec, keys, model.device)
        rows, mean, counts = _run_chains(engine, data)
        values[rows] = codec.decode_point(mean, whole_numbers=False)
        prototypes = codec.level_probabilities(mean)
        probabilities, modes = {}, {}
        for place, position in enumerate(codec.categorical_columns.tolist()):
            if position >= len(table.columns):
                continue
            n_levels = table.columns[position].n_levels
            seen = np.zeros((plain.shape[0], n_levels))
            seen[rows] = counts[:, place, :n_levels]
            probabilities[position] = seen + 0.5
            modes[position] = np.zeros(plain.shape[0], dtype=np.int64)
            # The nearest codeword among the question's own levels.
            modes[position][rows] = among_levels(prototypes[:, place], n_levels).argmax(axis=1)
        return fill(table, values, probabilities, modes)


def _run_chains(
    engine: PaperEngine, data: WorkingTable
) -> tuple[np.ndarray, torch.Tensor, np.ndarray]:
    """Return incomplete rows, the mean of their chains (n, p) and level counts (n, c, K)."""
    model, codec = engine.model, engine.model.codec
    sampler = Sampler(model, engine.events)
    columns = codec.categorical_columns
    incomplete = data.incomplete_rows()
    total = torch.zeros((incomplete.numel(), data.encoded.shape[1]), device=model.device)
    n_levels = int(codec.layout.n_levels.max(initial=1))
    counts = np.zeros((incomplete.numel(), columns.size, n_levels))
    row, column = np.ogrid[: incomplete.numel(), : columns.size]
    chains = model.settings.sampler.chains
    for chain in range(1, chains + 1):
        _, drawn = sampler.draw(data, chain)
        total += drawn
        counts[row, column, codec.decode_point(drawn)[:, columns].astype(np.int64)] += 1
    return incomplete.cpu().numpy(), total / chains, counts
