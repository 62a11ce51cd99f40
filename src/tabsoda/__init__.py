"""Imputes missing answers in survey data and leaves skipped questions empty."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tabsoda._version import __version__

if TYPE_CHECKING:
    from tabsoda.analysis import pool, sensitivity
    from tabsoda.bench.metrics.skip_metrics import skip_metrics
    from tabsoda.engine.settings import EngineSettings
    from tabsoda.errors import InputError, TabSODAError
    from tabsoda.events import Event, EventLog
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.imputer.file_imputation import impute_file
    from tabsoda.paper.settings import PaperSettings
    from tabsoda.questionnaire import read_form, read_survey_with_form
    from tabsoda.reading import read_survey
    from tabsoda.results import Imputations
    from tabsoda.results.result_folder import load_result
    from tabsoda.schema import Column, ColumnKind, ColumnRole, Derivation, Edit, Reason, Schema
    from tabsoda.skips.checking import CheckResult, check
    from tabsoda.skips.miner import MinedSkips, SkipMiner
    from tabsoda.skips.mining import mine_rules
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.skips.rules import Condition, SkipRule
    from tabsoda.skips.settings import MinerSettings
    from tabsoda.states.cell_states import CellState, CellStates
    from tabsoda.survey import Survey
    from tabsoda.table import CodedTable

# The module of each public name, imported on first use, because importing torch takes seconds.
_HOMES = {
    "CellState": "tabsoda.states.cell_states",
    "CellStates": "tabsoda.states.cell_states",
    "CheckResult": "tabsoda.skips.checking",
    "CodedTable": "tabsoda.table",
    "Column": "tabsoda.schema",
    "ColumnKind": "tabsoda.schema",
    "ColumnRole": "tabsoda.schema",
    "Condition": "tabsoda.skips.rules",
    "Derivation": "tabsoda.schema",
    "Edit": "tabsoda.schema",
    "EngineSettings": "tabsoda.engine.settings",
    "Event": "tabsoda.events",
    "EventLog": "tabsoda.events",
    "Imputations": "tabsoda.results",
    "InputError": "tabsoda.errors",
    "MinedSkips": "tabsoda.skips.miner",
    "MinerSettings": "tabsoda.skips.settings",
    "PaperSettings": "tabsoda.paper.settings",
    "Reason": "tabsoda.schema",
    "RuleSet": "tabsoda.skips.rule_set",
    "Schema": "tabsoda.schema",
    "SkipMiner": "tabsoda.skips.miner",
    "SkipRule": "tabsoda.skips.rules",
    "Survey": "tabsoda.survey",
    "TabSODAError": "tabsoda.errors",
    "TabSODAImputer": "tabsoda.imputer",
    "check": "tabsoda.skips.checking",
    "impute_file": "tabsoda.imputer.file_imputation",
    "load_result": "tabsoda.results.result_folder",
    "mine_rules": "tabsoda.skips.mining",
    "pool": "tabsoda.analysis",
    "read_form": "tabsoda.questionnaire",
    "read_survey": "tabsoda.reading",
    "read_survey_with_form": "tabsoda.questionnaire",
    "sensitivity": "tabsoda.analysis",
    "skip_metrics": "tabsoda.bench.metrics.skip_metrics",
}

__all__ = [
    "CellState",
    "CellStates",
    "CheckResult",
    "CodedTable",
    "Column",
    "ColumnKind",
    "ColumnRole",
    "Condition",
    "Derivation",
    "Edit",
    "EngineSettings",
    "Event",
    "EventLog",
    "Imputations",
    "InputError",
    "MinedSkips",
    "MinerSettings",
    "PaperSettings",
    "Reason",
    "RuleSet",
    "Schema",
    "SkipMiner",
    "SkipRule",
    "Survey",
    "TabSODAError",
    "TabSODAImputer",
    "__version__",
    "check",
    "impute_file",
    "load_result",
    "mine_rules",
    "pool",
    "read_form",
    "read_survey",
    "read_survey_with_form",
    "sensitivity",
    "skip_metrics",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tabsoda' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
