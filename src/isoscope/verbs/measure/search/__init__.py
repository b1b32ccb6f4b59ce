"""For people who search with embeddings: what scores mean, what a change does to results.

The name is imported when it is used: a search needs FAISS and scikit-learn, measures do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.verbs.measure.search.request import SearchRequest

__all__ = ["SearchRequest"]

__getattr__ = lazy_names(
    __name__,
    {
        "isoscope.verbs.measure.search.request": ["SearchRequest"],
    },
)
