"""Strata, clusters, weights and finite populations: equal to R's survey and mitools."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda import read_survey
from tabsoda.analysis import (
    ReplicateWeights,
    SampleDesign,
    pooled_by,
    pooled_mean,
    pooled_median,
    pooled_model,
    pooled_proportions,
    pooled_quantile,
    pooled_ratio,
    pooled_table,
    pooled_total,
)
from tabsoda.analysis.linearisation import Sample
from tabsoda.analysis.model_frame import model_frame
from tabsoda.analysis.quantile_rules import RULES
from tabsoda.analysis.sample_design import find_sample
from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells

REFERENCE = Path(__file__).parent / "survey_reference.json"
QUESTIONS = ("income", "smokes", "region", "members", "cigarettes")


def description(*roles):
    """Describe the file; the columns of the design have their roles only if named."""
    design = {"wt": "weight", "stratum": "stratum", "psu": "cluster"}
    return [
        *(
            {"name": name, "type": "continuous", "role": role if name in roles else "ignore"}
            for name, role in design.items()
        ),
        {"name": "n_psu", "type": "continuous", "role": "ignore"},
        {"name": "income", "type": "continuous", "missing_codes": [-9]},
        {"name": "smokes", "type": "nominal", "levels": [1, 2], "missing_codes": [-9]},
        {"name": "region", "type": "nominal", "levels": ["a", "b", "c"]},
        {"name": "members", "type": "ordinal", "levels": [1, 2, 3, 4]},
        {"name": "cigarettes", "type": "continuous", "skip_codes": [-1], "missing_codes": [-9]},
    ]


def make(*roles, change=None):
    """Return a clustered sample with 5 draws; who smokes is imputed, and with it who is asked."""
    generator = np.random.default_rng(4)
    sizes = [3, 2, 4, 5]
    stratum = np.repeat(np.arange(4), [12 * size for size in sizes]) + 1
    psu = np.repeat(np.arange(sum(sizes)), 12) + 1
    n = psu.size
    effect = generator.normal(0, 5, psu.max() + 1)[psu]
    income = np.round(30 + 4 * stratum + effect + generator.normal(0, 8, n), 2)
    income[generator.random(n) < 0.2] = -9
    smokes = 1 + (generator.random(n) < 0.6)
    unknown = generator.random(n) < 0.1
    smokes = np.where(unknown, -9, smokes)
    cigarettes = np.where(smokes == 2, -1, generator.integers(1, 30, n))
    cigarettes = np.where(unknown, -9, cigarettes)
    frame = pl.DataFrame(
        {
            "wt": np.round(generator.uniform(1, 6, n) * stratum, 3),
            "stratum": stratum,
            "psu": psu,
            "n_psu": np.array([20, 11, 40, 25])[stratum - 1],
            "income": income,
            "smokes": smokes,
            "region": np.array(["a", "b", "c"])[generator.integers(0, 3, n)],
            "members": generator.integers(1, 5, n),
            "cigarettes": cigarettes,
        }
    )
    survey = read_survey(frame if change is None else change(frame), description(*roles))
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.empty((5, len(rows)))
    for cell, (row, position) in enumerate(zip(rows, positions, strict=True)):
        if QUESTIONS[position] == "income":
            draws[:, cell] = np.round(generator.normal(42, 12, 5), 2)
        elif QUESTIONS[position] == "smokes":
            draws[:, cell] = generator.integers(0, 2, 5)
        else:
            gate = np.flatnonzero((rows == row) & (positions == 1))[0]
            draws[:, cell] = np.where(draws[:, gate] == 0, generator.integers(1, 30, 5), np.nan)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


@pytest.fixture(scope="module")
def plain():
    return make()


@pytest.fixture(scope="module")
def described():
    return make("wt", "stratum", "psu")


FULL = SampleDesign("wt", "stratum", "psu")
FINITE = SampleDesign("wt", "stratum", "psu", population="n_psu")


def analyses(result):
    """Return every analysis that R repeats."""
    smokers = {"where": "smokes == 1"}
    return {
        "mean": pooled_mean(result, "income", design=FULL),
        "mean_finite": pooled_mean(result, "income", design=FINITE),
        "mean_strata_only": pooled_mean(result, "income", design=SampleDesign("wt", "stratum")),
        "mean_clusters_only": pooled_mean(result, "income", design=SampleDesign(clusters="psu")),
        "mean_by_share": pooled_mean(
            result, "income", design=SampleDesign("wt", clusters="psu", population=0.3)
        ),
        "domain": pooled_mean(result, "income", design=FINITE, **smokers),
        "follower": pooled_mean(result, "cigarettes", design=FULL),
        "narrow_domain": pooled_mean(
            result, "income", design=FULL, where="stratum == 2 and smokes == 1"
        ),
        "shares": pooled_proportions(result, "smokes", design=FULL),
        "total": pooled_total(result, "cigarettes", design=FINITE),
        "ratio": pooled_ratio(result, "income", "members", design=FULL),
        "ratio_domain": pooled_ratio(result, "cigarettes", "income", design=FINITE, **smokers),
        "linear": pooled_model(result, "income ~ smokes + members", design=FULL),
        "linear_domain": pooled_model(result, "income ~ cigarettes", design=FINITE, **smokers),
        "logistic": pooled_model(
            result, "I(smokes == 1) ~ income + region", family="binomial", design=FULL
        ),
        "poisson": pooled_model(result, "cigarettes ~ income", family="poisson", design=FINITE),
    }


R_CODE = """
options(survey.lonely.psu = "fail")
d <- read.csv("draws.csv"); tables <- split(d, d$draw)
full <- function(t) svydesign(ids = ~psu, strata = ~stratum, weights = ~wt, data = t)
finite <- function(t)
  svydesign(ids = ~psu, strata = ~stratum, weights = ~wt, fpc = ~n_psu, data = t)
