"""Reviewing rules: a local page on which a person approves, rejects or edits routing rules.

Input: a rules file and the survey it belongs to. Output: the same file, signed rule by rule.
"""
