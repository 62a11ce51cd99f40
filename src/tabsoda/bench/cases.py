"""A survey prepared for evaluation, in memory and as an ``.npz`` file readable with numpy alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsoda._internal.files import atomic_path
from tabsoda.bench.methods.contract import without_skips
from tabsoda.errors import InputError
from tabsoda.followers import find_followers
from tabsoda.schema.column import Column, ColumnKind
from tabsoda.states.cell_states import CellStates
from tabsoda.table import CodedTable

BoolArray = NDArray[np.bool_]
# Arrays of a packed case: "mined/SCREEN/PRESET OF THE MINER".
_MINED = "mined/"


class Mining(NamedTuple):
    """How skips are mined.

    Attributes
    ----------
    screen : {"purity", "paper"}
    miner : str
        A preset of :class:`tabsoda.MinerSettings`.
    """

    screen: str = "purity"
    miner: str = "default"


@dataclass(frozen=True, eq=False)
class SurveyCase:
    """The data of one survey that every cell of a study needs.

    Attributes
    ----------
    name : str
    table : CodedTable
        With all answers; cells are hidden later.
    followers : ndarray of bool, shape (n_columns, n_columns)
        True at (gate, follower).
    mined : mapping of Mining to ndarray of bool, shape (n_rows, n_columns)
        Skips mined before anything was hidden, for methods that work from mined skips.
    """

    name: str
    table: CodedTable
    followers: BoolArray
    mined: Mapping[Mining, BoolArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        table: CodedTable,
        *,
        followers: BoolArray | None = None,
        mine: Iterable[Mining] = (),
    ) -> SurveyCase:
        """Find the gates of a table and mine its skips, once for each way asked for.

        Parameters
        ----------
        name : str
        table : CodedTable
        followers : ndarray of bool, shape (n_columns, n_columns), optional
            From rules if given; derived from the skip states otherwise.
        mine : iterable of Mining
        """
        if followers is None:
            followers = find_followers(table)
        mined = {mining: mined_skips(table, mining) for mining in mine}
        return cls(name, table, followers, mined)

    @property
    def fingerprint(self) -> str:
        """Short hash of the case's content, so that results are not mixed up."""
        digest = hashlib.sha256()
        for column in self.table.columns:
            digest.update(repr((column.name, column.kind.value, column.levels)).encode())
        for array in (self.table.values, self.table.states.states, self.followers):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


def mined_skips(table: CodedTable, mining: Mining) -> BoolArray:
    """Mine the skips of a table as if none were known, shape (n_rows, n_columns)."""
    from tabsoda.skips.miner import SkipMiner
    from tabsoda.skips.settings import MinerSettings

    miner = SkipMiner(MinerSettings.preset(mining.miner), screen=mining.screen)
    return miner.mine(without_skips(table)).states.skipped


def save_case(case: SurveyCase, path: Path) -> None:
    """Write a case as a compressed ``.npz`` file without pickled objects."""
    columns = [
        {
            "name": column.name,
            "kind": column.kind.value,
            "levels": [_plain(level) for level in column.levels],
        }
        for column in case.table.columns
    ]
    arrays = {
        "name": np.array(case.name),
        "columns": np.array(json.dumps(columns)),
        "values": case.table.values,
        "states": case.table.states.states,
        "reasons": case.table.states.reasons,
        "followers": case.followers,
    }
    arrays |= {_MINED + "/".join(mining): mask for mining, mask in case.mined.items()}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load_case(path: Path) -> SurveyCase:
    """Read a case that :func:`save_case` wrote.

    Examples
    --------
    >>> import tempfile
    >>> from tabsoda.datasets import make_survey
    >>> case = SurveyCase.of("demo", make_survey(n_rows=100, n_columns=12).true_table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_case(case, Path(folder) / "demo.npz")
    ...     load_case(Path(folder) / "demo.npz").fingerprint == case.fingerprint
    True
    """
    if not path.is_file():
        raise InputError(f"The packed survey '{path}' does not exist", next_step="Create it first")
    with np.load(path, allow_pickle=False) as file:
        columns = tuple(
            Column(entry["name"], ColumnKind(entry["kind"]), tuple(entry["levels"]))
            for entry in json.loads(str(file["columns"]))
        )
        names = tuple(column.name for column in columns)
        states = CellStates(file["states"], file["reasons"], names)
        return SurveyCase(
            str(file["name"]),
            CodedTable(columns, file["values"], states),
            file["followers"],
            {
                Mining(*name.removeprefix(_MINED).split("/")): file[name]
                for name in file.files
                if name.startswith(_MINED)
            },
        )


def _plain(level: object) -> object:
    """Return a level as Python's own type, for JSON."""
    return level.item() if isinstance(level, np.generic) else level
