"""The scoring service: a score per request."""
