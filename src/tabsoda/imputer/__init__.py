"""``TabSODAImputer``, and imputing files with it: the one orchestration.

Input: a survey, its description, rules or a skip mask. Output:
:class:`~tabsoda.results.Imputations`.
"""

from tabsoda.imputer.imputer import TabSODAImputer

__all__ = ["TabSODAImputer"]
