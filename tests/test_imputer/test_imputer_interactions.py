"""The parameter ``interactions``: names, every regression, saving, new rows and the result."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from small_imputers import imputer

from tabsoda import InputError, TabSODAImputer, impute_file, load_result
from tabsoda.engine.interactions import forced_questions, term_texts
from tabsoda.event_texts import sentence
from tabsoda.imputer.run_identity import imputer_identity
from tabsoda.schema import Column, ColumnKind

DESCRIPTION = [
    {"name": "PERSON", "type": "continuous", "role": "id"},
    {"name": "GROUP", "type": "nominal", "levels": [1, 2]},
    {"name": "AGE", "type": "continuous"},
    {"name": "HEALTH", "type": "ordinal", "levels": [1, 2, 3, 4]},
    {"name": "INCOME", "type": "continuous"},
    {"name": "WAVE", "type": "nominal", "levels": [1, 2]},
]


def people(n, seed):
    """Return a table in which the effect of AGE on INCOME depends on GROUP."""
    rng = np.random.default_rng(seed)
    group, age = rng.integers(0, 2, n), rng.normal(size=n)
    health = np.clip(np.round(2.5 + 0.5 * age + rng.normal(size=n)), 1, 4)
    income = 0.3 * age + 0.3 * group + 1.2 * age * group + rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "PERSON": np.arange(n),
            "GROUP": group + 1,
            "AGE": age,
            "HEALTH": health.astype(int),
            "INCOME": income,
            "WAVE": np.ones(n, dtype=int),
        }
    )
    hidden = {name: rng.random(n) < share for name, share in (("INCOME", 0.3), ("HEALTH", 0.1))}
    return frame, frame.with_columns(
        pl.when(pl.Series(where)).then(None).otherwise(pl.col(name)).alias(name)
        for name, where in hidden.items()
    )


@pytest.fixture(scope="module")
def seen():
    return people(900, 1)[1]


@pytest.fixture(scope="module")
def fitted(seen):
    return described(interactions=["AGE:HEALTH", "HEALTH:HEALTH"]).fit(seen)


def described(**options):
    return imputer(description=DESCRIPTION, device="cpu", **options)


def products(one):
    """Return the products of every regression for draws, by names of questions."""
    chained, names = one.engine_.drawer.regressions, one.engine_.codec.names
    owner = chained.design.column_of
    return {
        names[p]: {
            tuple(names[owner[place]] for place in row if place >= 0) for row in terms.products
        }
        for p, terms in chained.terms.items()
    }


def slope_by_group(table, rows):
    """Return by how much the slope of INCOME on AGE differs between groups."""
    part = table.filter(pl.Series(rows))
    age, group = part["AGE"].to_numpy(), part["GROUP"].to_numpy() - 1
    terms = np.column_stack([np.ones(len(age)), age, group, age * group])
    return np.linalg.lstsq(terms, part["INCOME"].to_numpy(), rcond=None)[0][3]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["AGE:INCOM"], r"'AGE:INCOM' names 'INCOM', which is not in this table.*names: INCOME"),
        (["XX:AGE"], r"names 'XX', which is not in this table.*one of GROUP, AGE, HEALTH"),
        (["AGE"], r"'AGE' is not a product of two or three.*1 name.*AGE:SEX"),
        (["AGE:GROUP:HEALTH:INCOME"], "4 names"),
        (["AGE:PERSON"], "names 'PERSON', which is not a question.*role id"),
        (["GROUP:GROUP"], "curve of 'GROUP'.*nominal question of two levels"),
        (["GROUP:AGE:GROUP"], "curve of 'GROUP'"),
        (["AGE::GROUP"], "cannot be read.*AGE::GROUP"),
        ([5], "cannot be read.*5"),
        ("AGE:GROUP", r"interactions is invalid.*\['AGE:SEX'"),
        (None, "interactions is invalid"),
    ],
)
def test_bad_terms_are_refused_before_anything_is_fitted(seen, terms, message):
    with pytest.raises(InputError, match=message):
        described(interactions=terms).fit(seen)
    with pytest.raises(InputError, match=message):
        described(interactions=terms).prepare(seen)


def test_terms_with_too_many_products_are_refused():
    columns = [Column(name, ColumnKind.NOMINAL, tuple(range(30))) for name in "abc"]
    assert forced_questions(["a:b"], columns) == ((0, 1),)
    with pytest.raises(InputError, match=r"'a:b:c' has too many products.*3,375"):
        forced_questions(["a:b:c"], columns)


def test_names_may_contain_colons():
    columns = [Column(name, ColumnKind.CONTINUOUS) for name in ("q1:a", "q1", "b")]
    assert forced_questions(["q1:a:b", "b:q1", ["q1:a", "q1"]], columns) == ((0, 2), (1, 2), (0, 1))
    assert forced_questions(["q1:a:q1:a"], columns) == ((0, 0),)
    assert term_texts([("q1:a", "b"), " b : q1 "]) == ["q1:a:b", "b:q1"]


def test_a_requested_term_is_in_the_regression_of_every_other_question(fitted):
    found = products(fitted)
    assert set(found) == {"GROUP", "AGE", "HEALTH", "INCOME"}
    for name, terms in found.items():
        assert (("AGE", "HEALTH") in terms) == (name not in ("AGE", "HEALTH"))
        assert (("HEALTH", "HEALTH") in terms) == (name != "HEALTH")
    requested = [one for one in map(sentence, fitted.events_) if "as requested" in one]
    assert requested == [
        "product in the regressions for draws, as requested (AGE:HEALTH)",
        "product in the regressions for draws, as requested (HEALTH squared)",
    ]


def test_what_the_answers_show_is_found_unless_straight_lines_are_wanted(fitted, seen):
    assert ("GROUP", "AGE") in products(fitted)["INCOME"]
    assert "INCOME: product or curve added to the regression for draws (GROUP:AGE)" in [
        sentence(event) for event in fitted.events_
    ]
    straight = described(interactions=False).fit(seen)
    assert straight.settings_["regressions"]["interactions"] is False
    assert straight.settings_for(900, 5) == straight.engine_.settings
    assert not any(products(straight).values())
    result = straight.impute(seen, m=1)
    assert result.interactions == result.requested_interactions == ()


def test_a_requested_term_of_a_constant_question_is_left_out_and_logged(seen):
    one = described(interactions=["AGE:WAVE", "AGE:GROUP"]).fit(seen)
    assert (
        "WAVE: requested product left out: a question is not modelled (AGE:WAVE)"
        in map(sentence, one.events_)
    )  # fmt: skip
    assert one.impute(seen, m=0).requested_interactions == ("GROUP:AGE",)


def test_new_rows_keep_the_interaction(fitted):
    truth, new = people(2000, 2)
    missing = new["INCOME"].is_null()
    assert slope_by_group(truth, missing) == pytest.approx(1.2, abs=0.15)
    kept = [slope_by_group(table, missing) for table in fitted.impute(new, m=2)]
    assert np.mean(kept) == pytest.approx(1.2, abs=0.25)


def test_a_saved_model_draws_the_same_and_would_be_fitted_the_same(fitted, seen, tmp_path):
    fitted.save(tmp_path)
    content = json.loads((tmp_path / "imputer.json").read_text())
    assert content["interactions"] == ["AGE:HEALTH", "HEALTH:HEALTH"]
    loaded = TabSODAImputer.load(tmp_path, "cpu")
    assert loaded.interactions == ["AGE:HEALTH", "HEALTH:HEALTH"]
    assert products(loaded) == products(fitted)
    wanted = fitted.impute(seen, m=2)
    for one in (loaded, described(interactions=["AGE:HEALTH", "HEALTH:HEALTH"]).resume(tmp_path)):
        result = one.impute(seen, m=2)
        np.testing.assert_array_equal(result.cells.draws, wanted.cells.draws)
        assert result.interactions == wanted.interactions
        assert result.requested_interactions == ("AGE:HEALTH", "HEALTH:HEALTH")


def test_straight_lines_travel_with_a_saved_model(seen, tmp_path):
    described(interactions=False).fit(seen).save(tmp_path)
    assert TabSODAImputer.load(tmp_path, "cpu").interactions is False


def test_sklearn_copies_the_parameter():
    one = described(interactions=["AGE:GROUP"])
    assert clone(one).get_params()["interactions"] == ["AGE:GROUP"]
    assert described().get_params()["interactions"] is True


def test_a_run_with_other_interactions_is_another_run():
    runs = [
        imputer_identity(imputer(interactions=one), Path("unused"))
        for one in (True, False, ["A:B"], ["A:B", "A:A"], [("A", "B")])
    ]
    assert len({str(one) for one in runs}) == 4
    assert runs[2] == runs[4]


def test_the_result_folder_has_them(seen, tmp_path):
    seen.write_csv(tmp_path / "survey.csv")
    one = described(interactions=["AGE:HEALTH"])
    result = impute_file(tmp_path / "survey.csv", one, tmp_path / "out", m=2)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["options"]["interactions"] == ["AGE:HEALTH"]
    texts = [event["text"] for event in manifest["events"]]
    assert "INCOME: product or curve added to the regression for draws (GROUP:AGE)" in texts
    read = load_result(tmp_path / "out")
    assert ("INCOME", "GROUP:AGE") in read.interactions
    assert read.interactions == result.interactions
    assert read.requested_interactions == ("AGE:HEALTH",)
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "GROUP:AGE for INCOME" in report["methods"]["paragraph"]
    assert "The term AGE:HEALTH was specified by the analyst" in report["methods"]["paragraph"]
    with pytest.raises(InputError, match="--force"):
        impute_file(tmp_path / "survey.csv", described(), tmp_path / "out", m=2)


@pytest.mark.parametrize("interactions", [False, ["AGE:GROUP"]])
def test_engines_without_terms_refuse_the_parameter(seen, interactions):
    paper = described(preset="small", interactions=interactions)
    network = described(changes={"draws": {"method": "sequential"}}, interactions=interactions)
    # Before the survey is read, and before anything is fitted.
    for work in ("prepare", "fit"):
        with pytest.raises(InputError, match="does not apply to the engine of the paper"):
            getattr(paper, work)(seen)
        with pytest.raises(InputError, match="draws from the network alone"):
            getattr(network, work)(seen)


def test_engines_without_terms_accept_the_default(seen):
    for one in (described(preset="small"), described(changes={"draws": {"method": "sequential"}})):
        assert one.fit(seen).impute(seen, m=1).interactions == ()
