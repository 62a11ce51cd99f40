"""A request for estimates as plain values: what the options of ``tabsoda pool`` say.

The command, the desk and the generated code all start from it, so that they estimate the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tabsoda.analysis.crosstab import pooled_table
from tabsoda.analysis.design_request import DesignRequest
from tabsoda.analysis.estimates import pooled_mean, pooled_proportions, pooled_ratio, pooled_total
from tabsoda.analysis.groups import pooled_by
from tabsoda.analysis.models import FAMILIES, pooled_model
from tabsoda.analysis.quantiles import pooled_median, pooled_quantile
from tabsoda.errors import InputError
from tabsoda.progress import Progress

if TYPE_CHECKING:
    from tabsoda.results.imputations import Imputations

# An estimating function, and its arguments after the result.
Part = tuple[Callable[..., Any], tuple[Any, ...]]
_SIMPLE: dict[str, Callable[..., Any]] = {
    "mean": pooled_mean,
    "median": pooled_median,
    "share": pooled_proportions,
    "total": pooled_total,
}
KINDS = ("formula", "mean", "median", "quantile", "share", "total", "ratio", "table")
_NAMES = {
    "formula": "Model",
    "mean": "Mean of",
    "median": "Median of",
    "quantile": "Quantiles of",
    "share": "Shares of",
    "total": "Total of",
    "ratio": "Ratio of",
    "table": "Table of",
}
_MOST = 100
_LONGEST = 10_000


@dataclass(frozen=True)
class EstimateRequest:
    """What to estimate, for whom and with which design.

    Attributes
    ----------
    kind : str
        One of ``KINDS``, the options of ``tabsoda pool``.
    of : tuple of str
        What stands after the option: one formula; questions; quantiles such as ``"AGE:0.9"``;
        ratios such as ``"SPENT:MEMBERS"``; the two questions of a table.
    family : str
    exponentiate : bool
        Of models only.
    where, by : str or None
    design : DesignRequest
    quantile_rule : str or None
        Of medians and quantiles only; see :func:`tabsoda.analysis.pooled_quantile`.

    Examples
    --------
    >>> request = EstimateRequest("mean", ("AGE",), by="SEX")
    >>> request.title
    'Mean of AGE by SEX'
    >>> request.command("imputed")
    'tabsoda pool imputed --mean AGE --by SEX'
    """

    kind: str
    of: tuple[str, ...]
    family: str = "gaussian"
    exponentiate: bool = False
    where: str | None = None
    by: str | None = None
    design: DesignRequest = field(default_factory=DesignRequest)
    quantile_rule: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("Unknown estimate", found=repr(self.kind), expected=", ".join(KINDS))
        expected = {"formula": 1, "table": 2}.get(self.kind)
        if not self.of or (expected is not None and len(self.of) != expected):
            raise InputError(
                f"The request for a {self.kind} is incomplete",
                found=f"{len(self.of)} given",
                expected="one or more" if expected is None else str(expected),
            )
        is_model = self.kind == "formula"
        if not is_model and (self.exponentiate or self.family != "gaussian"):
            raise InputError(
                "The options --family and --exponentiate only apply to models",
                next_step="Leave them out, or give a --formula",
            )
        if self.family not in FAMILIES:
            raise InputError("Unknown family", found=self.family, expected=", ".join(FAMILIES))
        if self.quantile_rule is not None and self.kind not in ("median", "quantile"):
            raise InputError(
                "The option --quantile-rule only applies to medians and quantiles",
                next_step="Leave it out, or give --median or --quantile",
            )
        if self.kind == "quantile":
            parse_quantiles(self.of)
        if self.kind == "ratio":
            for text in self.of:
                parse_ratio(text)

    @property
    def parts(self) -> list[Part]:
        """The functions to call, each with its arguments."""
        if self.kind == "formula":
            return [(pooled_model, self.of)]
        if self.kind == "table":
            return [(pooled_table, self.of)]
        if self.kind == "quantile":
            return [(pooled_quantile, one) for one in parse_quantiles(self.of).items()]
        if self.kind == "ratio":
            return [(pooled_ratio, parse_ratio(text)) for text in self.of]
        return [(_SIMPLE[self.kind], (name,)) for name in self.of]

    def estimate(self, result: Imputations, progress: Progress | None = None) -> list[Any]:
        """Return the pooled estimates, groups or tables, one per part.

        Parameters
        ----------
        result : Imputations
        progress : callable, optional
            Called as ``progress(done, total, what)``; of models only.
        """
        options: dict[str, Any] = {"design": self.design.of(result), "where": self.where}
        if self.kind == "formula":
            options |= {"family": self.family, "exponentiate": self.exponentiate}
            options["progress"] = progress
        if self.quantile_rule is not None:
            options["rule"] = self.quantile_rule
        if self.by is None:
            return [function(result, *given, **options) for function, given in self.parts]
        return [
            pooled_by(result, self.by, function, *given, **options)
            for function, given in self.parts
        ]

    @property
    def title(self) -> str:
        """The request in words, such as ``"Mean of AGE by SEX"``."""
        if self.kind == "formula":
            text = f"{self.of[0]} ({self.family})"
        else:
            joined = " by " if self.kind == "table" else ", "
            text = f"{_NAMES[self.kind]} {joined.join(self.of)}"
        text += f" by {self.by}" if self.by else ""
        return text + (f" where {self.where}" if self.where else "")

    def options(self) -> list[str]:
        """Return the options of ``tabsoda pool`` that make this request."""
        words = [f"--{self.kind}", *self.of]
        for name, value in (("where", self.where), ("by", self.by)):
            words += [f"--{name}", value] if value else []
        words += ["--family", self.family] if self.family != "gaussian" else []
        words += ["--exponentiate"] if self.exponentiate else []
        words += ["--quantile-rule", self.quantile_rule] if self.quantile_rule else []
        return [*words, *self.design.options()]

    def command(self, folder: str) -> str:
        """Return the command that makes these estimates, for a shell."""
        return shlex.join(["tabsoda", "pool", folder, *self.options()])

    def to_dict(self) -> dict[str, Any]:
        """Return the request as plain values, ready for JSON."""
        return {**asdict(self), "of": list(self.of)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> EstimateRequest:
        """Read a request from JSON; raise InputError if it is not one."""
        unknown = set(content) - {one.name for one in fields(cls)}
        of = content.get("of")
        texts = isinstance(of, list | tuple) and all(_is_short(text) for text in of)
        optional = (content.get("where") or None, content.get("by") or None)
        if unknown or not texts or len(of or ()) > _MOST:
            raise _unreadable(", ".join(sorted(map(str, unknown))) or "of: " + repr(of)[:80])
        if not all(text is None or _is_short(text) for text in optional):
            raise _unreadable("a subset or group that is not a text")
        if not isinstance(content.get("exponentiate", False), bool):
            raise _unreadable("exponentiate that is not true or false")
        return cls(
            str(content.get("kind")),
            tuple(content["of"]),
            str(content.get("family") or "gaussian"),
            content.get("exponentiate", False),
            *optional,
            DesignRequest.from_dict(content.get("design") or {}),
            None if content.get("quantile_rule") is None else str(content["quantile_rule"]),
        )


def _is_short(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _LONGEST


def _unreadable(found: str) -> InputError:
    return InputError(
        "The request for estimates cannot be read",
        found=found,
        expected="a kind, what it is of, and options of tabsoda pool",
    )


def parse_quantiles(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """Parse texts such as AGE:0.9, grouped by question.

    Examples
    --------
    >>> parse_quantiles(("AGE:0.25", "KILOS:0.5", "AGE:0.75"))
    {'AGE': [0.25, 0.75], 'KILOS': [0.5]}
    """
    wanted: dict[str, list[float]] = {}
    for text in texts:
        name, _, number = text.rpartition(":")
        try:
            share = float(number)
        except ValueError:
            share = 0.0
        if not name or not 0 < share < 1:
            raise InputError(
                "The quantile cannot be read",
                found=text,
                expected="a question, a colon and a number between 0 and 1, such as AGE:0.9",
                next_step="Correct the text after --quantile; for the median use --median AGE",
            )
        wanted.setdefault(name, []).append(share)
    return wanted


def parse_ratio(text: str) -> tuple[str, str]:
    """Parse a text such as SPENT:MEMBERS.

    Examples
    --------
    >>> parse_ratio("SPENT:MEMBERS")
    ('SPENT', 'MEMBERS')
    """
    numerator, _, denominator = text.partition(":")
    if not numerator or not denominator:
        raise InputError(
            "The ratio cannot be read",
            found=text,
            expected="two questions with a colon between them, such as SPENT:MEMBERS",
        )
    return numerator, denominator
