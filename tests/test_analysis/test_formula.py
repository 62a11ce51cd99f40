"""Formulas calculate and do nothing else; terms read as the survey's own labels."""

import re
from pathlib import Path

import numpy as np
import pytest

from tabsoda.analysis import pooled_model
from tabsoda.analysis.formula import _CALLS, check_formula
from tabsoda.analysis.picked_model import picked_formula
from tabsoda.analysis.terms import term_labels
from tabsoda.errors import InputError
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable

CODE = [
    "__import__('os').system('touch {path}')",
    "I(__import__('os').system('touch {path}'))",
    "open('{path}', 'w')",
    "I(open('{path}', 'w'))",
    "C(age, open('{path}', 'w'))",
    "C(age, levels=open('{path}', 'w'))",
    "np.load('{path}')",
    "np.savetxt('{path}', age)",
    "np.lib.format.open('{path}', 'w')",
    "I((lambda: open('{path}', 'w'))())",
    "I([open('{path}', 'w') for x in [1]])",
    "I(age.tofile('{path}'))",
    "Q('age').tofile('{path}')",
    "Q(open('{path}', 'w'))",
    "Q('__import__')('os')",
    "I(f\"{{open('{path}', 'w')}}\")",
    "I(eval(\"open('{path}', 'w')\"))",
    "bs(age, *open('{path}', 'w'))",
    "bs(age, **{{'df': open('{path}', 'w')}})",
    "I(age if open('{path}', 'w') else 1)",
    "I(age[open('{path}', 'w')])",
    "I(age ** 9 ** 9 ** 9)",
    "I(9 ** 999999999 * age)",
    "np",
    "C",
    "log",
    "I((made := open('{path}', 'w')))",
    "age.__class__.__base__.__subclasses__()",
    "np.log.__class__(age)",
    "np.log(age, out=open('{path}', 'w'))",
    "np.log(age, health)",
    "np.maximum(age, health, age)",
    "bs(age, df=999999999)",
    "bs(age, 999999999)",
    "bs(age, df=10 ** 9)",
    "cr(age, df=999999999)",
    "C(health, Poly(scores=[1] * 999999999))",
    "I('a' * 999999999 == region)",
    "I('%999999999d' % 1 == region)",
    "I(((((9 ** 20) ** 20) ** 20) ** 20) ** 20 * age)",
    "I(1 << 999999999)",
    "I(1 / 0 * age)",
    "poly(age, 2)",
    "I(" * 150 + "age" + ")" * 150,
    "(" * 4000 + "I(age" + " * 9" * 900 + ")" + ")" * 4000,
    "I(age" + " + 1" * 2000 + ")",
    "I(age == '" + "a" * 100_000 + "')",
    "*".join(f"I(age + {number})" for number in range(25)),
    "(" + "+".join(f"I(age + {number})" for number in range(40)) + ") ** 20",
]


@pytest.mark.parametrize("side", ["age ~ {}", "{} ~ age"])
@pytest.mark.parametrize("term", CODE)
def test_formulas_execute_no_code(term, side, result, tmp_path):
    path = tmp_path / "made"
    with pytest.raises(InputError):
        pooled_model(result, side.format(term.format(path=path)))
    assert not path.exists()


def test_what_is_not_allowed_is_named():
    for term, part in [("I(age.mean())", "age.mean()"), ("I((lambda: 1)())", "(lambda: 1)()")]:
        with pytest.raises(InputError) as caught:
            check_formula(f"age ~ {term}", {"age"})
        assert caught.value.found == repr(part)
        assert "bs, C, cc" in caught.value.expected
    with pytest.raises(InputError, match=r"poly\(age, 2\).*I\(AGE \*\* 2\)"):
        check_formula("age ~ poly(age, 2)", {"age"})


def test_the_guide_lists_every_function():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "pooling.md").read_text()
    table = guide.split("**Functions in formulas.**")[1].split("\n\n**")[0]
    assert sorted(set(re.findall(r"`(\w+)\(", table))) == sorted(_CALLS)


@pytest.mark.parametrize(
    "formula",
    [
        "age ~ np.log(cigarettes) + sqrt(health)",
        "age ~ bs(cigarettes, df=4, degree=3) + center(health)",
        "age ~ I(health ** 2) + I(-weight) * smokes + health:region",
        "age ~ C(health, Treatment(2)) + C(region, Sum)",
        "age ~ I((health > 2) & (weight < 1.5)) - 1",
        "I(region == 'north') ~ (health + smokes) ** 2",
        "log(age + 1) ~ np.minimum(health, 3) + Q('weight')",
        "age ~ standardize(health, rescale=False) + scale(weight)",
        "age ~ bs(cigarettes, knots=[5, 10], degree=2, lower_bound=0, upper_bound=99)",
        "age ~ I(2 ** 3 * health ** 2 / 4)",
        "age ~ 1",
    ],
)
def test_formulas_that_calculate_are_fitted(formula, result):
    assert np.isfinite(pooled_model(result, formula).estimates).all()


