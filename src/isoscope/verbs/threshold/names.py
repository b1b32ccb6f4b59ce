"""Names of the rows and fields of a result about thresholds."""

from __future__ import annotations

THRESHOLDS = "thresholds"
"""Kind of such a result."""

RANDOM, THRESHOLD = "random-pairs/", "/threshold"
"""How measures of random pairs begin, and how those of a threshold for labelled pairs end."""

SHARE_ABOVE, PER_QUERY, SCORE = "share_above", "matches_per_query", "score"
"""Fields of rows about random pairs; a row has a score only where the user asked for it."""

RARE = 0.001
"""A share of yeses as among pairs of a search, for the precision that a threshold has there."""
