"""One imputation as a command runs it: read, settle the skips, fit and draw."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda._internal.files import file_hash
from tabsoda._internal.write_errors import keeping_in
from tabsoda.cli.console import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tabsoda.em.cost import Cost
    from tabsoda.imputations.imputations import Imputations
    from tabsoda.imputer import TabSODAImputer
    from tabsoda.skips.rule_set import RuleSet
    from tabsoda.survey import Survey


@dataclass
class Job:
    """One imputation, from the files to the result.

    Attributes
    ----------
    inputs : dict of str to Path
        The files that were named, by option.
    model : Path or None
        A fitted model to use.
    options : dict
        What else determines the fit.
    draws : int
    device : str
    """

    inputs: dict[str, Path]
    model: Path | None
    options: dict[str, Any]
    draws: int
    device: str

    def identity(self) -> dict[str, Any]:
        """Return what makes a run the same run: its files' contents and its options."""
        return {name: file_hash(path) for name, path in self.inputs.items()} | self.options

    def prepare(self) -> None:
        """Read the files, settle what is a skip, and make the imputer."""
        from tabsoda.imputer import TabSODAImputer
        from tabsoda.reading import read_survey
        from tabsoda.skips.review_policy import ACCEPTED, FROM_MODEL, apply_rules, mine_and_apply

        if self.model is not None:
            self.imputer = TabSODAImputer.load(self.model, self.device)
            self.options["seed"] = self.imputer.random_state
        else:
            self.imputer = self.new_imputer()
        self.imputer.gate_policy = self.options["gate_policy"] or self.imputer.gate_policy
        self.options["gate_policy"] = self.imputer.gate_policy
        self.rules = getattr(self.imputer, "rules_", None)
        if "rules" in self.inputs:
            self.rules = self.reviewed_rules(self.inputs["rules"])
        description = self.inputs.get("survey") or getattr(self.imputer, "schema_", None)
        source = read_survey(
            self.inputs["data"],
            description,
            codebook=self.inputs.get("codebook"),
            skip_mask=self.inputs.get("skip_mask"),
            unlisted=self.options["unlisted"],
        )
        self.known_skips = source.states.skipped
        if self.rules is not None:
            how = ACCEPTED if "rules" in self.inputs else FROM_MODEL
            source = apply_rules(source, self.rules, how)
        if self.options.get("mine"):
            with progress("Mining") as report:
                source = mine_and_apply(source, report)
            self.rules = source.rules
        self.source = source

    def reviewed_rules(self, path: Path) -> RuleSet:
        """Read rules that somebody looked at, or that are accepted as they are."""
        from tabsoda.skips.review_policy import require_review
        from tabsoda.skips.rule_set import RuleSet

        rules = RuleSet.from_toml(path)
        require_review(rules, accepted=self.options["accept_all"], file=str(path))
        return rules

    def followed_rules(self) -> RuleSet | None:
        """Return the rules that draws will follow; None where there are none, or the mask holds."""
        return self.rules if self.options["gate_policy"] == "follow" else None

    def new_imputer(self) -> TabSODAImputer:
        """Return an imputer of the settings that the options ask for."""
        from tabsoda.cli.impute_settings import parse_settings
        from tabsoda.imputer import TabSODAImputer

        changes = parse_settings(self.options["set"])
        if self.options["bits"]:
            changes.setdefault("encoding", {})["ordinal"] = "bits"
        imputer = TabSODAImputer(
            quality=self.options["quality"] or "balanced",
            preset=self.options["preset"],
            settings=changes,
            accept_unreviewed=self.options["accept_all"],
            random_state=self.options["seed"],
            device=self.device,
        )
        # Wrong settings are told before a large file is read.
        imputer.settings_for(1, 1)
        return imputer

    def fillable(self) -> NDArray[np.bool_]:
        """Say which questions can be imputed: those that somebody answered, here or in the fit."""
        if self.model is None:
            answered: NDArray[np.bool_] = self.source.states.answered.sum(axis=0) > 0
            return answered
        return self.imputer.engine_.model.codec.fillable

    def cost(self) -> Cost:
        """Estimate time and memory on the device."""
        from tabsoda.em.cost import estimate_cost
        from tabsoda.em.operations import planned_threads
        from tabsoda.em.stage_work import TableSize
        from tabsoda.torch_runtime.devices import matrix_precision, resolve_device

        table = self.source.table
        settings = self.imputer.settings_for(*table.shape)
        chosen = resolve_device(self.device)
        return estimate_cost(
            settings,
            TableSize.of(table),
            self.draws,
            chosen,
            matrix_precision(chosen),
            threads=planned_threads(settings, table.columns, table.shape[0], chosen),
            fits=self.model is None,
            follows=self.followed_rules() is not None,
        )

    def rehearse(self, folder: Path) -> None:
        """Write and read back a trial result, so that nothing fails after the long work."""
        from tabsoda.imputations.rehearsal import rehearse

        settings = self.imputer.settings_for(*self.source.table.shape).to_dict()
        rehearse(self.source, folder, self.draws, settings=settings, rules=self.rules)

    def run(self, checkpoint: Path) -> tuple[Imputations, float]:
        """Fit where there is no model yet, and impute; return the result and the seconds taken.

        The fitted model and every finished draw are kept in the checkpoint's folder: the same
        command, run again, goes on after them.
        """
        # The states are settled; the rules say what follows from a drawn gate, and in new rows.
        table = self.source
        start = time.perf_counter()
        try:
            with keeping_in(checkpoint.parent):
                if self.model is None:
                    self._fit(table, checkpoint)
                self.imputer.rules_ = self.rules
                with progress("Imputing") as report:
                    result = self.imputer.impute(
                        table, self.draws, checkpoint=checkpoint / "draws", report=report
                    )
        except KeyboardInterrupt:
            sys.stderr.write(
                "Finished rounds and draws are kept: run the same command again to continue.\n"
            )
            raise
        return result, time.perf_counter() - start

    def _fit(self, table: Survey, checkpoint: Path) -> None:
        """Fit the imputer, or load what an earlier start of the same run fitted."""
        from tabsoda.imputer_checkpoint import KEPT_MODEL, load_kept, save_whole

        kept = load_kept(checkpoint / KEPT_MODEL, table, self.device)
        if kept is not None:
            self.imputer = kept
            return
        self.imputer.rules = self.rules
        with progress("Fitting") as report:
            self.imputer.fit(table, checkpoint=checkpoint, report=report)
        save_whole(self.imputer, checkpoint / KEPT_MODEL, checkpoint)
