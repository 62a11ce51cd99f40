"""Cell states: each cell is answered, missing or skipped, with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tabsoda.errors import InputError
from tabsoda.schema.column import Reason


class CellState(IntEnum):
    """The three states, numbered as in Eq. (1) of the paper."""

    ANSWERED = 0
    MISSING = 1
    SKIPPED = 2


# The order fixes the integers stored per cell; 0 is reserved for "answered".
REASONS: tuple[Reason, ...] = tuple(Reason)
_REASON_CODE = {reason: number + 1 for number, reason in enumerate(REASONS)}


@dataclass(frozen=True, eq=False)
class CellStates:
    """One state per cell of a table, and why a cell has no answer.

    Build it with :meth:`from_masks`; the arrays are read-only afterwards.

    Attributes
    ----------
    states : ndarray of uint8, shape (n_rows, n_columns)
        Values of :class:`CellState`.
    reasons : ndarray of uint8, shape (n_rows, n_columns)
        0 where answered, else 1 + the position in :data:`REASONS`.
    names : tuple of str
        Column names.

    Examples
    --------
    >>> import numpy as np
    >>> states = CellStates.from_masks(np.array([[True, False, False]]),
    ...                                np.array([[False, False, True]]), ("a", "b", "c"))
    >>> states.states.tolist()
    [[0, 1, 2]]
    >>> states.reason_of(0, "b").value
    'blank'
    """

    states: NDArray[np.uint8]
    reasons: NDArray[np.uint8]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.states.shape != self.reasons.shape or self.states.shape[1] != len(self.names):
            raise InputError(
                "The cell states do not match the table",
                found=f"states {self.states.shape}, reasons {self.reasons.shape}",
                expected=f"two arrays with {len(self.names)} columns",
            )
        if self.states.size and int(self.states.max()) > CellState.SKIPPED:
            raise InputError(
                "The cell states contain an unknown value",
                found=str(int(self.states.max())),
                expected="0 answered, 1 missing, 2 skipped",
            )
        is_skip = self.reasons == _REASON_CODE[Reason.SKIP]
        if not np.array_equal(self.states == CellState.SKIPPED, is_skip) or not np.array_equal(
            self.states == CellState.ANSWERED, self.reasons == 0
        ):
            raise InputError("The reasons contradict the cell states")
        for array in (self.states, self.reasons):
            array.setflags(write=False)

    @classmethod
    def from_masks(
        cls,
        answered: NDArray[np.bool_],
        skipped: NDArray[np.bool_],
        names: tuple[str, ...],
        reasons: NDArray[np.uint8] | None = None,
    ) -> CellStates:
        """Combine an answered mask and a skip mask; all other cells are missing.

        Parameters
        ----------
        answered, skipped : ndarray of bool, shape (n_rows, n_columns)
        names : tuple of str
        reasons : ndarray of uint8, optional
            Known reasons (see :func:`reason_code`); the others become ``blank``.
        """
        answered = np.asarray(answered, dtype=bool)
        skipped = np.asarray(skipped, dtype=bool)
        if answered.shape != skipped.shape:
            raise InputError(
                "The skip mask does not have the shape of the table",
                found=f"{skipped.shape[0]} rows x {skipped.shape[1]} columns",
                expected=f"{answered.shape[0]} rows x {answered.shape[1]} columns",
                next_step="Make the mask from the same file, with the same rows and columns",
            )
        both = answered & skipped
        if both.any():
            row, position = np.argwhere(both)[0]
            raise InputError(
                "is answered in a cell that the skip mask marks as skipped",
                column=names[position],
                found=f"{int(both[:, position].sum())} such cells, the first in row {row + 1}",
                expected="skips on blank cells only",
                next_step="Correct the mask, or list the value as a skip code",
            )
        states = np.where(answered, CellState.ANSWERED, CellState.MISSING).astype(np.uint8)
        states[skipped] = CellState.SKIPPED
        known = np.zeros_like(states) if reasons is None else reasons.astype(np.uint8).copy()
        known[answered] = 0
        lost = (states == CellState.MISSING) & ((known == 0) | (known == _REASON_CODE[Reason.SKIP]))
        known[lost] = _REASON_CODE[Reason.BLANK]
        known[skipped] = _REASON_CODE[Reason.SKIP]
        return cls(states, known, tuple(names))

    @classmethod
    def from_reasons(cls, reasons: NDArray[np.uint8], names: tuple[str, ...]) -> CellStates:
        """Build states from reasons, 0 where a cell is answered; shape (n_rows, n_columns).

        Examples
        --------
        >>> codes = np.array([[0, reason_code(Reason.SKIP), reason_code(Reason.REFUSED)]], np.uint8)
        >>> CellStates.from_reasons(codes, ("a", "b", "c")).states.tolist()
        [[0, 2, 1]]
        """
        return cls.from_masks(reasons == 0, reasons == _REASON_CODE[Reason.SKIP], names, reasons)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.states.shape[0], self.states.shape[1]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Cells with an answer (R in the paper)."""
        return self.states == CellState.ANSWERED

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Cells to impute (T in the paper)."""
        return self.states == CellState.MISSING

    @property
    def skipped(self) -> NDArray[np.bool_]:
        """Cells that the questionnaire skipped (S in the paper)."""
        return self.states == CellState.SKIPPED

    def reason_of(self, row: int, name: str) -> Reason | None:
        """Return why a cell has no answer; None if it has one."""
        code = int(self.reasons[row, self.names.index(name)])
        return REASONS[code - 1] if code else None

    def with_skips(self, skipped: NDArray[np.bool_]) -> CellStates:
        """Return new states with exactly these cells skipped; none of them may be answered."""
        return CellStates.from_masks(self.answered, skipped, self.names, self.reasons)

    def hide(self, hidden: NDArray[np.bool_]) -> CellStates:
        """Return new states in which these answered cells are missing (for evaluation)."""
        return CellStates.from_masks(
            self.answered & ~hidden, self.skipped, self.names, self.reasons
        )

    def select(self, names: tuple[str, ...]) -> CellStates:
        """Keep the named columns, in the order given."""
        positions = [self.names.index(name) for name in names]
        return CellStates(
            self.states[:, positions].copy(), self.reasons[:, positions].copy(), tuple(names)
        )

    def rows(self, index: NDArray[np.intp]) -> CellStates:
        """Keep the given rows, in the order given."""
        return CellStates(self.states[index].copy(), self.reasons[index].copy(), self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellStates):
            return NotImplemented
        return (
            self.names == other.names
            and np.array_equal(self.states, other.states)
            and np.array_equal(self.reasons, other.reasons)
        )

    __hash__ = None  # type: ignore[assignment]


def reason_code(reason: Reason) -> int:
    """Return the integer stored in :attr:`CellStates.reasons` for a reason."""
    return _REASON_CODE[reason]
