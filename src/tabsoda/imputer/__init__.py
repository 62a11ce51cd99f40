"""``TabSODAImputer`` and ``impute_file``, which run every step from a survey to imputations.

Input: a survey, its description, rules or a skip mask. Output:
:class:`~tabsoda.results.Imputations`.
"""

from tabsoda.imputer.imputer import TabSODAImputer

__all__ = ["TabSODAImputer"]
