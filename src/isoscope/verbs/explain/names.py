"""Names of rows that studies and charts read."""

from __future__ import annotations

# Fields of the verdict on a topic: the finding as a clause, the numbers that carry it, and what was
# not given, so that the clause says what is not known.
BRIEF, FIGURES, LACKS = "brief", "figures", "lacks"

# Of two tokens, and the share of it beyond an even space that a cause makes.
MEAN_SQUARED_COSINE = "mean_squared_cosine"
CONTRIBUTION = "contribution"

# Change of the mean cosine by setting outlier dimensions to zero.
CHANGE = "mean_cosine/change"

# How far the mean of a matrix is from the origin, in mean norms.
SHIFT = "shift"

ACCURACY = "position_accuracy"
MAJORITY, BY_TOKEN = "majority_baseline", "token_baseline"
RANK = "contribution_rank"

# Share of vectors in which a dimension must be an extreme to be ranked, as in study L-LN.
OFTEN = 0.1

NO_OUTLIER = f"no dimension is the minimum or the maximum in {100 * OFTEN:.0f} % of the vectors"


# The bins of which the paper prints the mean, in a vocabulary of about 30,000.
FREQUENT, RARE = (2_000, 3_000), (28_500, 29_500)

COSINE_WITH_UNUSED = "cosine_with_unused"
DIFFERENCE = f"{COSINE_WITH_UNUSED}/rare_minus_frequent"
WITH_FREQUENCY = f"{COSINE_WITH_UNUSED}/spearman_with_frequency"

BY_NAME = "unused tokens, by their names"


def bin_name(ids: tuple[int, int]) -> str:
    """Return what rows of a bin of ids are called."""
    return f"ids {ids[0]:,} to {ids[1] - 1:,}"


SAME = "distance/same_tense_same_sense"
OTHER_SENSE = "distance/same_tense_other_sense"
OTHER_TENSE = "distance/other_tense_same_sense"
ALL = "distance/all"
CONTRAST = "tense_over_sense"
RELATIVE = f"{CONTRAST}/relative"
I1 = "i1"


MARKS = (".", ",")


WORDS = (*MARKS, "the", "of")

SHARE, CHANCE = "same_group_share", "chance"


EXPLAINED_BY_FREQUENCY = "correlation_with_log_frequency"
FIRST = f"{EXPLAINED_BY_FREQUENCY}/component_1"
NORM = "norm/spearman_with_frequency"
