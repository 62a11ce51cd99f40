"""Comments of a reviewer survive every save, at the same block and key."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
from tabsoda.review.comments import keep_comments
from tabsoda.skips.rule_files import dump_rules
from tabsoda.skips.rule_set import RuleSet

_SURVEY = make_survey(60, seed=1, n_columns=20)
# As it is before a review.
_RULES = RuleSet(_SURVEY.rules.rules, _SURVEY.columns)
_TEXT = dump_rules(_RULES)
_WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=20)


@given(st.lists(st.tuples(st.integers(0, 10_000), _WORDS, st.booleans()), max_size=8))
def test_comments_anywhere_are_kept_and_change_nothing(remarks):
    lines = _TEXT.removesuffix("\n").split("\n")
    added = []
    for number, (place, words, behind) in enumerate(remarks):
        remark = f"# {number} {words}".rstrip()
        at = place % len(lines)
        is_value = " = " in lines[at] and not lines[at].startswith((" ", "#"))
        if behind and is_value and not lines[at].endswith("[") and "  #" not in lines[at]:
            lines[at] += f"  {remark}"
        else:
            lines.insert(at, remark)
        added.append(remark)
    commented = "\n".join(lines) + "\n"
    assert tomllib.loads(commented) == tomllib.loads(_TEXT)
    changed = dump_rules(_RULES.reject(lambda rule: True, "no", by="Ann"))
    kept = keep_comments(commented, changed)
    assert tomllib.loads(kept) == tomllib.loads(changed)
    for remark in added:
        assert kept.count(remark) >= 1, remark
    # A second save changes nothing more.
    assert keep_comments(kept, changed) == kept


def test_a_file_without_comments_of_its_own_is_written_as_ever():
    changed = dump_rules(_RULES.approve(by="Ann"))
    assert keep_comments(_TEXT, changed) == changed


def test_what_looks_like_a_comment_in_a_text_is_none():
    old = 'format = 1\n[[rule]]\nid = "r#1"\nnote = """\n# no comment\n"""\n# one\nby = "a # b"\n'
    new = 'format = 1\n[[rule]]\nid = "r#1"\nnote = "\\n# no comment\\n"\nby = "c"\n'
    assert keep_comments(old, new) == new.replace("by =", "# one\nby =")


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_long_quotes_in_a_comment_or_a_text_open_nothing(quotes):
    note = "note = \"it is '''\""
    old = (
        f"# first {quotes}\nformat = 1  # second {quotes}\n\n[[rule]]\n"
        f'id = "r1"\n# third\n{note}\n# fourth\nby = "a"\n'
    )
    new = f'format = 1\n\n[[rule]]\nid = "r1"\n{note}\nby = "b"\n'
    assert keep_comments(old, new) == old.replace('by = "a"', 'by = "b"')


def test_accepting_all_on_the_command_line_keeps_them(tmp_path, capsys):
    path = tmp_path / "rules.toml"
    first = _RULES.rules[0].identifier
    path.write_text(_TEXT.replace(f'id = "{first}"', f'# see page 12\nid = "{first}"'))
    main(["review", str(path), "--accept-all", "--by", "Ann Smith"])
    saved = path.read_text()
    assert f'[[rule]]\n# see page 12\nid = "{first}"' in saved
    assert all(rule.status.value == "approved" for rule in RuleSet.from_toml(path))
    assert "approved" in capsys.readouterr().out
