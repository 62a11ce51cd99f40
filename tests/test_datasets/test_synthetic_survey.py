"""The planted truth of the embedded survey is consistent, and the survey is like a real one."""

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tabsoda.datasets import SyntheticSurvey, make_survey
from tabsoda.errors import InputError
from tabsoda.schema import ColumnKind, Reason
from tabsoda.states import reason_code
from tabsoda.table import CodedTable


@pytest.fixture(scope="module")
def survey() -> SyntheticSurvey:
    return make_survey(n_rows=4000, seed=3)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), n_columns=st.integers(10, 120))
def test_rules_reproduce_the_skips_from_the_true_answers(seed: int, n_columns: int) -> None:
    survey = make_survey(n_rows=150, n_columns=n_columns, seed=seed)
    blanks_unexplained = CodedTable.from_values(survey.columns, survey.complete)

    assert np.array_equal(survey.rules.apply(blanks_unexplained).skipped, survey.skipped)
    assert np.array_equal(np.isnan(survey.complete), survey.skipped)


def test_each_pattern_of_routing_by_hand(survey: SyntheticSurvey) -> None:
    answer = {name: survey.complete[:, p] for p, name in enumerate(survey.names)}
    skip = {name: survey.skipped[:, p] for p, name in enumerate(survey.names)}
    yes, no = 0, 1

    def same(name: str, expected: np.ndarray) -> None:
        assert np.array_equal(skip[name], expected), name
        assert 0 < expected.sum() < len(expected), name

    same("ILLNESS", answer["CHRONIC"] == no)
    # A cascade of two steps: who has no illness was not asked whether it limits them.
    same("HELP", (answer["CHRONIC"] == no) | (answer["LIMITED"] == 0))
    # Asked if any of three: skipped if none.
    drinks = np.stack([answer[name] == yes for name in ("BEER", "WINE", "SPIRITS")]).any(axis=0)
    same("DRINKS", ~drinks)
    # Asked only if both.
    same("KM", ~((answer["LICENCE"] == yes) & (answer["CAR"] == yes)))
    # A window of age, and sex.
    same("MAMMO", ~((answer["SEX"] == 1) & (answer["AGE"] >= 40) & (answer["AGE"] <= 74)))
    # A number that is itself routed.
    same("CUTDOWN", ~(drinks & (np.nan_to_num(answer["DRINKS"]) >= 7)))
    # Split ballots: everybody is asked one of two.
    assert np.array_equal(skip["TRUST11"], ~skip["TRUST4"])


def test_observed_is_complete_less_what_went_wrong(survey: SyntheticSurvey) -> None:
    answered = ~np.isnan(survey.observed)

    kept = answered & ~survey.violations
    assert np.array_equal(survey.observed[kept], survey.complete[kept])
    assert not (survey.violations & ~survey.skipped).any()
    assert np.array_equal(answered & survey.skipped, survey.violations)
    assert not (answered & survey.breakoff).any()


def test_breakoff_is_a_suffix(survey: SyntheticSurvey) -> None:
    later = survey.breakoff[:, 1:]
    assert not (survey.breakoff[:, :-1] & ~later).any()
    assert survey.breakoff[:, -1].sum() == survey.breakoff.any(axis=1).sum() > 0


def test_rates_are_as_asked(survey: SyntheticSurvey) -> None:
    asked = ~survey.skipped & ~survey.breakoff
    unanswered = np.isnan(survey.observed) & asked

    assert unanswered.sum() / asked.sum() == pytest.approx(0.04, abs=0.015)
    assert survey.breakoff.any(axis=1).mean() == pytest.approx(0.03, abs=0.01)
    assert survey.violations.sum() / survey.skipped.sum() == pytest.approx(0.002, abs=0.001)
    assert 0.15 < survey.skipped.mean() < 0.5


def test_without_trouble_nothing_goes_wrong() -> None:
    survey = make_survey(n_rows=300, nonresponse=0, breakoff=0, violations=0)

    assert np.array_equal(survey.observed, survey.complete, equal_nan=True)
    assert not survey.true_table.states.missing.any()


def test_nonresponse_depends_on_answers_that_are_never_missing() -> None:
    survey = make_survey(n_rows=20_000, seed=1, breakoff=0)
    age = survey.complete[:, survey.names.index("AGE")]
    unanswered = np.isnan(survey.observed) & ~survey.skipped
    young, old = age < 35, age > 60
    ratio = unanswered[young].mean(axis=0) / np.maximum(unanswered[old].mean(axis=0), 1e-9)

    assert not np.isnan(survey.observed[:, survey.names.index("AGE")]).any()
    everybody = ~survey.skipped.any(axis=0) & unanswered.any(axis=0)
    assert ((ratio[everybody] > 1.5) | (ratio[everybody] < 1 / 1.5)).mean() > 0.3


def test_kinds_and_levels_cover_what_surveys_have(survey: SyntheticSurvey) -> None:
    ordinals = [c for c in survey.columns if c.kind is ColumnKind.ORDINAL]
    nominals = [c for c in survey.columns if c.kind is ColumnKind.NOMINAL]

    assert {c.n_levels for c in ordinals} == set(range(2, 12))
    assert {2, 4, 5, 6, 7, 8, 10, 12} <= {c.n_levels for c in nominals}
    assert all(c.label and c.universe for c in survey.columns)
    assert all(set(c.levels) <= set(c.level_labels) for c in survey.columns)


