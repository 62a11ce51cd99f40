"""The PATH Study, wave 1 adults, public-use file (ICPSR 36498), as a benchmark.

The file cannot be shipped: users download it from ICPSR (.sav, .dta or .tsv) and pass its path.

The paper names its sections, the number of variables of each kind, and five variables
(``path_variables.toml``), which are taken first. The others are chosen by rule: names
``R01_A<section><number>`` of the cigarette (AC), e-cigarette (AE), cigar (AG), pipe (AP) and
smokeless (AS, AU) sections and the age bands ``R01R_A_AGECAT*``; kinds from labels and levels;
sections in turn, each in questionnaire order, until the paper's 32 nominal, 24 ordinal and 1
continuous variables are found.

Every negative value is a missing code. Its label in the file gives the reason; without one, -1 is a
skip, -7 refused, -8 don't know, -9 blank, and other codes (-4, -5, -97777, ...) any other reason.
Long forms such as -99911, -99977, -99988 and -99999 are read as their last digit.
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
    require,
)
from tabsoda.errors import InputError
from tabsoda.schema.codes import plain
from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Reason

if TYPE_CHECKING:
    from tabsoda.reading.raw import RawTable
    from tabsoda.survey import Survey

SURVEY = PublishedSurvey(
    "the PATH Study, wave 1 adults (ICPSR 36498, dataset 1001)",
    "https://www.icpsr.umich.edu/web/NAHDAP/studies/36498",
)
GATES = ("R01_AC1002", "R01_AE1001")
QUOTAS = {ColumnKind.CONTINUOUS: 1, ColumnKind.NOMINAL: 32, ColumnKind.ORDINAL: 24}
MOST_LEVELS = 9
MINER_SIZES = (50, 100, 200)

_SECTION = re.compile(r"^R01_A([CEGPSU])\d{4}", re.I)
_AGE_BAND = re.compile(r"^R01R_A_AGECAT", re.I)
_REASONS = {1: Reason.SKIP, 7: Reason.REFUSED, 8: Reason.DONT_KNOW, 9: Reason.BLANK}


def path_codes(numbers: Sequence[float]) -> Mapping[Code, Reason]:
    """Return the missing codes among distinct numbers, and their reasons.

    Examples
    --------
    >>> {code: why.value for code, why in path_codes([-99911, -97777, -8, 1, 2]).items()}
    {-99911: 'skip', -97777: 'other', -8: 'dont_know'}
    """
    return {plain(n): _reason(int(-n)) for n in numbers if n < 0}


def _reason(size: int) -> Reason:
    long_form = re.fullmatch(r"999(\d)\1", str(size))
    digit = int(long_form.group(1)) if long_form else size
    return _REASONS.get(digit, Reason.OTHER)


def path_survey(raw: RawTable, subset: str | int = "benchmark", *, partial: bool = True) -> Survey:
    """Build the PATH benchmark, or a subset for the miner, from the file of wave 1 adults.

    Parameters
    ----------
    raw : RawTable
        As :func:`~tabsoda.datasets.published_file.read_published` reads it. A text file needs the
        study's DDI codebook: without labels, what is ordinal can only be guessed.
    subset : {"benchmark", 50, 100, 200}
        The paper's imputation benchmark, or a number of variables of its sections for the miner;
        the smaller sets are part of the larger ones.
    partial : bool
        Accept a file without labels, or with fewer variables of a kind than the benchmark has.

    Returns
    -------
    Survey
        Its states include the codebook's skips; ``tabsoda.bench.methods.contract.without_skips``
        returns the table for the miner. An event records the number of variables of each kind.
    """
    if subset != "benchmark" and subset not in MINER_SIZES:
        raise InputError(
            "Unknown subset of PATH",
            found=repr(subset),
            expected="'benchmark', 50, 100 or 200",
        )
    require(raw, [(name,) for name in GATES], SURVEY)
    candidates = _candidates(raw)
    named = [variable.names[0] for variable in listed_variables("path")]
    if isinstance(subset, int):
        return build(raw, choose(candidates, subset, named), f"{subset} PATH variables")
    small = [c for c in candidates if c.column.n_levels <= MOST_LEVELS]
    chosen = choose(small, QUOTAS, named)
    if not partial:
        _require_whole(raw, chosen)
    return build(raw, chosen, "the PATH benchmark, 1 continuous, 32 nominal, 24 ordinal")


def _require_whole(raw: RawTable, chosen: Sequence[Column]) -> None:
    """Raise if the benchmark cannot be built as it should be."""
    if not any(hints.level_labels for hints in raw.hints.values()):
        raise InputError(
            f"The file '{raw.source}' has no value labels, which show what is ordinal",
            expected=f"the SPSS or Stata file of {SURVEY.title}",
            next_step=f"Add the DDI codebook (.xml), or give one of these files. {SURVEY.where}",
        )
    found = Counter(column.kind for column in chosen)
    if any(found[kind] < wanted for kind, wanted in QUOTAS.items()):
        raise InputError(
            f"The file '{raw.source}' has too few variables of the tobacco sections",
            found=", ".join(f"{found[kind]} {kind.value}" for kind in QUOTAS),
            expected=", ".join(f"{n} {kind.value}" for kind, n in QUOTAS.items())
            + f", as in {SURVEY.title}",
            next_step=f"{SURVEY.where}. For an extract, use partial=True (--partial)",
        )


def _candidates(raw: RawTable) -> list[Candidate]:
    kinds = {variable.names[0]: variable.kind for variable in listed_variables("path")}
    result = []
    for name in raw.frame.columns:
        section = _SECTION.match(name)
        if section is None and not _AGE_BAND.match(name):
            continue
        kind = kinds.get(name.upper())
        column = describe_column(raw.frame[name], raw.hint(name), path_codes, kind)
        varies = not column.is_categorical or column.n_levels >= 2
        if column.role is ColumnRole.QUESTION and varies and raw.frame[name].dtype.is_numeric():
            result.append(Candidate(column, section.group(1).upper() if section else "age"))
    return result
