"""Stage 5, encode: answers to coordinates and back.

Input: a CodedTable. Output: an encoded table of p coordinates, with the masks widened to match.
Encoder and decoder of a kind stand side by side, because they share codewords and cutpoints.
"""
