"""Weights, strata and clusters as predictors of the model."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tabsoda import TabSODAImputer, read_survey
from tabsoda.events import EventLog
from tabsoda.imputer.design_predictors import ClusterMeans, DesignPredictors, without_design
from tabsoda.schema import Column, ColumnKind
from tabsoda.survey import Survey
from tabsoda.table import CodedTable

N_CLUSTERS, SIZE = 30, 20
NAMES = {"y": "question", "x": "question", "w": "weight", "st": "stratum", "psu": "cluster"}


def clustered(effect: float = 1.0, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    psu = np.repeat(np.arange(N_CLUSTERS), SIZE)
    x = random.normal(size=psu.size)
    y = effect * random.normal(size=N_CLUSTERS)[psu] + x + random.normal(size=psu.size)
    y[random.random(psu.size) < 0.3] = np.nan
    frame = pl.DataFrame(
        {"y": y, "x": x, "w": np.exp(psu % 3 / 2), "st": psu // 10, "psu": psu + 100}
    )
    return frame.with_columns(pl.col("y").fill_nan(None))


def described(frame: pl.DataFrame) -> Survey:
    kinds = {"question": "continuous", "weight": "continuous"}
    columns = [
        {"name": name, "type": kinds.get(role, "nominal"), "role": role}
        for name, role in NAMES.items()
    ]
    return read_survey(frame, columns)


def table_of(values: np.ndarray) -> CodedTable:
    return CodedTable.from_values((Column("y", ColumnKind.CONTINUOUS),), values[:, None])


def test_variances_are_those_of_the_one_way_analysis() -> None:
    """Balanced clusters: scipy's F test, and strength = n / (F - 1)."""
    random = np.random.default_rng(1)
    values = random.normal(size=(12, 8)) + random.normal(size=(12, 1))
    clusters = np.repeat(np.arange(12), 8).astype(str)
    fitted = ClusterMeans.fit(table_of(values.ravel()), "y", clusters, np.zeros(96, dtype=int))
    assert fitted is not None
    means, p_value = fitted
    f, p = stats.f_oneway(*values)
    assert p_value == pytest.approx(p)
    assert means.strength == pytest.approx(8 / (f - 1))


def test_a_mean_leaves_out_the_fold_of_the_respondent() -> None:
    values = np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.5])
    clusters = np.array(["a"] * 3 + ["b"] * 3)
    folds = np.array([0, 1, 1, 0, 0, 2])
    fitted = ClusterMeans.fit(table_of(values), "y", clusters, folds)
    assert fitted is not None
    means = fitted[0]
    k, middle = means.strength, values.mean()
    answers = np.array([1.0, 2.0, np.nan, np.nan])
    found = means.predict(answers, np.array(["a", "a", "b", "new"]), np.array([0, 1, 0, 0]))
    expected = [
        (2 + 3 + k * middle) / (2 + k),
        (1 + k * middle) / (1 + k),
        (10 + 11 + 12.5 + k * middle) / (3 + k),
        middle,
    ]
    np.testing.assert_allclose(found, expected)


def test_a_changed_answer_does_not_change_its_own_predictor() -> None:
    """What predicts an answer must not contain it, or a model learns to read it off."""
    survey = described(clustered())
    design = DesignPredictors.fit(survey, EventLog())
    assert design is not None
    (means,) = design.clusters["psu"]
    answers = survey.table.values[:, 0]
    row = int(np.flatnonzero(~np.isnan(answers))[0])
    clusters = np.array([str(c) for c in survey.frame["psu"]])
    folds = np.random.default_rng(0).integers(0, 5, len(clusters))
    refitted = []
    for value in (answers[row], answers[row] + 0.5):
        changed = answers.copy()
        changed[row] = value
        own = ClusterMeans.fit(table_of(changed), "y", clusters, folds)[0]
        total = own.sums.sum(axis=1)[own.clusters.index(clusters[row])]
        without = own.sums[own.clusters.index(clusters[row]), folds[row]]
        refitted.append(total - without)
    assert refitted[0] == pytest.approx(refitted[1])
    assert means.question == "y"


