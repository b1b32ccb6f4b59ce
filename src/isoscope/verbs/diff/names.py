"""Names of the parts, tests and limits of a comparison."""

from __future__ import annotations

# What such a result calls itself under ``KIND``.
DIFFERENCE = "difference of two clouds"

# Parts of such a result.
SAME, DIFFERENT, SUPPORT, KEEPING = "same rows", "difference", "support", "keeping"


# Level of all tests: p-values up to this are significant.
ALPHA = 0.05

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

# Pairs that a threshold of ``CHANCE_MATCHES`` must leave above it: 1,000 pairs in each cloud. The
# share of fewer is off by a third and more, which is a factor of ``THRESHOLD_FACTOR``.
FEWEST_ABOVE = 10

# Documents of a cloud below which a spread over documents says little.
FEWEST_DOCUMENTS = 20

# Rows of A for every dimension that A's whitening keeps, below which its threshold is not judged.
#
# Whitening with n rows of d dimensions gives new rows cosines with a variance of 1 / (d (1 − d/n)).
# The fit without a fold has n (1 − 1/K) rows, so that its threshold is a little too high for the
# whole fit. In simulations with 64 dimensions, 0.84 % of new pairs exceeded the threshold that 1 %
# should exceed with 5 rows per dimension, 0.78 % with 4, 0.73 % with 3 and 0.29 % with 2; read off
# the rows of the fit, it was exceeded by 3.4, 4.3, 6.9 and 14 %.
ROWS_PER_DIMENSION = 5

# Neighbours that two fits on rows of B must share. Below this a correction is not determined by its
# rows (whitening with fewer rows than dimensions shares one in ten), and that A's shares no fewer
# with B's says nothing.
FEWEST_BY_CHANCE = 0.5

# Distance of the covariances, over their size, from which on A's corrections are not recommended
# for B. With ρ the correlation of two covariances of equal size it is 2 √((1 − ρ) / (1 + ρ)): at
# 1.0 they have ρ = 0.6. A rotated cloud has 1.9: it is another space, whatever its mean is.
SPACE_LIMIT = 1.0


# Shift s of the means over the spread below which a difference is negligible: after A's centring
# the mean cosine of B is s² / (1 + s²), here 0.01.
MEAN_LIMIT = 0.1

# The same for the distance of the covariances over their size: as vectors that are 5 % longer.
COVARIANCE_LIMIT = 0.1

# The same for the distance of the norms over their mean: inner products move by as much.
LENGTH_LIMIT = 0.05

# The same for the share outside the support, against that of the other cloud itself: one row in
# fifty.
SUPPORT_LIMIT = 0.02


QUANTILES = (5, 50, 95)
