"""Recognises scales (agreement, frequency, bands of numbers, ...) by the labels of their levels.

Input: labels of the levels in the order of their codes. Output: where each level lies on a scale,
and whether the codes follow it. The word lists are in ``words``, one TOML file per language.
"""

from tabsoda.schema.scales.recognition import Scale, recognize_scale

__all__ = ["Scale", "recognize_scale"]
