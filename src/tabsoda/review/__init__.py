"""A local web page on which a person approves, rejects or edits routing rules."""
