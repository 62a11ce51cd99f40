"""The estimate that a sensitivity analysis is about, as the options of the command say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.estimates import pooled_mean, pooled_proportions
from tabsoda.analysis.variables import find_variable
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet


def finding_estimate(
    formula: str | None, mean: str | None, share: str | None, options: dict[str, Any]
) -> tuple[str | Callable[[Any], Any], str | None]:
    """Return what to estimate, and the term that a share chooses.

    Parameters
    ----------
    formula, mean, share : str or None
        One of them; a share is a question and an answer, such as ``"SMOKES:1"``.
    options : dict
        Of :func:`tabsoda.analysis.pooled_mean`.
    """
    given = [one for one in (formula, mean, share) if one is not None]
    if len(given) != 1:
        raise InputError(
            "A sensitivity analysis is about one estimate",
            found=f"{len(given)} estimates" if given else "nothing to estimate",
            expected='--formula "KILOS ~ AGE", --mean AGE or --share SMOKES:1',
        )
    if formula is not None:
        return formula, None
    if mean is not None:
        return lambda result: pooled_mean(result, mean, **options), None
    question, _, level = str(share).rpartition(":")
    if not question:
        raise InputError(
            "The share cannot be read",
            found=str(share),
            expected="a question, a colon and an answer, such as SMOKES:1",
        )

    def shares(result: Any) -> Any:
        pooled = pooled_proportions(result, question, **options)
        levels = find_variable(result, question).column.levels
        # Named by their codes, as they are written in --share.
        return replace(pooled, names=tuple(f"{question}:{level}" for level in levels))

    return shares, f"{question}:{level}"


def draw_rules(folder: Path) -> RuleSet | None:
    """Return the rules that the draws of a result folder followed; None if there were none."""
    from tabsoda.skips.rule_set import RuleSet

    path = folder / "model" / "rules.toml"
    return RuleSet.from_toml(path) if path.is_file() else None
