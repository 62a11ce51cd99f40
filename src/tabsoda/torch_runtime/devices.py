"""The one place that decides where and in which precision the engine computes."""

from __future__ import annotations

import torch

from tabsoda.errors import DeviceError
from tabsoda.events import EventLog


def resolve_device(device: str = "auto", events: EventLog | None = None) -> torch.device:
    """Turn a device setting into a torch device.

    ``"auto"`` takes CUDA where there is one, else the CPU. Apple's MPS is used on request only:
    it has no 64-bit floating point and its random numbers were not checked.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if events is not None:
            events.add("train", "device chosen", detail=str(chosen))
        return chosen
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise DeviceError(
            f"The device '{device}' is not known",
            expected="'auto', 'cpu', 'cuda', 'cuda:0', 'mps'",
        ) from error
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (wanted.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }.get(wanted.type, False)
    if not present:
        raise DeviceError(
            f"The device '{device}' is not there",
            found=f"{torch.cuda.device_count()} CUDA devices",
            next_step="Use device='auto' or device='cpu'",
        )
    return wanted


def matrix_precision(device: torch.device, precision: str = "auto") -> torch.dtype:
    """Return the dtype of matrix products: bfloat16 where the device is fast at it."""
    if precision == "float32":
        return torch.float32
    if precision == "bfloat16":
        return torch.bfloat16
    fast = device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 8
    return torch.bfloat16 if fast else torch.float32
