"""Tensors of noise that depends only on a key, a row and a coordinate; see ``randomness``."""

from __future__ import annotations

import numpy as np
import torch

from tabsoda._internal.randomness import GOLDEN, MASK_64, MIX_1, MIX_2, signed, stream_key


def _mix_torch(x: torch.Tensor) -> torch.Tensor:
    """Finalise splitmix64 on int64 tensors; the shifts are masked because torch's are signed."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * signed(MIX_1)
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * signed(MIX_2)
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def torch_generator(
    seed: int, *names: object, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return torch's generator for a named stream on a device."""
    generator = torch.Generator(device=device)
    generator.manual_seed(stream_key(seed, *names) & (MASK_64 >> 1))
    return generator


def _cell_bits(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Hash key, row and coordinate into 64 bits; int64, shape (n_rows, n_coordinates)."""
    coordinate = torch.arange(n_coordinates, device=rows.device, dtype=torch.int64)
    # The sum comes before the product: compilers keep a bare index in 32 bits.
    return _mix_torch((_mix_torch(rows + key)[:, None] + coordinate) * signed(GOLDEN))


def keyed_normals(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Draw standard normals that depend only on the key, the row and the coordinate.

    Parameters
    ----------
    key : int or int64 tensor of shape ()
        From :func:`stream_key`; a tensor lets a captured graph change it between replays.
    rows : int64 tensor, shape (n_rows,)
        From :func:`row_keys`.
    n_coordinates : int

    Returns
    -------
    float32 tensor, shape (n_rows, n_coordinates), on the device of ``rows``
    """
    bits = _cell_bits(key, rows, n_coordinates)
    # Two uniforms of 32 and 24 bits from one hash, then Box and Muller's transform.
    high = ((bits >> 32) & 0xFFFFFFFF).to(torch.float32)
    low = (bits & 0xFFFFFF).to(torch.float32)
    radius = torch.sqrt(-2.0 * torch.log((high + 0.5) * 2.0**-32).clamp(max=-1e-10))
    return radius * torch.cos(low * (2.0 * np.pi * 2.0**-24))


def keyed_uniforms(key: int | torch.Tensor, rows: torch.Tensor, n_coordinates: int) -> torch.Tensor:
    """Draw uniforms in (0, 1), keyed as :func:`keyed_normals`; shape (n_rows, n_coordinates)."""
    bits = _cell_bits(key, rows, n_coordinates)
    return (((bits >> 40) & 0xFFFFFF).to(torch.float32) + 0.5) * 2.0**-24
