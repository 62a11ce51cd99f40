"""Further networks beside the first: a small ensemble, for steadier answers and wider draws."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch

from tabsoda._internal.randomness import stream_key
from tabsoda.em.m_step import train_denoiser
from tabsoda.em.model import Model, new_denoiser
from tabsoda.em.training_batch import RoundTargets
from tabsoda.em.working_table import WorkingTable
from tabsoda.events import EventLog
from tabsoda.settings import Settings
from tabsoda.torch_runtime.keyed_noise import torch_generator

# A bootstrap member goes on from the first network for this share of its steps: enough to follow
# its own rows, and ten of them cost about as much as the first (docs/decisions/0007-draws.md).
_CONTINUED_SHARE = 0.125
_FEWEST_STEPS = 50

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

    Each starts from other weights and sees other batches. Bootstrap members go on from the first
    network instead, with rows drawn anew with replacement (as weights, so that every row stays
    where it is): what differs between them is then what other rows would have taught.
    """
    settings, whole = model.settings.backbone, model.settings
    first, seed = model.denoiser, model.seed
    for number in range(2, settings.members + 1):
        own = stream_key(seed, "member", number)
        shown = data
        if settings.bootstrap:
            shown = replace(data, row_weights=data.row_weights * _times_drawn(data, own))
            model.denoiser, model.settings = copy.deepcopy(first), continued(whole)
        else:
            model.denoiser = new_denoiser(model.codec, whole, own, model.heads).to(model.device)
        model.seed = own
        try:
            train_denoiser(model, shown, targets, 1, events)
            model.members.append(model.denoiser)
        finally:
            model.denoiser, model.seed, model.settings = first, seed, whole
        if report is not None:
            report(number - 1, settings.members - 1)


def members_cost(settings: Settings) -> float:
    """Return how long further members take to train, in trainings of the first network.

    Examples
    --------
    >>> members_cost(Settings.preset("balanced").replace(backbone={"members": 3}))
    2.0
    """
    each = _CONTINUED_SHARE if settings.backbone.bootstrap else 1.0
    return each * (settings.backbone.members - 1)


def continued(settings: Settings) -> Settings:
    """Return the settings of a bootstrap member: few steps, all in one epoch.

    Held-out cells do not stop it: they would prefer the network it came from.

    Examples
    --------
    >>> continued(Settings.preset("balanced")).training.max_steps
    125
    """
    most = settings.training.max_steps or settings.training.max_epochs
    steps = min(max(round(_CONTINUED_SHARE * most), _FEWEST_STEPS), most)
    return settings.replace(
        training={"max_steps": steps, "min_epoch_steps": steps, "monitor": "training_loss"}
    )


def _times_drawn(data: WorkingTable, seed: int) -> torch.Tensor:
    """Return how often each row is drawn when as many rows are drawn with replacement."""
    n_rows = data.n_rows
    drawn = torch.randint(n_rows, (n_rows,), generator=torch_generator(seed, "bootstrap"))
    return torch.bincount(drawn, minlength=n_rows).float().to(data.row_weights.device)
