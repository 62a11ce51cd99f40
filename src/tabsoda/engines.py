"""Which engine runs: the default one, or the paper's for the presets of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabsoda.em.engine import Engine
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.settings import Settings
from tabsoda.table import CodedTable

AnyEngine = Engine | PaperEngine
AnySettings = Settings | PaperSettings


def fit_engine(table: CodedTable, settings: AnySettings, **options: Any) -> AnyEngine:
    """Fit the engine that the settings belong to.

    Parameters
    ----------
    table : CodedTable
    settings : Settings or PaperSettings
    **options
        ``seed``, ``device``, ``row_weights``, ``checkpoint``, ``draws`` and ``report``, as in
        :meth:`tabsoda.paper.engine.PaperEngine.fit`.

    Examples
    --------
    >>> from tabsoda.datasets.synthetic_survey import make_survey
    >>> table = make_survey(100, n_columns=10).true_table
    >>> settings = PaperSettings.preset("small").replace(training={"max_steps": 5})
    >>> type(fit_engine(table, settings, device="cpu")).__name__
    'PaperEngine'
    """
    if isinstance(settings, PaperSettings):
        return PaperEngine.fit(table, settings, **options)
    return Engine.fit(table, settings, **options)


def counted_settings(settings: AnySettings) -> Settings:
    """Return the settings by which the cost of a run is counted."""
    if isinstance(settings, PaperSettings):
        return Settings().replace(**settings.to_dict())
    return settings


def load_engine(folder: Path, device: str = "auto") -> AnyEngine:
    """Read a saved engine; its file says which one it is."""
    from tabsoda.model_folder import read_content

    if read_content(folder).get("engine") == "paper":
        return PaperEngine.load(folder, device)
    return Engine.load(folder, device)
