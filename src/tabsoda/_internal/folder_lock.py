"""One program at a time writes into a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tabsoda._internal.files import make_folder
from tabsoda.errors import InputError


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock a folder during the block; a folder that does not exist is created.

    A created folder that is still empty at the end is removed. The system releases the lock when
    the process ends, however it ends. On systems and network disks without such locks, nothing is
    locked.

    Raises
    ------
    InputError
        If another process holds the folder.
    """
    is_new = not folder.exists()
    make_folder(folder)
    handle = _locked(folder)
    try:
        yield
    finally:
        if is_new:
            # Fails unless the folder is empty.
            with suppress(OSError):
                folder.rmdir()
        if handle is not None:
            os.close(handle)


def _locked(folder: Path) -> int | None:
    """Return a handle that holds the lock until it is closed; None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            raise InputError(
                f"Another run is writing into the folder '{folder}'",
                next_step="Wait until it is finished, or choose another folder",
            ) from error
        return None
    return handle
