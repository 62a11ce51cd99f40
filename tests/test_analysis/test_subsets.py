"""Subsets, groups, weights with blanks and shares: closed forms by hand, and who is counted."""

import numpy as np
import pytest
from scipy import stats

from tabsoda import CodedTable, Column, ColumnKind, Imputations
from tabsoda.analysis import (
    ReplicateWeights,
    pooled_by,
    pooled_mean,
    pooled_model,
    pooled_proportions,
    pooled_table,
    pooled_total,
)
from tabsoda.analysis.model_frame import model_frame
from tabsoda.errors import InputError
from tabsoda.results import ImputedCells


def rubin(estimates, variances, complete_df):
    """Return estimate, standard error and df, written out."""
    m, total = (
        len(estimates),
        np.mean(variances) + (1 + 1 / len(estimates)) * np.var(estimates, ddof=1),
    )
    share = (1 + 1 / m) * np.var(estimates, ddof=1) / total
    if share == 0:
        return np.mean(estimates), np.sqrt(total), complete_df
    observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - share)
    return np.mean(estimates), np.sqrt(total), 1 / (share**2 / (m - 1) + 1 / observed)


def check(pooled, expected, place=0):
    found = (pooled.estimates[place], pooled.std_errors[place], pooled.df[place])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def identical_draws(values, columns, m=5):
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((m, 0)), np.zeros(0), np.zeros(0))
    return Imputations(CodedTable.from_values(columns, values), cells)


def numbers(*names):
    return tuple(Column(name, ColumnKind.CONTINUOUS) for name in names)


def test_a_mean_of_a_subset_by_hand(result):
    ages = [
        model_frame(result, draw).query("age > 30 and smokes == 2")["age"] for draw in range(1, 5)
    ]
    sizes = [len(a) for a in ages]
    expected = rubin([a.mean() for a in ages], [a.var() / len(a) for a in ages], min(sizes) - 1)
    pooled = pooled_mean(result, "age", where="age > 30 and smokes == 2", design=None)
    check(pooled, expected)
    assert pooled.counts.used.tolist() == sizes
    assert len(set(sizes)) > 1
    assert pooled.counts.used_text() == f"{min(sizes)} to {max(sizes)}"


def test_a_weighted_mean_of_a_subset_is_that_of_a_domain(result):
    weights = model_frame(result, 1)["weight"].to_numpy().copy()
    weights[[3, 50]] = np.nan
    weights[7] = 0.0
    q, u, sizes = [], [], []
    for draw in range(1, 5):
        age = model_frame(result, draw)["age"].to_numpy()
        inside = (age > 30) & ~np.isnan(weights)
        w = np.where(inside, weights, 0.0)
        mean = (w * age).sum() / w.sum()
        # Linearized, over the 78 sampled rows that have a weight.
        u.append(78 / 77 * ((w / w.sum() * (age - mean)) ** 2).sum())
        q.append(mean)
        sizes.append(int((w > 0).sum()))
    pooled = pooled_mean(result, "age", weights=weights, where="age > 30")
    check(pooled, rubin(q, u, min(sizes) - 1))
    assert pooled.counts.used.tolist() == sizes


def test_blank_weights_are_left_out_and_counted(result):
    weights = np.where(np.arange(80) < 10, np.nan, 1.0)
    for estimate, arguments in (
        (pooled_mean, ("health",)),
        (pooled_total, ("health",)),
        (pooled_proportions, ("region",)),
        (pooled_model, ("health ~ smokes",)),
    ):
        pooled = estimate(result, *arguments, weights=weights)
        kept = estimate(result, *arguments, weights=np.ones(80), where=np.arange(80) >= 10)
        np.testing.assert_allclose(pooled.estimates, kept.estimates)
        assert str(pooled.counts) == "N = 70 of 80 respondents; left out: 10 blank weight"
        assert pooled.complete_df == 70 - (2 if estimate is pooled_model else 1)


def test_everybody_is_counted_once(result):
    weights = np.where(np.arange(80) % 9 == 0, np.nan, np.where(np.arange(80) % 7 == 0, 0.0, 1.0))
    pooled = pooled_mean(result, "cigarettes", weights=weights, where="cigarettes > 3 or age > 30")
    assert set(pooled.counts.left_out) == {
        "outside the subset",
        "subset undecided (a question of the condition is blank)",
        "blank weight",
        "weight 0",
        "question skipped",
        "no answer",
    }
    assert (pooled.counts.total == 80).all()
    asked = ~np.isnan(model_frame(result, 1)["cigarettes"].to_numpy())
    assert pooled.counts.used[0] <= asked.sum()


