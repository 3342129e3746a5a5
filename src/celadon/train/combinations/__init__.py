"""Metrics made of other metrics and features: celadon, gleu, sumqe, morcela, combinations."""
