"""Files are read in a process of its own: with the same result, and without its crashes."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.reading import reader_process, reader_program
from tabsoda.reading.files import read_file
from tabsoda.schema.codes import plain

TEXTS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=8).map(str.strip)
NUMBERS = st.one_of(st.none(), st.integers(-99, 999).map(float), st.floats(-1e6, 1e6))
CODES = st.dictionaries(st.integers(-9, 9).map(float), TEXTS.filter(bool), max_size=3)


@st.composite
def surveys(draw):
    n_rows = draw(st.integers(1, 6))
    rows = st.lists(NUMBERS, min_size=n_rows, max_size=n_rows)
    words = st.lists(TEXTS, min_size=n_rows, max_size=n_rows)
    frame = pd.DataFrame(
        {
            "Q1": pd.Series(draw(rows), dtype=float),
            "Q2": pd.Series(draw(rows), dtype=float),
            "WHEN": pd.to_datetime(["2024-02-29"] * n_rows).date,
            "NAME": draw(words),
        }
    )
    low, high = sorted(draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9))))
    return {
        "frame": frame,
        "column_labels": draw(st.lists(TEXTS, min_size=4, max_size=4)),
        "variable_value_labels": {"Q1": draw(CODES)},
        "missing_ranges": {"Q1": [{"lo": low, "hi": high}], "Q2": [draw(st.integers(-9, 9))]},
        "variable_measure": {"Q1": draw(st.sampled_from(["nominal", "ordinal", "scale"]))},
    }


def write(survey, path):
    frame, labels = survey["frame"], survey["column_labels"]
    values = {name: codes for name, codes in survey["variable_value_labels"].items() if codes}
    if path.suffix in (".sav", ".zsav"):
        pyreadstat.write_sav(
            frame,
            path,
            column_labels=labels,
            variable_value_labels=values,
            missing_ranges=survey["missing_ranges"],
            variable_measure=survey["variable_measure"],
            compress=path.suffix == ".zsav",
        )
    elif path.suffix == ".dta":
        letters = [*frame["Q1"].astype(object)]
        letters[0] = "b"
        stata = frame.assign(Q1=letters)
        pyreadstat.write_dta(
            stata, path, column_labels=labels, missing_user_values={"Q1": ["b"]}, version=15
        )
    else:
        plain_texts = frame.assign(NAME=["x"] * len(frame))
        writer = pyreadstat.write_por if path.suffix == ".por" else pyreadstat.write_xport
        writer(plain_texts, path, column_labels=["a", "b", "", "d"])


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".por", ".xpt"])
@settings(max_examples=4)
@given(survey=surveys())
def test_the_other_process_returns_what_the_library_returns(ending, survey, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"survey{ending}"
    write(survey, path)
    options = {} if ending in (".por", ".xpt") else {"user_missing": True}
    reader = getattr(pyreadstat, reader_program._READERS[ending])
    content, metadata = reader(path, output_format="dict", **options)
    raw = read_file(path)
    assert raw.frame.columns == metadata.column_names
    for name in raw.frame.columns:
        is_text = metadata.readstat_variable_types[name] == "string"
        letters = [None if is_text or not isinstance(v, str) else f".{v}" for v in content[name]]
        numbers = [
            v if letter is None else None for v, letter in zip(content[name], letters, strict=True)
        ]
        assert raw.frame[name].to_list() == numbers
        if any(letters):
            assert list(raw.tags[name]) == letters
        else:
            assert name not in raw.tags
        hint = raw.hints[name]
        assert hint.label == (metadata.column_names_to_labels[name] or "")
        labels = metadata.variable_value_labels.get(name, {})
        assert hint.level_labels == {plain(code): text for code, text in labels.items()}
        ranges = metadata.missing_ranges.get(name, [])
        wide = [(entry["lo"], entry["hi"]) for entry in ranges if entry["lo"] != entry["hi"]]
        assert hint.missing_ranges == tuple(wide)
        single = [plain(entry["lo"]) for entry in ranges if entry["lo"] == entry["hi"]]
        letters = [f".{one}" for one in metadata.missing_user_values.get(name, [])]
        assert hint.missing_codes == (*single, *letters)
        measure = metadata.variable_measure[name]
        assert hint.measure == ("" if measure == "unknown" else measure)


@pytest.fixture
def sav(tmp_path):
    path = tmp_path / "ünï 'cødé'.sav"
    frame = pd.DataFrame({"q": [1.0, 2.0, np.nan], "ort": ["Köln", "Łódź", ""]})
    pyreadstat.write_sav(frame, path, column_labels=["Größe", "Ort"])
    return path


def put_in_place(monkeypatch, tmp_path, code):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(code))
    monkeypatch.setattr(reader_program, "__file__", str(program))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashes the reader (SIGSEGV)"),
        ("import os; os.abort()", "crashes the reader (SIGABRT)"),
        ("import sys; sys.exit(3)", "ends the reader"),
        ("import os; os._exit(0)", "ends the reader"),
        ("import os; os.write(1, (99).to_bytes(8, 'little') + b'{}')", "ends the reader"),
    ],
)
def test_a_reader_that_dies_is_bad_input(code, found, sav, tmp_path, monkeypatch):
    put_in_place(monkeypatch, tmp_path, code)
    with pytest.raises(InputError) as caught:
        read_file(sav)
    assert found in caught.value.found
    assert caught.value.exit_code == 2
    assert "cannot be read as SPSS data" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize(
    ("task", "found"),
    [
        ("while True: pass", "1 seconds are not enough"),
        ("import time; time.sleep(60)", "1 seconds are not enough"),
        ("return bytearray(10**9), None", "more memory than is free"),
    ],
)
def test_time_and_memory_are_limited(task, found, sav, tmp_path, monkeypatch):
    put_in_place(
        monkeypatch,
        tmp_path,
        f"""
        import runpy, sys
        program = runpy.run_path({reader_program.__file__!r})
        def hostile(path):
            {task}
        program["_TASKS"]["statistics"] = hostile
        program["main"]()
        """,
    )
    monkeypatch.setattr(reader_process, "_SECONDS", 1)
    monkeypatch.setattr(reader_process, "_WAITING", 2)
    monkeypatch.setattr(reader_process, "available_memory", lambda: 200_000_000)
    with pytest.raises(InputError) as caught:
        read_file(sav)
    assert found in caught.value.found


def test_what_libraries_print_is_not_part_of_the_answer(sav, tmp_path, monkeypatch):
    put_in_place(
        monkeypatch,
        tmp_path,
        f"""
        import os, runpy
        program = runpy.run_path({reader_program.__file__!r})
        original = program["read_statistics_file"]
        def noisy(path):
            os.write(1, b"noise" * 100)
            os.write(2, b"noise" * 100_000)
            return original(path)
        program["_TASKS"]["statistics"] = noisy
        program["main"]()
        """,
    )
    assert read_file(sav).frame["ort"].to_list() == ["Köln", "Łódź", ""]


def test_a_panic_of_the_parquet_library_is_bad_input(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"q": [1, 2]}).write_parquet(path)

    def panic(*_, **__):
        raise pl.exceptions.PanicException("index out of bounds")

    assert not issubclass(pl.exceptions.PanicException, Exception)
    described, _ = reader_program.answer(
        {"task": "parquet", "path": str(tmp_path / "none.parquet")}
    )
    assert "No such file" in described["failed"]
    monkeypatch.setattr(pl, "read_parquet", panic)
    assert reader_program.answer({"task": "parquet", "path": str(path)})[0] == {
        "failed": "index out of bounds"
    }
    with pytest.raises(InputError, match="index out of bounds"):
        read_file(path)


SCRIPT = """
from pathlib import Path
from tabsoda.reading.files import read_file
raw = read_file(Path({path!r}))
assert raw.frame["ort"].to_list() == ["K\\u00f6ln", "\\u0141\\u00f3d\\u017a", ""], raw.frame
assert raw.hints["q"].label == "Gr\\u00f6\\u00dfe"
assert [event.kind for event in raw.events] == {events!r}
"""
SURROUNDINGS = {
    "no guard for the main module": "",
    "daemon": "import os\nif os.fork():\n"
    "    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    "os.setsid()\n[os.close(number) for number in (0, 1, 2)]\n",
    "children are not waited for": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n",
    "daemonic process of multiprocessing": "import multiprocessing\n"
    "multiprocessing.current_process()._config['daemon'] = True\n",
    "hostile module in the current folder": "open('pyreadstat.py', 'w').write('1 / 0')\n",
    "frozen": "import sys; sys.frozen = True\n",
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_files_are_read_in_any_surroundings(surroundings, sav, tmp_path):
    events = ["reader_not_limited"] if surroundings == "frozen" or sys.platform != "linux" else []
    code = SURROUNDINGS[surroundings] + SCRIPT.format(path=str(sav), events=events)
    (tmp_path / "script.py").write_text(code)
    place = tmp_path / "elsewhere"
    place.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HOME", "TMPDIR", "LANG", "PYTHONUTF8")
    } | {"LC_ALL": "C", "PYTHONPATH": str(Path(reader_program.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in place.iterdir() if path.name != "pyreadstat.py"] == []


def test_an_interrupt_leaves_no_process(sav, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def communicate(self, *arguments, **options):
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        reader_process.read_apart(sav, "statistics", EventLog())
    assert started[0].returncode == -signal.SIGKILL


def test_a_request_is_one_line_of_plain_text(sav):
    request = reader_process._request(sav, "statistics")
    line = json.dumps(request)
    assert line.isascii()
    assert "\n" not in line
    assert "" not in request["sys_path"]
