"""What is inside a model: its layers over a text, its weights, its training."""

from isoscope.profiles.profiling import profile

__all__ = ["profile"]
