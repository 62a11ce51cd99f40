"""Edits: rules that the answers of a respondent satisfy together, and derived variables.

Input: a description with bounds, edits and formulas. Output: which answers violate them, repaired
draws, computed variables and proposals for more.
"""
