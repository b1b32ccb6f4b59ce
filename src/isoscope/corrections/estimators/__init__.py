"""One module per correction."""
