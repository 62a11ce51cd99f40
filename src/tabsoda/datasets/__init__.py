"""Survey data: a generated survey with known truth, and loaders of published surveys."""

from tabsoda.datasets.synthetic_survey import SyntheticSurvey, make_survey

__all__ = ["SyntheticSurvey", "make_survey"]
