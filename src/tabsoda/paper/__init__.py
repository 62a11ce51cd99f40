"""TabSODA as published: EM with a diffusion model of the encoded rows, aware of skips and order.

In the order of the paper:

- ``settings``, ``presets``: the hyperparameter table
- ``bits``, ``latents``, ``cutpoints``, ``ordinal_route``, ``layout``, ``codec``, ``decoding``:
  answers as coordinates, and back
- ``standardizer``, ``noise``, ``network``, ``denoiser``: the diffusion model
- ``losses``, ``objective``: the objective of the M-step
- ``reverse_sampler``, ``reverse_process``, ``captured_step``: the reverse process
- ``working_table``, ``model``, ``training_batch``, ``held_out_loss``, ``calibration``, ``m_step``
- ``e_step``, ``em``, ``temperatures``: Algorithm 1
- ``fit``, ``engine``, ``files``, ``checkpoint``: the engine that the imputer runs

``docs/paper_to_code.md`` names the function of every equation.
"""

from tabsoda._internal.threads import load_torch

# Before any module of this package imports torch.
load_torch()
