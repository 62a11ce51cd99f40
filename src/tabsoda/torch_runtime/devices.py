"""Chooses the device and the precision of computations."""

from __future__ import annotations

import torch

from tabsoda.errors import DeviceError
from tabsoda.events import EventLog


def resolve_device(device: str = "auto", events: EventLog | None = None) -> torch.device:
    """Return the torch device of a setting.

    ``"auto"`` is CUDA if available, otherwise the CPU. Apple's MPS is used only on request: it has
    no 64-bit floating point, and its random numbers have not been checked.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if events is not None:
            events.add("device_chosen", device=str(chosen))
        return chosen
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise DeviceError(
            f"Unknown device '{device}'",
            expected="'auto', 'cpu', 'cuda', 'cuda:0', 'mps'",
        ) from error
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (wanted.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }.get(wanted.type, False)
    if not present:
        raise DeviceError(
            f"The device '{device}' does not exist",
            found=f"{torch.cuda.device_count()} CUDA devices",
            next_step="Use device='auto' or device='cpu'",
        )
    return wanted


def matrix_precision(device: torch.device, precision: str = "auto") -> torch.dtype:
    """Return the dtype of matrix products.

    Parameters
    ----------
    device : torch.device
    precision : {"auto", "float32"}
        ``"auto"``: bfloat16 if the device is fast at it.
    """
    if precision == "float32":
        return torch.float32
    fast = device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 8
    return torch.bfloat16 if fast else torch.float32
