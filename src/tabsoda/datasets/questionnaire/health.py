"""Health: illness and its consequences, screening by sex and age, sleep, pain."""

from __future__ import annotations

from tabsoda.datasets.questions import NO, Number, Question, one_of, points, scale, yes_no
from tabsoda.skips.rules import Condition

HEALTH_QUESTIONS = (
    Question(
        "HEALTH",
        "How is your health in general?",
        scale(("Very bad", "Bad", "Fair", "Good", "Very good"), 0.03, 0.08, 0.24, 0.42, 0.23),
        loads={"health": 1.0},
    ),
    Question(
        "HEIGHT",
        "Height in centimetres",
        Number(171, 9, 140, 210),
        loads={"male": 1.0, "age": -0.2},
        sensitivity=0.5,
    ),
    Question(
        "KILOS",
        "Weight in kilograms",
        Number(76, 0.19, 38, 190, skewed=True),
        loads={"male": 0.8, "health": -0.6, "age": 0.3},
    ),
    Question(
        "CHRONIC",
        "Do you have a long-standing illness?",
        yes_no(0.36),
        loads={"health": -1.0, "age": 0.4},
    ),
    Question(
        "ILLNESS",
        "Which one troubles you most?",
        one_of(
            (
                "Heart",
                "Lungs",
                "Diabetes",
                "Cancer",
                "Joints or back",
                "Depression",
                "Migraine",
                "Other",
            ),
            *(0.16, 0.10, 0.14, 0.06, 0.26, 0.12, 0.06, 0.10),
        ),
        skipped_if=((Condition("CHRONIC", levels=(NO,)),),),
        universe="Has a long-standing illness",
    ),
    Question(
        "LIMITED",
        "Does it limit what you do?",
        scale(("Not at all", "Somewhat", "Severely"), 0.35, 0.42, 0.23),
        skipped_if=((Condition("CHRONIC", levels=(NO,)),),),
        universe="Has a long-standing illness",
        loads={"health": -1.0, "age": 0.3},
    ),
    Question(
        "HELP",
        "Does somebody help you at home?",
        yes_no(0.4),
        skipped_if=((Condition("LIMITED", levels=(1,), or_skipped=True),),),
        universe="Is limited by a long-standing illness",
        loads={"health": -0.7, "social": 0.6},
    ),
    Question(
        "VISITS",
        "Visits to a doctor in the past year",
        Number(3, 0.8, 1, 99, zero_share=0.22, skewed=True),
        loads={"health": -1.0, "age": 0.3},
    ),
    Question(
        "MAMMO",
        "Have you ever had a mammogram?",
        yes_no(0.7),
        skipped_if=(
            (Condition("SEX", levels=(1,)),),
            (Condition("AGE", up_to=39),),
            (Condition("AGE", above=74),),
        ),
        universe="Women aged 40 to 74",
        loads={"means": 0.5, "age": 0.7},
    ),
    Question(
        "MAMMOAGO",
        "How long ago was the last one?",
        scale(("Less than a year", "1 to 2 years", "3 to 5 years", "Longer"), 0.3, 0.35, 0.2, 0.15),
        skipped_if=((Condition("MAMMO", levels=(NO,), or_skipped=True),),),
        universe="Has had a mammogram",
        loads={"means": -0.5, "outlook": -0.5},
    ),
    Question(
        "PROSTATE",
        "Have you ever had a prostate test?",
        yes_no(0.45),
        skipped_if=((Condition("SEX", levels=(2,)),), (Condition("AGE", up_to=49),)),
        universe="Men aged 50 or older",
        loads={"means": 0.5, "age": 0.7},
    ),
    Question(
        "SLEEP",
        "Hours of sleep on a usual night",
        Number(7.1, 1.1, 2, 13, step=0.5),
        loads={"health": 0.6, "outlook": 0.5, "age": -0.2},
    ),
    Question(
        "PAIN",
        "How strong was your pain in the past week?",
        points(11, "None", "Worst imaginable", peak=0.1),
        loads={"health": -1.0, "age": 0.2, "outlook": -0.3},
    ),
    Question(
        "LOWDAYS",
        "On how many days of the past week did you feel low?",
        points(8, "No day", "Every day", peak=0.15),
        loads={"outlook": -1.0, "health": -0.4},
    ),
)
