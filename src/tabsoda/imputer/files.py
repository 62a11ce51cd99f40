"""A saved imputer: its engine, description, rules, column names and parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import file_hash, write_json
from tabsoda.coding.engine import Engine
from tabsoda.coding.model_folder import TENSORS, TEXT
from tabsoda.edits.column_facts import ColumnFacts
from tabsoda.edits.edit_set import EditSet
from tabsoda.engine.interactions import Interactions, term_texts
from tabsoda.errors import InputError
from tabsoda.imputer.design_predictors import DesignPredictors
from tabsoda.paper.settings import PaperSettings
from tabsoda.routing.route_model import RouteModels
from tabsoda.schema.schema import Schema
from tabsoda.skips.review_policy import unreviewed

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer

_SCHEMA, _RULES, _TEXT = "survey.toml", "rules.toml", "imputer.json"
_ROUTES, _EDITS = "routes.safetensors", "edits.json"

# Files that a model may or may not have.
_OPTIONAL = (_SCHEMA, _RULES, _ROUTES, _EDITS)


@dataclass(frozen=True, eq=False)
class ImputerState:
    """All of a fitted imputer that is not part of its engine.

    Attributes
    ----------
    schema : Schema or None
        None for plain arrays.
    rules : RuleSet or None
    feature_names : tuple of str or None
        None if an array was fitted.
    n_features : int
    n_imputations : int
    skips : str
    gate_policy : str
    routes : RouteModels or None
    interactions : bool or list of str
    design : DesignPredictors or None
    screen, miner : str or None
    edit_policy : str
    facts : dict of str to ColumnFacts
        Of the columns in edits.
    """

    schema: Schema | None
    rules: Any
    feature_names: tuple[str, ...] | None
    n_features: int
    n_imputations: int
    skips: str
    gate_policy: str = "follow"
    routes: RouteModels | None = None
    interactions: Interactions = True
    design: DesignPredictors | None = None
    screen: str | None = None
    miner: str | None = None
    edit_policy: str = "missing"
    facts: Mapping[str, ColumnFacts] = field(default_factory=dict)

    @property
    def edits(self) -> EditSet:
        """Bounds, edits and derived variables, as fitted."""
        return EditSet.of(self.schema or Schema(()), None, self.facts)

    @classmethod
    def of(cls, imputer: TabSODAImputer) -> ImputerState:
        """Return the state of a fitted imputer."""
        names = getattr(imputer, "feature_names_in_", None)
        return cls(
            imputer.schema_,
            imputer.rules_,
            None if names is None else tuple(str(name) for name in names),
            imputer.n_features_in_,
            imputer.n_imputations,
            imputer.skips,
            imputer.gate_policy,
            imputer.routes_,
            term_texts(imputer.interactions),
            imputer.design_,
            imputer.screen,
            imputer.miner,
            imputer.edit_policy,
            imputer.edits_.facts,
        )

    def parameters(self, engine: Engine) -> dict[str, Any]:
        """Return parameters with which an imputer would be fitted to the same state."""
        return {
            # All settings are given, so any preset of the same engine gives the same result.
            "preset": "path" if isinstance(engine.settings, PaperSettings) else None,
            "settings": engine.settings.to_dict(),
            "description": self.schema,
            "skips": self.skips,
            "screen": self.screen,
            "miner": self.miner,
            "rules": self.rules if self.skips == "given" else None,
            # The rules were accepted when the model was fitted.
            "accept_unreviewed": self.rules is not None and bool(unreviewed(self.rules)),
            "gate_policy": self.gate_policy,
            "edit_policy": self.edit_policy,
            "interactions": self.interactions,
            "use_design": self.design is not None,
            "n_imputations": self.n_imputations,
            "random_state": engine.seed,
        }

    def save(self, folder: Path) -> None:
        """Write the parts to a model's folder; removes those of an earlier model."""
        from tabsoda.schema.files import save_schema

        for name in _OPTIONAL:
            (folder / name).unlink(missing_ok=True)
        if self.schema is not None:
            save_schema(self.schema, folder / _SCHEMA)
        if self.rules is not None:
            self.rules.to_toml(folder / _RULES)
        if self.routes is not None:
            self.routes.save(folder / _ROUTES)
        if self.facts:
            facts = {name: one.to_dict() for name, one in self.facts.items()}
            write_json(folder / _EDITS, facts)
        names = None if self.feature_names is None else list(self.feature_names)
        files = [name for name in _OPTIONAL if (folder / name).exists()]
        content = {
            "feature_names": names,
            "n_features": self.n_features,
            "n_imputations": int(self.n_imputations),
            "skips": self.skips,
            "screen": self.screen,
            "miner": self.miner,
            "gate_policy": self.gate_policy,
            "edit_policy": self.edit_policy,
            "interactions": self.interactions,
            "design": None if self.design is None else self.design.to_dict(),
            "files": files,
            "sha256": {name: file_hash(folder / name) for name in (TEXT, TENSORS, *files)},
        }
        write_json(folder / _TEXT, content | {"own_sha256": _own_hash(content)})

    @classmethod
    def load(cls, folder: Path) -> ImputerState:
        """Read the parts from a model's folder."""
        from tabsoda.schema.files import load_schema
        from tabsoda.skips.rule_set import RuleSet

        try:
            content = json.loads((folder / _TEXT).read_text(encoding="utf-8"))
            names = content["feature_names"]
            _refuse_lost_files(folder, content)
            _refuse_changed_files(folder, content)
            return cls(
                load_schema(folder / _SCHEMA) if (folder / _SCHEMA).exists() else None,
                RuleSet.from_toml(folder / _RULES) if (folder / _RULES).exists() else None,
                None if names is None else tuple(names),
                int(content["n_features"]),
                int(content["n_imputations"]),
                str(content["skips"]),
                # Models saved before this parameter existed used "keep".
                str(content.get("gate_policy", "keep")),
                RouteModels.load(folder / _ROUTES) if (folder / _ROUTES).exists() else None,
                # Models of the paper's engine saved before this parameter existed have none.
                term_texts(content.get("interactions", True)),
                # Models saved before the design was modelled did not see it.
                DesignPredictors.from_dict(content["design"]) if content.get("design") else None,
                # Models saved before these parameters existed used the default screen.
                content.get("screen"),
                content.get("miner"),
                str(content.get("edit_policy", "missing")),
                _read_facts(folder),
            )
        except InputError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"The model file '{folder / _TEXT}' cannot be read",
                found=f"{type(error).__name__}: {error}",
                expected="a model written by save",
                next_step="Save the model again, or fit it again",
            ) from error


