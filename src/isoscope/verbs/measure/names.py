"""Names of the rows about queries beside documents."""

from __future__ import annotations

# The part of such rows.
PART = "queries and documents"
BETWEEN, ALIKE, APART = "query_document_cosine", "query_query_cosine", "centre_distance"
DOCUMENTS = "document_document_cosine"
