"""Word vectors, the distance of sentences by them, and WordNet."""
