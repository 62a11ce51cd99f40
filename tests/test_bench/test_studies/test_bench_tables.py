"""Tables and pictures: the numbers are those of the results, the forms are valid."""

import copy
import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from tabsoda.bench.metrics.imputation_metrics import METRICS
from tabsoda.bench.tables.collected import group
from tabsoda.bench.tables.difference_plot import difference_plot
from tabsoda.bench.tables.frontier_plot import frontier_plot, place_labels
from tabsoda.bench.tables.paper_tables import (
    average_table,
    benchmark_table,
    difference_table,
    miner_table,
    overall_table,
)
from tabsoda.bench.tables.report import fill_page, study_tables, summaries, write_report
from tabsoda.bench.tables.table_formats import Entry, Table, to_html, to_latex, to_markdown
from tabsoda.errors import InputError

SCORES = {
    # label: (method, MACE by replication, accuracy by replication)
    "Ours": ("tabsoda", [0.40, 0.50, 0.45], [0.70, 0.72, 0.71]),
    "Peer": ("boosting", [0.60, 0.64, 0.68], [0.75, 0.71, 0.73]),
    "Ours-N": ("tabsoda-n", [0.50, None, 0.52], [0.60, 0.61, 0.62]),
}


def _cell(survey, label, replication, track="resolved"):
    method, mace, accuracy = SCORES[label]
    empty = dict.fromkeys(METRICS)
    scores = empty | {"mace": mace[replication], "categorical_accuracy": accuracy[replication]}
    settings = {
        "survey": survey,
        "mechanism": "mar",
        "track": track,
        "label": label,
        "skip_view": "own" if method.startswith("tabsoda") else "blind",
        "method": method,
        "replication": replication,
    }
    groups = {"all": scores, "gates": empty, "others": scores}
    return {"settings": settings, "metrics": groups, "seconds": 2.0 + replication}


@pytest.fixture
def document():
    cells = [
        _cell(survey, label, replication, track)
        for track in ("resolved", "unresolved")
        for survey in ("first_one", "second")
        for label in SCORES
        for replication in (2, 0, 1)
    ]
    study = {
        "surveys": ["second", "first_one"],
        "methods": [{"name": "boosting", "label": "Peer"}, {"name": "tabsoda", "label": ""}],
    }
    return {"study": study, "cells": cells, "failures": []}


def _texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_the_benchmark_table_holds_means_and_sds(document):
    table = benchmark_table(group(document["cells"]), "mar", metrics=("mace",))
    ours, peer, variant = _texts(table)[:3]
    values = SCORES["Ours"][1]
    assert ours == [
        "first_one",
        "Ours",
        f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}",
        "3.0",
    ]
    assert peer[1] == "Peer, skips blank"
    # One replication scored nothing: it is left out, and the number says so.
    assert variant[2] == f"0.510 ± {np.std([0.5, 0.52], ddof=1):.3f} (2)"
    assert [entry.bold for entry in (row[2] for row in table.rows[:3])] == [True, False, False]
    assert table.header[2] == "Ord. MACE ↓"


def test_the_spread_is_labelled(document):
    series = group(document["cells"])
    table = benchmark_table(series, "mar", metrics=("mace",), spread="se")
    values = SCORES["Ours"][1]
    error = np.std(values, ddof=1) / np.sqrt(3)
    assert _texts(table)[0][2] == f"{np.mean(values):.3f} ± {error:.3f}"
    assert "Mean ± SE" in table.note
    assert "Mean ± SD" in benchmark_table(series, "mar").note


def test_summaries_hold_both_spreads_and_differences(document):
    entries = {(e["survey"], e["track"], e["label"]): e for e in summaries(document)}
    assert len(entries) == 2 * 2 * 3
    ours = entries["second", "resolved", "Ours"]
    assert ours["metrics"]["mace"]["sd"] == pytest.approx(0.05)
    assert ours["metrics"]["mace"]["se"] == pytest.approx(0.05 / np.sqrt(3))
    assert ours["metrics"]["rmse"] == {"mean": None, "sd": None, "se": None, "n": 0, "of": 3}
    assert "differences" not in ours
    peer = entries["second", "resolved", "Peer"]
    assert peer["minus"] == "Ours"
    assert peer["differences"]["mace"]["mean"] == pytest.approx(0.19)


def test_best_is_highest_for_accuracies(document):
    table = benchmark_table(group(document["cells"]), "mar", metrics=("categorical_accuracy",))
    assert [row[2].bold for row in table.rows[:3]] == [False, True, False]


