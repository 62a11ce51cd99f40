"""What the user chooses for a run, and the imputer, the command and the Python it stands for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.desk.project import Project
from tabsoda.desk.steps.commands import call, commands, option, shell_line
from tabsoda.errors import InputError

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer

QUALITIES = ("fast", "balanced", "best", "tiny")
_MOST_DRAWS = 1000
_MOST_TERMS = 50


@dataclass(frozen=True)
class ImputationChoice:
    """The choices of one run, as the options of ``tabsoda impute``.

    Attributes
    ----------
    name : str
        The folder in ``runs``.
    quality : {"fast", "balanced", "best", "tiny"}
    draws, seed : int
    interactions : tuple of str
        Terms such as ``AGE:SEX`` that draws contain in any case.
    straight_lines, ignore_design : bool
    use_rules : bool
        Follow ``rules.toml`` if there is one.
    accept_all : bool
        Use rules that nobody has reviewed.
    """

    name: str
    quality: str = "balanced"
    draws: int = 5
    seed: int = 0
    interactions: tuple[str, ...] = ()
    straight_lines: bool = False
    ignore_design: bool = False
    use_rules: bool = True
    accept_all: bool = False

    @classmethod
    def from_request(cls, body: Any) -> ImputationChoice:
        """Return the choice in a request; raise if a value is not possible."""
        if not isinstance(body, dict):
            raise InputError("The choices are not an object", found=repr(body)[:80])
        unknown = sorted(set(body) - set(cls.__dataclass_fields__))
        if unknown or "name" not in body:
            raise InputError("The choices are not those of a run", found=", ".join(unknown)[:80])
        terms = body.get("interactions", [])
        if not isinstance(terms, list | tuple) or not all(isinstance(t, str) for t in terms):
            raise InputError("The interactions are not a list of texts", found=repr(terms)[:80])
        choice = cls(**{**body, "interactions": tuple(terms)})
        choice._check()
        return choice

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which :meth:`from_request` makes the same choice."""
        return asdict(self) | {"interactions": list(self.interactions)}

    def imputer(self, project: Project, folder: Path) -> TabSODAImputer:
        """Return the imputer, not yet fitted.

        Parameters
        ----------
        project : Project
        folder : Path
            The project's folder, as it is named from the current folder.
        """
        from tabsoda.imputer import TabSODAImputer

        return TabSODAImputer(
            quality=self.quality,
            description=folder / "survey.toml",
            rules=folder / "rules.toml" if self._has_rules(project) else None,
            accept_unreviewed=self.accept_all,
            interactions=self._interactions(),
            use_design=not self.ignore_design,
            random_state=self.seed,
        )

    def commands(self, project: Project) -> dict[str, Any]:
        """Return the command, and the Python, that make the same run."""
        data = "survey.sav" if project.data is None else project.path_text(project.data)
        unlisted = project.content["settings"]["unlisted"]
        has_rules = self._has_rules(project)
        folder = f"runs/{self.name}"
        words = ["tabsoda", "impute", data, "--survey", "survey.toml"]
        words += ["--rules", "rules.toml"] if has_rules else []
        words += ["--accept-all"] if self.accept_all else []
        words += ["--unlisted", unlisted] if unlisted != "error" else []
        words += ["--quality", self.quality, "-m", str(self.draws), "--seed", str(self.seed)]
        words += option("--interaction", self.interactions)
        words += ["--straight-lines"] if self.straight_lines else []
        words += ["--ignore-design"] if self.ignore_design else []
        imputer = call(
            "tabsoda.TabSODAImputer",
            quality=self.quality,
            description="survey.toml",
            **({"rules": "rules.toml"} if has_rules else {}),
            **({"accept_unreviewed": True} if self.accept_all else {}),
            **({} if self._interactions() is True else {"interactions": self._interactions()}),
            **({"use_design": False} if self.ignore_design else {}),
            random_state=self.seed,
        )
        reading = {"unlisted": unlisted} if unlisted != "error" else {}
        run = f"tabsoda.impute_file({data!r}, imputer, {folder!r}, m={self.draws}"
        run += "".join(f", {key}={value!r}" for key, value in reading.items()) + ")"
        python = ["import tabsoda", f"imputer = {imputer}", f"result = {run}"]
        return commands([shell_line(*words, "-o", folder)], python)

    def _interactions(self) -> bool | list[str]:
        return list(self.interactions) if self.interactions else not self.straight_lines

    def _has_rules(self, project: Project) -> bool:
        return self.use_rules and project.rules.is_file()

    def _check(self) -> None:
        if self.quality not in QUALITIES:
            raise InputError(
                "Unknown quality", found=repr(self.quality)[:80], expected=", ".join(QUALITIES)
            )
        whole = type(self.draws) is int and type(self.seed) is int
        if not whole or not 0 <= self.draws <= _MOST_DRAWS or not 0 <= self.seed < 2**63:
            raise InputError(
                "The draws or the seed cannot be used",
                found=f"{self.draws!r} draws, seed {self.seed!r}"[:120],
                expected=f"0 to {_MOST_DRAWS} draws, and a seed from 0",
            )
        ticks = (self.straight_lines, self.ignore_design, self.use_rules, self.accept_all)
        if not all(type(tick) is bool for tick in ticks):
            raise InputError("A choice is neither true nor false", found=repr(ticks)[:80])
        if len(self.interactions) > _MOST_TERMS:
            raise InputError("There are too many interactions", expected=f"at most {_MOST_TERMS}")
        if self.interactions and self.straight_lines:
            raise InputError(
                "Interactions and straight lines cannot be combined", next_step="Leave out one"
            )
