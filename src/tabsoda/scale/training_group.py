"""Joins the processes that torchrun started, for a common fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def training_group() -> Iterator[bool]:
    """Join the processes that torchrun started, during the block; yield whether this is the first.

    Fits in the block split their batches between the processes: all processes must fit the same
    tables in the same order, and get the same models. Without torchrun, nothing happens.

    Examples
    --------
    >>> with training_group() as first:
    ...     first
    True
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield True
        return
    import torch
    from torch import distributed

    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield distributed.get_rank() == 0
        # Wait until the first process has written the files that others may read.
        distributed.barrier()
    finally:
        distributed.destroy_process_group()
