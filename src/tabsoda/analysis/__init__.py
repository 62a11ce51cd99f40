"""Stage 8, analysis: one estimate from the analyses of all completed tables.

Input: imputations and what to estimate. Output: pooled estimates with honest intervals.
"""

from tabsoda.analysis.estimates import pooled_mean, pooled_proportions, pooled_total
from tabsoda.analysis.models import pooled_model
from tabsoda.analysis.pooled import PooledEstimates, WaldTest
from tabsoda.analysis.pooling import pool
from tabsoda.analysis.replicates import ReplicateWeights

__all__ = [
    "PooledEstimates",
    "ReplicateWeights",
    "WaldTest",
    "pool",
    "pooled_mean",
    "pooled_model",
    "pooled_proportions",
    "pooled_total",
]
