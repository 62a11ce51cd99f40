"""The embedded survey's questionnaire on health and lifestyle, with realistic routing."""

from tabsoda.datasets.questionnaire.daily_life import DAILY_LIFE_QUESTIONS
from tabsoda.datasets.questionnaire.habits import HABITS_QUESTIONS
from tabsoda.datasets.questionnaire.health import HEALTH_QUESTIONS
from tabsoda.datasets.questionnaire.person import PERSON_QUESTIONS
from tabsoda.datasets.questionnaire.topics import TOPICS, topic_questions
from tabsoda.datasets.questions import Question
from tabsoda.errors import InputError

BASE_QUESTIONS: tuple[Question, ...] = (
    *PERSON_QUESTIONS,
    *HEALTH_QUESTIONS,
    *HABITS_QUESTIONS,
    *DAILY_LIFE_QUESTIONS,
)
# The first questions are gates of the others and cannot be left out.
MIN_COLUMNS = 10
MAX_COLUMNS = 300

__all__ = ["BASE_QUESTIONS", "MAX_COLUMNS", "MIN_COLUMNS", "questionnaire"]


def questionnaire(n_columns: int | None, seed: int) -> tuple[Question, ...]:
    """Return the first ``n_columns`` questions; beyond the base, one topic after another."""
    if n_columns is None:
        return BASE_QUESTIONS
    if not MIN_COLUMNS <= n_columns <= MAX_COLUMNS:
        raise InputError(
            "The embedded survey cannot have that many columns",
            found=str(n_columns),
            expected=f"{MIN_COLUMNS} to {MAX_COLUMNS}",
        )
    questions = list(BASE_QUESTIONS)
    for number in range(len(TOPICS)):
        if len(questions) >= n_columns:
            break
        questions.extend(topic_questions(seed, number))
    return tuple(questions[:n_columns])