def test_what_the_model_sees() -> None:
    survey = described(clustered())
    events = EventLog()
    design = DesignPredictors.fit(survey, events)
    seen = design.extend(survey)
    assert seen.table.names == ("y", "x", "w", "st", "y, mean in psu")
    np.testing.assert_allclose(seen.table.values[:, 2], np.log(survey.frame["w"].to_numpy()))
    strata = seen.table.columns[3]
    shown = [strata.levels[int(v)] for v in seen.table.values[:, 3]]
    assert shown == [str(v) for v in survey.frame["st"]]
    assert not seen.states.missing[:, 2:].any()
    (event,) = events
    assert list(event.counts["questions"]) == ["y"]
    back = without_design(seen, 2)
    assert back.table.names == ("y", "x")
    np.testing.assert_array_equal(back.table.values, survey.table.values)


def test_questions_that_do_not_differ_between_clusters_get_no_mean() -> None:
    design = DesignPredictors.fit(described(clustered(effect=0.0, seed=3)), EventLog())
    assert design is not None
    assert design.clusters == {}


def test_blank_and_zero_weights_count_as_average_ones() -> None:
    frame = clustered().with_columns(
        pl.when(pl.int_range(pl.len()) < 2).then(pl.lit(0.0)).otherwise("w").alias("w")
    )
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 2).then(None).otherwise("w").alias("w")
    )
    survey = described(frame)
    design = DesignPredictors.fit(survey, EventLog())
    logs = np.log(frame["w"].to_numpy()[3:])
    np.testing.assert_allclose(design.extend(survey).table.values[:3, 2], logs.mean())


def test_without_a_design_nothing_changes() -> None:
    frame = clustered().select("y", "x")
    assert DesignPredictors.fit(read_survey(frame), EventLog()) is None
    one_stratum = clustered().with_columns(st=pl.lit(1), w=pl.lit(2.0)).drop("psu")
    columns = [
        {"name": n, "type": "continuous" if n != "st" else "nominal", "role": NAMES[n]}
        for n in one_stratum.columns
    ]
    assert DesignPredictors.fit(read_survey(one_stratum, columns), EventLog()) is None


def test_it_reads_back(tmp_path: Path) -> None:
    survey = described(clustered())
    imputer = TabSODAImputer(quality="tiny", description=survey.schema, random_state=1)
    imputer.fit(survey)
    imputer.save(tmp_path)
    loaded = TabSODAImputer.load(tmp_path)
    new = described(clustered(seed=9).head(50))
    first, second = imputer.impute(new, m=2), loaded.impute(new, m=2)
    np.testing.assert_array_equal(first.cells.draws, second.cells.draws)
    assert first.table.names == ("y", "x")
    assert set(first.cells.positions) == {0}


def test_cluster_differences_are_kept_in_imputed_answers() -> None:
    """The imputed answers of a cluster are near its mean only if the design is used."""
    frame = clustered(effect=2.0)
    survey = described(frame)
    observed = frame.with_columns(z=pl.col("y") - pl.col("x"))
    means = observed.group_by("psu", maintain_order=True).agg(pl.col("z").mean())["z"].to_numpy()
    psu = frame["psu"].to_numpy() - 100
    kept = {}
    for used in (True, False):
        imputer = TabSODAImputer(
            quality="tiny", description=survey.schema, use_design=used, random_state=1
        )
        result = imputer.fit(survey).impute(survey, m=5)
        rows = result.cells.rows
        drawn = result.cells.draws.mean(axis=0) - frame["x"].to_numpy()[rows]
        kept[used] = float(np.polyfit(means[psu[rows]], drawn, 1)[0])
    assert kept[True] > 0.6
    assert kept[False] < 0.4


def test_the_methods_paragraph_says_so() -> None:
    from tabsoda.report.methods import describe_methods

    survey = described(clustered())
    result = TabSODAImputer(quality="tiny", description=survey.schema).fit(survey).impute(survey)
    text = describe_methods(result, None, None)["paragraph"]
    assert (
        "The sampling design entered all models as further predictors: the logarithm of the"
        " sampling weights, the strata and for 1 question whose answers differed between clusters"
        " the mean of the respondent's cluster." in text
    )