def test_models_of_identical_draws_are_the_complete_data_fit():
    import statsmodels.api as sm

    generator = np.random.default_rng(5)
    x = generator.normal(size=(60, 2))
    y = x @ [1.0, -2.0] + generator.normal(size=60)
    yes = (y > 0).astype(float)
    made = identical_draws(np.column_stack([y, yes, x]), numbers("y", "yes", "a", "b"))
    ols = sm.OLS(y, sm.add_constant(x)).fit()
    pooled = made.pool("y ~ a + b")
    np.testing.assert_allclose(pooled.estimates, ols.params, rtol=1e-8)
    np.testing.assert_allclose(pooled.std_errors, ols.bse, rtol=1e-8)
    np.testing.assert_allclose(pooled.p_values, ols.pvalues, rtol=1e-6)
    np.testing.assert_allclose(pooled.intervals(), ols.conf_int(), rtol=1e-6)
    assert pooled.df.tolist() == [57, 57, 57]
    half = made.pool("y ~ a", where="a > 0")
    inside = x[:, 0] > 0
    fit = sm.OLS(y[inside], sm.add_constant(x[inside, :1])).fit()
    np.testing.assert_allclose(half.std_errors, fit.bse, rtol=1e-8)
    assert half.df.tolist() == [inside.sum() - 2] * 2
    logit = sm.Logit(yes, sm.add_constant(x[:, 0])).fit(disp=0)
    ratios = made.pool("yes ~ a", family="binomial", exponentiate=True)
    np.testing.assert_allclose(ratios.std_errors, logit.bse, rtol=1e-5)
    assert ratios.df.tolist() == [58, 58]
    reach = stats.t.ppf(0.975, 58) * logit.bse
    table = ratios.table()
    np.testing.assert_allclose(table["ratio"], np.exp(logit.params), rtol=1e-5)
    np.testing.assert_allclose(table["ratio_low"], np.exp(logit.params - reach), rtol=1e-5)
    np.testing.assert_allclose(table["ratio_high"], np.exp(logit.params + reach), rtol=1e-5)
    assert str(ratios).splitlines()[2].split()[:2] == ["odds", "ratio"]


def test_a_function_has_at_most_the_rows_as_degrees_of_freedom(result):
    pooled = result.pool(lambda t: ([t["weight"].mean(), 1.0], np.diag([0.1, 0.2])))
    assert pooled.df.tolist() == [78, 78]
    with pytest.raises(InputError, match="only apply to formulas"):
        result.pool(lambda t: (1.0, 1.0), where="age > 3")


def test_shares_by_hand_and_inside_0_to_1():
    # 2 of 60 in one draw, 3 in the other; nobody has the last level.
    levels = Column("q", ColumnKind.NOMINAL, (1, 2, 3))
    values = np.repeat([[0.0], [1.0]], [57, 3], axis=0)
    values[57] = np.nan
    cells = ImputedCells(
        np.array([57]), np.array([0]), np.array([[0.0], [1.0]]), np.zeros(1), np.zeros(1)
    )
    pooled = pooled_proportions(Imputations(CodedTable.from_values((levels,), values), cells), "q")
    shares = np.array([2 / 60, 3 / 60])
    expected = rubin(shares, shares * (1 - shares) / 59, 59)
    check(pooled, expected, 1)
    p, se, df = expected
    reach = stats.t.ppf(0.975, df) * se / (p * (1 - p))
    ends = stats.logistic.cdf(np.log(p / (1 - p)) + np.array([-reach, reach]))
    np.testing.assert_allclose(pooled.intervals()[1], ends, rtol=1e-10)
    assert ends[0] > 0 > p - stats.t.ppf(0.975, df) * se
    # Nobody: exact binomial, as of 0 in 60.
    assert pooled.intervals()[2].tolist() == pytest.approx([0, stats.beta.ppf(0.975, 1, 60)])


def test_groups_are_formed_in_every_draw(result):
    groups = pooled_by(result, "region", pooled_mean, "age", where="smokes == 1", design=None)
    assert list(groups) == ["north", "south", "west"]
    assert groups.failed == {"sea": "nobody"}
    assert groups.notes == (
        "Some answers to region were imputed: groups are formed in every draw.",
    )
    for level, pooled in groups.items():
        ages = [
            model_frame(result, draw).query(f"smokes == 1 and region == '{level}'")["age"]
            for draw in range(1, 5)
        ]
        sizes = [len(a) for a in ages]
        assert pooled.counts.used.tolist() == sizes
        check(
            pooled,
            rubin([a.mean() for a in ages], [a.var() / len(a) for a in ages], min(sizes) - 1),
        )
    assert any(len(set(pooled.counts.used)) > 1 for pooled in groups.values())
    smokers = int((model_frame(result, 1)["smokes"] == 1).sum())
    assert groups.counts.used.tolist() == [smokers] * 4
    assert (groups.counts.total == 80).all()


def test_groups_of_models_and_of_numbers(result):
    groups = result.pool_by("smokes", "age ~ health", weights="weight")
    one = result.pool("age ~ health", weights="weight", where="smokes == 2")
    np.testing.assert_allclose(groups[2].estimates, one.estimates)
    np.testing.assert_allclose(groups[2].covariance, one.covariance)
    by_number = pooled_by(result, "health", pooled_mean, "age")
    assert list(by_number) == [1, 2, 3, 4]
    with pytest.raises(InputError, match=r"'weight' has too many different values.*80 values"):
        pooled_by(result, "weight", pooled_mean, "age")
    many = Column("place", ColumnKind.NOMINAL, tuple(range(400)))
    places = identical_draws(np.arange(400.0)[:, None], (many,))
    with pytest.raises(InputError, match=r"'place' has too many different values.*at most 300"):
        pooled_by(places, "place", pooled_mean, "place")
    with pytest.raises(InputError, match=r"'regio' named in by .* Similar names: region"):
        pooled_by(result, "regio", pooled_mean, "age")


