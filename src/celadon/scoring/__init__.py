"""From samples to scores: batches and their views, fitting, cache, summaries, and the functions that users call."""
