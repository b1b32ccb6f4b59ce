"""Isotropy as part of training: terms of a loss that even out a matrix while a model learns."""
