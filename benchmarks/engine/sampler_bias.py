"""How far the paper's way of mixing answers into the reverse process is from the regression.

With normal data the denoiser is known exactly and every step is linear, so mean and variance of
what the sampler draws follow by arithmetic; nothing is simulated. Writes one JSON file:

    python benchmarks/engine/sampler_bias.py benchmarks/engine/sampler_bias.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from tabsoda.paper.reverse_sampler import reverse_levels
from tabsoda.paper.settings import SamplerSettings

# Four coordinates of standard deviation 0.5; the first and third are seen, the others drawn.
CORRELATION = np.array(
    [[1, 0.8, 0.3, 0.5], [0.8, 1, 0.2, 0.4], [0.3, 0.2, 1, 0.6], [0.5, 0.4, 0.6, 1]]
)
COVARIANCE = 0.25 * CORRELATION
VISIBLE, HIDDEN = [0, 2], [1, 3]
OBSERVED = np.array([0.6, -0.4])

CASES = (
    {"refresh_cycles": 1, "churn": 0.0, "steps": 50},
    {"refresh_cycles": 4, "churn": 0.0, "steps": 50},
    {"refresh_cycles": 20, "churn": 0.0, "steps": 50},
    {"refresh_cycles": 64, "churn": 0.0, "steps": 50},
    {"refresh_cycles": 1, "churn": 0.0, "steps": 4000},
    {"refresh_cycles": 1, "churn": 4000.0, "steps": 4000},
)


def gain(covariance: np.ndarray, noise: float) -> np.ndarray:
    """Return the matrix of the exact denoiser E[z | z + noise]."""
    return covariance @ np.linalg.inv(covariance + noise**2 * np.eye(len(covariance)))


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the hidden coordinates given the visible ones."""
    slope = COVARIANCE[np.ix_(HIDDEN, VISIBLE)] @ np.linalg.inv(
        COVARIANCE[np.ix_(VISIBLE, VISIBLE)]
    )
    spread = COVARIANCE[np.ix_(HIDDEN, HIDDEN)] - slope @ COVARIANCE[np.ix_(VISIBLE, HIDDEN)]
    return slope @ OBSERVED, spread


def heun(covariance: np.ndarray, before: float, after: float) -> np.ndarray:
    """Return the matrix of one Heun step for deviations from the mean; Euler where it ends at 0."""
    eye = np.eye(len(covariance))
    first = (eye - gain(covariance, before)) / before
    move = eye + (after - before) * first
    if after == 0:
        return move
    second = (eye - gain(covariance, after)) / after @ move
    return eye + (after - before) / 2 * (first + second)


def mixed(settings: SamplerSettings) -> tuple[np.ndarray, np.ndarray]:
    """Carry mean and covariance through the paper's steps: visible entries noised and mixed in."""
    keep = np.diag([float(i in HIDDEN) for i in range(4)])
    known = np.zeros(4)
    known[VISIBLE] = OBSERVED
    mean, covariance = known.copy(), settings.noise_max**2 * np.eye(4)
    for before, after, churn, renoise in reverse_levels(settings).double().tolist():
        covariance = covariance + churn**2 * np.eye(4)
        move = keep @ heun(COVARIANCE, before, after)
        mean = move @ mean + (np.eye(4) - keep) @ known
        covariance = move @ covariance @ move.T + after**2 * (np.eye(4) - keep)
        covariance = covariance + renoise**2 * np.eye(4)
    return mean[HIDDEN], covariance[np.ix_(HIDDEN, HIDDEN)]


def clean(settings: SamplerSettings) -> tuple[np.ndarray, np.ndarray]:
    """Do the same with visible entries as they are, and the denoiser that knows them."""
    target, spread = regression()
    mean, covariance = np.zeros(2), settings.noise_max**2 * np.eye(2)
    for before, after, churn, renoise in reverse_levels(settings).double().tolist():
        covariance = covariance + churn**2 * np.eye(2)
        move = heun(spread, before, after)
        mean = target + move @ (mean - target)
        covariance = move @ covariance @ move.T + renoise**2 * np.eye(2)
    return mean, covariance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    target, spread = regression()
    rows = []
    for way, moments in (("mixed", mixed), ("clean", clean)):
        for case in CASES if way == "mixed" else CASES[:1]:
            mean, covariance = moments(SamplerSettings(**case))
            rows.append({"way": way, **case, "mean": mean[0], "variance": covariance[0, 0]})
    result = {
        "observed": OBSERVED.tolist(),
        "correlation": CORRELATION.tolist(),
        "regression": {"mean": target[0], "variance": spread[0, 0]},
        "sampled": rows,
    }
    options.result.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result["regression"]), *map(json.dumps, rows), sep="\n")


if __name__ == "__main__":
    main()
