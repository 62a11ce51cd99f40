"""Preparation of tables for both engines: modelled columns, scaled numbers, row order.

Input: a CodedTable. Output: plain arrays.
"""
