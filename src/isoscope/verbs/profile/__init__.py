"""What is inside a model: its layers over a text, its weights, its training."""
