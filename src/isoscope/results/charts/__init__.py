"""Charts: their marks, forms, axes, and which there are."""
