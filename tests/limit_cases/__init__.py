"""Tests that hang, die or leave something behind, for tests/test_limits.py; none is collected with the others."""
