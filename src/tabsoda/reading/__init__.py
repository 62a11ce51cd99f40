"""Stage 1, read: files and frames to a survey.

Input: CSV, Parquet, SPSS, Stata or SAS files, or a data frame. Output: a Survey.
"""

from tabsoda.reading.survey_reader import read_survey

__all__ = ["read_survey"]
