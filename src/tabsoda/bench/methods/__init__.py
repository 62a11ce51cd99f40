"""Imputation methods to compare with TabSODA, all with the same interface.

Input: a CodedTable with missing cells. Output: an estimate for each of them.
"""
