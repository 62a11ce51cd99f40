"""Habits: smoking (nested gates), alcohol (alternative gates), drugs (a rare gate)."""

from __future__ import annotations

from tabsoda.datasets.questions import NO, Number, Question, scale, yes_no
from tabsoda.skips.rules import Condition

_NO_SMOKING_NOW = Condition("SMKNOW", levels=(1,), or_skipped=True)
_DRINKS_NOTHING = tuple(Condition(drink, levels=(NO,)) for drink in ("BEER", "WINE", "SPIRITS"))

HABITS_QUESTIONS = (
    Question(
        "SMKEVER",
        "Have you ever smoked 100 cigarettes?",
        yes_no(0.46),
        loads={"thrill": 0.8, "means": -0.4, "age": 0.4},
    ),
    Question(
        "SMKNOW",
        "Do you smoke now?",
        scale(("Not at all", "Some days", "Every day"), 0.5, 0.15, 0.35),
        skipped_if=((Condition("SMKEVER", levels=(NO,)),),),
        universe="Has smoked 100 cigarettes",
        loads={"thrill": 0.7, "age": -0.6, "means": -0.4},
    ),
    Question(
        "SMKDAY",
        "Cigarettes on a usual day",
        Number(11, 0.6, 1, 80, skewed=True),
        skipped_if=((_NO_SMOKING_NOW,),),
        universe="Smokes now",
        loads={"thrill": 0.6, "health": -0.5, "age": 0.4},
    ),
    Question(
        "SMKTRY",
        "Have you tried to stop in the past year?",
        scale(("No attempt", "At least one attempt"), 0.6, 0.4),
        skipped_if=((_NO_SMOKING_NOW,),),
        universe="Smokes now",
        loads={"health": -0.5, "outlook": 0.6},
    ),
    Question(
        "SMKSTOP",
        "How many years ago did you stop?",
        Number(9, 0.8, 0, 60, skewed=True),
        skipped_if=((Condition("SMKNOW", levels=(2, 3), or_skipped=True),),),
        universe="Has stopped smoking",
        loads={"age": 0.9},
    ),
    Question("BEER", "Do you drink beer?", yes_no(0.5), loads={"thrill": 0.7, "social": 0.5}),
    Question("WINE", "Do you drink wine?", yes_no(0.45), loads={"means": 0.7, "social": 0.5}),
    Question("SPIRITS", "Do you drink spirits?", yes_no(0.25), loads={"thrill": 1.0}),
    Question(
        "DRINKS",
        "Drinks in a usual week",
        Number(5, 0.9, 0, 150, skewed=True),
        skipped_if=(_DRINKS_NOTHING,),
        universe="Drinks beer, wine or spirits",
        loads={"thrill": 0.8, "social": 0.4, "health": -0.2},
    ),
    Question(
        "BINGE",
        "How often six or more drinks at once?",
        scale(
            ("Never", "Yearly", "Every few months", "Monthly", "Weekly", "Daily"),
            *(0.34, 0.22, 0.18, 0.13, 0.10, 0.03),
        ),
        skipped_if=(_DRINKS_NOTHING,),
        universe="Drinks beer, wine or spirits",
        loads={"thrill": 1.0, "age": -0.4},
    ),
    Question(
        "CUTDOWN",
        "Has anybody told you to drink less?",
        yes_no(0.3),
        skipped_if=((Condition("DRINKS", up_to=6, or_skipped=True),),),
        universe="Has 7 or more drinks a week",
        loads={"health": -0.7, "thrill": 0.4},
    ),
    Question(
        "DRUGS",
        "How often have you taken drugs in the past year?",
        scale(("Never", "Once", "A few times", "Monthly", "Weekly"), 0.88, 0.05, 0.04, 0.02, 0.01),
        loads={"thrill": 1.0, "age": -0.5},
        sensitivity=2,
    ),
    Question(
        "DRUGHELP",
        "Have you looked for help because of drugs?",
        yes_no(0.3),
        skipped_if=((Condition("DRUGS", levels=(1,)),),),
        universe="Has taken drugs in the past year",
        loads={"outlook": -0.8},
    ),
)
