"""The presets: the paper's two columns of hyperparameters, and one for a laptop.

Each lists the differences from the defaults in :mod:`tabsoda.paper.settings`, by group.
"""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "path": {
        "encoding": {"shared_cutpoints": True, "standardizer_refresh": "each_round"},
        "loss": {"reduction": "sum"},
        "training": {
            "conditioning": "noisy",
            # PATH has 32,320 rows, 8 batches: 8,000 steps a round, also on smaller files.
            "min_epoch_steps": 8,
            "whole_passes": False,
            "precision": "float32",
        },
        "sampler": {
            "inner_decode": "mode",
            "refresh_cycles": 4,
            "noise_max": 20.0,
            "block_rows": 32768,
        },
        "temperature": {"grid": (0.5, 0.7, 1.0, 1.4, 2.0)},
    },
    "nsduh": {
        "encoding": {"shared_cutpoints": True, "standardizer_refresh": "once"},
        "backbone": {"width": 512},
        "loss": {"reduction": "sum"},
        "training": {
            "conditioning": "noisy",
            # NSDUH has 58,034 rows, 15 batches: 15,000 steps a round, also on smaller files.
            "min_epoch_steps": 15,
            "whole_passes": False,
            "precision": "float32",
            "learning_rate": 5e-5,
            "calibration_learning_rate": 5e-4,
        },
        "sampler": {
            "inner_decode": "mode",
            "refresh_cycles": 1,
            "noise_max": 5.0,
            "block_rows": 32768,
        },
        "temperature": {"grid": (0.5, 0.7, 1.0, 1.4, 2.0)},
    },
    # The paper's network with clean visible cells, so that few steps and one pass are enough.
    "small": {
        "noise": {"top_share": 0.5},
        "backbone": {"width": 256},
        "training": {
            "conditioning": "clean",
            "batch_size": 512,
            "max_steps": 1500,
            "min_epoch_steps": 25,
            "learning_rate": 1e-3,
            "average_decay": 0.995,
            "low_noise_pass": False,
            "monitor": "held_out",
            "patience": 12,
            "plateau_patience": 6,
        },
        "sampler": {"steps": 20, "noise_max": 20.0, "point": "one_pass"},
        "em": {"rounds": 1, "min_rounds": 1},
        "temperature": {"held_out_share": 0.1},
    },
}
