"""Means, totals, shares and models over draws: equal to R's survey package, draw by draw."""

import numpy as np
import polars as pl
import pytest

from tabsoda import read_survey
from tabsoda.analysis import (
    ReplicateWeights,
    pooled_mean,
    pooled_model,
    pooled_proportions,
    pooled_total,
)
from tabsoda.analysis.model_frame import model_frame
from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells


@pytest.fixture(scope="module")
def replicates():
    """Return random half samples as Fay's method has them, 16 of 80 rows."""
    generator = np.random.default_rng(7)
    return np.where(generator.random((80, 16)) < 0.5, 0.3, 1.7)


def write_draws(result, folder, replicates):
    """Write every draw with skips blank, and the replicate weights, for R."""
    frames = []
    for number in range(1, len(result) + 1):
        frame = pl.from_pandas(model_frame(result, number))
        frames.append(frame.with_columns(pl.lit(number).alias("draw")))
    pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None)).write_csv(
        folder / "draws.csv", null_value="NA"
    )
    np.savetxt(folder / "reps.csv", replicates, delimiter=",")


R_SETUP = """
d <- read.csv("draws.csv"); reps <- as.matrix(read.csv("reps.csv", header = FALSE))
each <- function(f) lapply(split(d, d$draw), f)
plain <- function(t) svydesign(ids = ~1, weights = ~weight, data = t)
fay <- function(t) svrepdesign(weights = t$weight, repweights = reps * t$weight, data = t,
  type = "Fay", rho = 0.3, combined.weights = TRUE)
out <- function(l) { l <- unname(l)
  list(q = t(sapply(l, function(e) unname(coef(e)))),
       u = lapply(l, function(e) unname(as.matrix(vcov(e))))) }
"""


def compare(pooled, expected):
    estimates = np.array(expected["q"], dtype=float).reshape(pooled.n_draws, -1)
    if estimates.shape[1] == 1:
        estimates = estimates.reshape(-1, 1)
    np.testing.assert_allclose(pooled.estimates, estimates.mean(axis=0), rtol=1e-8)
    within = np.mean([np.atleast_2d(np.array(u, dtype=float)) for u in expected["u"]], axis=0)
    np.testing.assert_allclose(pooled.within, within, rtol=1e-6, atol=1e-12)
    between = np.atleast_2d(np.cov(estimates, rowvar=False))
    np.testing.assert_allclose(pooled.between, between, rtol=1e-7, atol=1e-12)


def test_weighted_statistics_equal_those_of_r(result, replicates, r, tmp_path):
    write_draws(result, tmp_path, replicates)
    expected = r(
        R_SETUP
        + """
        mean_of <- function(t, s) svymean(~cigarettes, s(t), na.rm = TRUE)
        list(
          mean = out(each(function(t) mean_of(t, plain))),
          total = out(each(function(t) svytotal(~age, plain(t)))),
          shares = out(each(function(t) svymean(~factor(region, c("north", "south", "west")),
            plain(t)))),
          fay_mean = out(each(function(t) mean_of(t, fay))),
          fay_total = out(each(function(t) svytotal(~age, fay(t)))),
          fay_df = degf(fay(d[d$draw == 1, ])))""",
        "survey",
        folder=tmp_path,
    )
    weights = result.weights["weight"].to_numpy()
    fay = ReplicateWeights.fay(weights, replicates * weights[:, None], 0.3)
    compare(pooled_mean(result, "cigarettes", weights="weight"), expected["mean"])
    compare(pooled_total(result, "age", weights="weight"), expected["total"])
    shares = pooled_proportions(result, "region", weights="weight")
    assert shares.names[1] == "region = south"
    assert shares.estimates[3] == 0
    first_three = type(shares)(
        shares.names[:3],
        shares.estimates[:3],
        shares.within[:3, :3],
        shares.between[:3, :3],
        shares.n_draws,
    )
    compare(first_three, expected["shares"])
    pooled = pooled_mean(result, "cigarettes", weights=fay)
    compare(pooled, expected["fay_mean"])
    assert pooled.complete_df == expected["fay_df"]
    assert pooled.notes == ("Weighted; variance from 16 replicate weights.",)
    compare(pooled_total(result, "age", weights=fay), expected["fay_total"])


