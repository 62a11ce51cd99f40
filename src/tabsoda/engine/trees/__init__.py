"""Gradient-boosted trees, one model per question."""
