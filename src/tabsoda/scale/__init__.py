"""Beyond one machine's memory or one process: shards of rows, and training side by side.

Input: a Parquet file of any length. Output: sharded tables, the same imputations as from one call.
"""

from tabsoda.scale.imputing import impute_shards

__all__ = ["impute_shards"]