def test_weighted_models_equal_svyglm(result, replicates, r, tmp_path):
    write_draws(result, tmp_path, replicates)
    formula = "cigarettes ~ factor(region) + age"
    expected = r(
        R_SETUP
        + f"""
        glm_of <- function(f, s, family) function(t) svyglm(f, s(t), family = family)
        list(
          gaussian = out(each(glm_of({formula}, plain, gaussian()))),
          binomial = out(each(glm_of(I(smokes == 1) ~ age, plain, quasibinomial()))),
          poisson = out(each(glm_of(cigarettes ~ age, plain, quasipoisson()))),
          fay = out(each(glm_of(I(smokes == 1) ~ age, fay, quasibinomial()))),
          df = svyglm({formula}, plain(d[d$draw == 1, ]))$df.residual,
          fay_df = svyglm(age ~ smokes, fay(d[d$draw == 1, ]))$df.residual)""",
        "survey",
        folder=tmp_path,
    )
    gaussian = pooled_model(result, "cigarettes ~ region + age", weights="weight")
    assert gaussian.names == ("Intercept", "region[T.south]", "region[T.west]", "age")
    compare(gaussian, expected["gaussian"])
    assert gaussian.complete_df == expected["df"]
    smoking = "I(smokes == 1) ~ age"
    compare(
        pooled_model(result, smoking, family="binomial", weights="weight"), expected["binomial"]
    )
    counts = pooled_model(result, "cigarettes ~ age", family="poisson", weights="weight")
    compare(counts, expected["poisson"])
    weights = result.weights["weight"].to_numpy()
    fay = ReplicateWeights.fay(weights, replicates * weights[:, None], 0.3)
    pooled = pooled_model(result, smoking, family="binomial", weights=fay)
    compare(pooled, expected["fay"])
    assert pooled.complete_df == expected["fay_df"]


