"""What both engines know about columns: which can be modelled, how numbers are scaled, row order.

Input: a CodedTable. Output: plain arrays.
"""
