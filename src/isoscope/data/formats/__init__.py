"""One module per file format, for reading and for writing."""
