"""Clouds of the same rows: whether they are, which belong together, and how alike they are."""
