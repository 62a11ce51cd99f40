"""Read CSV, Parquet, SPSS, Stata and SAS files, and data frames, as a survey."""

from tabsoda.reading.survey_reader import read_survey

__all__ = ["read_survey"]
