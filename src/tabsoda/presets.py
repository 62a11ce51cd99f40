"""The named starting points of the settings: the paper's two, and one for a laptop.

Each lists what differs from the defaults in :mod:`tabsoda.settings`, by group.
"""

from __future__ import annotations

from typing import Any

# What the paper does wherever its appendix and its table leave no choice.
_PAPER: dict[str, dict[str, Any]] = {
    "encoding": {"shared_cutpoints": True},
    "training": {"conditioning": "noisy"},
    "loss": {"reduction": "sum"},
    "sampler": {"inner_decode": "mode"},
    "temperature": {"grid": (0.5, 0.7, 1.0, 1.4, 2.0)},
}

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "path": {
        **_PAPER,
        "encoding": {"shared_cutpoints": True, "standardizer_refresh": "each_round"},
        "sampler": {
            "inner_decode": "mode",
            "refresh_cycles": 4,
            "noise_max": 20.0,
            "block_rows": 32768,
        },
    },
    "nsduh": {
        **_PAPER,
        "encoding": {"shared_cutpoints": True, "standardizer_refresh": "once"},
        "backbone": {"width": 512},
        "training": {
            "conditioning": "noisy",
            "learning_rate": 5e-5,
            "calibration_learning_rate": 5e-4,
        },
        "sampler": {
            "inner_decode": "mode",
            "refresh_cycles": 1,
            "noise_max": 5.0,
            "block_rows": 32768,
        },
    },
    # For a laptop: visible cells enter clean, so few steps and chains are enough.
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
