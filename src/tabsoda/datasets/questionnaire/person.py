"""Demographics: age, family, work, income, housing."""

from __future__ import annotations

from tabsoda.datasets.questions import Choice, Number, Question, one_of, points, scale, yes_no
from tabsoda.skips.rules import Condition

_NOT_WORKING = Condition("WORK", levels=(3, 4, 5, 6))

PERSON_QUESTIONS = (
    Question(
        "FORM",
        "Version of the questionnaire",
        one_of(("A", "B")),
        universe="Everybody, drawn by lot",
        signal=0,
        sensitivity=0,
    ),
    Question(
        "AGE",
        "Age in years",
        Number(48, 18, 18, 92),
        loads={"age": 1.0},
        signal=0.98,
        sensitivity=0,
    ),
    Question(
        "SEX", "Sex", one_of(("Male", "Female")), loads={"male": 1.0}, signal=1, sensitivity=0
    ),
    Question(
        "REGION",
        "Region of residence",
        one_of(tuple(f"Region {letter}" for letter in "ABCDEFGHIJKL")),
        sensitivity=0,
    ),
    Question(
        "EDUC",
        "Highest level of education",
        scale(
            ("None", "Primary", "Lower secondary", "Upper secondary", "Bachelor", "Master or more"),
            *(0.03, 0.10, 0.22, 0.32, 0.20, 0.13),
        ),
        loads={"means": 1.0, "age": -0.3},
        sensitivity=0,
    ),
    Question(
        "MARITAL",
        "Marital status",
        Choice(
            ("Married", "Never married", "Divorced", "Separated", "Widowed"),
            (0.46, 0.30, 0.13, 0.04, 0.07),
            ordered=False,
            pulls={"Never married": {"age": -1.6}, "Widowed": {"age": 2.2}},
        ),
    ),
    Question(
        "PARTNER",
        "Do you live with a partner?",
        yes_no(0.35),
        skipped_if=((Condition("MARITAL", levels=(1,)),),),
        universe="Not married",
        loads={"social": 0.6, "outlook": 0.6},
    ),
    Question(
        "CHILDREN",
        "How many children do you have?",
        Number(1.7, 0.5, 1, 9, zero_share=0.33, skewed=True),
        loads={"age": 0.8, "social": 0.4},
    ),
    Question(
        "YOUNGEST",
        "How old is the youngest child?",
        Number(14, 9, 0, 60),
        skipped_if=((Condition("CHILDREN", up_to=0),),),
        universe="Has children (CHILDREN is at least 1)",
        loads={"age": 1.0},
        signal=0.8,
    ),
    Question(
        "CARE",
        "How satisfied are you with child care near you?",
        scale(("Not at all", "A little", "Fairly", "Very"), 0.2, 0.3, 0.3, 0.2),
        skipped_if=((Condition("YOUNGEST", above=12, or_skipped=True),),),
        universe="Youngest child is 12 or younger",
        loads={"outlook": 0.8, "means": 0.4},
    ),
    Question(
        "WORK",
        "What describes your situation best?",
        Choice(
            ("Employee", "Self-employed", "Looking for work", "Student", "Retired", "At home"),
            (0.50, 0.10, 0.06, 0.08, 0.18, 0.08),
            ordered=False,
            pulls={"Student": {"age": -2.5}, "Retired": {"age": 3.0}, "Employee": {"health": 0.5}},
        ),
    ),
    Question(
        "HOURS",
        "How many hours a week do you work?",
        Number(37, 9, 2, 80),
        skipped_if=((_NOT_WORKING,),),
        universe="Employees and self-employed",
        loads={"means": 0.6, "thrill": 0.3, "health": 0.4},
    ),
    Question(
        "NIGHTS",
        "How often do you work at night?",
        scale(("Never", "Sometimes", "Usually"), 0.6, 0.28, 0.12),
        skipped_if=((Condition("HOURS", up_to=24, or_skipped=True),),),
        universe="Works 25 hours a week or more",
        loads={"means": -0.7, "thrill": 0.3},
    ),
    Question(
        "JOBSAT",
        "How satisfied are you with your work?",
        points(7, "Not at all", "Completely", peak=0.7, first_code=1),
        skipped_if=((_NOT_WORKING,),),
        universe="Employees and self-employed",
        loads={"outlook": 1.0, "means": 0.3},
    ),
    Question(
        "SEEKING",
        "Have you applied for a job in the past four weeks?",
        yes_no(0.6),
        skipped_if=((Condition("WORK", levels=(1, 2, 4, 5, 6)),),),
        universe="Looking for work",
        loads={"outlook": 0.7, "age": -0.5},
    ),
    Question(
        "INCOME",
        "Monthly household income after tax",
        Number(2600, 0.55, 0, 40000, step=10, skewed=True),
        loads={"means": 1.0, "health": 0.2},
        sensitivity=3,
    ),
    Question(
        "LADDER",
        "Where would you place yourself in society?",
        points(10, "Bottom", "Top", peak=0.55, first_code=1),
        loads={"means": 0.8, "outlook": 0.5},
    ),
    Question(
        "HOUSING",
        "How do you live?",
        one_of(("Owned outright", "Mortgage", "Rented", "Free of rent"), 0.28, 0.30, 0.37, 0.05),
    ),
    Question(
        "RENT",
        "Monthly rent or mortgage payment",
        Number(780, 0.4, 100, 9000, step=5, skewed=True),
        skipped_if=((Condition("HOUSING", levels=(1, 4)),),),
        universe="Pays rent or a mortgage",
        loads={"means": 1.0},
        sensitivity=2,
    ),
)
