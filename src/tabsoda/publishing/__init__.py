"""Publishing: analyses as code of other programs, as tables to copy and as figures."""
