"""Write docs/glossary.md: the words that isoscope uses, and the titles of all measures.

python docs/make_glossary.py
"""

from __future__ import annotations

from pathlib import Path

from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES
from isoscope.measures.registry import all_measures
from isoscope.results.render import Markdown, markdown_table

PAGE = Path(__file__).parent / "glossary.md"

TERMS = {
    "base rate": "The share of matches among all pairs that are scored. It is usually far smaller "
    "than among labelled pairs, and the smaller it is, the lower the precision of a threshold.",
    "block": "One layer of a transformer, with its attention and its feed-forward network. "
    "`block 1` is the first.",
    "calibration": "A term of the loss that makes a matrix of the model more evenly filled during "
    "training; also called a regularizer.",
    "centring": "Subtracting the mean of all vectors, so that their mean becomes zero.",
    "chance match": "A vector that scores above the threshold although it has nothing to do with "
    "the query. isoscope gives the expected number per query.",
    "claim": "A statement of a paper that data can contradict. `isoscope study` tests it on your "
    "model.",
    "cloud": "The vectors that are analysed together: a file, a table, or the output of one layer "
    "for some texts.",
    "common offset": "A vector that all vectors have in common, so that their mean is far from "
    "zero. It raises the cosines of unrelated vectors, and therefore the thresholds.",
    "correction": "A transformation that makes a space more evenly filled, such as centring or "
    "whitening. It is fitted on one cloud and can be applied to others.",
    "cross-fitted": "Scored only on items that were not used to fit the correction or to choose "
    "the threshold.",
    "dead dimension": "A dimension that has the same value in all vectors, up to rounding.",
    "diagnosis": "The likely cause of an unevenly filled space, with the numbers that support it.",
    "dimension": "One of the numbers of a vector. Dimensions are counted from 0.",
    "interval": "A 95 % confidence interval, unless another level is named.",
    "isotropy": "How evenly the directions of a space are filled. There are several measures of "
    "it, which do not always agree; isoscope names each of them by its formula.",
    "journal": "A folder beside `--out` with the finished parts of a run, from which `--resume` "
    "continues after an interruption.",
    "layer": "The output of the embedding, of a block, or of the final norm of a model.",
    "massive token": "A token whose vector has more than five times the median norm of its layer.",
    "norm": "The Euclidean length of a vector. In names of layers, such as `final norm`, it is "
    "the normalisation layer.",
    "outlier dimension": "A dimension that carries much of the mean cosine or of the variance.",
    "part": "The part of a source that a row of a result describes, such as `block 3` of a model.",
    "random pair": "Two vectors drawn at random. They are unrelated, so their cosines show which "
    "scores occur by chance.",
    "shard": "A part of a large source that one worker reads at a time.",
    "space": "A cloud as it is, or after a correction.",
    "spread": "The square root of the total variance of a cloud.",
    "study": "An experiment of a paper that can be repeated on other models, with the claims that "
    "the paper makes about it.",
    "task": "A benchmark or your own labelled pairs, together with the protocol and the score.",
    "whitening": "A linear transformation after which all directions have the same variance.",
}


def page() -> str:
    """Return the page."""
    described = [*all_measures(), *CONTEXTUAL_MEASURES]
    measures = [
        [item.title, Markdown(f"`{item.name}`"), item.symbol, item.summary, item.when]
        for item in described
    ]
    words = [[term, Markdown(text)] for term, text in TERMS.items()]
    return "\n\n".join(
        [
            "# Glossary",
            "<!-- Made by `python docs/make_glossary.py`. -->",
            "## Words",
            markdown_table([["word", "meaning"], *words], left=2),
            "## Measures",
            "Tables in the terminal and on pages show the title; JSON and Python use the key. The "
            "[catalogue](catalogue.md) has the formulas.",
            markdown_table(
                [["title", "key", "symbol", "what it tells", "when to look at it"],
                 *sorted(measures, key=lambda row: row[0].casefold())], left=5,
            ),
        ]
    ) + "\n"  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