strata_only <- function(t) svydesign(ids = ~1, strata = ~stratum, weights = ~wt, data = t)
clusters_only <- function(t) svydesign(ids = ~psu, data = t, weights = rep(1, nrow(t)))
by_share <- function(t) svydesign(ids = ~psu, weights = ~wt, data = t, fpc = rep(0.3, nrow(t)))
everybody <- function(s) s
smokers <- function(s) subset(s, smokes == 1)
# Combine by mitools, with the degrees of freedom of the design, the fewest of all draws.
combined <- function(design, f, part = everybody) {
  fits <- lapply(tables, function(t) f(part(design(t))))
  df <- min(if (inherits(fits[[1]], "svyglm")) sapply(fits, function(m) m$df.residual)
            else sapply(tables, function(t) degf(part(design(t)))))
  pooled <- MIcombine(lapply(fits, coef), lapply(fits, vcov), df.complete = df)
  # In the observed degrees of freedom, mitools leaves out the factor 1 + 1/m of Barnard and Rubin.
  within <- diag(Reduce("+", lapply(fits, function(f) as.matrix(vcov(f)))) / length(fits))
  share <- pmax(1 - within / diag(as.matrix(vcov(pooled))), 1e-4)
  old <- (length(fits) - 1) / share^2
  observed <- (df + 1) / (df + 3) * df * (1 - share)
  list(estimates = unname(coef(pooled)), covariance = unname(as.matrix(vcov(pooled))),
       df = unname(old * observed / (old + observed)), complete_df = df)
}
exact <- glm.control(epsilon = 1e-13, maxit = 100)
mean_of <- function(s) svymean(~income, s)
list(
  mean = combined(full, mean_of),
  mean_finite = combined(finite, mean_of),
  mean_strata_only = combined(strata_only, mean_of),
  mean_clusters_only = combined(clusters_only, mean_of),
  mean_by_share = combined(by_share, mean_of),
  domain = combined(finite, mean_of, smokers),
  follower = combined(full, function(s) svymean(~cigarettes, s),
    function(s) subset(s, !is.na(cigarettes))),
  narrow_domain = combined(full, mean_of, function(s) subset(s, stratum == 2 & smokes == 1)),
  shares = combined(full, function(s) svymean(~factor(smokes), s)),
  total = combined(finite, function(s) svytotal(~cigarettes, s),
    function(s) subset(s, !is.na(cigarettes))),
  ratio = combined(full, function(s) svyratio(~income, ~members, s)),
  ratio_domain = combined(finite, function(s) svyratio(~cigarettes, ~income, s), smokers),
  linear = combined(full, function(s) svyglm(income ~ factor(smokes) + members, s)),
  linear_domain = combined(finite, function(s) svyglm(income ~ cigarettes, s), smokers),
  logistic = combined(full, function(s) svyglm(I(smokes == 1) ~ region + income, s,
    family = quasibinomial(), control = exact)),
  poisson = combined(finite, function(s) svyglm(cigarettes ~ income, s,
    family = quasipoisson(), control = exact), function(s) subset(s, !is.na(cigarettes))))
