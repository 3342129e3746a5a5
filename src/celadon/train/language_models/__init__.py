"""Language models, n-gram models and word vectors."""
