"""The National Survey on Drug Use and Health 2021, public-use file, as a benchmark.

The file cannot be shipped: users download it from SAMHSA (.dta, .sav, .tsv or .csv) and pass its
path. The paper gives six domains and the number of variables of each kind, not the variables:
:data:`VARIABLES` is our choice of 29 from the codebook that fits both. The subsets for the miner
are chosen by rule: questionnaire variables (those with a special code that are neither
imputation-revised, ``IR*`` and ``II*``, nor weights), sections by the first letters of the name,
sections in turn.

Missing codes end in two digits, preceded by nines up to the width of the variable: 85 bad data, 94
don't know, 97 refused, 98 blank; 91 never used, 93 not used in the period, 99 legitimate skip, and
their logically assigned forms 81, 83 and 89, are skips. The width is that of the variable's largest
value, so that 91 is an answer if codes have three digits. Labels in the file have priority.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tabsoda.datasets.published_file import (
    Candidate,
    build,
    choose,
    describe_column,
    find_name,
    read_published,
    require,
)
from tabsoda.errors import InputError
from tabsoda.schema.column import Code, Column, ColumnKind, ColumnRole, Reason

if TYPE_CHECKING:
    from tabsoda.reading.raw import RawTable
    from tabsoda.survey import Survey

_NUMBER, _NOMINAL, _ORDINAL = ColumnKind.CONTINUOUS, ColumnKind.NOMINAL, ColumnKind.ORDINAL

# By domain: the names of a variable in releases of the file, that of 2021 first, and its kind.
VARIABLES: Mapping[str, Mapping[tuple[str, ...], ColumnKind]] = {
    "demographics": {
        ("IRSEX",): _NOMINAL,
        ("NEWRACE2",): _NOMINAL,
        ("IRMARIT",): _NOMINAL,
        ("CATAG6",): _ORDINAL,
        # Its last level is "12 to 17 years old", which is not a level of education.
        ("EDUHIGHCAT",): _NOMINAL,
        ("INCOME",): _ORDINAL,
    },
    "physical health": {("BMI2",): _NUMBER, ("HRTCONDEV",): _NOMINAL, ("DIABETEVR",): _NOMINAL},
    "self-rated health and function": {
        ("HEALTH", "HEALTH2"): _ORDINAL,
        ("DIFFTHINK",): _NOMINAL,
        ("IMPWORK",): _ORDINAL,
    },
    "mental health": {
        ("DSTNRV30",): _ORDINAL,
        ("DSTHOP30",): _ORDINAL,
        ("DSTRST30",): _ORDINAL,
        ("DSTCHR30",): _ORDINAL,
        ("DSTEFF30",): _ORDINAL,
        ("DSTNGD30",): _ORDINAL,
    },
    "health insurance": {
        ("MEDICARE",): _NOMINAL,
        ("CAIDCHIP",): _NOMINAL,
        ("PRVHLTIN",): _NOMINAL,
    },
    "substance use": {
        ("IRCIGRC",): _ORDINAL,
        ("IRALCRC",): _ORDINAL,
        ("IRMJRC",): _ORDINAL,
        ("IRCIGAGE",): _NUMBER,
        ("IRALCAGE",): _NUMBER,
        ("IRALCFY",): _NUMBER,
        ("IRMJAGE",): _NUMBER,
        ("IRMJFY",): _NUMBER,
    },
}
MINER_SIZES = (50, 100, 200)

_NOT_ASKED = re.compile(r"^(IR|II|ANALWT|VESTR|VEREP|QUESTID|FILEDATE)|WT|WGT", re.I)
_SECTION_LETTERS = 2
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
    # A variable with fractions, such as an index, has no codes.
    width = len(str(max(whole))) if whole and len(whole) == len(positive) else 0
    if width < 2:
        return {}
    nines = (10 ** (width - 2) - 1) * 100
    return {nines + end: why for end, why in _REASONS.items() if nines + end in whole}


def load_nsduh(
    path: str | Path,
    subset: str | int = "benchmark",
    *,
    codebook: str | Path | None = None,
) -> Survey:
    """Build the NSDUH benchmark, or a subset for the miner, from the downloaded file.

    Parameters
    ----------
    path : path
        The public-use file of 2021: .dta, .sav, .tsv or .csv.
    subset : {"benchmark", 50, 100, 200}
        The 29 :data:`VARIABLES`, or a number of questionnaire variables for the miner; the smaller
        sets are part of the larger ones.
    codebook : path, optional
        A DDI codebook, for the labels that a text file lacks.

    Returns
    -------
    Survey
        Its states include the codebook's skips; see
        :func:`tabsoda.datasets.path_study.load_path`.
    """
    if subset != "benchmark" and subset not in MINER_SIZES:
        raise InputError(
            "Unknown subset of NSDUH",
            found=repr(subset),
            expected="'benchmark', 50, 100 or 200",
        )
    raw = read_published(path, codebook)
    if isinstance(subset, int):
        return build(raw, choose(_asked(raw), subset), f"{subset} NSDUH variables")
    return build(raw, _benchmark(raw), "the NSDUH benchmark, 6 continuous, 10 nominal, 13 ordinal")


def _benchmark(raw: RawTable) -> tuple[Column, ...]:
    wanted = {names: kind for domain in VARIABLES.values() for names, kind in domain.items()}
    for names in wanted:
        if find_name(raw, *names) is None:
            require(raw, names, "NSDUH 2021")
    kinds = {find_name(raw, *names): kind for names, kind in wanted.items()}
    return tuple(
        describe_column(raw.frame[name], raw.hint(name), nsduh_codes, kinds[name])
        for name in raw.frame.columns
        if name in kinds
    )


def _asked(raw: RawTable) -> list[Candidate]:
    result = []
    for name in raw.frame.columns:
        if _NOT_ASKED.search(name) or not raw.frame[name].dtype.is_numeric():
            continue
        column = describe_column(raw.frame[name], raw.hint(name), nsduh_codes)
        varies = not column.is_categorical or column.n_levels >= 2
        if column.role is ColumnRole.QUESTION and column.special_codes and varies:
            result.append(Candidate(column, name[:_SECTION_LETTERS].upper()))
    return result