def test_columns_are_named_once_and_unknown_ones_with_near_matches():
    names = check_formula("Y ~ A + log(A):C(B) + Q('odd name')", ["Y", "A", "B", "odd name"])
    assert names == ("Y", "A", "B", "odd name")
    with pytest.raises(InputError, match=r"'incme' named in the formula .* Similar names: INCOME"):
        check_formula("incme ~ AGE", ["INCOME", "AGE"])


def labels_of(result, formula, **options):
    return [str(label) for label in pooled_model(result, formula, **options).labels]


def test_codes_0_and_1_are_answers_and_not_false_and_true():
    phone = Column("phone", ColumnKind.NOMINAL, (0, 1), level_labels={0: "No", 1: "Yes"})
    (label,) = term_labels(["phone[T.1]"], {"phone": (0, 1)}, {"phone": phone})
    assert str(label) == "phone: 1 'Yes' (vs 0 'No')"
    (label,) = term_labels(["I(age > 3)[T.True]"], {"I(age > 3)": (False, True)}, {})
    assert str(label) == "age > 3"


def test_levels_are_compared_with_their_reference(result):
    assert labels_of(result, "age ~ smokes + region") == [
        "Intercept",
        "smokes: 2 'No' (vs 1 'Yes')",
        "region: south (vs north)",
        "region: west (vs north)",
    ]
    assert labels_of(result, "age ~ C(health, Treatment(2))") == [
        "Intercept",
        "health: 1 (vs 2)",
        "health: 3 (vs 2)",
        "health: 4 (vs 2)",
    ]
    assert labels_of(result, "age ~ 0 + smokes") == ["smokes: 1 'Yes'", "smokes: 2 'No'"]
    assert labels_of(result, "age ~ smokes * health + I(health > 2) + I(health ** 2)") == [
        "Intercept",
        "smokes: 2 'No' (vs 1 'Yes')",
        "health > 2",
        "health",
        "smokes 2 'No' × health",
        "health ** 2",
    ]


def test_knots_that_differ_between_draws_are_noted(result):
    assert "knots" in pooled_model(result, "age ~ bs(cigarettes, df=4)").notes[-1]
    fixed = "age ~ bs(cigarettes, knots=[10], lower_bound=0, upper_bound=40)"
    assert pooled_model(result, fixed, design=None).notes == ()


def test_raw_terms_stay_beside_the_labels(result):
    pooled = pooled_model(result, "age ~ smokes")
    assert pooled.names == ("Intercept", "smokes[T.2]")
    table = pooled.table()
    assert table["term"].to_list() == ["Intercept", "smokes[T.2]"]
    assert table["label"].to_list() == ["Intercept", "smokes: 2 'No' (vs 1 'Yes')"]
    assert pooled.wald_test(["smokes[T.2]"]).df_numerator == 1


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("I(age * 0) ~ health", {}, r"The outcome I\(age \* 0\) is constant in draw 1"),
        ("age ~ health", {"where": "age == 40"}, "rows without a blank|is constant"),
        ("health ~ age", {"family": "binomial"}, r"The outcome health .* I\(health == 4\)"),
        ("smokes ~ age", {}, r"levels 1 'Yes', 2 'No'.*I\(smokes == 1\)"),
        ("age ~ health", {"where": "age > 500"}, "No respondents are left.*80 outside the subset"),
        ("age ~ health", {"exponentiate": True}, "not log ratios"),
    ],
)
def test_outcomes_and_subsets_that_cannot_be_fitted(formula, options, message, result):
    with pytest.raises(InputError, match=message):
        pooled_model(result, formula, **options)


@pytest.mark.parametrize("name", ["class", "None", "a + b", "größe", "it's"])
@pytest.mark.parametrize("form", ["number", "curve", "log"])
def test_picked_columns_of_any_name_can_be_fitted(name, form):
    columns = tuple(Column(one, ColumnKind.CONTINUOUS) for one in ("y", name, "c"))
    values = np.random.default_rng(0).uniform(1, 2, (30, 3))
    none = np.zeros(0, dtype=int)
    cells = ImputedCells(none, none, np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    result = Imputations(CodedTable.from_values(columns, values), cells)
    terms = [{"column": name, "form": form}, {"column": "c"}]
    formula = picked_formula(result, "y", terms, products=[(name, "c")])
    pooled = pooled_model(result, formula)
    x, other = (np.log if form == "log" else np.array)(values[:, 1]), values[:, 2]
    squares = [x**2] if form == "curve" else []
    matrix = np.column_stack([np.ones(30), x, *squares, other, x * other])
    expected = np.linalg.lstsq(matrix, values[:, 0], rcond=None)[0]
    np.testing.assert_allclose(np.sort(pooled.estimates), np.sort(expected), rtol=1e-6)
