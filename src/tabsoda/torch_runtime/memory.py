"""Errors with advice if memory is too small, raised before the work starts if possible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tabsoda.errors import DeviceError

# Part of torch's message for a failed allocation on the CPU, which has no own error type.
_CPU_ALLOCATION = "can't allocate memory"


@contextmanager
def enough_memory() -> Iterator[None]:
    """Convert a failed allocation into an error with advice.

    Examples
    --------
    >>> with enough_memory():
    ...     raise MemoryError("Unable to allocate 9 TiB")
    Traceback (most recent call last):
    tabsoda.errors.DeviceError: There is too little memory. Found: Unable to allocate 9 TiB. ...
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _too_little(error) from error
    except RuntimeError as error:
        if _CPU_ALLOCATION not in str(error):
            raise
        raise _too_little(error) from error


def check_memory(wanted: int, device: torch.device) -> None:
    """Raise if a CUDA device has less free memory than this, in bytes."""
    if device.type != "cuda":
        return
    free, _ = torch.cuda.mem_get_info(device)
    if wanted > free:
        raise DeviceError(
            "The device has too little memory for this table",
            found=f"{free / 2**30:.1f} GiB free",
            expected=f"at least {wanted / 2**30:.1f} GiB",
            next_step="Use device='cpu', or fewer rows",
        )


def _too_little(error: BaseException) -> DeviceError:
    return DeviceError(
        "There is too little memory",
        found=next(iter(str(error).strip().splitlines()), "a failed allocation"),
        next_step="Lower training.batch_size and draws.block_rows (sampler.block_rows with a"
        " preset), use fewer rows or columns, or use device='cpu'",
    )
