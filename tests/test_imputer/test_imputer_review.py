"""Rules that nobody reviewed: refused or recorded in Python as on the command line."""

import pytest
from small_imputers import imputer

from tabsoda import RuleSet, mine_rules
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.errors import RulesNotApprovedError
from tabsoda.skips.rules import RuleStatus


@pytest.fixture(scope="module")
def survey():
    return make_survey(400, 12, seed=2, nonresponse=0.05)


@pytest.fixture(scope="module")
def proposed(survey):
    from dataclasses import replace

    rules = survey.rules
    return rules.with_rules(replace(rule, status=RuleStatus.PROPOSED) for rule in rules)


def _counts(events, kind):
    return [dict(event.counts) for event in events if event.kind == kind]


def test_unreviewed_rules_are_refused_with_the_message_of_the_command(
    survey, proposed, tmp_path, capsys
):
    survey.write(tmp_path)
    proposed.to_toml(tmp_path / "rules.toml")
    with pytest.raises(SystemExit) as exit_code:
        main(["impute", str(tmp_path / "survey.csv"), "--rules", str(tmp_path / "rules.toml"),
              "-o", str(tmp_path / "out")])  # fmt: skip
    assert exit_code.value.code == 3
    said = capsys.readouterr().err
    with pytest.raises(RulesNotApprovedError) as error:
        imputer(description=survey.schema(), rules=proposed).fit(survey.to_frame())
    assert error.value.exit_code == 3
    file = str(tmp_path / "rules.toml")
    assert said.replace(f" in '{file}'", "").replace(file, "RULES") == f"Error: {error.value}\n"


def test_accepted_rules_are_named_in_an_event(survey, proposed, tmp_path):
    fitted = imputer(description=survey.schema(), rules=proposed, accept_unreviewed=True)
    result = fitted.fit(survey.to_frame()).impute(survey.to_frame(), m=1)
    expected = {
        "rules": len(proposed),
        "of_rules": len(proposed),
        "why": "accepted without review",
        "identifiers": tuple(rule.identifier for rule in proposed),
    }
    assert _counts(result.events, "unreviewed_rules_applied") == [expected]
    assert len(_counts(result.events, "skips_taken_from_rules")) == 1
    fitted.save(tmp_path)
    loaded = type(fitted).load(tmp_path, device="cpu")
    assert loaded.accept_unreviewed
    [counts] = _counts(loaded.impute(survey.to_frame(), m=0).events, "unreviewed_rules_applied")
    assert counts["why"] == "as they came with the model"


def test_reviewed_rules_need_no_acceptance(survey):
    rules = survey.rules.reject(survey.rules.rules[0].identifier)
    events = imputer(description=survey.schema(), rules=rules).fit(survey.to_frame()).events_
    assert _counts(events, "unreviewed_rules_applied") == []
    assert _counts(events, "rejected_rules_not_applied") == [{"rules": 1}]


def test_mined_rules_are_recorded_as_unreviewed():
    survey = make_survey(1200, 12, seed=2, nonresponse=0.02, breakoff=0.0)
    fitted = imputer(description=survey.schema(), skips="mine").fit(survey.to_frame())
    n_rules = len(fitted.rules_)
    assert _counts(fitted.events_, "rules_mined") == [{"rules": n_rules, "screen": "purity"}]
    [counts] = _counts(fitted.events_, "unreviewed_rules_applied")
    assert counts["rules"] == counts["of_rules"] == len(counts["identifiers"]) == n_rules


def test_mining_in_python_gives_the_rules_file_of_the_command(survey, tmp_path):
    from tabsoda import read_survey

    survey.write(tmp_path)
    data, description = tmp_path / "survey.csv", tmp_path / "survey.toml"
    main(["mine", str(data), "--survey", str(description), "-o", str(tmp_path / "mined.toml")])
    rules = mine_rules(read_survey(data, description))
    assert rules == RuleSet.from_toml(tmp_path / "mined.toml")
    assert rules.provenance.settings
