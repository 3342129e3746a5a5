"""The chart parser's grammar."""
