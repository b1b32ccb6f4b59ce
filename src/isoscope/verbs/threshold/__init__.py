"""Which score means that two texts belong together."""
