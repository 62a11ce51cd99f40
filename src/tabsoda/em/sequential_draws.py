"""Draws from the decoder heads: column after column, each draw visible to the next.

Drawing every cell from its own distribution would lose how answers go together. Here columns come
in a random order, a group at a time; what was drawn becomes an answer that the rest is drawn from.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator, stream_key
from tabsoda.diffusion.denoiser import Denoiser
from tabsoda.em.answering import answer_outputs
from tabsoda.em.model import Model
from tabsoda.em.working_table import WorkingTable, chain_key
from tabsoda.torch_runtime.keyed_noise import keyed_uniforms


def draw_values(
    model: Model, data: WorkingTable, rows: torch.Tensor, number: int
) -> NDArray[np.float64]:
    """Draw the missing cells of some rows once.

    Parameters
    ----------
    model : Model
        With decoder heads.
    data : WorkingTable
    rows : int64 tensor, shape (B,)
    number : int
        Which draw, from 1.

    Returns
    -------
    ndarray of float64, shape (B, d)
        The drawn answers; NaN in cells that were not missing. Columns without coordinates hold
        the codec's ``pass_value``.
    """
    size = model.settings.sampler.block_rows
    key = chain_key(model.seed, number)
    groups = column_groups(model, number)
    network = model.networks[(number - 1) % len(model.networks)]
    blocks = [_draw_block(model, network, data, part, key, groups) for part in rows.split(size)]
    return np.concatenate(blocks) if blocks else np.empty((0, data.levels.shape[1]))


def column_groups(model: Model, number: int) -> list[NDArray[np.int64]]:
    """Return the modelled columns in the order of a draw, in groups; the same for all rows."""
    columns = np.unique(model.codec.layout.column_of)
    order = numpy_generator(model.seed, "order of columns", number).permutation(columns)
    n_groups = min(columns.size, model.settings.sampler.draw_steps)
    return np.array_split(order, n_groups)


def _draw_block(
    model: Model,
    network: Denoiser,
    data: WorkingTable,
    rows: torch.Tensor,
    key: int,
    groups: list[NDArray[np.int64]],
) -> NDArray[np.float64]:
    missing = data.missing_columns[rows]
    visible, levels = data.visible[rows].clone(), data.levels[rows].clone()
    encoded = data.encoded[rows].clone()
    values = np.tile(model.codec.pass_value, (missing.shape[0], 1))
    n_columns = missing.shape[1]
    choices, picks = (
        keyed_uniforms(stream_key(key, use), data.row_keys[rows], n_columns)
        for use in ("choice", "pick")
    )
    column_of = torch.as_tensor(model.codec.layout.column_of, device=model.device)
    for group in groups:
        chosen = torch.as_tensor(group, device=model.device)
        wanted = missing.index_select(1, chosen)
        part = torch.nonzero(wanted.any(dim=1)).ravel()
        if not part.numel():
            continue
        outputs = answer_outputs(
            model,
            data,
            rows[part],
            network=network,
            visible=visible[part],
            levels=levels[part],
            encoded=encoded[part],
        )
        drawn = _draw_columns(model, outputs, group, choices[part], picks[part])
        kept = np.where(wanted[part].cpu().numpy(), drawn, np.nan)
        places = part.cpu().numpy()
        values[np.ix_(places, group)] = kept
        fresh = np.full((places.size, n_columns), np.nan)
        fresh[:, group] = kept
        new = torch.from_numpy(model.codec.encode(fresh)).to(model.device)
        is_new = torch.from_numpy(~np.isnan(fresh)).to(model.device)
        entries = is_new.index_select(1, column_of)
        encoded[part] = torch.where(entries, new, encoded[part])
        visible[part] = visible[part] | entries
        whole = torch.from_numpy(np.nan_to_num(fresh).clip(0, 2**31).astype(np.int64))
        levels[part] = torch.where(is_new, whole.to(model.device), levels[part])
    return values


def _draw_columns(
    model: Model,
    outputs: torch.Tensor,
    group: NDArray[np.int64],
    choices: torch.Tensor,
    picks: torch.Tensor,
) -> NDArray[np.float64]:
    """Draw some columns, each from its own distribution; shape (B, len(group))."""
    if model.heads is None or model.answer_codec is None:
        raise ValueError("the model has no decoder heads")
    answers = model.heads(outputs)
    categorical, numbers = model.codec.categorical_columns, model.codec.layout.continuous_columns
    drawn = np.empty((outputs.shape[0], group.size))
    for columns, log_probabilities in (
        (categorical, answers.log_probabilities),
        (numbers, answers.bin_log_probabilities),
    ):
        mine = np.flatnonzero(np.isin(group, columns))
        places = np.flatnonzero(np.isin(columns, group))
        places = places[np.argsort(columns[places])][np.argsort(np.argsort(group[mine]))]
        chosen = torch.as_tensor(group[mine], device=outputs.device)
        share = log_probabilities[:, torch.as_tensor(places, device=outputs.device)].double().exp()
        cumulated = share.cumsum(dim=2)
        # Padding adds nothing to the sum, so that it is never reached.
        threshold = choices[:, chosen, None].double() * cumulated[..., -1:]
        option = (cumulated[..., :-1] < threshold).sum(dim=2).cpu().numpy()
        drawn[:, mine] = option
        if columns is numbers:
            pick = picks[:, chosen].double().cpu().numpy()
            drawn[:, mine] = model.answer_codec.bins.draw(places, option, pick)
    return drawn
