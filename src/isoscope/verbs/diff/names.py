"""Names of the parts, tests and limits of a comparison."""

from __future__ import annotations

DIFFERENCE = "difference of two clouds"
"""What such a result calls itself under ``KIND``."""

SAME, DIFFERENT, SUPPORT, KEEPING = "same rows", "difference", "support", "keeping"
"""Parts of such a result."""


PERMUTATIONS = 999
"""The smallest p-value is 0.001, and a p-value near 0.05 is off by 0.007."""

MEANS, COVARIANCES, LENGTHS = "means", "covariances", "lengths"


NEIGHBOURS = 10

NEIGHBOURS_LIMIT = 0.05
"""Share of neighbours beyond chance: one in twenty, another entry in every other list of ten."""

COSINE_LIMIT = 0.05
"""Mean cosine: less does not move a threshold that was read off a chart."""

CHANCE_MATCHES = 0.01
"""Share of A's random pairs above the threshold, where none is given."""

THRESHOLD_FACTOR = 1.5
"""Chance matches: half as many again, or a third fewer, are noticed by users."""


QUANTILES = (5, 50, 95)
