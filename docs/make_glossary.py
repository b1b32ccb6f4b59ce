"""Write docs/glossary.md: the words that isoscope uses, and the titles of all measures.

python docs/make_glossary.py
"""

from __future__ import annotations

from pathlib import Path

from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES
from isoscope.measures.registry import all_measures
from isoscope.results.render import markdown_table

PAGE = Path(__file__).parent / "glossary.md"

TERMS = {
    "base rate": "The share of pairs that are a match where a threshold is used. It is usually far "
    "smaller than among labelled pairs, which lowers the precision.",
    "block": "One transformer layer with its attention and its feed-forward network; `block 1` is "
    "the first.",
    "centring": "Subtracting the mean of all vectors, so that the mean is zero.",
    "chance match": "A vector that scores above a threshold although it has nothing to do with the "
    "query; expected numbers are per query.",
    "cloud": "The vectors that are analysed together: a file, a table, or a layer over some texts.",
    "common offset": "A direction that all vectors share. It raises all cosines, so that "
    "thresholds are high and close together.",
    "correction": "A transformation that makes a space more evenly filled, such as centring or "
    "whitening. It is fitted on one cloud and applied to others.",
    "cross-fitted": "Judged on items that the correction or threshold was not fitted on.",
    "dead dimension": "A dimension that never varies, up to rounding.",
    "diagnosis": "The likely cause of an unevenly filled space, with the numbers that it rests on.",
    "dimension": "One of the numbers of a vector; counted from 0.",
    "interval": "A 95 % confidence interval, unless another level is named.",
    "isotropy": "How evenly the directions of a space are filled. There are several measures of "
    "it, which do not always agree; isoscope names each by its formula.",
    "layer": "The output of the embedding, of a block, or of the final norm of a model.",
    "massive token": "A token whose vector has more than five times the median norm of its layer.",
    "norm": "The Euclidean length of a vector. Also the normalization of a layer, in `final norm`.",
    "outlier dimension": "A dimension that carries much of the mean cosine or of the variance.",
    "random pair": "Two vectors that were drawn at random. Nothing relates them, so that their "
    "cosines show what a score is worth by chance.",
    "space": "A cloud as it is, or after a correction.",
    "spread": "The square root of the total variance of a cloud.",
    "task": "A benchmark, or your own labelled pairs, with its protocol and score.",
    "whitening": "A linear transformation after which all directions have the same variance.",
}


def page() -> str:
    """Return the page."""
    described = [*all_measures(), *CONTEXTUAL_MEASURES]
    measures = [
        [item.title, f"`{item.name}`", item.symbol, item.summary, item.when] for item in described
    ]
    words = [[term, text] for term, text in TERMS.items()]
    return "\n\n".join(
        [
            "# Glossary",
            "Made by `python docs/make_glossary.py`.",
            "## Words",
            markdown_table([["word", "meaning"], *words], left=2),
            "## Measures",
            "Tables for people show the title, JSON has the key. The formulas are in the "
            "[catalogue](catalogue.md).",
            markdown_table(
                [["title", "key", "symbol", "what it tells", "when to look at it"],
                 *sorted(measures, key=lambda row: row[0].casefold())], left=5,
            ),
        ]
    ) + "\n"  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