def test_nothing_scored_is_a_dash(document):
    table = benchmark_table(group(document["cells"]), "mar", metrics=("rmse",), scope="gates")
    assert {row[2] for row in _texts(table)} == {"–"}
    assert not any(row[2].bold for row in table.rows)


def test_differences_are_paired_by_replication(document):
    table = difference_table(group(document["cells"]), "Ours", "mar", metrics=("mace",))
    row = next(r for r in _texts(table) if r[1].startswith("Peer"))
    gaps = np.subtract(SCORES["Peer"][1], SCORES["Ours"][1])
    margin = 4.30265 * gaps.std(ddof=1) / np.sqrt(3)
    expected = f"{gaps.mean():+.3f} [{gaps.mean() - margin:+.3f}, {gaps.mean() + margin:+.3f}]"
    assert row[2] == expected
    # The variant and ours share replications 0 and 2 only.
    variant = group(document["cells"])[2].minus(group(document["cells"])[0], "mace")
    assert variant.n == 2
    assert variant.mean == pytest.approx(np.mean([0.10, 0.07]))


def test_averages_are_over_methods_that_ran_everywhere(document):
    partial = [
        c
        for c in document["cells"]
        if (c["settings"]["label"], c["settings"]["survey"]) != ("Peer", "second")
    ]
    table = average_table(group(partial), "mar", metrics=("mace",))
    assert _texts(table) == [["Ours", "0.450", "3.0"], ["Ours-N", "0.510", "3.0"]]


def test_a_method_with_fewer_replications_is_in_no_average(document):
    fewer = [
        c
        for c in document["cells"]
        if (c["settings"]["label"], c["settings"]["replication"]) != ("Ours-N", 0)
    ]
    table = average_table(group(fewer), "mar", metrics=("mace",))
    assert "Ours-N" not in [row[0] for row in _texts(table)]


def test_differences_over_surveys_take_each_survey_as_one_unit(document):
    worse = {"second": 0.0, "first_one": 0.2}
    cells = copy.deepcopy(document["cells"])
    for cell in cells:
        scores = cell["metrics"]["all"]
        if cell["settings"]["label"] == "Peer":
            scores["mace"] += worse[cell["settings"]["survey"]]
    table = overall_table(group(cells), "Ours", "mar", metrics=("mace",))
    # The peer is .19 behind on one survey and .39 on the other: two units, one degree of freedom.
    margin = student.ppf(0.975, 1) * 0.1
    [entry] = [row[1] for row in _texts(table) if row[0].startswith("Peer")]
    assert entry == f"{0.29:+.3f} [{0.29 - margin:+.3f}, {0.29 + margin:+.3f}]"


def test_the_frontier_shows_who_is_better_higher_and_slower_to_the_right(document):
    picture = frontier_plot(group(document["cells"]), "mar", metrics=("mace",))
    places = {
        label: (float(x), float(y))
        for x, y, label in re.findall(
            r'<circle cx="([\d.]+)" cy="([\d.]+)" [^>]*>\n<text [^>]*>(Ours[^<]*)<', picture
        )
    }
    assert places["Ours"][1] < places["Ours-N"][1]
    assert places["Ours"][0] == places["Ours-N"][0]


@given(st.lists(st.tuples(st.integers(60, 340), st.integers(50, 250)), max_size=6, unique=True))
def test_labels_stay_within_their_panel_and_off_each_other_where_there_is_room(spots):
    boxes = place_labels(spots, ["method"] * len(spots), 0, 400)
    assert all(box.left >= 0 and box.right <= 400 for box in boxes)
    far = [abs(a - c) > 100 or abs(b - d) > 50 for (a, b), (c, d) in combinations(spots, 2)]
    if all(far):
        assert all(one.overlap(other) == 0 for one, other in combinations(boxes, 2))


def test_a_study_gives_all_its_tables_in_its_order(document):
    tables = study_tables(document)
    assert {"mar", "mar-gates", "mar-others", "mar-probabilities", "mar-mean"} <= set(tables)
    assert {"mar-differences", "mar-unresolved", "mar-unresolved-ablation"} <= set(tables)
    assert [row[0] for row in _texts(tables["mar"])] == ["second"] * 3 + ["first_one"] * 3
    assert [row[1] for row in _texts(tables["mar"])][:2] == ["Peer, skips blank", "Ours"]
    assert {row[1] for row in _texts(tables["mar-ablation"])} == {"Ours", "Ours-N"}
    assert "unresolved" in tables["mar-unresolved"].title


def test_single_surveys_are_counted_where_replications_give_them_an_interval(document):
    once = [c for c in document["cells"] if c["settings"]["replication"] == 0]
    counted = {"clear", "clear-by-survey", "against"}
    assert counted & set(study_tables(document)) == counted
    assert counted & set(study_tables(document | {"cells": once})) == {"clear"}


