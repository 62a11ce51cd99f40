"""Surveys to try things on: a generator with planted routing and known truth.

Input: a size and a seed. Output: answers, skips, nonresponse and the rules behind them.
"""

from tabsoda.datasets.synthetic_survey import SyntheticSurvey, make_survey

__all__ = ["SyntheticSurvey", "make_survey"]
