"""The three qualities of the default engine.

Each lists what differs from the defaults in :mod:`tabsoda.setting_groups`, by group. What the size
of a table changes is in :mod:`tabsoda.quality`.
"""

from __future__ import annotations

from typing import Any

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
}
