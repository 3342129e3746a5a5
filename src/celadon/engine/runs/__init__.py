"""Runs: the input cut into pieces, scored by many workers into a folder, and gone on with where it was stopped."""
