"""The program that reads files whose readers can crash, run in a process of its own.

It imports nothing of this package, so that it starts quickly and is run by its path. It receives
one line of JSON on stdin and answers on stdout: the length of a JSON text in eight bytes, the text,
the table as an Arrow stream. An answer that is not complete means that the reader crashed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

LENGTH_BYTES = 8
# pyreadstat cannot read user-missing values in these two.
WITHOUT_USER_MISSING = (".por", ".xpt")
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
ENDINGS = tuple(_READERS)
# The error of readstat if a file's texts are not in the encoding it declares. Converters write
# such files, as do versions of Stata before 14, which did not declare one.
_BAD_ENCODING = "requested encoding"
# The strictest first: Latin-1 has a character for every byte, so it never fails.
_OTHER_ENCODINGS = ("UTF-8", "WINDOWS-1252", "LATIN1")


def read_statistics_file(path: str) -> tuple[dict[str, Any], Any]:
    """Read an SPSS, Stata or SAS file.

    Returns
    -------
    dict
        Ready for JSON: the number of rows, one entry per column, and ``encoding``, which is None
        if the declared one was used.
    polars.DataFrame
        Columns ``v0``, ``v1``, ... with the values, and ``t0``, ``t1``, ... with the letters
        (``".a"``) of those that contain lettered missing values, which are null in the values.
    """
    import polars as pl
    import pyreadstat

    ending = Path(path).suffix.lower()
    # The pandas output of pyreadstat 1.3.7 turns Stata's system-missing into 0 in integer columns
    # that also contain lettered missings.
    options: dict[str, Any] = {"output_format": "dict"}
    if ending not in WITHOUT_USER_MISSING:
        options["user_missing"] = True
    content, metadata, encoding = _read(getattr(pyreadstat, _READERS[ending]), path, options)
    series, columns = [], []
    for position, name in enumerate(metadata.column_names):
        is_text = metadata.readstat_variable_types.get(name) == "string"
        values = content[name]
        if not is_text and any(isinstance(value, str) for value in values):
            letters = [f".{value.lower()}" if isinstance(value, str) else None for value in values]
            values = [None if isinstance(value, str) else value for value in values]
            series.append(pl.Series(f"t{position}", letters, dtype=pl.String))
        series.append(_series(f"v{position}", values, is_text))
        columns.append(_described(name, metadata, is_text))
    described = {"rows": metadata.number_rows or 0, "columns": columns, "encoding": encoding}
    return described, pl.DataFrame(series)


def read_names(path: str) -> tuple[dict[str, Any], None]:
    """Return the names of the columns of an SPSS, Stata or SAS file."""
    import pyreadstat

    reader = getattr(pyreadstat, _READERS[Path(path).suffix.lower()])
    return {"names": list(_read(reader, path, {"metadataonly": True})[1].column_names)}, None


def _read(reader: Any, path: str, options: dict[str, Any]) -> tuple[Any, Any, str | None]:
    """Read a file in the encoding it declares, or in another if its texts contradict that."""
    from pyreadstat import ReadstatError

    try:
        return *reader(path, **options), None
    except (ReadstatError, UnicodeDecodeError) as error:
        if isinstance(error, ReadstatError) and _BAD_ENCODING not in str(error):
            raise
        declared = error
    for encoding in _OTHER_ENCODINGS:
        try:
            return *reader(path, encoding=encoding, **options), encoding
        except (ReadstatError, UnicodeDecodeError):
            continue
    raise declared


def _series(name: str, values: list[Any], is_text: bool) -> Any:
    """Build a column; whole numbers that SPSS stores as floats stay floats, as published."""
    import polars as pl

    if is_text:
        return pl.Series(name, values, dtype=pl.String)
    types = {type(value) for value in values if value is not None}
    if not types:
        return pl.Series(name, values, dtype=pl.Float64)
    # The first values may be integers and later ones not: let polars infer from all.
    return pl.Series(name, values, strict=len(types) == 1)


def _described(name: str, metadata: Any, is_text: bool) -> dict[str, Any]:
    """Return the metadata of a column, ready for JSON; labels as pairs, as codes are numbers."""
    return {
        "name": name,
        "is_text": is_text,
        "label": metadata.column_names_to_labels.get(name) or "",
        "measure": metadata.variable_measure.get(name, "unknown"),
        "labels": list(metadata.variable_value_labels.get(name, {}).items()),
        "missing": [(e["lo"], e["hi"]) for e in metadata.missing_ranges.get(name, [])],
        "letters": [str(letter) for letter in metadata.missing_user_values.get(name, [])],
    }


def check_parquet(path: str) -> tuple[dict[str, Any], None]:
    """Decode a whole Parquet file; a damaged one can make the library panic or abort."""
    import polars as pl

    pl.read_parquet(path, glob=False)
    return {}, None


def check_excel(path: str) -> tuple[dict[str, Any], None]:
    """Decode all sheets of an Excel workbook."""
    import fastexcel

    workbook = fastexcel.read_excel(path)
    for sheet in workbook.sheet_names:
        workbook.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    return {}, None


_TASKS = {
    "statistics": read_statistics_file,
    "names": read_names,
    "parquet": check_parquet,
    "excel": check_excel,
}


def limit(seconds: int, n_bytes: int | None) -> None:
    """Limit the processor time of this process, and its memory to what it has plus some bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_CPU, seconds)
    if n_bytes is not None:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + n_bytes)


def _lower(which: int, value: int) -> None:
    import resource

    _, most = resource.getrlimit(which)
    if most != resource.RLIM_INFINITY:
        value = min(value, most)
    resource.setrlimit(which, (value, most))


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Read a file; failures are part of the answer."""
    try:
        return _TASKS[request["task"]](request["path"])
    except MemoryError:
        return {"failed": "memory"}, None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of polars is not an Exception
        lines = str(error).splitlines()
        return {"failed": lines[0] if lines else type(error).__name__}, None


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = request["sys_path"]
    # Libraries may print; that must not get into the answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _import(request["task"])
    limit(request["seconds"], request["bytes"])
    write_answer(out, *answer(request))


def _import(task: str) -> None:
    """Load the libraries before memory is limited to that of the file."""
    import polars  # noqa: F401

    if task in ("statistics", "names"):
        import pyreadstat  # noqa: F401
    if task == "excel":
        import fastexcel  # noqa: F401


def write_answer(out: BinaryIO, described: dict[str, Any], table: Any) -> None:
    """Write the answer in the form that the module's docstring describes."""
    text = json.dumps(described).encode("ascii")
    out.write(len(text).to_bytes(LENGTH_BYTES, "little"))
    out.write(text)
    if table is not None:
        table.write_ipc_stream(out)
    out.flush()


if __name__ == "__main__":
    main()
