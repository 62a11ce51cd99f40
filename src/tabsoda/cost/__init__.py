"""Estimates time and memory of a run before it starts: counted work times measured constants."""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
