"""A network trained to predict hidden answers."""
