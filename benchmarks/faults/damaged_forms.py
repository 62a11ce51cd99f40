"""Damaged questionnaires (XLSForm, Qualtrics) and codebooks (DDI): bytes, and parts of the content.

A changed byte rarely survives the parser. So a part of the content is also replaced: the file stays
valid Excel, JSON or XML, and says something that no form says.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from damage import damaged_copies
from damaged_inputs import write_survey
from outcomes import ORDERLY, Outcomes, run_here

FORMS = ("XLSForm", "Qualtrics", "DDI")
# What no form says at this place.
_WRONG: tuple[Any, ...] = (
    *(None, True, -1, 1e308, "", "q://", "\x00", "((((", "${", "..", "select_one", "begin_group"),
    *("'; --", [], {}, [[]], {"0": {}}, ["x"], {"Type": 3}, "9" * 400, "${SMOKES} = = 1", "\u202e"),
)


def damaged_forms(n_copies: int, seed: int, forms: tuple[str, ...] = FORMS) -> list[Outcomes]:
    """Read damaged forms and codebooks; every command must end with an exit code.

    Parameters
    ----------
    n_copies : int
        Copies with damaged bytes, and as many with a wrong part, for each kind of form.
    seed : int
    forms : tuple of str
    """
    return [_damaged(kind, n_copies, seed) for kind in forms]


def _damaged(kind: str, n_copies: int, seed: int) -> Outcomes:
    found = Outcomes(f"damaged {kind} files")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = str(write_survey(folder, "csv"))
        good = _WRITERS[kind](folder, None, 0)
        code, text = run_here(_command(kind, good, data))
        found.expect(code == 0, f"{kind}, undamaged: {code} {text}")
        for how, content in damaged_copies(good.read_bytes(), n_copies, seed):
            path = folder / f"damaged{good.suffix}"
            path.write_bytes(content)
            _try(found, _command(kind, path, data), f"{kind}, {how}")
        rng = np.random.default_rng(seed)
        for number in range(n_copies):
            path = _WRITERS[kind](folder, rng, number)
            _try(found, _command(kind, path, data), f"{kind}, wrong part {number}, seed {seed}")
    return found


def _try(found: Outcomes, command: list[str], what: str) -> None:
    code, text = run_here(command)
    found.expect(code in ORDERLY and "Traceback" not in text, f"{what}: {code} {text[-1500:]}")


def _command(kind: str, path: Path, data: str) -> list[str]:
    if kind == "DDI":
        return ["inspect", data, "--codebook", str(path)]
    return ["questionnaire", str(path), data]


def _wrong(rng: np.random.Generator) -> Any:
    return copy.deepcopy(_WRONG[int(rng.integers(len(_WRONG)))])


def _xlsform(folder: Path, rng: np.random.Generator | None, number: int) -> Path:
    """Write an XLSForm of the survey; one to three cells are wrong, if there is a generator."""
    import openpyxl

    sheets: dict[str, list[list[Any]]] = {
        "survey": [
            ["type", "name", "label", "relevant", "constraint"],
            ["select_one yn", "SMOKES", "Do you smoke?", None, None],
            ["begin_group", "g", "Smoking", "${SMOKES} = '1'", None],
            ["integer", "CIGS", "How many?", None, ". > 0 and . < ${AGE}"],
            ["end_group", None, None, None, None],
            ["integer", "AGE", "Age", None, ". >= 15 and . <= 99"],
            ["select_one place", "REGION", "Region", "${AGE} > 10 or selected(${SMOKES}, '1')", ""],
        ],
        "choices": [
            ["list_name", "name", "label"],
            *([["yn", 1, "Yes"], ["yn", 2, "No"], ["yn", 9, "Refused"]]),
            *([["place", name, name.title()] for name in ("north", "south", "west")]),
        ],
        "settings": [["form_title", "version"], ["A form", 3]],
    }
    for _ in range(0 if rng is None else int(rng.integers(1, 4))):
        rows = list(sheets.values())[int(rng.integers(3))]
        row = rows[int(rng.integers(len(rows)))]
        value = _wrong(rng)
        is_cell = value is None or isinstance(value, int | float | str)
        row[int(rng.integers(len(row)))] = value if is_cell else "[]"
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            # XML cannot contain NUL.
            sheet.append([None if value == "\x00" else value for value in row])
    path = folder / f"form{number}.xlsx"
    workbook.save(path)
    return path


def _qualtrics(folder: Path, rng: np.random.Generator | None, number: int) -> Path:
    """Write a Qualtrics survey; one to three of its parts are wrong, if there is a generator."""
    yes_no = {"1": {"Display": "Yes"}, "2": {"Display": "No"}, "9": {"Display": "Refused"}}
    is_smoker = {
        "LogicType": "Question",
        "LeftOperand": "q://QID1/SelectableChoice/1",
        "Operator": "Selected",
    }
    shown = {"0": {"0": is_smoker, "Type": "If"}, "Type": "BooleanExpression"}
    jump = {
        "ChoiceLocator": "q://QID1/SelectableChoice/2",
        "Condition": "Selected",
        "SkipToDestination": "QID3",
    }
    number_entry = {
        "Settings": {"ContentType": "ValidNumber", "ValidNumber": {"Min": 1, "Max": 99}}
    }
    questions = [
        {"QuestionID": "QID1", "DataExportTag": "SMOKES", "QuestionType": "MC", "Selector": "SAVR",
         "QuestionText": "Do you smoke?", "Choices": yes_no, "ChoiceOrder": ["1", "2", "9"]},
        {"QuestionID": "QID2", "DataExportTag": "CIGS", "QuestionType": "TE", "Selector": "SL",
         "QuestionText": "How many?", "DisplayLogic": shown, "Validation": number_entry},
        {"QuestionID": "QID3", "DataExportTag": "AGE", "QuestionType": "TE", "Selector": "SL",
         "QuestionText": "Age", "Validation": number_entry},
    ]  # fmt: skip
    elements = [
        {"Element": "BL", "Payload": [
            {"Type": "Default", "ID": "BL_1", "BlockElements": [
                {"Type": "Question", "QuestionID": "QID1", "SkipLogic": [jump]},
                {"Type": "Question", "QuestionID": "QID2"},
            ]},
            {"Type": "Standard", "ID": "BL_2", "BlockElements": [
                {"Type": "Question", "QuestionID": "QID3"}]},
        ]},
        {"Element": "FL", "Payload": {"Flow": [
            {"Type": "Block", "ID": "BL_1"},
            {"Type": "Branch", "BranchLogic": shown, "Flow": [{"Type": "Block", "ID": "BL_2"}]},
        ]}},
        *({"Element": "SQ", "Payload": one} for one in questions),
    ]  # fmt: skip
    content: Any = {"SurveyEntry": {"SurveyName": "A form"}, "SurveyElements": elements}
    for _ in range(0 if rng is None else int(rng.integers(1, 4))):
        places = list(_places(content))
        holder, key = places[int(rng.integers(len(places)))]
        holder[key] = _wrong(rng)
    path = folder / f"form{number}.qsf"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Return every place of a JSON document, as the object or list and its key."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _ddi(folder: Path, rng: np.random.Generator | None, number: int) -> Path:
    """Write a codebook; one to three texts or attributes are wrong, if there is a generator."""
    root = ElementTree.fromstring(
        """<codeBook><dataDscr>
        <var name="SMOKES" nature="nominal"><labl>Do you smoke?</labl>
          <invalrng><item VALUE="9"/></invalrng>
          <catgry missing="Y"><catValu>9</catValu><labl>Refused</labl></catgry>
          <catgry><catValu>1</catValu><labl>Yes</labl></catgry>
          <catgry><catValu>2</catValu><labl>No</labl></catgry></var>
        <var name="CIGS"><labl>How many?</labl><universe>Smokers</universe>
          <invalrng><range min="90" max="99"/></invalrng></var>
        <var name="AGE" nature="ratio"><labl>Age</labl><valrng><range min="15" max="99"/></valrng>
        </var></dataDscr></codeBook>"""
    )
    nodes = list(root.iter())
    for _ in range(0 if rng is None else int(rng.integers(1, 4))):
        node = nodes[int(rng.integers(len(nodes)))]
        value = str(_wrong(rng)).replace("\x00", "")
        if node.attrib and rng.integers(2):
            node.set(list(node.attrib)[int(rng.integers(len(node.attrib)))], value)
        elif rng.integers(2):
            node.text = value
        else:
            node.tag = ("var", "labl", "catgry", "item", "range")[int(rng.integers(5))]
    path = folder / f"codebook{number}.xml"
    path.write_bytes(ElementTree.tostring(root))
    return path


_WRITERS = {"XLSForm": _xlsform, "Qualtrics": _qualtrics, "DDI": _ddi}
