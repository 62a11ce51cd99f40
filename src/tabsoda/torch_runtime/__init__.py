"""Training with torch, for both engines: devices, keyed noise, layers and optimiser steps.

Nothing here knows what a survey or a column is.
"""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
