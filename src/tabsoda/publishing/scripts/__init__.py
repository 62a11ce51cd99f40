"""Analyses as code for R, Stata and Python that gives the same numbers from exported files.

Input: a result and a request for estimates. Output: the text of a script.
"""

from tabsoda.publishing.scripts.script import EXPORTS, LANGUAGES, SUFFIXES, analysis_script

__all__ = ["EXPORTS", "LANGUAGES", "SUFFIXES", "analysis_script"]
