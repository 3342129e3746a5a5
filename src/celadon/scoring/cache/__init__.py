"""Scores that are kept and taken again."""
