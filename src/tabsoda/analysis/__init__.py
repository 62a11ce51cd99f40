"""Stage 8, analysis: pools the analyses of all completed tables.

Input: imputations and what to estimate. Output: pooled estimates with confidence intervals.
"""

from tabsoda.analysis.crosstab import PooledTable, pooled_table
from tabsoda.analysis.estimates import pooled_mean, pooled_proportions, pooled_ratio, pooled_total
from tabsoda.analysis.groups import PooledGroups, pooled_by
from tabsoda.analysis.models import pooled_model
from tabsoda.analysis.pooled import PooledEstimates, WaldTest
from tabsoda.analysis.pooling import pool
from tabsoda.analysis.quantiles import pooled_median, pooled_quantile
from tabsoda.analysis.replicates import ReplicateWeights
from tabsoda.analysis.rows import RowCounts
from tabsoda.analysis.sample_design import SampleDesign
from tabsoda.analysis.sensitivity_analysis import (
    Sensitivity,
    SensitivityPoint,
    TippingPoint,
    sensitivity,
)
from tabsoda.analysis.shifts import Shift
from tabsoda.analysis.terms import TermLabel
from tabsoda.errors import InteractionWarning

__all__ = [
    "InteractionWarning",
    "PooledEstimates",
    "PooledGroups",
    "PooledTable",
    "ReplicateWeights",
    "RowCounts",
    "SampleDesign",
    "Sensitivity",
    "SensitivityPoint",
    "Shift",
    "TermLabel",
    "TippingPoint",
    "WaldTest",
    "pool",
    "pooled_by",
    "pooled_mean",
    "pooled_median",
    "pooled_model",
    "pooled_proportions",
    "pooled_quantile",
    "pooled_ratio",
    "pooled_table",
    "pooled_total",
    "sensitivity",
]
