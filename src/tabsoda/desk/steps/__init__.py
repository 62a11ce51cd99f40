"""The six steps of the page, each a module with its routes."""