def _read_facts(folder: Path) -> dict[str, ColumnFacts]:
    if not (folder / _EDITS).exists():
        return {}
    content = json.loads((folder / _EDITS).read_text(encoding="utf-8"))
    return {name: ColumnFacts.from_dict(one) for name, one in content.items()}


def _refuse_lost_files(folder: Path, content: dict[str, Any]) -> None:
    """Raise if a saved file is missing: without it, codes and skips would be read as answers."""
    # Files that every model has, for models saved before the files were listed.
    needed = {_SCHEMA: content["feature_names"] is not None, _RULES: content["skips"] == "mine"}
    files = content.get("files", [name for name, was_saved in needed.items() if was_saved])
    for name in files:
        if not (folder / name).exists():
            raise InputError(
                f"The model in '{folder}' is incomplete",
                found=f"no file '{name}'",
                expected="all files that save wrote",
                next_step="Copy the whole folder, or save the model again",
            )


def _refuse_changed_files(folder: Path, content: dict[str, Any]) -> None:
    """Raise if a file differs from the saved one; models of earlier versions have no hashes."""
    changed = [
        name
        for name, saved in content.get("sha256", {}).items()
        if file_hash(folder / name) != saved
    ]
    saved = content.pop("own_sha256", None)
    if saved is not None and saved != _own_hash(content):
        changed.append(_TEXT)
    if changed:
        raise InputError(
            f"The file '{folder / changed[0]}' was changed after it was written",
            expected="the hash that save wrote",
            next_step="Copy the folder again, or save the model again",
        )


def _own_hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
