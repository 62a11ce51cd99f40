"""Tables and figures made from the results of a study."""
