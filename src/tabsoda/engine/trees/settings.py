"""Settings of the boosted trees."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tabsoda.errors import InputError

# Leaves are bits of one 64-bit word in prediction.
_MOST_LEAVES = 64
# A stratified tenth of the rows must contain every class.
_FEWEST_LEVEL_ROWS = 10
# Codes are bytes; two of the 256 are reserved for "missing" and "none".
MOST_CODES = 254


@dataclass(frozen=True)
class TreeSettings:
    """Settings of :class:`~tabsoda.engine.trees.TreeModels`; the defaults are those of "full".

    Attributes
    ----------
    learning_rate : float
    max_rounds : int
        A round is one tree per class, or a single tree for two classes.
    patience : int
        Rounds without improvement on a tenth of the rows before a model stops.
    number_learning_rate, number_max_rounds, number_patience : float or int
        The same for numbers, where a round is a single tree.
    max_leaves, min_leaf_rows, l2 : int or float
        As in scikit-learn.
    max_predictors : int
        Number of questions that trees may split on, those most associated with the question to
        predict. Limits the time on wide surveys, which otherwise grows with the square of the
        number of questions.
    predictor_share : float
        Share of these predictors tried at each split, drawn at random.
    max_classes : int
        Largest number of classes; rarer levels are merged into one class and keep their shares
        within it.
    min_level_rows : int
        Rows that a level needs to be its own class.
    max_bins : int
        Number of groups of a continuous predictor.
    max_native_levels : int
        Nominal predictors with more levels are split as if they were ordered.

    Examples
    --------
    >>> TreeSettings.named("quick").max_rounds < TreeSettings.named("full").max_rounds
    True
    """

    learning_rate: float = 0.3
    max_rounds: int = 60
    patience: int = 4
    number_learning_rate: float = 0.1
    number_max_rounds: int = 200
    number_patience: int = 8
    max_leaves: int = 4
    min_leaf_rows: int = 10
    l2: float = 1.0
    max_predictors: int = 40
    predictor_share: float = 1.0
    max_classes: int = 32
    min_level_rows: int = 10
    max_bins: int = 128
    max_native_levels: int = 64

    def __post_init__(self) -> None:
        for name, low, high in (
            ("learning_rate", 1e-6, 1.0),
            ("max_rounds", 1, 100_000),
            ("patience", 1, 100_000),
            ("number_learning_rate", 1e-6, 1.0),
            ("number_max_rounds", 1, 100_000),
            ("number_patience", 1, 100_000),
            ("max_leaves", 2, _MOST_LEAVES),
            ("min_leaf_rows", 1, float("inf")),
            ("l2", 0.0, float("inf")),
            ("max_predictors", 1, float("inf")),
            ("predictor_share", 1e-6, 1.0),
            ("max_classes", 2, MOST_CODES),
            ("min_level_rows", _FEWEST_LEVEL_ROWS, float("inf")),
            ("max_bins", 2, MOST_CODES - 1),
            ("max_native_levels", 0, MOST_CODES - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(
                    f"The tree setting {name} has an invalid value: {value!r}",
                    expected=f"a number from {low:g} to {high:g}",
                )

    def of_numbers(self) -> TreeSettings:
        """Return the settings with which the model of a number is boosted."""
        return replace(
            self,
            learning_rate=self.number_learning_rate,
            max_rounds=self.number_max_rounds,
            patience=self.number_patience,
        )

    @classmethod
    def named(cls, level: str) -> TreeSettings:
        """Return the settings of a named level, ``"quick"`` or ``"full"``."""
        if level not in _LEVELS:
            raise InputError(
                f"Unknown effort of the trees: {level!r}",
                expected=" or ".join(repr(name) for name in _LEVELS),
            )
        return _LEVELS[level]


# Chosen on three surveys of 4,000 rows: see benchmarks/trees. Small trees have better log scores
# than larger ones and cost less; on numbers the two are about even. The learning rate of levels
# in "full" was .1 with 200 rounds, which is no better (docs/decisions/0018).
_LEVELS = {
    "quick": TreeSettings(
        learning_rate=0.25,
        max_rounds=40,
        patience=3,
        number_learning_rate=0.25,
        number_max_rounds=40,
        number_patience=3,
        max_predictors=24,
        max_classes=12,
        max_bins=32,
    ),
    "full": TreeSettings(),
}
