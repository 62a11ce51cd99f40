"""A network trained to predict answers that are hidden from it."""