"""


def write_draws(result, folder):
    frames = []
    for number in range(1, len(result) + 1):
        frame = pl.from_pandas(model_frame(result, number))
        frames.append(frame.with_columns(pl.lit(number).alias("draw")))
    pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None)).write_csv(
        folder / "draws.csv", null_value="NA"
    )


def compare(found, expected):
    assert set(found) == set(expected)
    for name, pooled in found.items():
        one = expected[name]
        k = len(pooled.estimates)
        np.testing.assert_allclose(
            pooled.estimates, np.ravel(one["estimates"]), rtol=1e-6, err_msg=name
        )
        np.testing.assert_allclose(
            pooled.covariance, np.reshape(one["covariance"], (k, k)), 1e-6, 1e-9, err_msg=name
        )
        np.testing.assert_allclose(pooled.df, np.ravel(one["df"]), rtol=1e-6, err_msg=name)
        assert pooled.complete_df == one["complete_df"], name


def test_estimates_equal_those_stored_from_r(plain):
    compare(analyses(plain), json.loads(REFERENCE.read_text(encoding="utf-8")))


def test_estimates_equal_those_of_survey_and_mitools(plain, r, tmp_path):
    write_draws(plain, tmp_path)
    expected = r(R_CODE, "survey", "mitools", folder=tmp_path)
    compare(analyses(plain), expected)
    # The stored values are these.
    compare(analyses(plain), json.loads(REFERENCE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("lonely", ["remove", "adjust", "average"])
def test_strata_with_one_cluster_are_treated_as_in_r(lonely, plain, r, tmp_path):
    write_draws(plain, tmp_path)
    expected = r(
        f"""
        options(survey.lonely.psu = "{lonely}")
        d <- read.csv("draws.csv"); d$stratum <- ifelse(d$psu <= 2, 100 + d$psu, d$stratum)
        each <- function(f) lapply(split(d, d$draw), function(t)
          f(svydesign(ids = ~psu, strata = ~stratum, weights = ~wt, data = t)))
        out <- function(l) list(q = unname(sapply(l, coef)), u = unname(sapply(l, vcov)))
        list(mean = out(each(function(s) svymean(~income, s))),
             domain = out(each(function(s) svymean(~income, subset(s, stratum != 101)))),
             total = out(each(function(s) svytotal(~income, s))))""",
        "survey",
        folder=tmp_path,
    )
    psu = plain.survey.frame["psu"].to_numpy()
    strata = np.where(psu <= 2, 100 + psu, plain.survey.frame["stratum"].to_numpy())
    design = SampleDesign("wt", strata, "psu", lonely=lonely)
    found = {
        "mean": pooled_mean(plain, "income", design=design),
        "domain": pooled_mean(plain, "income", design=design, where=strata != 101),
        "total": pooled_total(plain, "income", design=design),
    }
    for name, pooled in found.items():
        np.testing.assert_allclose(pooled.estimates[0], np.mean(expected[name]["q"]), rtol=1e-9)
        np.testing.assert_allclose(pooled.within[0, 0], np.mean(expected[name]["u"]), rtol=1e-8)
    assert "lonely" in found["mean"].notes[1]


def test_quantiles_use_the_design(plain, r, tmp_path):
    """The share below the quantile has the design's variance; then follows Woodruff's method."""
    from scipy import stats

    from tabsoda.analysis.rubin import logit_interval

    write_draws(plain, tmp_path)
    pooled = pooled_quantile(plain, "income", 0.4, design=FULL)
    point = float(pooled.estimates[0])
    expected = r(
        R_CODE[: R_CODE.index("exact <-")]
        + f"combined(full, function(s) svymean(~I(as.numeric(income < {point})), s))",
        "survey",
        "mitools",
        folder=tmp_path,
    )
    share_error = np.sqrt(np.ravel(expected["covariance"])[0])
    t = stats.t.ppf(0.975, np.ravel(expected["df"]))
    low, high = logit_interval(np.array([0.4]), np.array([share_error]), t)[0]
    stacked = np.concatenate([model_frame(plain, k)["income"] for k in range(1, 6)])
    masses = np.tile(plain.survey.frame["wt"].to_numpy(), 5)
    order = np.argsort(stacked)
    reached = np.cumsum(masses[order]) / masses.sum()
    ends = [stacked[order][np.searchsorted(reached, end)] for end in (low, high)]
    np.testing.assert_allclose(pooled.std_errors[0], (ends[1] - ends[0]) / (2 * t[0]), rtol=0.02)
    assert pooled.complete_df == 10


QUANTILES = {
    "everybody": ("full", "everybody", "income", {"design": FULL}),
    "finite": ("finite", "smokers", "income", {"design": FINITE, "where": "smokes == 1"}),
    "clusters": (
        "clusters_only",
        "everybody",
        "income",
        {"design": SampleDesign(clusters="psu")},
    ),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_equal_those_of_survey_and_mitools(name, plain, r, tmp_path):
    """All rules of svyquantile, pooled by MIcombine: estimates, variances, degrees of freedom."""
    write_draws(plain, tmp_path)
    design, part, column, options = QUANTILES[name]
    shares = [0.25, 0.5, 0.7]
    expected = r(
        R_CODE[: R_CODE.index("exact <-")]
        + f"""
        each <- function(rule, p) combined({design}, function(s)
          svyquantile(~{column}, s, p, qrule = rule, interval.type = "mean"), {part})
        rules <- c("math", "school", "shahvaish", paste0("hf", 1:9))
        found <- lapply(rules, function(rule) lapply(c(0.25, 0.5, 0.7), function(p) each(rule, p)))
        setNames(found, rules)""",
        "survey",
        "mitools",
        folder=tmp_path,
    )
    assert set(expected) == set(RULES)
    for rule, by_share in expected.items():
        pooled = pooled_quantile(plain, column, shares, rule=rule, **options)
        for at, one in enumerate(by_share):
            what = f"{rule} {shares[at]}"
            np.testing.assert_allclose(pooled.estimates[at], one["estimates"], 1e-6, err_msg=what)
            variance = np.ravel(one["covariance"])[0]
            np.testing.assert_allclose(
                pooled.covariance[at, at], variance, 1e-6, 1e-12, err_msg=what
            )
            if variance > 0:
                np.testing.assert_allclose(pooled.df[at], one["df"], 1e-6, err_msg=what)
            assert pooled.complete_df == one["complete_df"]


def test_a_rule_has_to_exist_and_needs_answers_on_both_sides(plain):
    with pytest.raises(InputError, match=r"rule for quantiles is unknown.*'median'.*math, school"):
        pooled_median(plain, "income", rule="median")
    with pytest.raises(InputError, match=r"'income' has too few answers for the interval"):
        pooled_quantile(plain, "income", 0.99, design=FULL, rule="math")


def test_roles_are_used_without_being_asked_for(plain, described):
    for estimate, arguments in [
        (pooled_mean, ("income",)),
        (pooled_total, ("cigarettes",)),
        (pooled_ratio, ("income", "members")),
        (pooled_median, ("income",)),
        (pooled_proportions, ("smokes",)),
        (pooled_model, ("income ~ smokes",)),
    ]:
        asked = estimate(plain, *arguments, design=FULL)
        by_roles = estimate(described, *arguments)
        np.testing.assert_array_equal(by_roles.estimates, asked.estimates)
        np.testing.assert_array_equal(by_roles.covariance, asked.covariance)
        assert by_roles.complete_df == asked.complete_df
        assert by_roles.notes[0] == (
            "Design from the description: weights wt, strata stratum (4), clusters psu (14);"
            " variance by linearisation."
        )
        ignored = estimate(described, *arguments, design=None)
        np.testing.assert_array_equal(ignored.covariance, estimate(plain, *arguments).covariance)
        assert not any("Design" in note for note in ignored.notes)
    assert described.pool("income ~ smokes").complete_df == 9
    groups = pooled_by(described, "smokes", pooled_mean, "income")
    one = pooled_mean(plain, "income", design=FULL, where="smokes == 1")
    np.testing.assert_array_equal(groups[1].covariance, one.covariance)
    table = pooled_table(described, "region", "smokes")
    one = pooled_proportions(plain, "smokes", design=FULL, where="region == 'b'")
    np.testing.assert_array_equal(table.rows["b"].covariance, one.covariance)


def test_weights_replace_those_of_the_description(described):
    ones = np.ones(described.table.shape[0])
    found = pooled_mean(described, "income", weights=ones)
    expected = pooled_mean(described, "income", design=SampleDesign(None, "stratum", "psu"))
    np.testing.assert_allclose(found.covariance, expected.covariance)
    halves = np.column_stack([2 * (np.arange(ones.size) % 2 == k) for k in (0, 1)])
    replicates = ReplicateWeights.brr(ones, halves)
    assert "replicate" in pooled_mean(described, "income", weights=replicates).notes[0]


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_the_variance_of_a_stratified_mean_is_the_textbook_formula(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 6, 3)
    strata = np.repeat(np.arange(3), sizes)
    population = sizes + generator.integers(0, 9, 3)
    values = generator.normal(size=strata.size)
    weights = (population / sizes)[strata]
    sample = Sample(weights, strata, np.arange(strata.size), sizes / population, ("a", "b", "c"))
    share = weights / weights.sum()
    pulls = share * (values - share @ values)
    found = sample.covariance(pulls[:, None], np.ones(strata.size, dtype=bool))[0, 0]
    expected = sum(
        (size / population.sum()) ** 2 * (1 - n / size) * values[strata == h].var(ddof=1) / n
        for h, (n, size) in enumerate(zip(sizes, population, strict=True))
    )
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (
            {"strata": "strat"},
            "'strat' named in strata is not in this result. Similar names: strat",
        ),
        ({"clusters": "nothing"}, "'nothing' named in clusters is not in this result"),
        ({"population": "nothing"}, "'nothing' named in population is not in this result"),
        ({"weights": "nothing"}, "'nothing' named in weights is not in this result"),
        ({"strata": "smokes"}, "'smokes' cannot be the strata of the design. Found: imputed"),
        ({"strata": "psu"}, "Stratum 1 has only one cluster.*in 1, 2, 3, 4, 5 and 9 more"),
        ({"clusters": "region"}, "Cluster a is in more than one stratum.*strata 1 and 2; 3 such"),
        (
            {"population": 3},
            "population of stratum 3 is smaller than its sample. Found: 3 in .*, 4",
        ),
        ({"population": -2.0}, "population of stratum 1 is invalid. Found: -2"),
        ({"population": {1: 9, 2: 9, 3: 9, 4: 9, 5: 9}}, "Stratum 5 is empty: it has a population"),
        ({"population": {1: 9, 2: 9, 3: 9}}, "Stratum 4 has no population"),
        ({"population": "income"}, "population differs within stratum 1"),
        ({"population": np.ones(3)}, r"shape \(3,\). Expected: 168 values"),
        ({"strata": [1, 2]}, r"The strata do not match the table. Found: shape \(2,\)"),
        ({"weights": np.zeros(168)}, "The weights are all zero"),
        ({"weights": np.full(168, -1.0)}, "The weights are invalid"),
        ({"weights": np.full(168, np.nan)}, "The weights are all zero"),
    ],
)
def test_designs_that_are_refused(design, message, plain):
    wanted = SampleDesign(**({"weights": "wt", "strata": "stratum", "clusters": "psu"} | design))
    with pytest.raises(InputError, match=message):
        pooled_mean(plain, "income", design=wanted)


def test_other_designs_that_are_refused(plain, described):
    with pytest.raises(InputError, match=r"Unknown way.*'shrug'.*fail, remove, adjust, average"):
        SampleDesign(lonely="shrug")
    with pytest.raises(InputError, match="The design is invalid"):
        pooled_mean(plain, "income", design="none")
    both = make("wt", "stratum", "psu")
    twice = [*description("wt", "psu"), {"name": "other", "type": "continuous", "role": "weight"}]
    frame = both.survey.frame.with_columns(other=pl.lit(1.0))
    survey = read_survey(frame, twice)
    result = Imputations(survey.table, both.cells, survey)
    with pytest.raises(
        InputError, match=r"more than one column with the role weight. Found: wt, o"
    ):
        pooled_mean(result, "income")
    assert pooled_mean(result, "income", weights="wt").notes[0].startswith("Design from the descr")
    with pytest.raises(InputError, match=r"too few clusters to estimate income. Found: 0 degrees"):
        pooled_mean(described, "income", where="psu == 3")
    with pytest.raises(InputError, match="too few clusters to estimate the model"):
        pooled_model(described, "income ~ members + smokes + region", where="stratum == 3")


def test_a_function_cannot_have_a_design(plain):
    with pytest.raises(InputError, match="where, design and exponentiate only apply to formulas"):
        plain.pool(lambda table: (table["income"].mean(), 1.0), design=FULL)


def test_blank_strata_are_refused_unless_the_row_is_not_in_the_sample():
    def blank(frame):
        number = pl.int_range(pl.len())
        return frame.with_columns(stratum=pl.when(number == 5).then(None).otherwise("stratum"))

    def left_out(frame):
        number = pl.int_range(pl.len())
        return blank(frame).with_columns(wt=pl.when(number == 5).then(None).otherwise("wt"))

    with pytest.raises(InputError, match=r"'stratum' has blanks.*1 respondents.*first in row 6"):
        pooled_mean(make("wt", "stratum", "psu", change=blank), "income")
    pooled = pooled_mean(make("wt", "stratum", "psu", change=left_out), "income")
    assert "1 blank weight" in str(pooled.counts)
    assert pooled.complete_df == 10


def test_clusters_numbered_anew_in_every_stratum_need_nest(plain):
    psu, stratum = (plain.survey.frame[name].to_numpy() for name in ("psu", "stratum"))
    anew = psu - np.array([0, 3, 5, 9])[stratum - 1]
    with pytest.raises(InputError, match=r"Cluster 1 is in more than one stratum.*use nest"):
        pooled_mean(plain, "income", design=SampleDesign("wt", "stratum", anew))
    nested = pooled_mean(plain, "income", design=SampleDesign("wt", "stratum", anew, nest=True))
    expected = pooled_mean(plain, "income", design=FULL)
    np.testing.assert_allclose(nested.covariance, expected.covariance, rtol=1e-12)
    assert nested.complete_df == 10


def test_a_stratum_observed_completely_adds_no_variance(plain):
    sizes = {1: 3, 2: 11, 3: 40, 4: 25}
    whole = pooled_mean(plain, "income", design=SampleDesign("wt", "stratum", "psu", sizes))
    sample = find_sample(plain, design=SampleDesign("wt", "stratum", "psu", sizes))
    np.testing.assert_allclose(sample.fractions, [1, 2 / 11, 4 / 40, 5 / 25])
    assert whole.within[0, 0] < pooled_mean(plain, "income", design=FINITE).within[0, 0]
    # Its only cluster is then no obstacle.
    psu = plain.survey.frame["psu"].to_numpy()
    strata = np.where(psu == 1, 9, plain.survey.frame["stratum"].to_numpy())
    certain = SampleDesign("wt", strata, "psu", {**sizes, 1: 20, 9: 1})
    assert np.isfinite(pooled_mean(plain, "income", design=certain).std_errors[0])
