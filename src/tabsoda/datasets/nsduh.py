"""The National Survey on Drug Use and Health 2021, public-use file, as a benchmark.

The file cannot be shipped: users download it from SAMHSA (.dta, .sav, .tsv or .csv) and pass its
path. The paper gives six domains and the number of variables of each kind, not the variables:
``nsduh_variables.toml`` is our choice of 29 that fits both. The subsets for the miner are chosen by
rule: questionnaire variables (those with a special code that are neither
imputation-revised, ``IR*`` and ``II*``, nor weights), sections by the first letters of the name,
sections in turn.

Missing codes end in two digits, preceded by nines up to the width of the variable: 85 bad data, 94
don't know, 97 refused, 98 blank; 91 never used, 93 not used in the period, 99 legitimate skip, and
their logically assigned forms 81, 83 and 89, are skips. The width is that of the variable's largest
value, so that 91 is an answer if codes have three digits. Labels in the file have priority.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tabsoda.datasets.listed_variables import listed_variables
from tabsoda.datasets.published_file import (
    Candidate,
    PublishedSurvey,
    build,
    choose,
    describe_column,
    find_name,
    require,
)
from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column, ColumnRole, Reason

if TYPE_CHECKING:
    from tabsoda.reading.raw import RawTable
    from tabsoda.survey import Survey

SURVEY = PublishedSurvey(
    "NSDUH 2021, the public-use file",
    "https://www.samhsa.gov/data/data-we-collect/nsduh-national-survey-drug-use-and-health/datafiles",
)
MOST_LEVELS = 7
MINER_SIZES = (50, 100, 200)

_NOT_A_QUESTION = re.compile(r"^(II|ANALWT|VESTR|VEREP|QUESTID|FILEDATE)|WT|WGT", re.I)
_NOT_ASKED = re.compile(rf"^IR|{_NOT_A_QUESTION.pattern}", re.I)
_SECTION_LETTERS = 2
# Of the distinct values of a variable that has codes.
_MOST_FRACTIONS = 0.25
_REASONS = {
    81: Reason.SKIP,
    83: Reason.SKIP,
    85: Reason.OTHER,
    89: Reason.SKIP,
    91: Reason.SKIP,
    93: Reason.SKIP,
    94: Reason.DONT_KNOW,
    97: Reason.REFUSED,
    98: Reason.BLANK,
    99: Reason.SKIP,
}


def nsduh_codes(numbers: Sequence[float]) -> Mapping[Code, Reason]:
    """Return the missing codes among distinct numbers, and their reasons.

    Examples
    --------
    >>> {code: why.value for code, why in nsduh_codes([1, 2, 94, 99]).items()}
    {94: 'dont_know', 99: 'skip'}
    >>> {code: why.value for code, why in nsduh_codes([12, 91, 365, 991, 997]).items()}
    {991: 'skip', 997: 'refused'}
    """
    positive = [n for n in numbers if n > 0]
    whole = [int(n) for n in positive if n == int(n)]
    # An index has no codes. Frequencies do, although some imputed ones are halves.
    is_index = len(positive) - len(whole) > _MOST_FRACTIONS * len(positive)
    width = len(str(max(whole))) if whole and not is_index else 0
    if width < 2:
        return {}
    nines = (10 ** (width - 2) - 1) * 100
    return {nines + end: why for end, why in _REASONS.items() if nines + end in whole}


def nsduh_survey(
    raw: RawTable, subset: str | int = "benchmark", *, partial: bool = False
) -> Survey:
    """Build the NSDUH benchmark, or a subset for the miner, from the public-use file of 2021.

    Parameters
    ----------
    raw : RawTable
        As :func:`~tabsoda.datasets.published_file.read_published` reads it.
    subset : {"benchmark", 50, 100, 200}
        The 29 variables of the benchmark, or a number of questionnaire variables for the miner; the
        smaller sets are part of the larger ones.
    partial : bool
        Accept a file that lacks variables of the benchmark, such as an extract or another year:
        others of the same kind take their place. The miner's subsets then also contain recodes,
        where the questionnaire's own variables are too few.

    Returns
    -------
    Survey
        Its states include the codebook's skips; see
        :func:`tabsoda.datasets.path_study.path_survey`.
    """
    if subset != "benchmark" and subset not in MINER_SIZES:
        raise InputError(
            "Unknown subset of NSDUH",
            found=repr(subset),
            expected="'benchmark', 50, 100 or 200",
        )
    if isinstance(subset, int):
        candidates = _asked(raw)
        names = [candidate.column.name for candidate in candidates]
        if partial and len(candidates) < subset:
            candidates = _candidates(raw, _NOT_A_QUESTION)
        return build(raw, choose(candidates, subset, names), f"{subset} NSDUH variables")
    columns = _benchmark(raw, partial=partial)
    return build(raw, columns, "the NSDUH benchmark, 6 continuous, 10 nominal, 13 ordinal")


def _benchmark(raw: RawTable, *, partial: bool) -> tuple[Column, ...]:
    listed = listed_variables("nsduh")
    if not partial:
        otherwise = ". For an extract or another year, use partial=True (--partial)"
        require(raw, [variable.names for variable in listed], SURVEY, otherwise)
    found = {find_name(raw, *variable.names): variable.kind for variable in listed}
    absent = Counter(v.kind for v in listed if find_name(raw, *v.names) is None)
    chosen = {}
    if absent:
        others = [
            candidate
            for candidate in _candidates(raw, _NOT_A_QUESTION)
            if candidate.column.name not in found and candidate.column.n_levels <= MOST_LEVELS
        ]
        chosen = {column.name: column for column in choose(others, absent)}
    for name, kind in found.items():
        if name is not None:
            chosen[name] = describe_column(raw.frame[name], raw.hint(name), nsduh_codes, kind)
    return tuple(chosen[name] for name in raw.frame.columns if name in chosen)


def _asked(raw: RawTable) -> list[Candidate]:
    """Return the questionnaire's own variables: those with a missing code."""
    return [c for c in _candidates(raw, _NOT_ASKED) if c.column.special_codes]


def _candidates(raw: RawTable, excluded: re.Pattern[str]) -> list[Candidate]:
    result = []
    for name in raw.frame.columns:
        if excluded.search(name) or not raw.frame[name].dtype.is_numeric():
            continue
        column = describe_column(raw.frame[name], raw.hint(name), nsduh_codes)
        varies = not column.is_categorical or column.n_levels >= 2
        if column.role is ColumnRole.QUESTION and varies:
            result.append(Candidate(column, name[:_SECTION_LETTERS].upper()))
    return result
