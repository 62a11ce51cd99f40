"""The options of ``tabsoda impute``: checks of combinations, and the imputer they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda.errors import InputError, RulesNotApprovedError

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


def parse_interactions(terms: tuple[str, ...], *, straight_lines: bool) -> bool | list[str]:
    """Return the parameter ``interactions`` of the imputer that two options describe.

    Parameters
    ----------
    terms : tuple of str
        Of --interaction.
    straight_lines : bool

    Examples
    --------
    >>> parse_interactions(("AGE:SEX",), straight_lines=False)
    ['AGE:SEX']
    >>> parse_interactions((), straight_lines=True)
    False
    """
    if terms and straight_lines:
        raise InputError(
            "The options --interaction and --straight-lines cannot be combined",
            next_step="Leave out one of them",
        )
    return list(terms) if terms else not straight_lines


@dataclass(frozen=True)
class ImputerOptions:
    """The options that determine the imputer; None where an option was not given.

    Attributes
    ----------
    survey, rules : Path or None
    model : Path or None
        The folder of a fitted model.
    mine, accept_all, bits : bool
    screen, miner : str or None
        How rules are mined.
    interactions : tuple of str
        Terms such as ``AGE:SEX``.
    straight_lines, ignore_design : bool
    gate_policy, edit_policy : str or None
    seed : int or None
    quality, preset : str or None
    changes : tuple of str
        Settings as ``group.name=value``.
    device : str
    """

    survey: Path | None
    rules: Path | None
    model: Path | None
    mine: bool
    screen: str | None
    miner: str | None
    accept_all: bool
    bits: bool
    interactions: tuple[str, ...]
    straight_lines: bool
    ignore_design: bool
    gate_policy: str | None
    edit_policy: str | None
    seed: int | None
    quality: str | None
    preset: str | None
    changes: tuple[str, ...]
    device: str

    def check(self, *, has_mask: bool) -> None:
        """Raise if options contradict each other or a file does not exist.

        Parameters
        ----------
        has_mask : bool
            Whether a skip mask is given.
        """
        fitting = {
            "seed": self.seed is not None,
            "quality": self.quality is not None,
            "preset": self.preset is not None,
            "set": bool(self.changes),
            "mine": self.mine,
            "screen": self.screen is not None,
            "miner": self.miner is not None,
            "bits": self.bits,
            "interaction": bool(self.interactions),
            "straight-lines": self.straight_lines,
            "ignore-design": self.ignore_design,
        }
        given = [name for name, is_given in fitting.items() if is_given]
        if self.model is not None and given:
            raise InputError(
                f"The option --{given[0]} is for fitting, but --model is already fitted",
                next_step=f"Leave out --{given[0]}, or leave out --model",
            )
        if "quality" in given and "preset" in given:
            raise InputError(
                "The options --quality and --preset cannot be combined",
                next_step="Leave out one of them",
            )
        if self.bits and self.preset is None:
            raise InputError(
                "The option --bits only applies to the engine of the paper",
                next_step="Add --preset small, path or nsduh, or leave out --bits",
            )
        parse_interactions(self.interactions, straight_lines=self.straight_lines)
        terms = [name for name in ("interaction", "straight-lines") if name in given]
        if terms and self.preset is not None:
            raise InputError(
                f"The option --{terms[0]} does not apply to the engine of the paper",
                next_step=f"Leave out --{terms[0]}, or leave out --preset",
            )
        for name in ("screen", "miner"):
            if name in given and not self.mine:
                raise InputError(
                    f"The option --{name} is for mining, but --mine is not given",
                    next_step=f"Add --mine, or leave out --{name}",
                )
        if self.mine and (self.rules is not None or has_mask):
            raise InputError(
                "The option --mine cannot be combined with --rules or --skip-mask",
                next_step="Leave out --mine, or leave out --rules and --skip-mask",
            )
        self._check_files()
        if self.mine and not self.accept_all:
            raise RulesNotApprovedError(
                "The option --mine finds rules that nobody has reviewed yet",
                expected="--mine together with --accept-all",
                next_step="Add --accept-all to use them without a review; or run tabsoda mine, then"
                " tabsoda review, and pass the file with --rules",
            )

    def _check_files(self) -> None:
        for path in (self.survey, self.rules):
            if path is not None and not path.is_file():
                raise InputError(f"The file '{path}' does not exist", next_step="Check its name")
        for name in ("model.json", "model.safetensors"):
            if self.model is not None and not (self.model / name).is_file():
                raise InputError(
                    f"There is no model in '{self.model}'",
                    expected=f"a file '{name}' there",
                    next_step="--model takes the folder 'model' of an earlier result",
                )

    def imputer(self) -> TabSODAImputer:
        """Return the imputer: loaded if a model is given, otherwise not yet fitted."""
        from tabsoda.imputer import TabSODAImputer

        if self.model is not None:
            loaded = TabSODAImputer.load(self.model, self.device)
            loaded.gate_policy = self.gate_policy or loaded.gate_policy
            loaded.edit_policy = self.edit_policy or loaded.edit_policy
            if self.rules is not None:
                loaded.use_rules(self.rules, accept_unreviewed=self.accept_all)
            return loaded
        from tabsoda.cli.impute_settings import parse_settings
        from tabsoda.engines import settings_for

        quality = self.quality or "balanced"
        start = settings_for(self.preset or quality, 1, 1)
        settings = parse_settings(self.changes, start)
        if self.bits:
            settings.setdefault("encoding", {})["ordinal"] = "bits"
        return TabSODAImputer(
            quality=quality,
            preset=self.preset,
            settings=settings,
            description=self.survey,
            skips="mine" if self.mine else "given",
            screen=self.screen,
            miner=self.miner,
            rules=self.rules,
            accept_unreviewed=self.accept_all,
            gate_policy=self.gate_policy or "follow",
            edit_policy=self.edit_policy or "missing",
            interactions=parse_interactions(self.interactions, straight_lines=self.straight_lines),
            use_design=not self.ignore_design,
            random_state=self.seed or 0,
            device=self.device,
        )
