"""Rubin's rules: equal to R's mice and mitml on the same numbers, and errors for what is none."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from tabsoda import CodedTable, Column, ColumnKind, Imputations
from tabsoda.analysis import pool
from tabsoda.errors import InputError
from tabsoda.results import ImputedCells

CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def by_hand(estimates, variances, complete_df):
    """Return estimate, total variance, df and fmi as the books write them."""
    m = len(estimates)
    within, between = np.mean(variances), np.var(estimates, ddof=1)
    total = within + between + between / m
    share = (between + between / m) / total
    old = (m - 1) / share**2
    observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - share)
    df = 1 / (1 / old + 1 / observed)
    increase = (between + between / m) / within
    return np.mean(estimates), total, df, (increase + 2 / (df + 3)) / (increase + 1)


@given(
    arrays(float, st.integers(2, 20), elements=st.floats(-100, 100), unique=True),
    st.floats(0.1, 10),
    st.floats(3, 1e4),
)
def test_scalars_are_pooled_as_the_books_say(estimates, variance, complete_df):
    if np.var(estimates, ddof=1) < 0.01:
        return
    pooled = pool(list(estimates), [variance] * len(estimates), complete_df=complete_df)
    expected = by_hand(estimates, [variance] * len(estimates), complete_df)
    found = (
        pooled.estimates[0],
        pooled.covariance[0, 0],
        pooled.df[0],
        pooled.missing_information[0],
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_no_information_is_missing_where_the_draws_agree():
    pooled = pool([3.0, 3.0, 3.0], [0.2, 0.2, 0.2], complete_df=50)
    assert pooled.missing_information[0] == 0
    assert pooled.df[0] == 50


def test_scalars_are_pooled_as_mice_does(r, tmp_path):
    generator = np.random.default_rng(1)
    estimates = [*generator.normal(3, 0.4, 6)]
    variances = [*generator.uniform(0.05, 0.2, 6)]
    expected = r(
        f"""
        q <- c({", ".join(map(repr, map(float, estimates)))})
        u <- c({", ".join(map(repr, map(float, variances)))})
        lapply(c(Inf, 61), function(n)
          pool.scalar(q, u, n = n, k = 1)[c("qbar", "ubar", "b", "t", "df", "r", "fmi")])""",
        "mice",
        folder=tmp_path,
    )
    names = ("estimate", "within", "between", "total", "df")
    for complete_df, theirs in zip((np.inf, 60.0), expected, strict=True):
        row = pool(estimates, variances, complete_df=complete_df).table().row(0, named=True)
        found = [row[n] for n in (*names, "relative_increase", "missing_information")]
        np.testing.assert_allclose(found, list(theirs.values()), **CLOSE)


def test_models_are_pooled_as_mice_does(r, tmp_path):
    import pandas as pd
    import statsmodels.formula.api as smf

    generator = np.random.default_rng(2)
    tables = []
    for number in range(1, 6):
        x = generator.normal(size=40)
        y = 1 + 2 * x + generator.normal(size=40)
        tables.append(pd.DataFrame({"d": number, "x": x, "g": np.arange(40) % 3, "y": y}))
    pd.concat(tables).to_csv(tmp_path / "d.csv", index=False, float_format="%.17g")
    expected = r(
        """
        d <- read.csv("d.csv")
        fits <- lapply(split(d, d$d), function(t) lm(y ~ x + factor(g), t))
        p <- pool(as.mira(fits))
        s <- summary(p, type = "all", conf.int = TRUE)
        logits <- lapply(split(d, d$d), function(t) glm(I(y > 1) ~ x, binomial, t,
          epsilon = 1e-14, maxit = 100))
        odds <- summary(pool(as.mira(logits)), conf.int = TRUE, exponentiate = TRUE)
        list(p = p$pooled, s = s, odds = odds)""",
        "mice",
        folder=tmp_path,
    )
    pooled = pool([smf.ols("y ~ x + C(g)", table).fit() for table in tables])
    table = pooled.table()
    # R lists x before the factor; statsmodels after.
    order = [pooled.names.index(n) for n in ("Intercept", "x", "C(g)[T.1]", "C(g)[T.2]")]
    pairs = {
        "estimate": "estimate",
        "within": "ubar",
        "between": "b",
        "total": "t",
        "df": "df",
        "relative_increase": "riv",
        "missing_share": "lambda",
        "missing_information": "fmi",
    }
    for ours, theirs in pairs.items():
        found = table[ours].to_numpy()[order]
        np.testing.assert_allclose(found, [row[theirs] for row in expected["p"]], rtol=1e-8)
    for ours, theirs in {"p_value": "p.value", "low": "2.5 %", "high": "97.5 %"}.items():
        found = table[ours].to_numpy()[order]
        np.testing.assert_allclose(
            found, [row[theirs] for row in expected["s"]], rtol=1e-8, atol=1e-10
        )
    check_odds_ratios(tables, expected["odds"])


def check_odds_ratios(tables, expected):
    """Fit a logistic regression with ``pooled_model`` and hold its odds ratios against mice's."""
    columns = tuple(Column(name, ColumnKind.CONTINUOUS) for name in ("x", "y"))
    values = np.array([table[["x", "y"]].to_numpy() for table in tables])
    coded = CodedTable.from_values(columns, np.full(values[0].shape, np.nan))
    rows, positions = (index.ravel() for index in np.indices(values[0].shape))
    draws = values.reshape(len(values), -1)
    result = Imputations(coded, ImputedCells(rows, positions, draws, draws[0], draws[0].copy()))
    found = result.pool("I(y > 1) ~ x", family="binomial", exponentiate=True).table()
    pairs = {"ratio": "estimate", "df": "df", "ratio_low": "2.5 %", "ratio_high": "97.5 %"}
    for ours, theirs in pairs.items():
        np.testing.assert_allclose(found[ours], [row[theirs] for row in expected], rtol=1e-8)