def test_some_ordinals_are_dominated_by_one_level(survey: SyntheticSurvey) -> None:
    shares = {
        column.name: np.bincount(answers[~np.isnan(answers)].astype(int)).max() / answers.size
        for column, answers in zip(survey.columns, survey.complete.T, strict=True)
        if column.kind is ColumnKind.ORDINAL
    }
    assert {name for name, share in shares.items() if share >= 0.7} >= {"DRUGS", "BELT"}
    assert sum(share < 0.6 for share in shares.values()) > 12


def test_counts_are_zero_inflated_with_a_heavy_tail(survey: SyntheticSurvey) -> None:
    visits = survey.complete[:, survey.names.index("VISITS")]

    assert 0.15 < (visits == 0).mean() < 0.35
    assert np.array_equal(visits, np.floor(visits))
    assert visits.max() > 10 * np.median(visits)
    assert not np.signbit(survey.complete[survey.complete == 0]).any()


def test_all_levels_occur(survey: SyntheticSurvey) -> None:
    for column, answers in zip(survey.columns, survey.complete.T, strict=True):
        if column.is_categorical:
            assert np.unique(answers[~np.isnan(answers)]).size == column.n_levels, column.name


def test_same_seed_same_survey_other_seed_other_survey() -> None:
    first, again, other = (make_survey(n_rows=200, seed=seed) for seed in (5, 5, 6))

    assert np.array_equal(first.observed, again.observed, equal_nan=True)
    assert first.true_table.states == again.true_table.states
    assert not np.array_equal(first.complete, other.complete, equal_nan=True)


def test_a_shorter_questionnaire_has_the_same_answers() -> None:
    short, long = (make_survey(n_rows=200, n_columns=d, seed=5) for d in (57, 130))

    assert short.columns == long.columns[:57]
    assert np.array_equal(short.complete, long.complete[:, :57], equal_nan=True)


def test_other_people_with_the_same_questionnaire() -> None:
    first, second = (
        make_survey(n_rows=200, n_columns=100, seed=seed, questionnaire_seed=9) for seed in (1, 2)
    )

    assert first.columns == second.columns
    assert first.rules == second.rules
    assert not np.array_equal(first.complete, second.complete, equal_nan=True)


def _question_and_others(survey: SyntheticSurvey, name: str) -> tuple[np.ndarray, np.ndarray]:
    target = survey.names.index(name)
    known = ~np.isnan(survey.complete[:, target])
    return np.delete(survey.complete, target, axis=1)[known], survey.complete[known, target]


@pytest.mark.parametrize("name", ["CHRONIC", "WORK", "MARITAL"])
def test_nominals_depend_on_the_other_answers(survey: SyntheticSurvey, name: str) -> None:
    X, y = _question_and_others(survey, name)
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0).fit(X[:2000], y[:2000])
    mode = np.bincount(y[:2000].astype(int)).argmax()

    assert model.score(X[2000:], y[2000:]) > (y[2000:] == mode).mean() + 0.03


@pytest.mark.parametrize("name", ["HEALTH", "PAIN", "LIFESAT", "BINGE", "INCOME", "VISITS", "KM"])
def test_ordered_answers_depend_on_the_other_answers(survey: SyntheticSurvey, name: str) -> None:
    X, y = _question_and_others(survey, name)
    y = np.log1p(y)
    model = HistGradientBoostingRegressor(max_iter=30, random_state=0).fit(X[:1500], y[:1500])

    assert model.score(X[1500:], y[1500:]) > 0.2


def test_the_reader_of_the_file_knows_only_what_is_spelled_out() -> None:
    blank = make_survey(n_rows=500)
    coded = make_survey(n_rows=500, spelled_out=(Reason.REFUSED, Reason.DONT_KNOW))
    skips = make_survey(n_rows=500, spelled_out=(Reason.SKIP,))

    assert not blank.table.states.skipped.any()
    assert set(np.unique(blank.table.states.reasons)) == {0, reason_code(Reason.BLANK)}
    refused = (coded.table.states.reasons == reason_code(Reason.REFUSED)).sum()
    assert 0 < refused == (coded.true_table.states.reasons == reason_code(Reason.REFUSED)).sum()
    assert not coded.table.states.skipped.any()
    assert np.array_equal(skips.table.states.skipped, skips.skipped & ~skips.violations)


def test_the_miners_largest_survey_takes_seconds() -> None:
    started = time.process_time()
    survey = make_survey(n_rows=58_034, n_columns=200)

    assert survey.complete.shape == (58_034, 200)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"n_columns": 9}, "columns"),
        ({"n_columns": 301}, "columns"),
        ({"n_rows": 0}, "rows"),
        ({"nonresponse": 1.2}, "nonresponse"),
        ({"spelled_out": (Reason.OTHER,)}, "other"),
    ],
)
def test_impossible_surveys_are_refused(arguments: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make_survey(**arguments)


def test_300_columns_have_300_names() -> None:
    survey = make_survey(n_rows=20, n_columns=300)

    assert len(set(survey.names)) == 300


def test_needs_no_data_frame_library() -> None:
    code = (
        "import sys; import tabsoda.datasets as d; d.make_survey(n_rows=20).table; "
        "sys.exit(any(m in sys.modules for m in ('polars', 'pydantic', 'narwhals', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
