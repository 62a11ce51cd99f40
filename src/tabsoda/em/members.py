"""Further networks beside the first: a small ensemble, for steadier answers and wider draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from tabsoda._internal.randomness import stream_key, torch_generator
from tabsoda.em.m_step import train_denoiser
from tabsoda.em.model import Model, new_denoiser
from tabsoda.em.training_batch import RoundTargets
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog

# Tells how far the members are: report(done, total).
Report = Callable[[int, int], None]


def train_members(
    model: Model,
    data: WorkingTable,
    targets: RoundTargets,
    events: EventLog,
    report: Report | None = None,
) -> None:
    """Train the further members that the settings ask for, in place.

    Each starts from other weights, sees other batches and, where asked, rows drawn anew with
    replacement (as weights, so that every row stays where it is).
    """
    settings = model.settings.backbone
    first, seed = model.denoiser, model.seed
    for number in range(2, settings.members + 1):
        own = stream_key(seed, "member", number)
        shown = data
        if settings.bootstrap:
            shown = replace(data, row_weights=data.row_weights * _times_drawn(data, own))
        model.denoiser = new_denoiser(model.codec, model.settings, own, model.heads).to(
            model.device
        )
        model.seed = own
        try:
            train_denoiser(model, shown, targets, 1, events)
            model.members.append(model.denoiser)
        finally:
            model.denoiser, model.seed = first, seed
        if report is not None:
            report(number - 1, settings.members - 1)


def _times_drawn(data: WorkingTable, seed: int) -> torch.Tensor:
    """Return how often each row is drawn when as many rows are drawn with replacement."""
    n_rows = data.n_rows
    drawn = torch.randint(n_rows, (n_rows,), generator=torch_generator(seed, "bootstrap"))
    return torch.bincount(drawn, minlength=n_rows).float().to(data.row_weights.device)
