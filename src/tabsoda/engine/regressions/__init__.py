"""Chained regressions: sets of one regression per question."""
