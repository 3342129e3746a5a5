"""Texts of known quality: real sentences and documents damaged on purpose, and the babble of a weak language model."""
