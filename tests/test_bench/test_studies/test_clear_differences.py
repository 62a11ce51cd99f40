"""Counts of clear differences: whom they favour, and which are against the reference."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.clear_differences import against_table, clear_by_survey_table, clear_table
from tabsoda.bench.tables.collected import group
from tabsoda.bench.tables.replications import paired_difference

OURS = {"mace": [0.40, 0.50, 0.45], "nominal_accuracy": [0.70, 0.72, 0.71]}


def series(peer, label="Peer", method="boosting"):
    """Return Ours and a peer on surveys; ``peer`` holds its scores by survey and metric."""
    cells = []
    for survey, scores in peer.items():
        for name, how, given in (("Ours", "tabsoda", OURS), (label, method, scores)):
            for replication in range(3):
                found = dict.fromkeys(METRICS)
                found |= {metric: values[replication] for metric, values in given.items()}
                settings = {"survey": survey, "mechanism": "mar", "track": "resolved"}
                settings |= {"label": name, "method": how, "replication": replication}
                settings["skip_view"] = "own" if how == "tabsoda" else "level"
                cells.append({"settings": settings, "metrics": {"all": found}, "seconds": 1.0})
    return group(cells)


def shifted(mace=0.0, accuracy=0.0):
    """Return scores that differ from ours by about as much, in every replication."""
    jitter = np.array([0.002, 0.0, -0.002])
    by = {"mace": mace, "nominal_accuracy": accuracy}
    return {name: (np.array(OURS[name]) + by[name] + jitter).tolist() for name in OURS}


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_differences_are_counted_for_whom_they_favour():
    """Less distance and more accuracy are better."""
    found = series({"a": shifted(mace=0.1, accuracy=0.05), "b": shifted(mace=0.1, accuracy=-0.05)})
    [line] = texts(clear_table(found, "Ours"))
    # Distance favours ours on both, accuracy the peer on one; its mean over surveys is 0.
    assert line == ["Peer, skips a level", "resolved", "4", "3", "1", "2", "1", "0"]


def test_differences_are_counted_by_survey():
    found = series({"a": shifted(mace=0.1, accuracy=0.05), "b": shifted(mace=0.1), "c": shifted()})
    lines = texts(clear_by_survey_table(found, "Ours"))
    assert lines == [
        ["a", "resolved", "2", "1", "1"],
        ["b", "resolved", "2", "1", "0"],
        ["c", "resolved", "2", "0", "0"],
    ]


def test_what_is_clearly_against_the_reference_is_listed():
    found = series({"a": shifted(accuracy=0.05), "b": shifted(mace=-0.1), "c": shifted()})
    table = against_table(found, "Ours")
    accuracy, distance = texts(table)
    assert accuracy[:5] == ["a", "MAR", "resolved", "Peer, skips a level", "Nom. acc."]
    assert distance[:5] == ["b", "MAR", "resolved", "Peer, skips a level", "Ord. MACE"]
    half = 4.3027 * 0.002 / 3**0.5
    assert accuracy[5] == f"+0.050 [{0.05 - half:+.3f}, {0.05 + half:+.3f}]"
    assert table.note.startswith("2 of 6 differences to Ours")


def test_variants_of_the_reference_are_not_baselines():
    found = series({"a": shifted(accuracy=0.05)}, label="Ours-N", method="tabsoda-n")
    assert not clear_table(found, "Ours").rows
    assert not against_table(found, "Ours").rows


@pytest.mark.parametrize(("surveys", "lines"), [("a", 0), ("ab", 1)])
def test_one_replication_has_an_interval_over_surveys_alone(surveys, lines):
    every = series({name: shifted(mace=0.1 + 0.001 * ord(name)) for name in surveys})
    single = group(cell for one in every for number, cell in one.cells.items() if number == 0)
    found = texts(clear_table(single, "Ours"))
    # Distance is clear, accuracy the same on both: no spread at all.
    assert [line[2:] for line in found] == [["0", "0", "0", "2", "1", "1"]] * lines


def test_p_is_that_of_the_paired_t_test():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(2, 7))
    expected = ttest_rel(ours, theirs).pvalue
    assert paired_difference(ours, theirs).p_value == pytest.approx(expected, rel=1e-12)
    assert np.isnan(paired_difference([1.0], [2.0]).p_value)
    assert paired_difference([1.0, 1.0], [1.0, 1.0]).p_value == 1
    assert paired_difference([2.0, 2.0], [1.0, 1.0]).p_value == 0
