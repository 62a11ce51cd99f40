"""Errors while writing a result: distinguishes disk problems from other causes."""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabsoda.errors import InputError, TabSODAError, WritingError

# Libraries written in Rust put the system's error number into their message.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)
# The system refused memory, a process or a connection; the cause is not a file.
_NOT_FILES = (ConnectionError, TimeoutError, BlockingIOError, ChildProcessError)
_NOT_FILES_NUMBERS = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)

FINISHED_IS_KEPT = "run the same command again: finished work is kept"


@contextmanager
def writing_to(folder: Path, then: str = FINISHED_IS_KEPT) -> Iterator[None]:
    """Convert exceptions while files are written into an error that states the cause.

    Parameters
    ----------
    folder : Path
        The folder to name in the message.
    then : str
        What to do once the cause is removed, as the end of a sentence.

    Examples
    --------
    >>> with writing_to(Path("out")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    tabsoda.errors.InputError: The folder 'out' cannot be written to. Found: No space left on \
device. Free some disk space, then run the same command again: finished work is kept.
    """
    try:
        yield
    except TabSODAError:
        raise
    except Exception as error:
        raise write_error(folder, error, then) from error


@contextmanager
def keeping_in(folder: Path, then: str = FINISHED_IS_KEPT) -> Iterator[None]:
    """Convert file errors as :func:`writing_to` does, and leave other exceptions unchanged.

    For work that stores its progress in a folder: other exceptions are not about writing.

    Examples
    --------
    >>> with keeping_in(Path("out")):
    ...     raise RuntimeError("singular matrix")
    Traceback (most recent call last):
    ...
    RuntimeError: singular matrix
    """
    try:
        yield
    except TabSODAError:
        raise
    except Exception as error:
        if not _is_about_files(error):
            raise
        raise write_error(folder, error, then) from error


def write_error(folder: Path, error: Exception, then: str = FINISHED_IS_KEPT) -> TabSODAError:
    """Return the error to raise for an exception, as :func:`writing_to` does.

    A problem with files is an :class:`~tabsoda.errors.InputError`, anything else a
    :class:`~tabsoda.errors.WritingError`.
    """
    cause = system_error(error)
    if cause is None or not _is_about_files(error):
        where = _place(error)
        return WritingError(
            f"The result for '{folder}' cannot be written, and the disk is not the cause:"
            f" {type(error).__name__}: {str(error).rstrip('.')}{where}. This is an error in"
            f" tabsoda; please report it. With a corrected version, {then}."
        )
    found = cause.strerror or str(cause)
    if cause.filename is not None:
        found += f": '{cause.filename}'"
    remedy = "Remove the cause"
    if cause.errno in _NO_ROOM:
        remedy = "Free some disk space"
    elif cause.errno in _NO_PERMISSION:
        remedy = "Change its permissions"
    return InputError(
        f"The folder '{folder}' cannot be written to",
        found=found,
        next_step=f"{remedy}, then {then}",
    )


def system_error(error: BaseException) -> OSError | None:
    """Return the operating system's error behind an exception; None if there is none.

    Examples
    --------
    >>> system_error(RuntimeError("cannot write: No space left on device (os error 28)")).errno
    28
    >>> system_error(TypeError("cannot cast 'Object' type")) is None
    True
    """
    number = _OS_ERROR.search(str(error))
    if number is not None:
        code = int(number.group(1))
        return OSError(code, os.strerror(code))
    return error if isinstance(error, OSError) else None


def _is_about_files(error: Exception) -> bool:
    cause = system_error(error)
    if cause is None or isinstance(cause, _NOT_FILES):
        return False
    return cause.errno not in _NOT_FILES_NUMBERS


def _place(error: Exception) -> str:
    """Return the last line of this package in an exception's traceback, in brackets."""
    package = Path(__file__).parents[1]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if package in Path(frame.filename).parents:
            name = Path(frame.filename).relative_to(package).as_posix()
            return f" ({name}, line {frame.lineno})"
    return ""
