"""Stage 6b, EM: train the denoiser on the completed table, then complete the table with it.

Input: an encoded table with masks. Output: a trained denoiser and the last completed table.
"""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
