"""The whole workflow on a local web page: open, route, impute, look, analyse, export."""
