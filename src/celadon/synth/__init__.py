"""Texts of known quality: real sentences and documents damaged on purpose, the babble of a weak language model, and
sentences glued from a corpus or made by tag templates and a grammar."""
