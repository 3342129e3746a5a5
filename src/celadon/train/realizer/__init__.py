"""The realizer FERGUS."""
