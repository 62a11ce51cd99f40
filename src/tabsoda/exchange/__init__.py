"""Stage 9, exchange: all draws as the files that other programs expect.

Input: imputations. Output: a folder with data, labels, reasons and a short script to begin with.
"""

from tabsoda.exchange.exporting import TARGETS, export

__all__ = ["TARGETS", "export"]
