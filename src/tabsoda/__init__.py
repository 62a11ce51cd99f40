"""Imputes missing answers in survey data, and knows which blanks are not missing at all."""
