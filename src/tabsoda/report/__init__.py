"""Stage 8, reporting: what a person needs to see before trusting imputations.

Input: a result, its manifest, its rules, its model. Output: one summary of plain values, which is
the JSON report, and one self-contained page made from nothing but that summary.
"""
