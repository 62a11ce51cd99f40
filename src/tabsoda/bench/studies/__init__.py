"""Studies: which methods run on which surveys, how they run, and the folder of their results."""
