"""How good imputations of a user's own survey would be.

Input: a table and methods. Output: hidden answers found again or not, question by question, with
a verdict in words, a table, a picture and JSON.
"""
