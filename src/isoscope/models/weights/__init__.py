"""Weights of a model, from any kind of file."""
