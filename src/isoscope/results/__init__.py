"""Results: rows, tables, what people read of them, and their files."""
