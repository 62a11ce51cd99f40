"""Regressions between questions, fitted to completed tables: for draws, and for estimates.

A network that predicts single cells best shrinks how answers go together. A regression of each
question on the others, its coefficients drawn anew for every set, does not (decision 8).
"""

from tabsoda.regressions.chained_regressions import ChainedRegressions

__all__ = ["ChainedRegressions"]
