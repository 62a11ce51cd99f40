"""The study behind the paper's tables: its methods with their settings, in full or reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tabsoda.bench.studies.study import Study, make_study
from tabsoda.errors import InputError
from tabsoda.reproduce.sources import Source

REPLICATIONS = 50
MECHANISMS = ("mar", "mcar", "mnar")
# In the order of the paper's tables, with the names that it uses.
BASELINES = {
    "mice": "MICE",
    "missforest": "MissForest",
    "tabcsdi": "TabCSDI",
    "diffputer": "DiffPuter",
    "tabsyn": "TabSyn",
    "tabdiff": "TabDiff",
}
VARIANTS = {"tabsoda-n": "TabSODA-N", "tabsoda-skip": "TabSODA+SKIP", "tabsoda": "TabSODA"}
METHODS = BASELINES | VARIANTS
BENCHMARK = (*BASELINES, "tabsoda")
ABLATION = tuple(VARIANTS)

QUICK_ROWS = 1000
QUICK_REPLICATIONS = 2
_DEEP = ("tabcsdi", "diffputer", "tabsyn", "tabdiff")
_QUICK_OPTIONS: dict[str, dict[str, Any]] = {
    "mice": {"n_draws": 3, "rounds": 5},
    "missforest": {"n_trees": 25},
    **{name: {"budget": "reduced"} for name in _DEEP},
}
# As small as the reduced budget of DiffPuter, which shares the engine.
_QUICK_SETTINGS: dict[str, dict[str, Any]] = {
    "backbone": {"width": 128},
    "training": {"batch_size": 256, "max_steps": 800, "learning_rate": 1e-3},
    "sampler": {"steps": 15, "chains": 8, "block_rows": 4096},
    "em": {"rounds": 2},
}
QUICK = (
    "Quick: MICE has 3 chains of 5 rounds, MissForest 25 trees, the deep baselines their reduced "
    "budgets; the paper's engine has width 128, 800 steps of 256 rows at a learning rate of 0.001, "
    "15 noise levels, 8 chains and 2 rounds."
)


def plan_study(
    source: Source,
    *,
    quick: bool = False,
    methods: Sequence[str] = ("all",),
    mechanisms: Sequence[str] = MECHANISMS,
    replications: int | None = None,
    rows: int | None = None,
    skip_views: Sequence[str] = ("blind",),
    seed: int = 0,
) -> Study:
    """Return the study of one survey.

    Parameters
    ----------
    source : Source
    quick : bool
        Small budgets, and fewer rows and replications unless given.
    methods : sequence of str
        Some of :data:`METHODS`, or ``"all"``.
    mechanisms : sequence of str
    replications, rows : int, optional
        50 and all if not given.
    skip_views : sequence of str
        How baselines see skips; blank, as in the paper.
    seed : int

    Examples
    --------
    >>> from tabsoda.reproduce.sources import source_of
    >>> study = plan_study(source_of("path"), methods=["tabsoda"])
    >>> study.replications, study.methods[0].options
    (50, {'preset': 'path'})
    """
    unknown = [name for name in methods if name not in (*METHODS, "all")]
    if unknown or not methods:
        raise InputError(
            "The paper's tables have no such method",
            found=", ".join(unknown) or "none",
            expected=f"some of {', '.join(METHODS)}, or all",
        )
    chosen = [name for name in METHODS if name in methods or "all" in methods]
    content = {
        "name": f"reproduce-{source.name}",
        "surveys": [source.label],
        "methods": [
            {"name": name, "label": METHODS[name], "options": _options(name, source, quick=quick)}
            for name in chosen
        ],
        "mechanisms": list(mechanisms),
        "skip_views": list(skip_views),
        "replications": replications or (QUICK_REPLICATIONS if quick else REPLICATIONS),
        "rows": rows or (QUICK_ROWS if quick else None),
        "seed": seed,
        # A weak method is a result here, not a reason to stop.
        "sanity_check": False,
    }
    return make_study(content, "The command")


def _options(name: str, source: Source, *, quick: bool) -> dict[str, Any]:
    if name not in VARIANTS:
        return _QUICK_OPTIONS[name] if quick else {}
    options: dict[str, Any] = {"preset": source.name}
    if name == "tabsoda-skip":
        options["screen"] = "paper"
    return options | ({"settings": _QUICK_SETTINGS} if quick else {})
