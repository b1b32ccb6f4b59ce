"""Terms of a loss that even out a matrix."""
