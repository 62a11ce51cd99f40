"""Samples the rows that a model is fitted on."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tabsoda._internal.randomness import numpy_generator, row_hashes
from tabsoda.scale.parquet_rows import ParquetRows


def sample_positions(
    source: ParquetRows, count: int, shard_rows: int, seed: int
) -> NDArray[np.int64]:
    """Sample rows by a hash of their content, independent of their order and of the shards.

    Rows that are equal in every column have equal hashes, so it does not matter which of them is
    taken.

    Parameters
    ----------
    source : ParquetRows
    count : int
        Size of the sample; all rows if there are fewer.
    shard_rows : int
        Rows read at a time.
    seed : int

    Returns
    -------
    ndarray of int64
        Positions, increasing.
    """
    if source.n_rows <= count:
        return np.arange(source.n_rows)
    hashes = np.concatenate(
        [raw_hashes(source.read(shard), seed) for shard in source.shards(shard_rows)]
    )
    return np.sort(np.argpartition(hashes, count - 1)[:count])


def raw_hashes(frame: pl.DataFrame, seed: int) -> NDArray[np.uint64]:
    """Hash each row of a frame as published; the same on every machine.

    Examples
    --------
    >>> first, second = raw_hashes(pl.DataFrame({"a": [1, 2], "b": ["x", None]}), 0)
    >>> bool(first != second)
    True
    """
    # Sorted, so that the hashes do not depend on the order of the columns.
    columns = [_as_numbers(frame[name]) for name in sorted(frame.columns)]
    salt = numpy_generator(seed, "fit rows").integers(2**52)
    values = np.column_stack([np.full(frame.height, float(salt)), *columns])
    return row_hashes(values, np.isnan(values).astype(np.uint8))


def _as_numbers(series: pl.Series) -> NDArray[np.float64]:
    """Return numbers unchanged and anything else as a 52-bit hash; NaN for null."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.cast(pl.Float64).to_numpy()
    texts = series.cast(pl.String)
    distinct = texts.drop_nulls().unique()
    numbers = [float(_text_number(text)) for text in distinct]
    return texts.replace_strict(distinct, numbers, default=None, return_dtype=pl.Float64).to_numpy()


def _text_number(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 12
