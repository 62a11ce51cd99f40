"""How good is it: hide answers, let methods find them again, score, compare.

Input: a survey and methods. Output: results cell by cell, and the paper's tables made of them.
"""
