"""For people who search with embeddings: what a change of the space does to what they find."""
