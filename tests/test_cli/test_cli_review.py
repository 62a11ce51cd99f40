"""``tabsoda review``: approving without a page, and the page as a command."""

import json
import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.reading import read_survey
from tabsoda.skips.checking import check
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import RuleStatus
from tabsoda.skips.screening import wilson_upper


@pytest.fixture
def survey(tmp_path):
    """Write a survey with its true rules: one rejected, none reviewed otherwise."""
    truth = make_survey(300, n_columns=14, seed=3, nonresponse=0.1)
    truth.write(tmp_path)
    rules = truth.rules
    first = rules.rules[0].identifier
    rules.reject(first, "no").to_toml(tmp_path / "rules.toml")
    proposed = (tmp_path / "rules.toml").read_text().replace('"approved"', '"proposed"')
    (tmp_path / "rules.toml").write_text(proposed)
    return tmp_path


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_accept_all_signs_what_nobody_reviewed(survey, capsys):
    path = survey / "rules.toml"
    before = RuleSet.from_toml(path)
    main(["review", str(path), "--accept-all", "--by", "Ann", "--json"])
    told = json.loads(capsys.readouterr().out)
    after = RuleSet.from_toml(path)
    assert told["approved"] == len(before) - 1
    assert (told["rejected"], told["proposed"]) == (1, 0)
    assert told["changed"] == [rule.identifier for rule in before.active]
    for rule in after:
        if rule.status is RuleStatus.REJECTED:
            assert (rule.note, rule.by) == ("no", "")
        else:
            last = rule.history[-1]
            assert (rule.status, rule.by) == (RuleStatus.APPROVED, "Ann")
            assert last.why == "--accept-all, not looked at one by one"
    description = ["--survey", str(survey / "survey.toml")]
    data = str(survey / "survey.csv")
    main(["impute", data, *description, "--rules", str(path), "--dry-run", "--json"])
    events = json.loads(capsys.readouterr().out)["events"]
    assert "unreviewed_rules_applied" not in [event["kind"] for event in events]


def test_min_precision_goes_by_the_lower_bound(survey, capsys):
    path = survey / "rules.toml"
    main(["mine", str(survey / "survey.csv"), "-o", str(path), "--force"])
    mined = RuleSet.from_toml(path)
    bounds = sorted(1 - rule.evidence.answered_upper for rule in mined)
    least = bounds[len(bounds) // 2]
    assert bounds[0] < least
    main(["review", str(path), "--min-precision", repr(least), "--by", "Ann"])
    after = RuleSet.from_toml(path)
    approved = [rule.identifier for rule in after if rule.status is RuleStatus.APPROVED]
    assert approved == [r.identifier for r in mined if 1 - r.evidence.answered_upper >= least]
    assert "not reviewed" in capsys.readouterr().out


def test_min_precision_counts_in_the_data_where_they_are_given(survey):
    path, data = survey / "rules.toml", str(survey / "survey.csv")
    description = ["--survey", str(survey / "survey.toml")]
    table = read_survey(data, description[1]).table
    found = {f.identifier: f for f in check(table, RuleSet.from_toml(path)).rules}
    bounds = {name: 1 - wilson_upper(f.asked, f.fired) for name, f in found.items()}
    least = sorted(bounds.values())[len(bounds) // 2]
    # Rules written by hand come without counts, so the file alone approves none of them.
    main(["review", str(path), "--min-precision", repr(float(least))])
    assert not any(r.status is RuleStatus.APPROVED for r in RuleSet.from_toml(path))
    main(["review", str(path), data, *description, "--min-precision", repr(float(least))])
    after = RuleSet.from_toml(path)
    for rule in after.active:
        counts, finding = rule.evidence, found[rule.identifier]
        assert (counts.fired_blank, counts.fired_answered) == (finding.blank, finding.asked)
        assert (rule.status is RuleStatus.APPROVED) == (bounds[rule.identifier] >= least)
    assert {rule.status for rule in after} == set(RuleStatus)


def test_nothing_to_approve_leaves_the_file_as_it_is(survey):
    path = survey / "rules.toml"
    path.write_text(path.read_text().replace('"proposed"', '"approved"') + "\n# by hand\n")
    before = path.read_text()
    main(["review", str(path), "--accept-all"])
    assert path.read_text() == before


def test_what_cannot_be_is_told(survey, tmp_path, capsys):
    path = survey / "rules.toml"
    assert "No data" in refused(capsys, "review", path)
    both = refused(capsys, "review", path, "--accept-all", "--min-precision", ".9")
    assert "contradict" in both
    assert "does not exist" in refused(capsys, "review", tmp_path / "none.toml", "--accept-all")
    other = tmp_path / "other.csv"
    other.write_text("A,B\n1,2\n")
    assert "another survey" in refused(capsys, "review", path, other, "--no-browser")


def test_the_page_is_served_until_interrupted(survey):
    path = survey / "rules.toml"
    command = ["review", str(path), str(survey / "survey.csv"), "--no-browser", "--by", "Ann"]
    command += ["--survey", str(survey / "survey.toml")]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "tabsoda.cli.main", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "40"},
    )
    # The address is one line, however narrow the terminal.
    address = next(line for line in process.stdout if line.startswith("http")).strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32,}/", address)
    with httpx.Client(base_url=address, trust_env=False) as client:
        version = client.get("api/rules").json()["version"]
        origin = address.rsplit("/", 2)[0]
        identifier = RuleSet.from_toml(path).active[0].identifier
        answer = client.post(
            "api/decide",
            json={"version": version, "ids": [identifier], "action": "approve"},
            headers={"origin": origin, "x-tabsoda-review": "1"},
        )
        assert answer.status_code == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert "1 rules approved, 1 rejected" in " ".join(out.split())
    assert RuleSet.from_toml(path)[identifier].by == "Ann"
