"""Engines: how a file of samples becomes a file of scores."""
