"""Where the parts of a network are."""
