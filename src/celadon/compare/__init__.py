"""Two tables of scores compared, and texts held to limits."""
