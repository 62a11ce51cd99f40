"""A lock that the process of a job holds for as long as it lives, however it ends.

The server locks the file and hands the open file to the process that it starts, so there is no
moment at which a started job appears to be dead. Both write the number of the process into the
file, in case the server is killed in between, and the name of the machine: on a network disk, the
lock may be that of a process elsewhere, whose number means another process here. Links are not
followed, because a folder from somebody else may contain one.
"""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path

from tabsoda._internal.files import PRIVATE_FILE
from tabsoda.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

# Windows has no such flag, and its links need rights that few users have.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def open_locked(path: Path) -> int | None:
    """Create a file, lock it and return its handle; None on systems without such locks."""
    if not _HAS_LOCKS:
        return None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, PRIVATE_FILE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Only now: another process that holds the lock has written its number.
        os.ftruncate(handle, 0)
    except OSError:
        os.close(handle)
        raise
    return handle


def is_held(path: Path) -> bool | None:
    """Return whether a process holds the lock; None on systems without such locks."""
    if not _HAS_LOCKS:
        return None
    try:
        handle = os.open(path, os.O_RDONLY | NO_LINK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return False
        raise
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def sign(handle: int, process: int) -> None:
    """Write the number of the process that holds the lock, and its machine, into the file."""
    os.pwrite(handle, f"{process} {platform.node()}\n".encode(), 0)


def process_of(path: Path) -> int | None:
    """Return the number of the process that holds the lock; None if it has not signed yet.

    Raises
    ------
    InputError
        If the process runs on another machine.
    """
    try:
        number, _, machine = path.read_text(encoding="utf-8").rstrip("\n").partition(" ")
        process = int(number)
    except (OSError, ValueError):
        return None
    if machine != platform.node():
        raise InputError(
            "The job runs on another machine",
            found=machine[:80],
            next_step="Open the project there to pause or cancel it",
        )
    return process
