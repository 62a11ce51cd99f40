"""The named starting points of the settings: three qualities, the paper's two, and a plain one.

Each lists what differs from the defaults in :mod:`tabsoda.setting_groups`, by group. What the size
of a table changes is in :mod:`tabsoda.quality`.
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

# The default engine: answers enter as learned vectors and leave through decoder heads. Chosen on
# three surveys, confirmed on three others (docs/decisions/0006).
_ANSWERING: dict[str, dict[str, Any]] = {
    "encoding": {"continuous": "normal_score"},
    "noise": {"top_share": 0.75},
    "backbone": {"name": "embedding", "width": 192, "depth": 2, "dropout": 0.35},
    "loss": {"reconstruction": 0.2, "ranked_probability": 0.5, "bins": 0.3, "balance": "root"},
    "training": {
        "conditioning": "clean",
        "hiding": "mixed",
        "hidden_share": 0.8,
        "batch_size": 512,
        "max_steps": 1000,
        "min_epoch_steps": 50,
        "learning_rate": 1.5e-3,
        "weight_decay": 0.02,
        "schedule": "cosine",
        "average_decay": 0.99,
        "low_noise_pass": False,
        "monitor": "held_out",
        "patience": 6,
    },
    "sampler": {"steps": 20, "noise_max": 20.0, "point": "one_pass", "draws": "refitted"},
    "em": {"rounds": 1, "min_rounds": 1},
    "temperature": {"held_out_share": 0.05},
    "experts": {"trees": "full"},
    "regressions": {"sets": 10, "point_sets": 5},
}


def _changed(
    base: dict[str, dict[str, Any]], **changes: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    return {group: {**base.get(group, {}), **changes.get(group, {})} for group in base | changes}


PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "fast": _changed(
        _ANSWERING,
        backbone={"width": 128, "depth": 1},
        training={"batch_size": 256, "max_steps": 400, "learning_rate": 2e-3},
        experts={"trees": "quick"},
        regressions={"rounds": 2, "point_sets": 3, "max_questions": 16},
    ),
    "balanced": _ANSWERING,
    "best": _changed(
        _ANSWERING,
        backbone={"name": "tokens", "width": 96, "depth": 2, "dropout": 0.15},
        loss={"ranked_probability": 1.0, "bins": 0.2},
        training={"max_steps": 2000, "learning_rate": 2e-3, "weight_decay": 0.1},
    ),
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
    # The paper's network with visible cells clean, so that few steps and one pass are enough.
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
