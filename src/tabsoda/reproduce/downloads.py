"""Find a survey's data file among files, folders and ZIP archives as they were downloaded."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from tabsoda.datasets.published_file import read_published
from tabsoda.errors import InputError
from tabsoda.reading.files import ENDINGS, column_names
from tabsoda.reading.raw import RawTable
from tabsoda.reproduce.sources import SOURCES, Source

_CODEBOOK = ".xml"
_ARCHIVE = ".zip"
# Which of several files with the same variables is read: labels first.
_PREFERRED = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".por")


def read_download(source: Source, given: Sequence[Path], codebook: Path | None = None) -> RawTable:
    """Read the data file of a survey.

    Parameters
    ----------
    source : Source
    given : sequence of Path
        Files, folders and ZIP archives. The file with most of the survey's listed variables is
        read; among equals, one with labels.
    codebook : Path, optional
        By default a DDI codebook (.xml) among the files, if there is one.

    Returns
    -------
    RawTable
    """
    if not given:
        raise InputError(
            "No file was given",
            expected=f"the file of {source.published.title}, its folder or its ZIP archive",
            next_step=source.published.where,
        )
    with _unpacked(source, given) as files:
        data = [path for path in files if path.suffix.lower() != _CODEBOOK]
        books = [path for path in files if path.suffix.lower() == _CODEBOOK]
        return read_published(_best(source, data, given), codebook or (books[0] if books else None))


@contextmanager
def _unpacked(source: Source, given: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the data files and codebooks; those of archives are unpacked for the time being."""
    with tempfile.TemporaryDirectory() as temporary:
        files: list[Path] = []
        for number, path in enumerate(given):
            if not path.exists():
                raise InputError(
                    f"'{path}' does not exist",
                    expected=f"the file of {source.published.title}",
                    next_step=f"Check the path. {source.published.where}",
                )
            if path.is_dir():
                found = sorted(one for one in path.rglob("*") if one.is_file())
                files += _own(source, found)
                for archive in (one for one in found if one.suffix.lower() == _ARCHIVE):
                    files += _members(source, archive, Path(temporary) / f"{number}-{archive.name}")
            elif path.suffix.lower() == _ARCHIVE:
                files += _members(source, path, Path(temporary) / str(number))
            else:
                files.append(path)
        yield files


def _own(source: Source, found: Sequence[Path]) -> list[Path]:
    """Return the files that can be data or a codebook; those of the survey's name, if any."""
    readable = [path for path in found if path.suffix.lower() in (*ENDINGS, _CODEBOOK)]
    named = [path for path in readable if source.file_name.search(path.name)]
    return named or readable


def _members(source: Source, archive: Path, folder: Path) -> list[Path]:
    try:
        with ZipFile(archive) as opened:
            names = [name for name in opened.namelist() if not name.endswith("/")]
            wanted = {str(path) for path in _own(source, [Path(name) for name in names])}
            return [Path(opened.extract(n, folder)) for n in names if str(Path(n)) in wanted]
    except BadZipFile as error:
        raise InputError(
            f"The archive '{archive.name}' cannot be opened",
            found=str(error),
            next_step=f"It may be truncated. {source.published.where}",
        ) from error


def _best(source: Source, data: Sequence[Path], given: Sequence[Path]) -> Path:
    """Return the file with most of the listed variables."""
    if not data:
        raise InputError(
            f"There is no data file in '{given[0]}'",
            expected=f"the file of {source.published.title}, as {', '.join(ENDINGS)}",
            next_step=source.published.where,
        )
    if len(data) == 1 and data[0].suffix.lower() not in ENDINGS:
        # The reader says what is wrong with it.
        return data[0]
    names = {path: column_names(path) for path in data if path.suffix.lower() in ENDINGS}
    best = max(names, key=lambda path: (source.count(names[path]), _preference(path)), default=None)
    if best is None or not source.count(names[best]):
        raise _wrong_survey(source, list(data), [n for found in names.values() for n in found])
    return best


def _preference(path: Path) -> int:
    ending = path.suffix.lower()
    return -_PREFERRED.index(ending) if ending in _PREFERRED else -len(_PREFERRED)


def _wrong_survey(source: Source, data: Sequence[Path], names: list[str]) -> InputError:
    others = [one for one in SOURCES.values() if one is not source and one.count(names)]
    wanted = ", ".join(names_of[0] for names_of in source.listed[:3])
    found = f"{len(names)} columns, such as {', '.join(names[:3])}" if names else "no columns"
    next_step = source.published.where
    if others:
        found = f"variables of {others[0].published.title}"
        next_step = f"Use `tabsoda reproduce {others[0].name}` for it. {next_step}"
    files = f"The file '{data[0].name}' has" if len(data) == 1 else f"The {len(data)} files have"
    return InputError(
        f"{files} none of the variables of {source.published.title}",
        found=found,
        expected=f"{wanted} and others",
        next_step=next_step,
    )
