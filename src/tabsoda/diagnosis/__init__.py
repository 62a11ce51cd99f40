"""Estimate how well the answers of a user's own survey can be imputed, by question."""
