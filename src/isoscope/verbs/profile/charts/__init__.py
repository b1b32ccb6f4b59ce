"""Charts of a profile."""
