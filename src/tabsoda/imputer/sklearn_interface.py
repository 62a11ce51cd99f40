"""The scikit-learn interface of the imputer: names, input checks, output types and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tabsoda.imputer.input import check_names


class SklearnImputer(TransformerMixin, BaseEstimator):
    """Base of :class:`tabsoda.TabSODAImputer` with scikit-learn's conventions.

    Attributes
    ----------
    description : Schema, path, list of dict or None
        A parameter of the subclass.
    schema_ : Schema or None
        Of the fitted columns; None for plain arrays.
    """

    description: Any
    schema_: Any

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the column names: those of the input, and derived variables."""
        check_is_fitted(self)
        derived = () if self.schema_ is None else self.schema_.derivations
        own = self._input_names(input_features)
        added = [one.name for one in derived if one.name not in own]
        return np.array([*own, *added], dtype=object)

    def _input_names(self, input_features: Any) -> NDArray[np.object_]:
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if names is not None and not np.array_equal(given, names):
                raise ValueError("input_features is not equal to feature_names_in_")
            if given.shape != (self.n_features_in_,):
                raise ValueError(
                    f"input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {given.size}"
                )
            return given
        if names is not None:
            return np.asarray(names, dtype=object)
        return np.array([f"x{number}" for number in range(self.n_features_in_)], dtype=object)

    def _take_names(self, names: Sequence[str]) -> None:
        """Store the names of the columns, as scikit-learn does for a frame."""
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _validate(self, X: Any, *, reset: bool) -> bool:
        """Let scikit-learn check the names and the number of columns of arrays and frames.

        Returns False for files and surveys, which scikit-learn does not support.
        """
        if not hasattr(X, "shape") and not isinstance(X, list | tuple):
            return False
        if not hasattr(X, "columns") and not hasattr(X, "column_names"):
            # Described arrays may hold texts; the description says what is allowed.
            dtype = np.float64 if (self.description if reset else self.schema_) is None else None
            X = check_array(
                X, dtype=dtype, ensure_all_finite="allow-nan", estimator=self, input_name="X"
            )
        else:
            check_names(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return True

    def _as_output(self, table: Any) -> Any:
        """Convert to the library chosen with ``set_output``; scikit-learn wraps arrays itself."""
        config = getattr(self, "_sklearn_output_config", {})
        wanted = config.get("transform", get_config()["transform_output"])
        if isinstance(table, np.ndarray) or wanted == "default":
            return table
        from tabsoda.reading.frame_libraries import in_library

        return in_library(table, wanted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.allow_nan = inputs.categorical = inputs.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.non_deterministic = False
        return tags
