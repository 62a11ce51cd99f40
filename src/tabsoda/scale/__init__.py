"""Tables larger than memory: imputing in shards of rows, and training in several processes.

Input: a Parquet file of any length. Output: sharded tables, the same imputations as from one call.
"""

from tabsoda.scale.imputing import impute_shards

__all__ = ["impute_shards"]
