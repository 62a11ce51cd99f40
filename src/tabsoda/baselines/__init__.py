"""What people would use instead: every system of the paper's tables behind one contract.

Input: a CodedTable with missing cells. Output: an estimate for each of them.
"""
