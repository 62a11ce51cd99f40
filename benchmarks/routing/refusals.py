"""How often refusers of a gate are drawn as "yes", where a follower was asked because they refused.

    python benchmarks/routing/refusals.py [--draws M]

Makes a survey of 1,000: "do you own one?" is refused by 280, and 32 % of all own one. "Why not?" is
asked after "no"; after a refusal it is asked in one run and left out in the others. Writes
refusals.json next to this file: the share drawn as owners, with the routing by the refusal and, for
comparison, with the answer inferred from the follower.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tabsoda import RuleSet, TabSODAImputer
from tabsoda._internal.files import write_json
from tabsoda.routing.reasons import ReasonRouting
from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.states.cell_states import reason_code

HERE = Path(__file__).resolve().parent
N, REFUSERS, OWNERS = 1000, 280, 0.32
YES, NO, REFUSED, SKIP = 1, 2, -7, -1
SETTINGS = {"training": {"max_steps": 100}, "draws": {"steps": 8}}
DESCRIPTION = [
    {"name": "region", "type": "nominal", "levels": [1, 2, 3, 4]},
    {"name": "owner", "type": "nominal", "levels": [YES, NO], "refused_codes": [REFUSED]},
    {"name": "why_not", "type": "nominal", "levels": [1, 2, 3], "skip_codes": [SKIP]},
]


def survey(*, asked: bool, coded: bool) -> tuple[pl.DataFrame, float]:
    """Return the file, and the share of owners among the refusers, whom nobody asked."""
    generator = np.random.default_rng(0)
    truth = np.where(generator.random(N) < OWNERS, YES, NO)
    owner = np.where(np.arange(N) < REFUSERS, REFUSED, truth)
    past = (owner == YES) | ((owner == REFUSED) & (not asked))
    frame = pl.DataFrame({"region": generator.integers(1, 5, N), "owner": owner})
    answers = pl.Series("why_not", generator.integers(1, 4, N))
    why_not = pl.select(pl.when(pl.Series(past)).then(SKIP if coded else None).otherwise(answers))
    return frame.with_columns(why_not.to_series().alias("why_not")), float(
        (truth[:REFUSERS] == YES).mean()
    )


def rules(*, asked: bool) -> RuleSet:
    condition = Condition("owner", (YES,), reasons=() if asked else (Reason.REFUSED,))
    columns = (
        Column("owner", ColumnKind.NOMINAL, (YES, NO)),
        Column("why_not", ColumnKind.NOMINAL, (1, 2, 3)),
    )
    return RuleSet((SkipRule("r1", "why_not", ((condition,),)),), columns).approve()


def share(imputer: TabSODAImputer, frame: pl.DataFrame, draws: int) -> float:
    """Return the share of refusers drawn as owners."""
    result = imputer.impute(frame, m=draws)
    owns = [result.values(number)[:REFUSERS, 1] == 0 for number in range(1, draws + 1)]
    return round(float(np.mean(owns)), 3)


def measure(*, asked: bool, coded: bool, draws: int) -> dict[str, Any]:
    frame, true = survey(asked=asked, coded=coded)
    imputer = TabSODAImputer(
        settings=SETTINGS, description=DESCRIPTION, rules=rules(asked=asked), device="cpu"
    ).fit(frame)
    now = share(imputer, frame, draws)
    every_edge = ReasonRouting(np.array([[1, 2, reason_code(Reason.REFUSED)]]))
    imputer.routes_ = replace(imputer.routes_, reasons=every_edge)
    return {
        "follower_asked_after_refusal": asked,
        "skips_coded": coded,
        "true_share_of_refusers": round(true, 3),
        "share_of_others": round(float((frame["owner"][REFUSERS:] == YES).mean()), 3),
        "drawn_by_the_refusal": now,
        "drawn_by_the_follower": share(imputer, frame, draws),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    runs = [
        measure(asked=asked, coded=coded, draws=draws)
        for asked, coded in ((True, False), (False, False), (False, True))
    ]
    result = {"rows": N, "refusers": REFUSERS, "draws": draws, "runs": runs}
    write_json(HERE / "refusals.json", result)


if __name__ == "__main__":
    main()
