"""Stage 3, states: answered, missing or skipped.

Input: a table, its description, and a codebook mask, skip codes or rules.
Output: :class:`CellStates`, one state per cell with its reason.
"""

from tabsoda.states.cell_states import REASONS, CellState, CellStates, reason_code

__all__ = ["REASONS", "CellState", "CellStates", "reason_code"]
