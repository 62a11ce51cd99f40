"""What both engines share: modelled columns, scaled numbers, row order, the loop over draws.

Input: a CodedTable. Output: plain arrays, and the base class of the engines.
"""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
