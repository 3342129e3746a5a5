"""Training: language models, and combinations of metrics fitted to ratings."""
