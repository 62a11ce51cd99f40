"""Forms of online and field questionnaires: what they say of columns and of routing."""

from tabsoda.questionnaire.reading import SurveyWithForm, read_form, read_survey_with_form

__all__ = ["SurveyWithForm", "read_form", "read_survey_with_form"]
