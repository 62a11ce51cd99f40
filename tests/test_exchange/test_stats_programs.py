"""Stata, SPSS and SAS: files read back hold every answer, label, order, reason and skip."""

import re
import shutil
import subprocess

import numpy as np
import polars as pl
import pyreadstat
import pytest

from tabsoda import Reason, read_survey
from tabsoda.exchange import export
from tabsoda.results import Imputations, ImputedCells
from tabsoda.states.cell_states import reason_code

SKIP = reason_code(Reason.SKIP)
SHORT = "a_question_with_a_name_of_more"


def answers_of(result, name, number):
    """Return a question's answers in a draw (0 observed) by the file's codes; None without."""
    position = result.table.names.index(name)
    column = result.table.columns[position]
    values = result.table.values if number == 0 else result.values(number)
    numbers = values[:, position]
    if column.is_categorical:
        return [None if np.isnan(v) else column.levels[int(v)] for v in numbers]
    return [None if np.isnan(v) else v for v in numbers]


def split(cells, n_tables):
    n = len(cells) // n_tables
    return [cells[k * n : (k + 1) * n] for k in range(n_tables)]


def known(cells):
    """Return numbers, and None for everything that is no answer."""
    return [v if isinstance(v, float | int) and v == v else None for v in cells]


@pytest.fixture(scope="module")
def stata(rich, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stata") / "out"
    export(rich, "stata", folder)
    content, metadata = pyreadstat.read_dta(
        folder / "imputations.dta", user_missing=True, output_format="dict"
    )
    return folder, content, metadata


def test_stata_has_every_table_and_the_columns_of_flong(rich, stata):
    _, content, metadata = stata
    assert content["_mi_m"] == [float(m) for m in range(4) for _ in range(50)]
    assert content["_mi_id"] == [float(i) for i in range(1, 51)] * 4
    incomplete = np.zeros(50)
    incomplete[rich.cells.rows] = 1
    assert content["_mi_miss"][:50] == incomplete.tolist()
    assert known(content["_mi_miss"][50:]) == [None] * 150
    assert metadata.column_names[3:5] == ["person_id", "weight"]
    assert SHORT in metadata.column_names


@pytest.mark.parametrize("name", ["smokes", "cigarettes"])
def test_stata_holds_every_answer(name, rich, stata):
    for number, table in enumerate(split(stata[1][name], 4)):
        assert known(table) == answers_of(rich, name, number)


def test_stata_letters_are_skips_and_never_cells_to_impute(rich, stata):
    _, content, metadata = stata
    observed, first, second, third = split(content["cigarettes"], 4)
    states = rich.table.states
    for row in range(50):
        if states.skipped[row, 1]:
            assert {table[row] for table in (observed, first, second, third)} == {"a"}
    # Hard missings would be put back by mi update, so what was imputed is a plain dot in m = 0.
    assert all(
        observed[row] is None or observed[row] != observed[row]
        for row in np.flatnonzero(states.missing[:, 1])
    )
    # The second draw led past the question.
    assert second[0] == "a"
    assert isinstance(first[0], float)
    assert metadata.variable_value_labels["cigarettes"] == {"a": "Not applicable (skip)"}
    # Nobody answered and nothing was imputed: the reason stays in every table.
    assert set(content["never"]) == {"r"}
    assert metadata.variable_value_labels["never"] == {"r": "Refused"}


def test_stata_keeps_labels_and_level_order(stata):
    _, content, metadata = stata
    assert metadata.variable_value_labels["smokes"] == {1: "Yes", 2: "No"}
    assert metadata.variable_value_labels["region"] == {1: "süd", 2: "=cmd()", 3: "north"}
    labels = metadata.variable_value_labels[SHORT]
    assert labels == {1: "&so so", 2: "100 %bad", 3: "It's fine"}
    assert metadata.column_names_to_labels["smokes"] == "Do you smoke? <script>alert(1)</script>"
    assert metadata.column_names_to_labels["person_id"] == "Who"
    assert content["comment"][:2] == ["=HYPERLINK(1)", "'+quoted"]


def test_stata_reasons_stand_in_a_file_of_their_own(rich, stata):
    content, metadata = pyreadstat.read_dta(stata[0] / "reasons.dta", output_format="dict")
    assert content["cigarettes"] == rich.table.states.reasons[:, 1].astype(float).tolist()
    assert metadata.variable_value_labels["cigarettes"][2] == "Refused"


def test_stata_do_file_imports_what_was_imputed(stata):
    text = (stata[0] / "imputations.do").read_text()
    found = re.search(r"mi import flong, m\((\w+)\) id\((\w+)\) clear imputed\(([^)]*)\) ;", text)
    assert found.group(1, 2) == ("tabsoda_m", "tabsoda_id")
    assert found.group(3).split() == ["smokes", "cigarettes", "region", SHORT]


def test_letters_of_a_stata_file_come_back_as_they_were(lettered_file, tmp_path):
    survey = read_survey(lettered_file)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.ones((2, len(rows)))
    result = Imputations(
        survey.table, ImputedCells(rows, positions, draws, draws[0] * 1, draws[0] * 1), survey
    )
    export(result, "stata", tmp_path / "out")
    again = read_survey(tmp_path / "out" / "imputations.dta")
    at = again.table.names.index("cigarettes")
    before = survey.states.skipped[:, survey.table.names.index("cigarettes")]
    # Read by our own reader, skips are skips in every table.
    assert np.array_equal(again.states.skipped[:, at], np.tile(before, 3))
    letters = again.tags["cigarettes"]
    assert set(letters[60:]) == {".a", None}
    assert again.schema["cigarettes"].level_labels[".a"] == "Not applicable"
    assert again.schema["health"].level_labels == survey.schema["health"].level_labels


def test_haven_reads_the_skips_as_tagged_missings(rich, stata, tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not here")
    code = f"""
    if (!requireNamespace("haven", quietly = TRUE)) {{ cat("absent"); quit() }}
    d <- haven::read_dta("{stata[0]}/imputations.dta")
    cat(sum(haven::na_tag(d$cigarettes) == "a", na.rm = TRUE), max(d$`_mi_m`), "\\n")
    cat(names(attr(d$region, "labels")))"""
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    if done.stdout == "absent":
        pytest.skip("haven is not here")
    skips = 4 * int(rich.table.states.skipped[:, 1].sum()) + 1
    assert done.stdout.split("\n") == [f"{skips} 3 ", "süd =cmd() north"]


@pytest.fixture(scope="module")
def spss(rich, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spss") / "out"
    export(rich, "spss", folder)
    content, metadata = pyreadstat.read_sav(
        folder / "imputations.sav", user_missing=True, output_format="dict"
    )
    return folder, content, metadata


def test_spss_keeps_codes_as_missing_values(rich, spss):
    _, content, metadata = spss
    assert content["Imputation_"] == [float(m) for m in range(4) for _ in range(50)]
    frame = rich.survey.frame
    assert content["smokes"][:50] == frame["smokes"].cast(float).to_list()
    assert metadata.missing_ranges["smokes"] == [{"lo": 7.0, "hi": 7.0}, {"lo": 8.0, "hi": 8.0}]
    assert metadata.variable_value_labels["smokes"] == {1: "Yes", 2: "No", 7: "REFUSED", 8: "DK"}
    # Five codes of no answer, and 0 to 40 are answers: a range holds them.
    assert metadata.missing_ranges["cigarettes"] == [{"lo": -9.0, "hi": -1.0}]
    assert content["cigarettes"][:50] == frame["cigarettes"].cast(float).to_list()
    assert content["cigarettes"][100] == -1
    assert content["cigarettes"][50] >= 0
    assert metadata.variable_value_labels["cigarettes"][-1] == "Not applicable (skip)"
    assert known(content["region"][30:35]) == [None] * 5
    assert set(content["never"]) == {-7.0}


def test_spss_holds_every_answer_and_label(rich, spss):
    _, content, metadata = spss
    gone = {-1.0, -6.0, -7.0, -8.0, -9.0}
    for number, table in enumerate(split(content["cigarettes"], 4)):
        found = [None if v in gone else v for v in known(table)]
        assert found == answers_of(rich, "cigarettes", number)
    levels = [None, "süd", "=cmd()", "north"]
    for number, table in enumerate(split(content["region"], 4)):
        found = [levels[int(v or 0)] for v in known(table)]
        assert found == answers_of(rich, "region", number)
    assert metadata.variable_measure["smokes"] == "nominal"
    assert metadata.variable_measure["a_question_with_a_name_of_more_than_32_letters"] == "ordinal"
    assert metadata.variable_measure["cigarettes"] == "scale"
    assert "SPLIT FILE LAYERED BY Imputation_." in (spss[0] / "imputations.sps").read_text()


def test_spss_read_by_our_own_reader_has_the_same_states(rich, spss):
    again = read_survey(spss[0] / "imputations.sav")
    at = again.table.names.index("cigarettes")
    skipped = [rich.table.states.skipped[:, 1]] + [rich.skipped_in(m)[:, 1] for m in (1, 2, 3)]
    assert np.array_equal(again.states.skipped[:, at], np.concatenate(skipped))
    smokes = again.table.names.index("smokes")
    assert np.array_equal(again.states.reasons[:50, smokes], rich.table.states.reasons[:, 0])


def test_spss_has_a_place_for_a_question_that_nobody_answered(tmp_path):
    import polars as pl

    from tabsoda.events import EventLog
    from tabsoda.exchange.spss import write

    frame = pl.DataFrame({"x": [None, None, 9.0], "y": [1.0, 2.0, 3.0]})
    description = [
        {"name": "x", "type": "continuous", "refused_codes": [9]},
        {"name": "y", "type": "continuous"},
    ]
    survey = read_survey(frame, description)
    none = np.zeros(0, dtype=np.int64)
    cells = ImputedCells(none, none, np.zeros((1, 0)), np.zeros(0), np.zeros(0))
    write(Imputations(survey.table, cells, survey), tmp_path, EventLog())
    content, _ = pyreadstat.read_sav(tmp_path / "imputations.sav", output_format="dict")
    assert [one for one in content["x"] if one == one and one is not None] == []
    assert content["y"][:3] == [1.0, 2.0, 3.0]


def test_spss_moves_codes_that_lie_between_answers(tmp_path):
    import polars as pl

    from tabsoda.events import EventLog
    from tabsoda.exchange.spss import write

    frame = pl.DataFrame({"x": [1, 2, 97, 98, 99, 96, 100, 2], "y": [1, 1, 2, 2, 1, 2, 1, None]})
    survey = read_survey(
        frame,
        [
            {
                "name": "x",
                "type": "nominal",
                "levels": [1, 2, 100, 98.5],
                "skip_codes": [96],
                "refused_codes": [97],
                "dont_know_codes": [98],
                "missing_codes": [99],
                "level_labels": {"97": "Would not say"},
            },
            {"name": "y", "type": "nominal", "levels": [1, 2]},
        ],
    )
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.zeros((2, len(rows)))
    result = Imputations(
        survey.table, ImputedCells(rows, positions, draws, draws[0] * 1, draws[0] * 1), survey
    )
    events = EventLog()
    write(result, tmp_path, events)
    content, metadata = pyreadstat.read_sav(
        tmp_path / "imputations.sav", user_missing=True, output_format="dict"
    )
    (span,) = metadata.missing_ranges["x"]
    observed = content["x"][:8]
    assert [span["lo"] <= v <= span["hi"] for v in observed] == [False] * 2 + [True] * 4 + [
        False,
        False,
    ]
    assert metadata.variable_value_labels["x"][observed[2]] == "Would not say"
    assert len(set(observed[2:6])) == 4
    [event] = events
    assert event.kind == "missing_codes_renumbered"
    assert [float(code) for code in event.counts["new_codes"]] == sorted(set(observed[2:6]))


@pytest.fixture(scope="module")
def sas(rich, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sas") / "out"
    export(rich, "sas", folder)
    return folder


def test_sas_files_hold_draws_and_reasons(rich, sas):
    content, metadata = pyreadstat.read_xport(sas / "imputed.xpt", output_format="dict")
    assert content["_Imputation_"] == [float(m) for m in (1, 2, 3) for _ in range(50)]
    for number, table in enumerate(split(content["cigarettes"], 3), 1):
        assert known(table) == answers_of(rich, "cigarettes", number)
    assert metadata.column_names_to_labels["smokes"].startswith("Do you smoke?")
    why, _ = pyreadstat.read_xport(sas / "why_imputed.xpt", output_format="dict")
    assert why["why_2"][50] == SKIP
    assert why["why_2"][0] == 0
    skipped = np.concatenate([rich.skipped_in(m)[:, 1] for m in (1, 2, 3)])
    assert [v == SKIP for v in why["why_2"]] == skipped.tolist()
    observed, _ = pyreadstat.read_xport(sas / "observed.xpt", output_format="dict")
    assert set(observed["_Imputation_"]) == {0.0}
    assert known(observed["smokes"]) == answers_of(rich, "smokes", 0)
    assert max(map(len, metadata.column_names)) <= 32


def test_sas_program_quotes_labels_and_names_reasons(sas):
    program = (sas / "imputations.sas").read_text()
    assert "3.0 = 'It''s fine'" in program
    assert "1.0 = '&so so'" in program
    assert ".A = 'Not applicable (skip)'" in program
    assert f"if _why{{_i}} = {SKIP} then _answer{{_i}} = .A;" in program
    # A label cannot close its quotes: no line has an odd number of them.
    assert all(line.count("'") % 2 == 0 for line in program.splitlines() if " = '" in line)


def test_names_that_programs_need_for_themselves_are_changed(tmp_path):
    import polars as pl

    from tabsoda.events import EventLog
    from tabsoda.exchange import sas, stata

    names = ["why_1", "_i", "str5", "plain"]
    survey = read_survey(
        pl.DataFrame({name: [1.0, 2.0, None] for name in names}),
        [{"name": name, "type": "continuous"} for name in names],
    )
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.full((1, len(rows)), 1.0)
    result = Imputations(
        survey.table, ImputedCells(rows, positions, draws, draws[0], draws[0]), survey
    )
    for program, file, kept in (
        (sas, "imputed.xpt", {"str5", "plain"}),
        (stata, "imputations.dta", {"why_1", "_i", "plain"}),
    ):
        folder = tmp_path / file
        folder.mkdir()
        program.write(result, folder, EventLog())
        read = pyreadstat.read_xport if file.endswith("xpt") else pyreadstat.read_dta
        found = set(read(folder / file, output_format="dict")[1].column_names)
        assert kept <= found
        assert not (set(names) - kept) & found


@pytest.mark.parametrize("n_columns", [8, 90])
def test_long_names_of_labelled_questions_are_cut_to_what_the_library_can_write(
    n_columns, tmp_path
):
    names = ["x" * 31 + f"{number:02}" for number in range(n_columns)]
    frame = pl.DataFrame({name: ["yes", "no", "yes", "no"] for name in names})
    survey = read_survey(frame)
    nothing = np.empty(0, dtype=np.int64)
    cells = ImputedCells(nothing, nothing, np.empty((1, 0)), np.empty(0), np.empty(0))
    export(Imputations(survey.table, cells, survey=survey), "stata", tmp_path / "out")
    _, metadata = pyreadstat.read_dta(tmp_path / "out" / "imputations.dta", metadataonly=True)
    written = metadata.column_names[3:]
    assert len(set(written)) == n_columns
    # Positions have two digits.
    assert max(map(len, written)) == 30
    assert all(
        labels == {1.0: "no", 2.0: "yes"} for labels in metadata.variable_value_labels.values()
    )
