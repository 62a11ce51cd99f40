"""Draws from the network: question by question, each given the answers drawn before.

Drawing every cell independently would lose the correlation of answers. Here questions are drawn in
a random order, one group at a time, and drawn answers become inputs for the next groups.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tabsoda._internal.randomness import numpy_generator, stream_key
from tabsoda.engine.network.data import NetworkInput
from tabsoda.engine.network.network import Network
from tabsoda.engine.settings import DrawSettings
from tabsoda.table import CodedTable
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms

Values = NDArray[np.float64]


def draw_answers(
    network: Network,
    table: CodedTable,
    row_keys: NDArray[np.int64],
    number: int,
    settings: DrawSettings,
    seed: int,
) -> Values:
    """Draw the missing cells of a table once.

    Parameters
    ----------
    network : Network
    table : CodedTable
    row_keys : ndarray of int64, shape (n,)
        Identify the rows' random numbers.
    number : int
        Number of the draw, from 1; the members of the network take turns.
    settings : DrawSettings
    seed : int

    Returns
    -------
    ndarray of float64, shape (n, d)
        The drawn answers; NaN in cells that were not missing. Columns that are not modelled get
        their constant.
    """
    codec = network.codec
    member = network.members[(number - 1) % len(network.members)]
    groups = question_groups(codec.modelled.size, number, settings.steps, seed)
    key = stream_key(seed, "chain", number)
    drawn = np.tile(codec.constants, (table.shape[0], 1))
    for start in range(0, table.shape[0], settings.block_rows):
        rows = slice(start, start + settings.block_rows)
        part = table.rows(np.arange(table.shape[0])[rows])
        keys = torch.as_tensor(row_keys[rows], device=network.device)
        drawn[rows, codec.modelled] = _draw_block(network, member, part, keys, key, groups)
    return drawn


def question_groups(
    n_questions: int, number: int, steps: int, seed: int
) -> list[NDArray[np.int64]]:
    """Return the modelled questions in the order of a draw, in groups; the same for all rows."""
    order = numpy_generator(seed, "order of columns", number).permutation(n_questions)
    return np.array_split(order, max(min(n_questions, steps), 1))


@torch.no_grad()
def _draw_block(
    network: Network,
    member: nn.Module,
    table: CodedTable,
    row_keys: torch.Tensor,
    key: int,
    groups: list[NDArray[np.int64]],
) -> Values:
    """Draw the modelled columns of some rows, shape (n, T); NaN in cells that were not missing."""
    inputs = NetworkInput.of(table, network.codec, network.device)
    missing = inputs.missing
    values = np.full(missing.shape, np.nan)
    choices, picks = (
        keyed_uniforms(stream_key(key, use), row_keys, missing.shape[1])
        for use in ("choice", "pick")
    )
    for group in groups:
        wanted = missing[:, torch.as_tensor(group, device=network.device)]
        part = torch.nonzero(wanted.any(dim=1)).ravel()
        if not part.numel():
            continue
        outputs = member(inputs.rows(part))
        drawn = _draw_group(network, outputs, group, choices[part], picks[part])
        drawn[~wanted[part].cpu().numpy()] = np.nan
        values[np.ix_(part.cpu().numpy(), group)] = drawn
        _show(network, inputs, part, group, drawn)
    return values


def _draw_group(
    network: Network,
    outputs: torch.Tensor,
    group: NDArray[np.int64],
    choices: torch.Tensor,
    picks: torch.Tensor,
) -> Values:
    """Draw some columns, each from its own distribution; shape (B, len(group))."""
    answers = network.heads(outputs)
    n_categorical = network.codec.categorical.size
    drawn = np.empty((outputs.shape[0], group.size))
    for is_number, log_probabilities in (
        (False, answers.log_probabilities),
        (True, answers.bin_log_probabilities),
    ):
        own = np.flatnonzero((group >= n_categorical) == is_number)
        columns = torch.as_tensor(group[own], device=outputs.device)
        places = columns - n_categorical if is_number else columns
        cumulated = log_probabilities.index_select(1, places).double().exp().cumsum(dim=2)
        # Padding has probability 0 and is never drawn.
        threshold = choices.index_select(1, columns)[..., None].double() * cumulated[..., -1:]
        option = (cumulated[..., :-1] < threshold).sum(dim=2).cpu().numpy()
        drawn[:, own] = option
        if is_number:
            pick = picks.index_select(1, columns).double().cpu().numpy()
            drawn[:, own] = network.codec.bins.draw(places.cpu().numpy(), option, pick)
    return drawn


def _show(
    network: Network,
    inputs: NetworkInput,
    rows: torch.Tensor,
    group: NDArray[np.int64],
    drawn: Values,
) -> None:
    """Make drawn answers visible for the next groups, in place."""
    n_categorical = network.codec.categorical.size
    is_new = torch.from_numpy(~np.isnan(drawn)).to(network.device)
    scores = np.full((drawn.shape[0], network.codec.numbers.size), np.nan)
    of_numbers = group >= n_categorical
    scores[:, group[of_numbers] - n_categorical] = drawn[:, of_numbers]
    scores = np.nan_to_num(network.codec.scores.encode(scores))
    for place, column in enumerate(group.tolist()):
        new = is_new[:, place]
        chosen = rows[new]
        if column >= n_categorical:
            number = column - n_categorical
            own = torch.from_numpy(scores[:, number]).to(inputs.scores)
            inputs.scores[chosen, number] = own[new]
        else:
            own = torch.from_numpy(np.nan_to_num(drawn[:, place])).to(inputs.levels)
            inputs.levels[chosen, column] = own[new]
        inputs.visible[chosen, column] = True
