"""The state of every cell: answered, missing or skipped, with the reason."""

from tabsoda.states.cell_states import REASONS, CellState, CellStates, reason_code

__all__ = ["REASONS", "CellState", "CellStates", "reason_code"]
