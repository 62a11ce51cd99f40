"""Sentences: what they say, and that they say it of the right answers."""

from tabsoda.schema import Column, ColumnKind, Reason
from tabsoda.skips.rules import Condition, SkipRule
from tabsoda.skips.sentences import condition_text, rule_sentence

YES_NO = Column("AC1002", ColumnKind.NOMINAL, (1, 2), level_labels={1: "Yes", 2: "No"})
OFTEN = Column(
    "OFTEN",
    ColumnKind.ORDINAL,
    (1, 2, 3, 4, 5),
    level_labels={1: "Never", 2: "Rarely", 3: "Monthly", 4: "Weekly", 5: "Daily"},
)
AGE = Column("AGE", ColumnKind.CONTINUOUS)
STATE = Column("STATE", ColumnKind.NOMINAL, tuple(range(1, 21)))
COLUMNS = {column.name: column for column in (YES_NO, OFTEN, AGE, STATE)}


def _say(*paths):
    return rule_sentence(SkipRule("r", "Q", paths), COLUMNS).removeprefix("Q is skipped when ")


def test_the_sentence_of_the_paper():
    rule = SkipRule("r", "AC1003", ((Condition("AC1002", (2,)),),))
    assert rule_sentence(rule, COLUMNS) == "AC1003 is skipped when AC1002 is 2 'No'"


def test_numbers_are_said_exactly():
    assert condition_text(Condition("AGE", above=44), AGE) == "AGE is above 44"
    assert condition_text(Condition("AGE", up_to=0), AGE) == "AGE is at most 0"
    both = Condition("AGE", above=14.5, up_to=1234567.25)
    assert condition_text(both, AGE) == "AGE is above 14.5 and at most 1234567.25"


def test_states_of_the_gate():
    assert _say((Condition("AGE", or_skipped=True),)) == "AGE was itself skipped"
    assert _say((Condition("AC1002", (2,), or_skipped=True),)) == (
        "AC1002 is 2 'No' or was itself skipped"
    )
    assert _say((Condition("AGE", or_skipped=True, or_blank=True),)) == (
        "AGE was itself skipped or is blank"
    )


def test_reasons_follow_the_answers():
    both = (Reason.REFUSED, Reason.DONT_KNOW)
    assert _say((Condition("AC1002", (2,), reasons=both),)) == (
        "AC1002 is 2 'No', refused or 'don't know'"
    )
    assert _say((Condition("AC1002", (2,), reasons=both[:1], or_skipped=True),)) == (
        "AC1002 is 2 'No', refused or was itself skipped"
    )
    assert _say((Condition("AC1002", (1, 2), reasons=both[1:]),)) == (
        "AC1002 was answered or 'don't know'"
    )
    assert _say((Condition("AGE", above=44, reasons=both),)) == (
        "AGE is above 44, refused or 'don't know'"
    )
    # "Anything but" would exclude what is named after it.
    assert _say((Condition("OFTEN", (1, 2, 4, 5), reasons=both),)) == (
        "OFTEN is anything but 3 'Monthly', or was refused, or was answered with 'don't know'"
    )
    assert _say((Condition("AGE", reasons=(Reason.OTHER, *both)),)) == (
        "AGE was refused, was answered with 'don't know' or is missing for another reason"
    )
    no, old = Condition("AC1002", (2,), reasons=both[:1]), Condition("AGE", above=44)
    assert _say((no, old)) == "AC1002 is 2 'No' or refused, and AGE is above 44"


def test_lists_runs_and_complements():
    def often(*levels):
        return condition_text(Condition("OFTEN", levels), OFTEN).removeprefix("OFTEN ")

    assert often(1, 2) == "is 1 'Never' or 2 'Rarely'"
    assert often(2, 3, 4) == "is 2 'Rarely' to 4 'Weekly'"
    assert often(5, 3, 4) == "is 3 'Monthly' to 5 'Daily'"
    assert often(1, 2, 4, 5) == "is anything but 3 'Monthly'"
    assert often(1, 2, 3, 4, 5) == "was answered"
    # A plain "or" would read as one more answer that it is not.
    except_3 = Condition("OFTEN", (1, 2, 4, 5), or_skipped=True)
    assert condition_text(except_3, OFTEN) == (
        "OFTEN is anything but 3 'Monthly', or was itself skipped"
    )
    assert condition_text(Condition("STATE", tuple(range(2, 21))), STATE) == (
        "STATE is anything but 1"
    )
    assert condition_text(Condition("STATE", tuple(range(1, 20, 2))), STATE) == (
        "STATE is one of 10 answers (1, 3, 5, 7, 9, ...)"
    )


def test_and_and_or_cannot_be_confused():
    no, old = Condition("AC1002", (2,)), Condition("AGE", above=44)
    few = Condition("OFTEN", (1, 2))
    assert _say((no, old)) == "AC1002 is 2 'No' and AGE is above 44"
    assert _say((no,), (old,)) == "AC1002 is 2 'No', or when AGE is above 44"
    assert _say((few, old)) == "OFTEN is 1 'Never' or 2 'Rarely', and AGE is above 44"
    assert _say((no, old), (Condition("OFTEN", or_skipped=True),)) == (
        "AC1002 is 2 'No' and AGE is above 44; or when OFTEN was itself skipped"
    )


def test_labels_are_repeated_as_they_are():
    nasty = '<b>"It\'s" =1+1\n[red]{x}\\'
    gate = Column("G", ColumnKind.NOMINAL, (1, 2), level_labels={1: nasty, 2: "yes or no"})
    assert condition_text(Condition("G", (1,)), gate) == f"G is 1 '{nasty}'"
    # An "or" inside a label does not make the condition an alternative.
    rule = SkipRule("r", "Q", ((Condition("G", (2,)), Condition("AGE", above=1)),))
    assert "'yes or no' and AGE" in rule_sentence(rule, {"G": gate, "AGE": AGE})
