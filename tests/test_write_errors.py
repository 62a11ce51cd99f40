"""What stops a result from being written: files and the rest, each by its own cause."""

import errno
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import save_file

from tabsoda._internal.files import write_parquet
from tabsoda._internal.write_errors import keeping_in, write_error, writing_to
from tabsoda.errors import InputError, WritingError

FRAME = pl.DataFrame({"a": range(5000)})


def full_disk():
    # The words of polars.
    raise pl.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (lambda place: full_disk(), "No space left on device"),
        (lambda place: FRAME.write_parquet(place / "x.parquet"), "Not a directory"),
        (lambda place: write_parquet(place / "x.parquet", FRAME), "Not a directory"),
        (lambda place: save_file({"a": torch.zeros(9)}, place / "x"), "Not a directory"),
        (lambda place: (place / "x").mkdir(), "Not a directory"),
    ],
)
def test_problems_with_files_are_those_of_the_system(write, found, tmp_path):
    # A file in place of a folder stops root, too.
    (tmp_path / "file").write_text("")
    for guard in (writing_to, keeping_in):
        with pytest.raises(InputError) as caught, guard(tmp_path):
            write(tmp_path / "file")
        assert caught.value.problem == f"The folder '{tmp_path}' cannot be written to"
        assert caught.value.found.startswith(found)


def test_room_and_permissions_have_their_own_remedy():
    def remedy(number):
        return write_error(Path("out"), OSError(number, "why")).next_step.split(",")[0]

    assert remedy(errno.ENOSPC) == remedy(errno.EDQUOT) == "Free some disk space"
    assert remedy(errno.EROFS) == remedy(errno.EACCES) == "Change its permissions"
    assert remedy(errno.EIO) == "Remove the cause"


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.ComputeError("cannot cast 'Object' type"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        TimeoutError("a worker did not answer"),
    ],
)
def test_the_disk_is_not_blamed_for_anything_else(error, tmp_path):
    with pytest.raises(WritingError) as caught, writing_to(tmp_path):
        raise error
    assert caught.value.exit_code == 1
    assert f"{type(error).__name__}: {error}" in str(caught.value)
    # While computing, such an exception is not about writing at all.
    with pytest.raises(type(error)), keeping_in(tmp_path):
        raise error
