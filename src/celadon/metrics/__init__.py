"""Metrics: one file per family; the registry knows their names."""
