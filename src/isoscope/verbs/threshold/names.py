"""Names of the rows and fields of a result about thresholds."""

from __future__ import annotations

# Kind of such a result.
THRESHOLDS = "thresholds"

# How measures of random pairs begin, and how those of a threshold for labelled pairs end.
RANDOM, THRESHOLD = "random-pairs/", "/threshold"

# Fields of rows about random pairs; a row has a score only where the user asked for it.
SHARE_ABOVE, PER_QUERY, SCORE = "share_above", "matches_per_query", "score"

# How measures end that are a precision at a base rate: where noes score like the labelled ones, and
# where as many pairs are accepted as random pairs of the store.
REWEIGHTED, IN_SEARCH = "/precision-reweighted", "/precision-in-search"

# Fields of these rows: the base rate, and whether it is given, implied or assumed.
BASE_RATE, ORIGIN = "base_rate_of_matches", "base_rate_origin"

# Field of the result: the coverage of its intervals.
LEVEL = "level"
