"""Stage 8, reporting: checks of the imputations, for people to read before they use them.

Input: a result, its manifest, its rules, its model. Output: one summary of plain values (the JSON
report), and one self-contained page made only from that summary.
"""
