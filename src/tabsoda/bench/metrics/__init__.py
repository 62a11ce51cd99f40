"""Scores: estimates against hidden answers, skip masks against a reference, interval coverage."""
