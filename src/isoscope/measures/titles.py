"""What tables for people call a measure; keys such as ``effective_rank`` stay in JSON."""

from __future__ import annotations

from functools import cache

from isoscope.measures.registry import all_measures

# Titles of numbers that have a name of their own among those of a measure.
PARTS = {
    "cosine_quantiles/50%": "median cosine of random pairs",
    "self_similarity/corrected": "self-similarity of a word, less the mean cosine",
    "intra_sentence_similarity/corrected": "similarity within a text, less the mean cosine",
    "max_explainable_variance/corrected": "maximum explainable variance, less that by chance",
    "massive_activations/share": "share of massive tokens",
    "massive_activations/count": "number of massive tokens",
    "massive_activations/largest": "largest norm over the median",
}


@cache
def titles() -> dict[str, str]:
    """Return the titles of all measures by their keys."""
    from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES  # which needs numpy

    of_spaces = {one.name: one.title for one in all_measures()}
    of_layers = {one.name: one.title for one in CONTEXTUAL_MEASURES}
    return {**of_spaces, **of_layers, **PARTS}


def title_of(measure: str) -> str:
    """Return the title of a measure by its key, with options and with which of its numbers.

    Examples
    --------
    >>> title_of("effective_rank")
    'effective rank'
    >>> title_of("cosine_quantiles/99%")
    '99 % of random pairs are below'
    >>> title_of("bias_over_gain")
    'bias over gain'
    """
    known = titles()
    if measure in known:
        return known[measure]
    base, _, which = measure.partition("/")
    name, _, options = base.partition(":")
    if name == "cosine_quantiles" and which.endswith("%"):
        return f"{which[:-1]} % of random pairs are below"
    found = known.get(name, name.replace("_", " "))
    found += f" ({options.replace(':', ', ')})" if options else ""
    return f"{found}, {which.replace('_', ' ')}" if which else found
