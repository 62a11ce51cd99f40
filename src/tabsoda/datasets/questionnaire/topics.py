"""Ten questions per topic, repeated over topics to make a long questionnaire."""

from __future__ import annotations

import numpy as np

from tabsoda._internal.randomness import numpy_generator
from tabsoda.datasets.questions import NO, Choice, Number, Question, one_of, points, scale, yes_no
from tabsoda.skips.rules import Condition

TOPICS = (
    ("GYM", "a gym"),
    ("GAM", "video games"),
    ("BET", "sports betting"),
    ("COF", "coffee bars"),
    ("VAP", "e-cigarettes"),
    ("FAS", "fast food"),
    ("SOC", "social media"),
    ("STR", "streaming services"),
    ("BIK", "an electric bicycle"),
    ("PET", "pet services"),
    ("GAR", "a garden"),
    ("MUS", "concerts"),
    ("CIN", "cinemas"),
    ("LIB", "libraries"),
    ("MUZ", "museums"),
    ("TRA", "night trains"),
    ("FLY", "flights"),
    ("CAM", "camping"),
    ("FIS", "fishing"),
    ("SKI", "skiing"),
    ("SAI", "sailing"),
    ("KNI", "knitting"),
    ("PHO", "photography"),
    ("LOT", "lotteries"),
    ("MEA", "meal kits"),
)


def topic_questions(seed: int, number: int) -> tuple[Question, ...]:
    """Return the ten questions about one topic, with random shares and thresholds.

    Parameters
    ----------
    seed : int
        Of the questionnaire.
    number : int
        Which topic, from 0.
    """
    rng = numpy_generator(seed, "topic", number)
    code, thing = TOPICS[number]
    never = Condition(f"{code}_EVER", levels=(NO,))
    not_lately = Condition(f"{code}_YEAR", levels=(NO,), or_skipped=True)
    age = int(rng.integers(30, 66))
    form = int(rng.integers(1, 3))
    other_form = (Condition("FORM", levels=(3 - form,)),)
    version = "AB"[form - 1]
    return (
        Question(f"{code}_EVER", f"Have you ever used {thing}?", yes_no(_between(rng, 0.3, 0.75))),
        Question(
            f"{code}_YEAR",
            f"Have you used {thing} in the past year?",
            yes_no(_between(rng, 0.35, 0.8)),
            skipped_if=((never,),),
            universe=f"Has ever used {thing}",
        ),
        Question(
            f"{code}_FREQ",
            f"How often do you use {thing}?",
            _random_scale(rng, int(rng.integers(3, 9)), "Rarely", "Every day"),
            skipped_if=((not_lately,),),
            universe=f"Has used {thing} in the past year",
        ),
        Question(
            f"{code}_COST",
            f"What do you spend on {thing} in a month?",
            Number(_between(rng, 8, 90), 0.8, 1, 5000, zero_share=0.15, skewed=True),
            skipped_if=((not_lately,),),
            universe=f"Has used {thing} in the past year",
            sensitivity=1.5,
        ),
        Question(
            f"{code}_WORTH",
            f"Is what you spend on {thing} worth it?",
            _random_scale(rng, 4, "No", "Yes"),
            skipped_if=((Condition(f"{code}_COST", up_to=0, or_skipped=True),),),
            universe=f"Spends something on {thing}",
        ),
        Question(
            f"{code}_WITH",
            f"With whom do you use {thing}?",
            one_of(
                ("Alone", "Partner", "Children", "Friends", "Colleagues", "Strangers")[
                    : int(rng.integers(3, 7))
                ]
            ),
            skipped_if=((Condition(f"{code}_FREQ", levels=(1,), or_skipped=True),),),
            universe=f"Uses {thing} more than rarely",
        ),
        Question(
            f"{code}_LIKE",
            f"How much do you like {thing}?",
            points(int(rng.choice([5, 7, 10, 11])), "Not at all", "Very much", peak=0.6),
            skipped_if=(other_form,),
            universe=f"Version {version}",
        ),
        Question(
            f"{code}_RISK",
            f"Are you worried about {thing}?",
            scale(("Not at all", "A little", "Much"), 0.84, 0.12, 0.04),
        ),
        Question(
            f"{code}_YOUNG",
            f"Did you use {thing} as a child?",
            yes_no(_between(rng, 0.3, 0.7)),
            skipped_if=((never,), (Condition("AGE", above=age),)),
            universe=f"Has ever used {thing} and is {age} or younger",
        ),
        Question(
            f"{code}_PLAN",
            f"Would you like to try {thing}?",
            _random_scale(rng, 5, "Certainly not", "Certainly"),
            skipped_if=((Condition(f"{code}_EVER", levels=(1,)),),),
            universe=f"Has never used {thing}",
        ),
    )


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _random_scale(rng: np.random.Generator, n_levels: int, low: str, high: str) -> Choice:
    """Return a scale with labelled ends, at a random peak."""
    return points(n_levels, low, high, peak=_between(rng, 0.0, 1.0), first_code=1)
