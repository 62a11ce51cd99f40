"""The record of a run (options, files), and the values that make two runs identical."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import existing_parent, file_hash
from tabsoda._internal.write_errors import writing_to
from tabsoda.engine.interactions import term_texts
from tabsoda.results.manifest import RunRecord

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.survey import Survey


def run_record(imputer: TabSODAImputer, survey: Survey, n_draws: int, seconds: float) -> RunRecord:
    """Return the record of a run, for the manifest of its result.

    Parameters
    ----------
    imputer : TabSODAImputer
        Fitted.
    survey : Survey
        As imputed, with rules applied.
    n_draws : int
    seconds : float
    """
    options = {"draws": n_draws, "unlisted": survey.unlisted, **imputer_options(imputer)}
    known = survey.known_skips
    by_rules = 0 if known is None else int((survey.states.skipped & ~known).sum())
    # A copy: refitting the imputer must not change the model of this result.
    return RunRecord(options, survey.files | imputer.files_, seconds, by_rules, copy.copy(imputer))


def imputer_options(imputer: TabSODAImputer) -> dict[str, Any]:
    """Return the parameters that determine the imputations, as plain values.

    Those of the fit are left out if the imputer was loaded, because the model's files identify
    the fit.
    """
    options: dict[str, Any] = {
        "seed": int(imputer.random_state),
        "gate_policy": imputer.gate_policy,
        "edit_policy": imputer.edit_policy,
        "accept_unreviewed": bool(imputer.accept_unreviewed),
    }
    if "model" in getattr(imputer, "files_", {}):
        return options
    return options | {
        "quality": None if imputer.preset else imputer.quality,
        "preset": imputer.preset,
        "settings": imputer.settings or {},
        "skips": imputer.skips,
        "screen": imputer.screen,
        "miner": imputer.miner,
        "interactions": term_texts(imputer.interactions),
        "use_design": bool(imputer.use_design),
    }


def imputer_identity(imputer: TabSODAImputer, output: Path) -> dict[str, Any]:
    """Return plain values that are equal for imputers that impute the same.

    Hashes of the model's files if it is fitted; otherwise the parameters, with the contents of
    the description and the rules.

    Parameters
    ----------
    imputer : TabSODAImputer
    output : Path
        The folder of the result. In it, or next to it if it does not exist yet, a fitted model is
        written for a moment, to be hashed.
    """
    if hasattr(imputer, "engine_"):
        place = output if output.is_dir() else existing_parent(output)
        with writing_to(place), tempfile.TemporaryDirectory(dir=place, prefix=".model.") as folder:
            imputer.save(folder)
            files = sorted(path for path in Path(folder).iterdir() if path.is_file())
            return {f"model {path.name}": file_hash(path) for path in files}
    options = imputer_options(imputer)
    texts = {
        "description": _description_text(imputer.description),
        "rules": _rules_text(imputer.rules),
    }
    return {
        name: value if isinstance(value, int | str | None) else repr(value)
        for name, value in (options | texts).items()
    }


def _description_text(description: Any) -> str | None:
    if description is None:
        return None
    if isinstance(description, str | Path):
        return file_hash(Path(description))
    if hasattr(description, "questions"):
        from tabsoda.schema.toml_form import format_toml

        return format_toml(description)
    return str(description)


def _rules_text(rules: Any) -> str | None:
    if rules is None:
        return None
    if isinstance(rules, str | Path):
        return file_hash(Path(rules))
    from tabsoda.skips.rule_files import dump_rules

    return dump_rules(rules)
