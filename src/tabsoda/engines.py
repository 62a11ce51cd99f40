"""The choice between the two engines: the default one, and the paper's for its presets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.threads import Threads
from tabsoda.coding.engine import Engine
from tabsoda.cost.estimate import WorkPlan
from tabsoda.cost.table_size import TableSize
from tabsoda.engine import interactions as engine_interactions
from tabsoda.engine import work as default_work
from tabsoda.engine.engine import DefaultEngine
from tabsoda.engine.interactions import Interactions, term_texts
from tabsoda.engine.presets import QUALITIES, quality_settings
from tabsoda.engine.settings import EngineSettings
from tabsoda.errors import InputError
from tabsoda.paper import work as paper_work
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.presets import PRESETS
from tabsoda.paper.settings import PaperSettings
from tabsoda.table import CodedTable

if TYPE_CHECKING:
    # The packages of the engines load torch, with threads that sleep while they wait.
    import torch

AnySettings = EngineSettings | PaperSettings


def precision_of(settings: AnySettings) -> str:
    """Return the precision of the network on a GPU, as in ``matrix_precision``."""
    return settings.training.precision if isinstance(settings, PaperSettings) else "auto"


def settings_for(
    name: str,
    n_rows: int,
    n_columns: int,
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> AnySettings:
    """Return the settings of a quality or of a preset of the paper, for a table of this size.

    Parameters
    ----------
    name : str
        A quality of the default engine, or a preset of the paper's engine, whose settings do not
        depend on the size.
    n_rows, n_columns : int
    changes : dict of dict, optional
        Settings to change, by group.

    Examples
    --------
    >>> settings_for("balanced", 4000, 40).training.max_steps
    700
    >>> settings_for("path", 4000, 40, {"em": {"rounds": 2}}).em.rounds
    2
    """
    settings: AnySettings
    if name in QUALITIES:
        settings = quality_settings(name, n_rows, n_columns)
    elif name in PRESETS:
        settings = PaperSettings.preset(name)
    else:
        raise InputError(
            "Unknown quality or preset",
            found=repr(name),
            expected=f"one of {', '.join(map(repr, (*QUALITIES, *PRESETS)))}",
        )
    if changes is not None and not isinstance(changes, Mapping):
        raise InputError(
            "The settings are invalid",
            found=repr(changes),
            expected="groups of settings, such as {'training': {'max_steps': 500}}",
            next_step="Choose a quality or a preset with the parameter of that name",
        )
    return settings.replace(**(changes or {}))


def with_interactions(settings: AnySettings, interactions: Interactions) -> AnySettings:
    """Return the settings of a fit with these interactions; raise if it cannot have them.

    Parameters
    ----------
    settings : EngineSettings or PaperSettings
    interactions : bool or sequence of str
        As in :meth:`tabsoda.engine.engine.DefaultEngine.fit`.
    """
    if not isinstance(settings, PaperSettings):
        return engine_interactions.with_interactions(settings, interactions)
    if term_texts(interactions) not in (True, []):
        raise InputError(
            "The parameter interactions does not apply to the engine of the paper",
            found=f"interactions={interactions!r}",
            expected="True: its network has no terms to choose",
            next_step="Leave out interactions, or leave out the preset",
        )
    return settings


def fit_engine(
    table: CodedTable,
    settings: AnySettings,
    *,
    interactions: Interactions = True,
    **options: Any,
) -> Engine:
    """Fit the engine that the settings belong to.

    Parameters
    ----------
    table : CodedTable
    settings : EngineSettings or PaperSettings
    interactions : bool or sequence of str
        As in :meth:`tabsoda.engine.engine.DefaultEngine.fit`; only True for the paper's engine.
    **options
        ``seed``, ``device``, ``row_weights``, ``checkpoint``, ``draws`` and ``progress``, as in
        :meth:`tabsoda.engine.engine.DefaultEngine.fit`.

    Examples
    --------
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(100, n_columns=10).true_table
    >>> settings = PaperSettings.preset("small").replace(training={"max_steps": 5})
    >>> type(fit_engine(table, settings, device="cpu")).__name__
    'PaperEngine'
    """
    if isinstance(settings, PaperSettings):
        with_interactions(settings, interactions)
        return PaperEngine.fit(table, settings, **options)
    return DefaultEngine.fit(table, settings, interactions=interactions, **options)


def load_engine(folder: Path, device: str = "auto") -> Engine:
    """Load a saved engine; its file names the engine."""
    # Needs safetensors, which a fit does not.
    from tabsoda.coding.model_folder import read_content

    if read_content(folder).get("engine") == "paper":
        return PaperEngine.load(folder, device)
    return DefaultEngine.load(folder, device)


def plan_work(
    table: CodedTable,
    settings: AnySettings,
    n_draws: int,
    device: torch.device,
    *,
    fits: bool = True,
    follows: bool = False,
) -> tuple[WorkPlan, Threads]:
    """Return the amount of work of a run, and its number of threads.

    Parameters
    ----------
    table : CodedTable
    settings : EngineSettings or PaperSettings
    n_draws : int
    device : torch.device
    fits : bool
        Whether a model is fitted first.
    follows : bool
        Whether draws follow rules.
    """
    size = TableSize.of(table)
    if isinstance(settings, PaperSettings):
        threads = paper_work.planned_threads(settings, table.columns, table.shape[0], device)
        return paper_work.work_plan(size, settings, n_draws, fits=fits, follows=follows), threads
    threads = default_work.planned_threads(settings, table.columns, table.shape[0], device)
    plan = default_work.work_plan(
        size, settings, n_draws, threads, device, fits=fits, follows=follows
    )
    return plan, threads
