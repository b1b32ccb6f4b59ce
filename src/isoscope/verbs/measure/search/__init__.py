"""For people who search with embeddings: what scores mean, what a change does to results."""
