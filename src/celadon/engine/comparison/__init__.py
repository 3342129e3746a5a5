"""Two tables of scores, paired row by row."""
