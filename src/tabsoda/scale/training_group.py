"""The processes that torchrun started, joined while a model is fitted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def training_group() -> Iterator[bool]:
    """Join the processes that torchrun started, while the block runs; tell whether this is first.

    Every fit within the block shares its batches with the others: all processes must fit the same
    tables in the same order, and end up with the same models. Outside torchrun nothing happens.

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
        # Nobody leaves while the first still writes what the others may read.
        distributed.barrier()
    finally:
        distributed.destroy_process_group()
