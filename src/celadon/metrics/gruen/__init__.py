"""GRUEN (Zhu and Bhat 2020): grammaticality, redundancy, focus and coherence of a text, without references."""
