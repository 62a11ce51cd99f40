"""Recognise scales (agreement, frequency, bands of numbers, ...) from the labels of levels."""

from tabsoda.schema.scales.recognition import Scale, recognize_scale

__all__ = ["Scale", "recognize_scale"]
