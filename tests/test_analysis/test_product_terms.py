"""Models with products and curves that the draws were made without."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from tabsoda.analysis import (
    InteractionWarning,
    pooled_by,
    pooled_mean,
    pooled_median,
    pooled_model,
    pooled_table,
)
from tabsoda.analysis.product_terms import formula_products, unknown_products
from tabsoda.cli.main import main
from tabsoda.engines import settings_for
from tabsoda.events import Event, EventLog


@pytest.fixture
def drawn(result):
    """Return a function that gives the result of the default engine, with terms in its draws."""

    def run(*found, requested=(), name="balanced"):
        events = [Event("interaction_requested", None, {"questions": one}) for one in requested]
        events += [Event("interaction_in_draws", one, {"questions": terms}) for one, terms in found]
        settings = settings_for(name, 1000, 10).to_dict()
        return replace(result, settings=settings, events=EventLog(events))

    return run


@pytest.mark.parametrize(
    ("right", "terms"),
    [
        ("a + b + log(c) + C(d)", []),
        ("a:b", [("a", "b")]),
        ("a * C(b)", [("a", "b")]),
        ("a * b * c", [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]),
        ("I(a ** 2)", [("a", "a")]),
        ("I(a ** 5)", [("a", "a", "a")]),
        ("I(a ** 0.5) + I(a ** -1) + I(a / b)", []),
        ("I(a * b - 2 * c)", [("a", "b")]),
        ("I((a + b) ** 2)", [("a", "a"), ("a", "b"), ("b", "b")]),
        ("I((a == 1) & (b > 2)) + I(a == 1)", [("a", "b")]),
        ("bs(a, df=4) + center(b) + cr(c, df=3)", [("a", "a"), ("c", "c")]),
        ("a:I(center(a) ** 2) + np.log(a)", [("a", "a", "a")]),
        ("Q('e f'):C(a, Treatment(reference=1)) + C(b, Sum)", [("a", "e f")]),
    ],
)
def test_products_and_powers_of_a_formula(right, terms):
    outcomes, found = formula_products(f"I(y == 1) ~ {right}", {*"abcdy", "e f"})
    assert outcomes == ("y",)
    assert found == terms


def test_powers_of_sums_are_multiplied_out_and_cut_at_the_third_power():
    _, found = formula_products("y ~ I((a + b) ** 3)", set("aby"))
    assert found == [("a", "a", "a"), ("a", "a", "b"), ("a", "b", "b"), ("b", "b", "b")]
    _, found = formula_products("y ~ I((((a + b) ** 20) ** 20) ** 20)", set("aby"))
    assert max(len(one) for one in found) == 6


def test_an_unknown_product_gets_a_warning_that_names_it_and_the_option(drawn):
    with pytest.warns(InteractionWarning) as caught:
        pooled = pooled_model(drawn(), "health ~ age * smokes")
    [text] = [str(one.message) for one in caught]
    assert "without age:smokes in the regression of health" in text
    assert "interactions=['age:smokes'] (--interaction age:smokes)" in text
    assert pooled.warnings == (text,)
    assert pooled.to_dict()["warnings"] == [text]


@pytest.mark.parametrize(
    "known",
    [
        {"requested": [("age", "smokes")]},
        {"requested": [("age", "region", "smokes")]},
        {"found": [("health", ("age", "smokes"))]},
        {"found": [("health", ("age", "age", "smokes"))]},
        # The same interaction, in the regression of another of its questions.
        {"found": [("age", ("smokes", "health"))]},
    ],
    ids=str,
)
def test_a_known_product_gets_none(drawn, known):
    one = drawn(*known.get("found", ()), requested=known.get("requested", ()))
    assert unknown_products(one, "health ~ age * smokes") is None


@pytest.mark.parametrize(
    "other",
    [
        {"requested": [("age", "region")]},
        {"requested": [("age", "age")]},
        # In the regressions of all questions but these.
        {"requested": [("age", "health", "smokes")]},
        {"found": [("health", ("age", "region"))]},
        {"found": [("health", ("age", "age"))]},
        {"found": [("cigarettes", ("age", "smokes"))]},
    ],
    ids=str,
)
def test_other_products_do_not_make_it_known(drawn, other):
    one = drawn(*other.get("found", ()), requested=other.get("requested", ()))
    assert "age:smokes" in unknown_products(one, "health ~ age * smokes")


def test_curves(drawn):
    text = unknown_products(drawn(), "health ~ age + I(age ** 2)")
    assert "without age squared" in text
    assert "--interaction age:age)" in text
    known = drawn(("health", ("age", "age")))
    for right in ("I(age ** 2)", "I(age ** 3)", "bs(age, knots=[40])"):
        assert unknown_products(known, f"health ~ age + {right}") is None
    # The square of an indicator is the indicator.
    assert unknown_products(drawn(), "age ~ I((smokes == 1) * (smokes == 2))") is None


def test_a_product_of_three_is_requested_with_the_products_of_two_in_it(drawn):
    text = unknown_products(drawn(), "health ~ age * smokes * region")
    assert "age:smokes, age:region, region:smokes and age:region:smokes" in text
    assert text.endswith("interactions=['age:region:smokes'] (--interaction age:region:smokes).")


def test_columns_that_are_not_questions_cannot_be_requested(drawn):
    text = unknown_products(drawn(), "health ~ age:weight")
    assert "Draws do not depend on weight" in text
    assert "--interaction" not in text


def test_no_warning_where_nothing_is_imputed_or_terms_cannot_be_chosen(drawn, result):
    # Only smokes has all answers, and the weights of a survey are never imputed.
    assert unknown_products(drawn(), "weight ~ smokes:weight") is None
    assert unknown_products(drawn(), "weight ~ smokes:age") is not None
    assert unknown_products(drawn(name="path"), "health ~ age:smokes") is None
    assert unknown_products(result, "health ~ age:smokes") is None
    network = drawn()
    network.settings["draws"]["method"] = "sequential"
    assert unknown_products(network, "health ~ age:smokes") is None


def test_models_without_products_and_other_estimates_do_not_warn(drawn):
    with warnings.catch_warnings():
        warnings.simplefilter("error", InteractionWarning)
        assert pooled_model(drawn(), "health ~ age + C(smokes)").warnings == ()


def test_groups_have_the_warning_once(drawn):
    with pytest.warns(InteractionWarning):
        groups = pooled_by(drawn(), "smokes", pooled_model, "health ~ age + I(age ** 2)")
    assert len(groups) == 2
    assert len(groups.warnings) == 1
    assert groups.to_dict()["warnings"] == list(groups.warnings)


def test_a_model_in_groups_or_a_subset_has_products_with_their_columns(drawn):
    with pytest.warns(InteractionWarning, match="without age:smokes in the regression of health"):
        groups = pooled_by(drawn(), "smokes", pooled_model, "health ~ age")
    assert groups.warnings[0].startswith("Estimates within a subset or groups by smokes depend ")
    assert groups.to_dict()["warnings"] == list(groups.warnings)
    with pytest.warns(InteractionWarning, match="--interaction age:smokes"):
        pooled_model(drawn(), "health ~ age", where="smokes == 1")
    known = drawn(requested=[["age", "smokes"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", InteractionWarning)
        assert pooled_by(known, "smokes", pooled_model, "health ~ age").warnings == ()
        assert pooled_model(known, "health ~ age", where="smokes == 1").warnings == ()
        # A mask does not say by what it was chosen.
        everybody = np.ones(known.table.shape[0], dtype=bool)
        assert pooled_model(drawn(), "health ~ age", where=everybody).warnings == ()


def test_a_mean_in_a_subset_by_two_columns_has_their_product(drawn):
    with warnings.catch_warnings():
        warnings.simplefilter("error", InteractionWarning)
        # Every regression has the effect of one column.
        assert pooled_by(drawn(), "smokes", pooled_mean, "health").warnings == ()
        assert pooled_mean(drawn(), "health", where="smokes == 1 or smokes == 2").warnings == ()
    with pytest.warns(InteractionWarning, match="without age:smokes in the regression of health"):
        pooled = pooled_mean(drawn(), "health", where="smokes == 1 and age > 30")
    assert len(pooled.warnings) == 1
    with pytest.warns(InteractionWarning, match="without age:smokes"):
        pooled_by(drawn(), "smokes", pooled_mean, "health", where="age > 30")
    with pytest.warns(InteractionWarning, match="without age:smokes"):
        table = pooled_table(drawn(), "smokes", "health", where="age > 30")
    assert table.to_dict()["warnings"] == list(table.warnings)
    assert len(table.warnings) == 1
    for rule in (None, "math"):
        with pytest.warns(InteractionWarning, match="without health:smokes"):
            median = pooled_median(
                drawn(), "age", where="smokes == 1 or health > 1", rule=rule, design=None
            )
        assert len(median.warnings) == 1


@pytest.fixture
def folder(drawn, tmp_path):
    drawn(("health", ("age", "age"))).save(tmp_path / "out")
    return tmp_path / "out"


def test_the_command_warns_on_stderr_and_in_json(folder, capsys, recwarn):
    words = ["pool", str(folder), "--formula"]
    main([*words, "health ~ age * smokes"])
    shown = capsys.readouterr()
    assert shown.err.startswith("Warning: The draws were made without age:smokes")
    assert len(shown.err.splitlines()) == 1
    assert "Warning" not in shown.out
    main([*words, "health ~ age * smokes", "--json"])
    shown = capsys.readouterr()
    [text] = json.loads(shown.out)["warnings"]
    assert shown.err == f"Warning: {text}\n"
    assert not [one for one in recwarn if issubclass(one.category, InteractionWarning)]


def test_the_command_is_silent_about_terms_that_draws_have(folder, capsys):
    main(["pool", str(folder), "--formula", "health ~ age + I(age ** 2)", "--json"])
    shown = capsys.readouterr()
    assert shown.err == ""
    assert json.loads(shown.out)["warnings"] == []
    main(["pool", str(folder), "--mean", "age", "--by", "smokes"])
    assert capsys.readouterr().err == ""
