"""Conditions in other languages select the rows that ``where`` selects, also with blanks."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.analysis.request import EstimateRequest
from tabsoda.analysis.where import selected_rows
from tabsoda.publishing.scripts import python_code, r_code, stata_code
from tabsoda.publishing.scripts.plan import make_plan

NUMBERS = ["income", "members", "cigarettes", "smokes", "n_psu"]


def conditions():
    """Return conditions over numbers, levels that are texts, and labels."""
    sign = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    number = st.one_of(
        st.sampled_from(NUMBERS),
        st.integers(0, 45).map(str),
        st.sampled_from(["(income - 10)", "(members * 2)", "-3", "income / members"]),
    )
    compared = st.tuples(st.sampled_from(NUMBERS), sign, number).map(" ".join)
    chained = st.tuples(number, sign, st.sampled_from(NUMBERS), sign, number).map(" ".join)
    levels = st.sampled_from(
        [
            "region == 'a'",
            "'b' != region",
            "health < 'good'",
            "'fair' <= health",
            "area != 'farm'",
            "smokes == 'Yes'",
            "region in ('a', 'c')",
            "members not in (1, 3)",
            "income is None",
            "cigarettes is not None",
            "region not in ('b',)",
        ]
    )
    simple = st.one_of(compared, chained, levels)
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            inner.map(lambda one: f"not ({one})"),
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(
                lambda parts: f"({parts[0]}){parts[1]}({parts[2]})"
            ),
        ),
        max_leaves=5,
    )


def plan_of(result, where, export):
    return make_plan(result, EstimateRequest("mean", ("n_psu",), where=where), export)


@pytest.fixture(scope="module")
def tables(exported):
    """Return the draws as the generated Python code sees them."""
    long = pd.read_parquet(exported["python"] / "imputations.parquet")
    return [table for number, table in long.groupby("_imputation") if number > 0]


@settings(max_examples=60, deadline=None)
@given(where=conditions())
def test_python_conditions(where, described, tables):
    text = python_code._Conditions(plan_of(described, where, "parquet")).write(where)
    expected = selected_rows(described, where).counted
    for number, table in enumerate(tables):
        with np.errstate(all="ignore"):
            found = eval(text, {"t": table, "pd": pd})
        np.testing.assert_array_equal(np.asarray(found, dtype=bool), expected[number], text)


def stata_value(text, table):
    """Evaluate a condition as Stata does: a blank number is larger than every other one."""

    def missing(*columns):
        return np.any([blank[id(column)] for column in columns], axis=0)

    values, blank = {}, {}
    for name in table:
        column = table[name]
        if hasattr(column, "cat"):
            codes = column.cat.codes.to_numpy() + 1.0
            column = pd.Series(np.where(codes == 0, np.nan, codes))
        if column.dtype == object or str(column.dtype) == "str":
            value = column.fillna("").to_numpy(object)
            values[name], unknown = value, value == ""
        else:
            number = column.to_numpy(float)
            unknown = np.isnan(number)
            values[name] = np.where(unknown, np.inf, number)
        blank[id(values[name])] = unknown
    # In Stata comparisons bind stronger than & and |.
    pattern = (
        r"((?:\([^()]*\)|[^()&|!])+?) (==|!=|<=|>=|<|>) ((?:\([^()]*\)|[^()&|])+?)(?= &|\)| \||$)"
    )
    written = re.sub(pattern, r"(\1 \2 \3)", text).replace("!missing", "~missing")
    return eval(written, {"missing": missing, **values})


@settings(max_examples=60, deadline=None)
@given(where=conditions().filter(lambda text: "/" not in text))
def test_stata_conditions(where, described, tables):
    plan = plan_of(described, where, "stata")
    text = stata_code._Conditions(plan).write(where)
    expected = selected_rows(described, where).counted
    levels = {name: plan.columns[name].column.levels for name in plan.columns}
    for number, table in enumerate(tables):
        frame = table.copy()
        for name in ("region", "health"):
            if name in levels:
                frame[name] = pd.Categorical(frame[name], levels[name])
        found = stata_value(text, frame)
        np.testing.assert_array_equal(np.asarray(found, dtype=bool), expected[number], text)


def test_r_conditions(described, exported, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    wanted = [
        "not (income > 40 or members == 2)",
        "10 < income <= 40",
        "not (10 < income <= 40)",
        "region not in ('a', 'c')",
        "not (region in ('a', 'c'))",
        "health >= 'fair'",
        "not (health >= 'fair') or income is None",
        "smokes == 'Yes' and area != 'farm'",
        "cigarettes is None",
        "not (cigarettes > 5 and members < 3)",
        "income / members > 12",
        "(income - 10) > members * 9 or not (smokes == 2)",
    ]
    folder = exported["r"]
    columns = " and ".join(f"{name} is not None" for name in ("region", "health", "area", *NUMBERS))
    preparation = r_code._preparation(plan_of(described, columns, "r"))
    lines = ["suppressMessages(source('read.R'))", *preparation, "long$wt[long$wt == -1] <- NA"]
    lines.append("all <- split(long, long$.imp)[-1]")
    for number, where in enumerate(wanted):
        text = r_code._Conditions(plan_of(described, where, "r")).write(where)
        lines.append(f"found <- sapply(all, function(d) with(d, {text}) %in% TRUE)")
        lines.append(f"write.csv(found * 1, '{tmp_path}/{number}.csv', row.names = FALSE)")
    (tmp_path / "all.R").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        ["Rscript", str(tmp_path / "all.R")], cwd=folder, capture_output=True, text=True
    )
    if "no package" in done.stderr:
        pytest.skip("mice is not here")
    assert done.returncode == 0, done.stderr
    for number, where in enumerate(wanted):
        found = pl.read_csv(tmp_path / f"{number}.csv").to_numpy().T.astype(bool)
        np.testing.assert_array_equal(found, selected_rows(described, where).counted, where)