def test_a_group_that_cannot_be_estimated_does_not_stop_the_others(result):
    groups = result.pool_by("region", "age ~ health", where="region != 'north' or person < 5")
    assert set(groups) == {"south", "west"}
    assert "The model cannot be fitted to draw 1" in groups.failed["north"]
    assert groups.counts.left_out["in a group that cannot be estimated"].max() <= 4
    assert (groups.counts.total == 80).all()
    # What is wrong in every group is an error.
    with pytest.raises(InputError, match="'nobody' named in the formula"):
        result.pool_by("region", "age ~ nobody")


def test_a_table_is_the_shares_in_every_row(result):
    table = pooled_table(result, "smokes", "region", weights="weight")
    for code in (1, 2):
        one = pooled_proportions(result, "region", weights="weight", where=f"smokes == {code}")
        np.testing.assert_allclose(table.rows[code].estimates, one.estimates)
        np.testing.assert_allclose(table.rows[code].intervals(), one.intervals())
        assert one.estimates.sum() == pytest.approx(1)
    everybody = pooled_proportions(result, "region", weights="weight")
    np.testing.assert_allclose(table.total.estimates, everybody.estimates)
    assert (table.counts.used == table.total.counts.used).all()
    # The rows' bases are those who were asked both.
    asked = pooled_table(result, "region", "smokes", where="cigarettes is not None")
    assert asked.total.counts.used.tolist() == asked.counts.used.tolist()
    with pytest.raises(InputError, match="both the rows and the columns"):
        pooled_table(result, "smokes", "smokes")


def test_replicate_weights_know_subsets(result):
    groups = np.arange(80) % 8
    replicates = np.where(groups[:, None] == np.arange(8), 0.0, 8 / 7)
    jackknife = ReplicateWeights.jackknife(np.ones(80), replicates)
    pooled = pooled_mean(result, "weight", weights=jackknife, where="smokes == 1")
    inside = model_frame(result, 1)["smokes"].to_numpy() == 1
    answers = model_frame(result, 1)["weight"].to_numpy()
    assert pooled.estimates[0] == pytest.approx(answers[inside].mean())
    means = [answers[inside & (groups != g)].mean() for g in range(8)]
    expected = 7 / 8 * ((np.array(means) - np.mean(means)) ** 2).sum()
    assert pooled.std_errors[0] == pytest.approx(np.sqrt(expected))
    assert pooled.df[0] == 7


def test_codes_of_nominals_taken_as_numbers_are_noted(result):
    assert "its codes are used as numbers" in pooled_mean(result, "smokes").notes[-1]
    assert pooled_mean(result, "health", design=None).notes == ()
    with pytest.raises(InputError, match=r"'age' has no levels.*mean"):
        pooled_proportions(result, "age")


def test_labels_cannot_write_to_the_terminal():
    labels = {1: "\x1b[31mred\nYes", 2: "No"}
    asked = Column("q", ColumnKind.NOMINAL, (1, 2), level_labels=labels)
    other = Column("g", ColumnKind.NOMINAL, (1, 2), level_labels=labels)
    values = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [1, 1.0]])
    made = identical_draws(values, (asked, other), m=2)
    for shown in (
        pooled_proportions(made, "q"),
        pooled_by(made, "g", pooled_mean, "q"),
        pooled_by(made, "g", pooled_proportions, "q"),
        pooled_table(made, "g", "q"),
        made.pool("I(q == 1) ~ g"),
    ):
        assert "\x1b" not in str(shown)
        assert "red" in str(shown)
        assert shown._repr_html_().startswith("<")


def test_tables_of_text_fit_eighty_columns(result):
    weights = np.where(np.arange(80) == 4, np.nan, 1.0)
    shown = [
        pooled_by(result, "region", pooled_mean, "age", weights=weights),
        pooled_by(result, "smokes", pooled_proportions, "region", weights=weights),
        pooled_table(result, "region", "health", weights=weights),
        pooled_by(result, "smokes", pooled_table, "region", "health", weights=weights),
        result.pool_by("smokes", "I(age > 40) ~ region", family="binomial", exponentiate=True),
    ]
    for one in shown:
        text = str(one)
        assert max(map(len, text.splitlines())) <= 80
        assert text.startswith("Pooled over 4 imputations (Rubin's rules)\nN = ")
    assert "left out: 1 blank weight" in str(shown[0])
    assert "Design: weights" in str(shown[3])
    assert "smokes: 1 'Yes'; N = " in str(shown[1])
    assert str(shown[3]).count("health (columns)") == 2
    assert "odds ratio" in str(shown[4])
