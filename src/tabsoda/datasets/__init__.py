"""Surveys to try things on: a generator with planted routing and known truth."""
