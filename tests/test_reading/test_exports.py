"""Excel files, and exports of online questionnaires with several header rows."""

from pathlib import Path

import openpyxl
import pytest

from tabsoda.errors import InputError
from tabsoda.reading import read_survey


def _write(path: Path, rows: list[list[object]], before: int = 0) -> Path:
    workbook = openpyxl.Workbook()
    for _ in range(before):
        workbook.create_sheet(index=0)
    for row in rows:
        workbook["Sheet"].append(row)
    workbook.save(path)
    return path


def test_excel_cells_are_read_as_csv_is(tmp_path: Path) -> None:
    rows = [
        ["id", "age", "code", "word"],
        *([n, 20 + n / 2, f"0{n}", "ab"[n % 2]] for n in range(9)),
    ]
    rows[3][1] = None
    path = _write(tmp_path / "a.xlsx", rows)
    text = "\n".join(",".join("" if c is None else str(c) for c in row) for row in rows)
    (tmp_path / "a.csv").write_text(text + "\n", encoding="utf-8")
    excel, csv = read_survey(path), read_survey(tmp_path / "a.csv")
    assert excel.frame.equals(csv.frame)
    assert excel.schema == csv.schema


def test_the_first_sheet_with_rows_is_read_and_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.xlsx", [["q"], [1], [2], [2]], before=2)
    survey = read_survey(path)
    assert survey.frame["q"].to_list() == [1, 2, 2]
    (event,) = [event for event in survey.events if event.kind == "sheet_read"]
    assert event.counts == {"sheet": "Sheet", "sheets": 3}


def test_empty_and_damaged_workbooks_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no rows"):
        read_survey(_write(tmp_path / "a.xlsx", [["q"]]))
    (tmp_path / "b.xlsx").write_bytes((tmp_path / "a.xlsx").read_bytes()[:900])
    with pytest.raises(InputError, match="cannot be read as an Excel workbook"):
        read_survey(tmp_path / "b.xlsx")


def test_qualtrics_headers(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text(
        "StartDate,Q1\n"
        'Start Date,"Do you\n smoke?"\n'
        '"{""ImportId"":""startDate""}","{""ImportId"":""QID1""}"\n'
        "2020-01-01,1\n2020-01-02,2\n2020-01-03,1\n",
        encoding="utf-8",
    )
    survey = read_survey(path)
    assert survey.frame["Q1"].to_list() == [1, 2, 1]
    assert survey.schema["Q1"].label == "Do you smoke?"


@pytest.mark.parametrize(
    ("identifiers", "names"),
    [
        # Early exports of the present interface have Python's quotes, and a comma at the end.
        ("{'ImportId': 'startDate'},{'ImportId': 'QID1'},\n", "StartDate,Q1,"),
        ('"{""ImportId"": ""startDate""}","{""ImportId"": ""QID1""}",""\n', "StartDate,Q1,"),
        # Older exports have no identifiers.
        ("", "V1,Q1,"),
    ],
)
def test_older_qualtrics_headers(tmp_path: Path, identifiers: str, names: str) -> None:
    path = tmp_path / "q.csv"
    text = f"{names}\nResponseID,Do you smoke?,\n{identifiers}R_1,1,\nR_2,2,\nR_3,1,\n"
    path.write_text(text, encoding="utf-8-sig")
    survey = read_survey(path)
    assert survey.frame["Q1"].to_list() == [1, 2, 1]
    assert survey.schema["Q1"].label == "Do you smoke?"
    (event,) = [event for event in survey.events if event.kind == "header_rows_read"]
    assert event.counts == {"program": "Qualtrics", "rows": 2 + bool(identifiers)}


def test_survey_monkey_headers_of_several_options_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        "Respondent ID,Which of these?,,\n,Beer,Wine,None of these\n"
        "11,Beer,,\n12,,Wine,\n13,,,None of these\n",
        encoding="utf-8",
    )
    survey = read_survey(path)
    assert survey.frame.columns[1:3] == ["Which of these? - Beer", "Which of these? - Wine"]
    assert survey.frame.height == 3


def test_survey_monkey_headers_without_the_numbers_of_respondents(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    head = "Religion?,,Do you pray?,Age\nResponse,None of these,Response,Response\n"
    path.write_text(head + "A,,yes,3\n,x,no,4\nB,,yes,4\n", encoding="utf-8")
    survey = read_survey(path)
    names = ["Religion?", "Religion? - None of these", "Do you pray?", "Age"]
    assert survey.frame.columns == names
    assert survey.frame["Age"].to_list() == [3, 4, 4]


def test_survey_monkey_headers(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        "Respondent ID,Your age?,Which of these?,,\n"
        ",Response,Beer,Wine,None of these\n"
        "11,30,Beer,,\n12,40,,Wine,\n13,50,,,None of these\n",
        encoding="utf-8",
    )
    survey = read_survey(path)
    names = ["Respondent ID", "Your age?", "Which of these? - Beer"]
    assert survey.frame.columns[:3] == names
    assert survey.frame.height == 3


def test_a_plain_file_keeps_its_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text('respondent_id,q\n1,"{""a"":1}"\n2,x\n', encoding="utf-8")
    assert read_survey(path).frame.height == 2
    path.write_text("respondent_id,q\n,5\n2,6\n", encoding="utf-8")
    assert read_survey(path).frame.height == 2
