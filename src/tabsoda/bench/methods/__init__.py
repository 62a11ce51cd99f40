"""Imputation methods to compare with TabSODA, all with the same interface."""
