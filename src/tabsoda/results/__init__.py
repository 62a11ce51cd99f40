"""Stage 7, results: the observed table once, plus the imputed cells of every draw.

Input: draws of the missing cells. Output: completed tables, point estimates.
"""

from tabsoda.imputed_cells import ImputedCells
from tabsoda.results.imputations import Imputations

__all__ = ["Imputations", "ImputedCells"]
