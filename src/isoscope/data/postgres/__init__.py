"""Tables of PostgreSQL with pgvector, as clouds and as places to write to."""
