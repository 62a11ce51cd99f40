"""The methods under comparison by name, imported on use."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tabsoda.bench.methods.contract import ImputationMethod
from tabsoda.errors import InputError


@dataclass(frozen=True)
class Entry:
    """The location of a method, and the options that distinguish it from others of its class.

    Attributes
    ----------
    path : str
        ``"module:Class"`` within ``tabsoda.bench.methods``.
    options : mapping of str to object
        Defaults that the caller can override.
    is_lengthy : bool
        Whether it trains for as many steps as its paper says, which takes hours without a GPU.
    """

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_lengthy: bool = False

    def load(self) -> Any:
        """Import the class."""
        module, name = self.path.split(":")
        return getattr(import_module(f"tabsoda.bench.methods.{module}"), name)


METHODS: Mapping[str, Entry] = {
    "mode": Entry("mode_mean:ModeMean"),
    "boosting": Entry("boosting:Boosting"),
    "mice": Entry("chained_equations:ChainedEquations"),
    "r-mice": Entry("r_mice:RMice"),
    "missforest": Entry("miss_forest:MissForest"),
    "gcimpute": Entry("gcimpute_adapter:GaussianCopula"),
    "miceforest": Entry("miceforest_adapter:MiceForest"),
    "diffputer": Entry("diffputer:DiffPuter", is_lengthy=True),
    "tabcsdi": Entry("tabcsdi:TabCSDI", is_lengthy=True),
    "tabsyn": Entry("tabsyn:TabSyn", is_lengthy=True),
    "tabdiff": Entry("tabdiff:TabDiff", is_lengthy=True),
    "tabsoda": Entry("tabsoda:TabSODA", is_lengthy=True),
    "tabsoda-skip": Entry("tabsoda:TabSODASkip", is_lengthy=True),
    "tabsoda-n": Entry("tabsoda:TabSODAN", is_lengthy=True),
    "default-engine": Entry("tabsoda:DefaultEngineMethod"),
    "default-engine-skip": Entry("tabsoda:DefaultEngineSkip"),
}


def method(name: str, /, **options: Any) -> ImputationMethod:
    """Build a method by name.

    Parameters
    ----------
    name : str
        One of :data:`METHODS`.
    **options
        Settings of the method's class; the others keep their defaults.

    Examples
    --------
    >>> method("missforest", n_trees=20).name
    'MissForest'
    """
    if name not in METHODS:
        raise InputError(
            "Unknown method",
            found=repr(name),
            expected=f"one of {', '.join(METHODS)}",
            next_step="Check the spelling",
        )
    entry = METHODS[name]
    built = entry.load()
    known = tuple(inspect.signature(built).parameters)
    unknown = [option for option in options if option not in known]
    if unknown:
        raise InputError(
            f"The method '{name}' has no such option",
            found=", ".join(unknown),
            expected=f"some of {', '.join(known)}",
            next_step=(
                "The names of the paper belong to its engine; for a quality, use 'default-engine'"
                if "quality" in unknown
                else "Remove it, or check the spelling"
            ),
        )
    result: ImputationMethod = built(**{**entry.options, **options})
    return result