def test_titles_say_how_much_of_the_surveys_was_taken(document):
    whole = study_tables(document | {"study": document["study"] | {"rows": None, "columns": None}})
    some = study_tables(document | {"study": document["study"] | {"rows": 1000, "columns": 40}})
    for name, table in whole.items():
        assert some[name].title == f"{table.title}; 1,000 rows and 40 columns at most"


def test_the_miner_table():
    scores = {"precision": 0.9994, "recall": 0.5, "f1": 0.667, "fpr": 0.0, "accuracy": None}
    entry = {"survey": "s", "screen": "purity", "variables": 1200, "mined": 3, "rules": 4}
    entry |= {"conditions": 2}
    table = miner_table([entry | {"all_cells": scores}])
    assert _texts(table) == [
        ["s", "purity", "1,200", "3", "4", "2", "0.999", "0.500", "0.667", "0.000", "–"]
    ]


NASTY = Table("100 % of a_b & <c>", ("x_1", "↑"), ((Entry("a|b <i>"), Entry("1 ± 2", True)),), "N_")


def test_forms_escape_what_would_break_them():
    assert "| a\\|b <i> | **1 ± 2** |" in to_markdown(NASTY)
    latex = to_latex(NASTY)
    assert r"\caption{100 \% of a\_b \& <c>. N\_}" in latex
    assert r"\textbf{1 $\pm$ 2} \\" in latex
    assert latex.count(r"\begin") == latex.count(r"\end") == 2
    root = ElementTree.fromstring(f"<div>{to_html(NASTY)}</div>")
    assert root.find("table/caption").text == NASTY.title
    assert root.find("table/tbody/tr/td").text == "a|b <i>"
    assert root.find("table/tbody/tr/td/b").text == "1 ± 2"


def _dots(picture):
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    zero = float(root.find(f"{space}line").get("x1"))
    return [(float(c.get("cx")) - zero, c.get("fill")) for c in root.iter(f"{space}circle")]


def test_the_picture_shows_side_and_clarity(document):
    series = [s for s in group(document["cells"]) if s.survey == "second"]
    [(peer, color), (variant, _)] = _dots(difference_plot(series, "Ours", "mar", "mace"))
    gaps = np.subtract(SCORES["Peer"][1], SCORES["Ours"][1]).mean()
    assert peer > 0
    assert peer / variant == pytest.approx(gaps / 0.085, rel=0.01)
    # A higher MACE for sure is worse for sure.
    assert color == "#b2182b"


def test_a_row_far_beyond_the_others_is_an_arrow_at_the_end_of_the_axis(document):
    near = difference_plot(group(document["cells"]), "Ours", "mar", "mace")
    for survey in ("third", "fourth", "fifth"):
        document["cells"] += [_cell(survey, label, n) for label in SCORES for n in range(3)]
    for cell in document["cells"]:
        if cell["settings"]["survey"] == "fifth" and cell["settings"]["label"] == "Peer":
            cell["metrics"]["all"]["mace"] += 100.0
    far = difference_plot(group(document["cells"]), "Ours", "mar", "mace")
    assert near.count("<path") == 0
    [arrow] = re.findall(r'<path d="M([\d.]+) [^"]*l(-?\d+) ', far)
    # The other rows keep most of the axis, and nothing leaves the picture.
    assert far.count("<circle") == 9
    assert max(x for x, _ in _dots(far)) > 40
    right = max(float(x) for x in re.findall(r'x2="([\d.]+)"', far))
    assert float(arrow[0]) == right <= 760
    assert int(arrow[1]) > 0


def test_a_picture_of_nothing_is_still_a_picture(document):
    series = group(document["cells"])
    assert _dots(difference_plot(series, "Ours", "mar", "rmse")) == []


def test_everything_is_written(document, tmp_path):
    files = write_report(document, tmp_path)
    assert all(path.is_file() for path in files)
    assert {path.suffix for path in files} == {".json", ".md", ".tex", ".html", ".svg"}


def test_pages_are_filled_between_markers(document):
    tables = {"demo/mar": study_tables(document)["mar"]}
    page = "# R\n\n<!-- table: demo/mar -->\n<!-- end -->\n\ntext\n"
    once = fill_page(page, tables)
    assert "| second | Ours |" in once
    assert once.startswith("# R\n")
    assert once.endswith("<!-- end -->\n\ntext\n")
    assert fill_page(once, tables) == once
    with pytest.raises(InputError, match="demo/mnar"):
        fill_page("<!-- table: demo/mnar -->\n<!-- end -->", tables)