@pytest.mark.parametrize("around", [False, True])
def test_jackknife_variances_equal_those_of_r(around, r, tmp_path):
    generator = np.random.default_rng(9)
    answers, groups = generator.normal(size=30), np.arange(30) % 6
    replicates = np.where(groups[:, None] == np.arange(6), 0.0, 6 / 5)
    np.savetxt(tmp_path / "reps.csv", replicates, delimiter=",")
    np.savetxt(tmp_path / "y.csv", answers)
    expected = r(
        f"""
        d <- data.frame(y = scan("y.csv", quiet = TRUE))
        reps <- as.matrix(read.csv("reps.csv", header = FALSE))
        jk1 <- svrepdesign(weights = rep(1, 30), repweights = reps, data = d, type = "JK1",
          mse = {str(around).upper()})
        jkn <- svrepdesign(weights = rep(1, 30), repweights = reps, data = d, type = "JKn",
          scale = 1, rscales = 1:6 / 7, mse = {str(around).upper()})
        list(vcov(svymean(~y, jk1))[1], vcov(svymean(~y, jkn))[1])""",
        "survey",
        folder=tmp_path,
    )
    jk1 = ReplicateWeights.jackknife(np.ones(30), replicates, around_estimate=around)
    scales = np.arange(1, 7) / 7
    jkn = ReplicateWeights.jackknife(
        np.ones(30), replicates, replicate_scales=scales, around_estimate=around
    )
    found = [d.estimate(lambda w: np.average(answers, weights=w))[1][0, 0] for d in (jk1, jkn)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_unweighted_models_equal_a_pool_of_statsmodels_fits(result):
    import statsmodels.formula.api as smf

    from tabsoda.analysis import pool

    frames = [model_frame(result, number) for number in range(1, 5)]
    expected = pool([smf.ols("age ~ region + health", frame).fit() for frame in frames])
    pooled = result.pool("age ~ region + health", design=None)
    np.testing.assert_allclose(pooled.estimates, expected.estimates, rtol=1e-9)
    np.testing.assert_allclose(pooled.covariance, expected.covariance, rtol=1e-9)
    np.testing.assert_allclose(pooled.df, expected.df, rtol=1e-9)


def test_a_function_is_called_with_tables_whose_skips_are_blank(result):
    skipped = int(result.table.states.skipped[:, 4].sum())
    assert skipped > 20
    found = result.apply(lambda table: table["cigarettes"])
    assert [series.null_count() for series in found] == [skipped] * 4
    assert min(series.min() for series in found) >= 1
    pooled = result.pool(lambda t: (t["age"].mean(), t["age"].var() / len(t)))
    mean = pooled_mean(result, "age", design=None)
    np.testing.assert_allclose(pooled.estimates, mean.estimates)
    np.testing.assert_allclose(pooled.covariance, mean.covariance)


def test_levels_in_c_are_named_as_in_the_file(result):
    pooled = result.pool("age ~ C(health)")
    assert pooled.names == ("Intercept", "C(health)[T.2]", "C(health)[T.3]", "C(health)[T.4]")


def test_rows_left_out_are_told(result):
    asked = int((~result.table.states.skipped[:, 4]).sum())
    pooled = result.pool("cigarettes ~ age")
    assert str(pooled.counts) == (
        f"N = {asked} of 80 respondents; left out: {80 - asked} question skipped"
    )
    assert pooled.complete_df == asked - 2


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("age", {}, "not a model"),
        ("age ~ nobody", {}, "'nobody' named in the formula is not in this result"),
        ("age ~ +* smokes", {}, "cannot be read"),
        ("smokes ~ age", {}, "The outcome smokes is categorical"),
        ("bs(age, 4) ~ health", {}, "more than one column"),
        ("health ~ age", {"family": "binomial"}, "does not match the family binomial"),
        ("I(-age) ~ health", {"family": "poisson"}, "numbers of 0 or more"),
        ("age ~ health", {"family": "gamma"}, "Unknown family"),
        (
            "age ~ health",
            {"weights": "region"},
            "'region' has texts. Found: '.*' in row 1, .* such cells",
        ),
        ("age ~ health", {"weights": "nobody"}, "'nobody' named in weights is not in this result"),
        ("age ~ health", {"weights": np.full(80, -1.0)}, "The weights are invalid"),
        ("age ~ health", {"weights": np.zeros(80)}, "The weights are all zero"),
        ("age ~ health", {"weights": [1.0, 2.0]}, "2 weights"),
        ("age ~ health + I(2 * health)", {}, "cannot be fitted to draw 1"),
        ("I(smokes == 1) ~ I(smokes == 2)", {"family": "binomial"}, "draw 1"),
        ("age ~ result", {}, "not in this result"),
    ],
)
def test_models_that_cannot_be_fitted(formula, options, message, result):
    with pytest.raises(InputError, match=message):
        pooled_model(result, formula, **options)


def test_statistics_of_what_has_none(result):
    with pytest.raises(InputError, match=r"levels that are not numbers.*shares"):
        pooled_mean(result, "region")
    with pytest.raises(InputError, match="no levels"):
        pooled_proportions(result, "age")
    with pytest.raises(InputError, match=r"'ages' is not in this result. Similar names: age"):
        pooled_mean(result, "ages")


def test_the_long_table_is_that_of_mice(result):
    long = result.complete("long", include_observed=True)
    assert long.columns == [".imp", ".id", *result.survey.frame.columns]
    assert long[".imp"].unique().sort().to_list() == [0, 1, 2, 3, 4]
    assert long.filter(pl.col(".imp") == 0).drop(".imp", ".id").equals(result.survey.frame)
    third = long.filter(pl.col(".imp") == 3)
    assert third[".id"].to_list() == list(range(1, 81))
    assert third.drop(".imp", ".id").equals(result.complete(3))
    assert result.complete("long")[".imp"].min() == 1


def test_fitting_to_every_draw_tells_how_far_it_is(result):
    told = []
    pooled_model(result, "cigarettes ~ age", progress=lambda *one: told.append(one))
    assert told == [(draw - 1, 4, f"draw {draw} of 4") for draw in (1, 2, 3, 4)]


