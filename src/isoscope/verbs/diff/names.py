"""Names of the parts, tests and limits of a comparison."""

from __future__ import annotations

# What such a result calls itself under ``KIND``.
DIFFERENCE = "difference of two clouds"

# Parts of such a result.
SAME, DIFFERENT, SUPPORT, KEEPING = "same rows", "difference", "support", "keeping"


# The smallest p-value is 0.001, and a p-value near 0.05 is off by 0.007.
PERMUTATIONS = 999

MEANS, COVARIANCES, LENGTHS = "means", "covariances", "lengths"


NEIGHBOURS = 10

# Share of neighbours beyond chance: one in twenty, another entry in every other list of ten.
NEIGHBOURS_LIMIT = 0.05

# Mean cosine: less does not move a threshold that was read off a chart.
COSINE_LIMIT = 0.05

# Share of A's random pairs above the threshold, where none is given.
CHANCE_MATCHES = 0.01

# Chance matches: half as many again, or a third fewer, are noticed by users.
THRESHOLD_FACTOR = 1.5


QUANTILES = (5, 50, 95)
