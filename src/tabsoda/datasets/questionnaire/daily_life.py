"""Daily life: split ballots, driving, sport, satisfaction, religion, voting."""

from __future__ import annotations

from tabsoda.datasets.questions import NO, Number, Question, one_of, points, scale, yes_no
from tabsoda.skips.rules import Condition

_FREQUENCY = ("Never", "Rarely", "Sometimes", "Often", "Always")

DAILY_LIFE_QUESTIONS = (
    Question(
        "TRUST11",
        "Can most people be trusted? (eleven points)",
        points(11, "Cannot be too careful", "Can be trusted", peak=0.5),
        skipped_if=((Condition("FORM", levels=(2,)),),),
        universe="Version A",
        loads={"outlook": 0.8, "means": 0.4},
    ),
    Question(
        "TRUST4",
        "Can most people be trusted? (four answers)",
        scale(("Never", "Rarely", "Mostly", "Always"), 0.12, 0.33, 0.45, 0.10),
        skipped_if=((Condition("FORM", levels=(1,)),),),
        universe="Version B",
        loads={"outlook": 0.8, "means": 0.4},
    ),
    Question("LICENCE", "Do you have a driving licence?", yes_no(0.8), loads={"means": 0.7}),
    Question("CAR", "Is there a car you can use?", yes_no(0.72), loads={"means": 0.9}),
    Question(
        "KM",
        "Kilometres driven in the past year",
        Number(9000, 0.7, 0, 120000, step=100, skewed=True),
        skipped_if=((Condition("LICENCE", levels=(NO,)),), (Condition("CAR", levels=(NO,)),)),
        universe="Has a licence and a car",
        loads={"means": 0.6, "thrill": 0.4, "age": -0.3},
    ),
    Question(
        "BELT",
        "How often do you wear a seat belt?",
        scale(_FREQUENCY, 0.02, 0.02, 0.03, 0.07, 0.86),
        loads={"thrill": -0.8, "age": 0.3},
    ),
    Question(
        "ACTIVE",
        "On how many days a week do you exercise?",
        points(8, "No day", "Every day", peak=0.3),
        loads={"health": 0.8, "thrill": 0.3, "age": -0.3},
    ),
    Question(
        "MINUTES",
        "Minutes of exercise on such a day",
        Number(42, 0.5, 5, 400, step=5, skewed=True),
        skipped_if=((Condition("ACTIVE", levels=(0,)),),),
        universe="Exercises on at least one day",
        loads={"health": 0.6, "thrill": 0.6},
    ),
    Question(
        "SPORT",
        "Which sport most of all?",
        one_of(
            (
                "Walking",
                "Running",
                "Cycling",
                "Swimming",
                "Gym",
                "Football",
                "Tennis",
                "Dance",
                "Yoga",
                "Other",
            )
        ),
        skipped_if=((Condition("ACTIVE", levels=(0,)),),),
        universe="Exercises on at least one day",
    ),
    Question(
        "LIFESAT",
        "How satisfied are you with your life?",
        points(11, "Not at all", "Completely", peak=0.75),
        loads={"outlook": 1.0, "health": 0.4, "means": 0.3},
    ),
    Question(
        "HAPPY",
        "How happy are you these days?",
        points(9, "Unhappy", "Happy", peak=0.7, first_code=1),
        loads={"outlook": 1.0, "social": 0.4},
    ),
    Question(
        "FRIENDS",
        "Close friends",
        Number(4, 0.7, 1, 60, zero_share=0.07, skewed=True),
        loads={"social": 1.0},
    ),
    Question(
        "ONLINE",
        "How often are you online?",
        points(7, "Never", "Always", peak=0.9, first_code=1),
        loads={"age": -1.0, "means": 0.4},
    ),
    Question(
        "RELIGION",
        "Which religion do you belong to?",
        one_of(
            ("None", "Catholic", "Protestant", "Orthodox", "Muslim", "Jewish", "Other"),
            *(0.38, 0.26, 0.17, 0.05, 0.08, 0.02, 0.04),
        ),
        sensitivity=1.5,
    ),
    Question(
        "SERVICE",
        "How often do you go to a religious service?",
        scale(_FREQUENCY, 0.25, 0.33, 0.22, 0.13, 0.07),
        skipped_if=((Condition("RELIGION", levels=(1,)),),),
        universe="Belongs to a religion",
        loads={"age": 0.6, "social": 0.6, "thrill": -0.5},
    ),
    Question("VOTED", "Did you vote in the last election?", yes_no(0.74), loads={"means": 0.6}),
    Question(
        "PARTY",
        "Which party did you vote for?",
        one_of(("Red", "Green", "Blue", "Yellow", "Black"), 0.25, 0.15, 0.3, 0.1, 0.2),
        skipped_if=((Condition("VOTED", levels=(NO,)),),),
        universe="Voted",
        sensitivity=3,
    ),
)
