"""Stage 9, exchange: exports all draws to files for other programs.

Input: imputations. Output: a folder with data, labels, reasons and a short script.
"""

from tabsoda.exchange.exporting import TARGETS, export

__all__ = ["TARGETS", "export"]
