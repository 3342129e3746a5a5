"""Encoders of sentences and of tokens."""
