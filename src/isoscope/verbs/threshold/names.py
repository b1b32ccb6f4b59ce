"""Names of the rows and fields of a result about thresholds."""

from __future__ import annotations

# Kind of such a result.
THRESHOLDS = "thresholds"

# How measures of random pairs begin, and how those of a threshold for labelled pairs end.
RANDOM, THRESHOLD = "random-pairs/", "/threshold"

# Fields of rows about random pairs; a row has a score only where the user asked for it.
SHARE_ABOVE, PER_QUERY, SCORE = "share_above", "matches_per_query", "score"

# A share of yeses as among pairs of a search, for the precision that a threshold has there.
RARE = 0.001
