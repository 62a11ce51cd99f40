"""Without a terminal, progress is a line every minute on stderr, and nothing else."""

import io
import json
import time

from tabsoda.cli import console, progress_lines
from tabsoda.cli.progress_lines import ProgressLines


def lines_of(reports, seconds):
    times = iter([0.0, seconds])
    lines = ProgressLines("Fitting", clock=lambda: next(times))
    for one in reports:
        lines.update(*one)
    return lines.line()


def test_a_line_says_the_stage_the_percent_and_the_time_left():
    assert lines_of([(1, 4, "training")], 60) == ("Fitting: training, 25 %, about 3 minutes left")
    assert lines_of([(1, 4, "training"), (9, 10, "")], 90) == "Fitting, 90 %, about 10 seconds left"


def test_without_a_report_a_line_says_how_long_it_has_taken():
    assert lines_of([], 120) == "Fitting, for 2 minutes so far"
    assert lines_of([(0, 0, "reading")], 40) == "Fitting: reading, for 40 seconds so far"


def test_lines_come_at_intervals_until_the_work_is_done():
    stream = io.StringIO()
    with progress_lines.progress_lines("Mining", interval=0.05, stream=stream) as report:
        report(1, 2, "pairs")
        time.sleep(0.3)
    written = stream.getvalue()
    assert 2 <= len(written.splitlines()) <= 6
    assert all(line.startswith("Mining: pairs, 50 %") for line in written.splitlines())
    time.sleep(0.1)
    assert stream.getvalue() == written


def test_work_shorter_than_a_minute_writes_nothing(capsys):
    with console.progress("Imputing") as report:
        report(1, 2, "draw 1 of 2")
    assert capsys.readouterr() == ("", "")


def test_lines_go_to_stderr_so_that_json_stays_clean(capsys, monkeypatch):
    monkeypatch.setattr(progress_lines, "INTERVAL_SECONDS", 0.02)
    with console.progress("Imputing") as report:
        report(1, 2, "draw 1 of 2")
        time.sleep(0.2)
    console.emit_json({"rows": 3})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"rows": 3}
    assert "Imputing: draw 1 of 2, 50 %" in err


def test_an_error_ends_the_lines():
    stream = io.StringIO()
    try:
        with progress_lines.progress_lines("Mining", interval=0.01, stream=stream):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        written = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == written
