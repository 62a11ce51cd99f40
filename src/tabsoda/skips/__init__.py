"""Stage 4, skips: mine the routing rules of a questionnaire from its blanks.

Input: a CodedTable whose blanks are not yet explained. Output: a RuleSet and new cell states.
"""