@pytest.mark.parametrize(("draws", "complete_df"), [(5, np.inf), (2, np.inf), (5, 50.0)])
def test_several_terms_are_tested_as_mitml_does(draws, complete_df, r, tmp_path):
    generator = np.random.default_rng(3)
    estimates = generator.normal(1, 0.3, (draws, 2))
    matrices = []
    for _ in range(draws):
        root = generator.normal(size=(2, 6))
        matrices.append(root @ root.T / 20)
    content = {"q": estimates.tolist(), "u": [m.tolist() for m in matrices]}
    (tmp_path / "n.json").write_text(json.dumps(content))
    df = "NULL" if np.isinf(complete_df) else str(complete_df)
    expected = r(
        f"""
        n <- jsonlite::fromJSON("n.json")
        q <- lapply(seq_len(nrow(n$q)), function(i) c(a = n$q[i, 1], b = n$q[i, 2]))
        u <- lapply(seq_len(nrow(n$q)), function(i) n$u[i, , ])
        t <- testConstraints(qhat = q, uhat = u, constraints = c("a", "b"), df.com = {df})
        list(t$test[1, 1], t$test[1, 2], t$test[1, 3], t$test[1, 4])""",
        "mitml",
        "jsonlite",
        folder=tmp_path,
    )
    test = pool([*estimates], matrices, names=["a", "b"], complete_df=complete_df).wald_test()
    found = (test.statistic, test.df_numerator, test.df_denominator, test.p_value)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_wald_test_of_draws_that_agree_is_the_normal_one():
    pooled = pool([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    assert pooled.wald_test().p_value == pytest.approx(2 * norm.sf(1.0), rel=1e-12)


def test_a_wald_test_of_one_term_is_its_t_test():
    pooled = pool([1.0, 1.3, 0.9, 1.2], [0.2, 0.3, 0.2, 0.25], names=["x"])
    assert pooled.wald_test(["x"]).statistic == pytest.approx(pooled.statistics[0] ** 2)


def test_draws_that_agree_leave_the_complete_data_interval():
    pooled = pool([2.0, 2.0, 2.0], [0.25, 0.25, 0.25], complete_df=30)
    assert pooled.std_errors[0] == pytest.approx(0.5)
    assert pooled.relative_increase[0] == 0
    assert pooled.df[0] == 30
    # Nothing says how many respondents there were: normal, and no number of 400,000,000.
    unknown = pool([2.0, 2.0, 2.0], [0.25, 0.25, 0.25])
    assert np.isinf(unknown.df[0])
    assert unknown.intervals()[0].tolist() == pytest.approx([2 - 1.959964 / 2, 2 + 1.959964 / 2])
    assert "∞" in str(unknown).splitlines()[2]
    assert "∞" in str(pool([2.0, 2.0, 2.0001], [0.25, 0.25, 0.25])).splitlines()[2]


def test_an_equation_for_every_level_is_pooled():
    import pandas as pd
    import statsmodels.api as sm

    generator = np.random.default_rng(4)
    fits = []
    for _ in range(3):
        x = pd.DataFrame({"const": 1.0, "x": generator.normal(size=90)})
        fits.append(sm.MNLogit(generator.integers(0, 3, 90), x).fit(disp=0))
    pooled = pool(fits)
    assert pooled.names == ("1: const", "1: x", "2: const", "2: x")
    mean = np.mean([fit.params.to_numpy() for fit in fits], axis=0)
    np.testing.assert_allclose(pooled.estimates, [*mean[:, 0], *mean[:, 1]])
    errors = np.mean([fit.bse.to_numpy() ** 2 for fit in fits], axis=0)
    np.testing.assert_allclose(np.diag(pooled.within), [*errors[:, 0], *errors[:, 1]])


@pytest.mark.parametrize(
    ("analyses", "variances", "message"),
    [
        ([1.0], [1.0], "Too few analyses.*Draw more"),
        ([1.0, 2.0], [1.0], "numbers of variances and estimates differ"),
        ([1.0, 2.0], None, "Analysis 1 cannot be pooled"),
        ([1.0, np.nan], [1.0, 1.0], "Analysis 2 has no finite result"),
        ([1.0, 2.0], [1.0, -1.0], "Analysis 2 has a negative variance"),
        ([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]], "do not match its estimates"),
        ([1.0, "x"], [1.0, 1.0], "Analysis 2 contains something that is not a number"),
    ],
)
def test_what_cannot_be_pooled(analyses, variances, message):
    with pytest.raises(InputError, match=message):
        pool(analyses, variances)


def test_analyses_of_different_terms_are_not_pooled():
    import pandas as pd

    one = (pd.Series({"a": 1.0, "b": 2.0}), np.eye(2))
    other = (pd.Series({"a": 1.0, "c": 2.0}), np.eye(2))
    with pytest.raises(InputError, match=r"Analysis 2 has other terms.*b, c"):
        pool([one, other])


def test_a_table_fits_eighty_columns_and_wraps_long_names():
    names = ["a very long name of a term that goes on and on and on", "x"]
    covariances = [np.diag([1e8, 1e-8]), np.diag([1.2e8, 1e-8])]
    pooled = pool([[123456.0, 1e-5], [133456.0, 2e-5]], covariances, names=names, notes=["n " * 60])
    lines = str(pooled).splitlines()
    assert max(map(len, lines)) <= 80
    assert "128,456" in lines[2]
    assert " ".join(line[:14].strip() for line in lines[2:5]) == "a very long name of a term that…"
    markup = pool([1.0, 2.0], [1, 1], names=["<script>"])._repr_html_()
    assert "<script>" not in markup
    assert "&lt;script&gt;" in markup
