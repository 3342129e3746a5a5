"""Resources that metrics draw on: what they know beyond the texts, loaded once."""
