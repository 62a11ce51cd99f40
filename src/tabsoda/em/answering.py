"""What the decoder heads say of a table: the answers of every cell in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.func import functional_call

from tabsoda.diffusion.answers import Answers
from tabsoda.diffusion.denoiser import Denoiser
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable


@torch.no_grad()
def answer_outputs(
    model: Model,
    data: WorkingTable,
    rows: torch.Tensor,
    weights: Sequence[torch.Tensor] | None = None,
    *,
    network: Denoiser | None = None,
    visible: torch.Tensor | None = None,
    levels: torch.Tensor | None = None,
    encoded: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the network's outputs for the heads, (B, n_outputs), from the visible cells of rows.

    Parameters
    ----------
    model : Model
        With decoder heads.
    data : WorkingTable
    rows : int64 tensor, shape (B,)
    weights : sequence of tensor, optional
        Parameters to use instead of the network's own, in their order.
    network : Denoiser, optional
        One of the model's networks; the first unless given.
    visible, levels, encoded : tensor, optional
        Of these rows, where they differ from the table's: cells that were drawn meanwhile.
    """
    visible = data.visible[rows] if visible is None else visible
    levels = data.levels[rows] if levels is None else levels
    encoded = data.encoded[rows] if encoded is None else encoded
    applicable = data.applicable[rows]
    state = model.standardizer.apply(encoded, visible)
    noise_level = torch.full((1,), model.settings.sampler.noise_max, device=model.device)
    arguments = (state, noise_level, visible, ~applicable, levels, applicable & ~visible)
    denoiser = model.denoiser if network is None else network
    was_training = denoiser.training
    denoiser.eval()
    if weights is None:
        outputs = denoiser.with_answers(*arguments)[1]
    else:
        names = [name for name, _ in denoiser.named_parameters()]
        given = {f"denoiser.{n}": w for n, w in zip(names, weights, strict=True)}
        outputs = functional_call(_Answering(denoiser), given, arguments)
    denoiser.train(was_training)
    return outputs


class _Answering(torch.nn.Module):
    """Calls a denoiser for its answers, so that its weights can be exchanged."""

    def __init__(self, denoiser: torch.nn.Module) -> None:
        super().__init__()
        self.denoiser = denoiser

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        """Return what the heads read."""
        return self.denoiser.with_answers(*arguments)[1]  # type: ignore[operator]


def answers_of(model: Model, data: WorkingTable, rows: torch.Tensor) -> Answers:
    """Return what the heads say of some rows, block by block; see :class:`Answers`."""
    size = model.settings.sampler.block_rows
    blocks = [_mean_answers(model, data, part) for part in rows.split(size)]
    return Answers(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _mean_answers(model: Model, data: WorkingTable, rows: torch.Tensor) -> Answers:
    """Average probabilities and expectations over the networks."""
    heads = model.heads
    if heads is None:
        raise ValueError("the model has no decoder heads")
    said = [heads(answer_outputs(model, data, rows, network=network)) for network in model.networks]
    if len(said) == 1:
        return said[0]
    levels, numbers, bins = (torch.stack(parts) for parts in zip(*said, strict=True))
    shift = math.log(len(said))
    return Answers(
        levels.logsumexp(dim=0) - shift, numbers.mean(dim=0), bins.logsumexp(dim=0) - shift
    )