def test_a_comparison_leaves_out_those_whom_the_question_was_not_put_to(result):
    def share(table):
        asked = table["cigarettes"].to_numpy()
        asked = asked[~np.isnan(asked)]
        return np.array([(asked > 10).mean()]), np.array([[1.0]])

    expected = np.mean([share(model_frame(result, k + 1))[0] for k in range(len(result))])
    pooled = pooled_model(result, "I(cigarettes > 10) ~ 1", design=None)
    assert pooled.estimates[0] == pytest.approx(expected, rel=1e-9)
    asked = int((~result.table.states.skipped[:, 4]).sum())
    assert pooled.counts.used.tolist() == [asked] * 4
    other = pooled_model(result, "age ~ I(Q('cigarettes') > 10)")
    plain = pooled_model(result, "age ~ cigarettes")
    assert str(other.counts) == str(plain.counts) == str(pooled.counts)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("age ~ I(cigarettes ==)", "cannot be read"),
        ("age ~ 0", "has no term"),
        ("np.log(age - age) ~ health", "values of the outcome that are not finite numbers"),
        ("age ~ np.log(health - 1)", "values of np.log.* that are not finite numbers"),
    ],
)
def test_formulas_that_make_no_numbers(formula, message, result):
    with pytest.raises(InputError, match=message):
        pooled_model(result, formula)


def test_weights_that_leave_nobody_with_a_level_are_told(result):
    west = model_frame(result, 1)["region"].to_numpy() == "west"
    replicates = np.ones((80, 3))
    replicates[west, 1] = 0.0
    weights = ReplicateWeights.jackknife(np.ones(80), replicates)
    with pytest.raises(InputError, match=r"draw 1. Found: \d+ rows with a weight"):
        pooled_model(result, "age ~ region", weights=weights)
    # Without replicates they are left out, as in a subset, and the level is not in the model.
    ever = np.any([model_frame(result, k)["region"] == "west" for k in range(1, 5)], axis=0)
    pooled = pooled_model(result, "age ~ region", weights=np.where(ever, 0.0, 1.0))
    assert pooled.names == ("Intercept", "region[T.south]")
    assert pooled.counts.left_out["weight 0"].tolist() == [int(ever.sum())] * 4


def test_codes_of_no_answer_are_no_weights():
    frame = pl.DataFrame({"w": [1.0, 2.0, 99.0, 1.0], "q": [1.0, 2.0, 3.0, None]})
    description = [
        {"name": "w", "type": "continuous", "role": "weight", "missing_codes": [99]},
        {"name": "q", "type": "continuous"},
    ]
    survey = read_survey(frame, description)
    cells = ImputedCells(np.array([3]), np.array([0]), np.ones((2, 1)), np.ones(1), np.ones(1))
    pooled = pooled_mean(Imputations(survey.table, cells, survey), "q", weights="w")
    assert pooled.estimates[0] == pytest.approx((1 * 1 + 2 * 2 + 1 * 1) / 4)
    assert pooled.counts.left_out["blank weight"].tolist() == [1, 1]


def test_user_missing_weights_of_a_file_are_no_weights(tmp_path):
    import pyreadstat

    values = np.r_[np.random.default_rng(0).uniform(0.5, 2.0, 75), np.full(5, 999.0)]
    frame = pl.DataFrame({"WEIGHT": values, "x": np.arange(80) % 7})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", missing_ranges={"WEIGHT": [999.0]})
    survey = read_survey(tmp_path / "a.sav")
    assert survey.schema["WEIGHT"].role == "weight"
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    pooled = pooled_mean(Imputations(survey.table, cells, survey), "x", weights="WEIGHT")
    assert pooled.estimates[0] == pytest.approx(np.average(np.arange(75) % 7, weights=values[:75]))
    assert str(pooled.counts) == "N = 75 of 80 respondents; left out: 5 blank weight"


def small_result(names, n_rows=3):
    frame = pl.DataFrame({name: np.arange(float(n_rows)) for name in names})
    survey = read_survey(frame, [{"name": name, "type": "continuous"} for name in names])
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    return Imputations(survey.table, cells, survey)


def test_one_row_has_no_variance():
    with pytest.raises(
        InputError, match=r"too few respondents for a variance. Found: 1 used for x"
    ):
        pooled_mean(small_result(["x"], n_rows=1), "x")


@pytest.mark.parametrize("name", [".imp", ".id"])
def test_names_that_the_long_table_needs_for_itself(name):
    with pytest.raises(InputError, match=f"Column '{name}' has a name that is reserved"):
        small_result(["x", name]).complete("long")
