"""The default engine: a network, boosted trees and regressions, blended and calibrated.

Each of the three is a :class:`~tabsoda.engine.predictor.Predictor`: it is fitted to the visible
answers of a table and returns probabilities of levels and expected numbers for missing cells. The
blend is chosen on held-out answers (:mod:`tabsoda.engine.blend`); draws come from the network and
are redrawn from the regressions (:mod:`tabsoda.engine.draws`).
"""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
