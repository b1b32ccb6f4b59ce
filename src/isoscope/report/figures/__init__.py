"""A kind of figure a file."""
