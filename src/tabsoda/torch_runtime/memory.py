"""Errors that say what to do where memory is too small, if possible before the work starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tabsoda.errors import DeviceError

# How torch words a failed allocation on the CPU, where it has no error type of its own.
_CPU_ALLOCATION = "can't allocate memory"


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a failed allocation into advice.

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
    """Raise before the work starts where a CUDA device has less free memory than this, in bytes."""
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
        next_step="Lower training.batch_size and sampler.block_rows, use fewer rows or columns, "
        "or use device='cpu'",
    )
