"""Biś et al. (2021), figure 3: tokens that were never used lie where rare tokens lie.

Unused tokens only ever moved away from what a model predicted, so that their direction is the
common one; the rarer a token is, the closer it stays to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.combine import SingleCloud
from isoscope.errors import UsageError
from isoscope.explain.unused import (
    BY_NAME,
    DIFFERENCE,
    FREQUENT,
    MEASURE,
    RARE,
    bin_rows,
    called,
    choose_bins,
    cosines_with_unused,
    first_look,
)
from isoscope.results.measuring import versions
from isoscope.results.result import Result, Row
from isoscope.studies.bis2021 import PAPER
from isoscope.studies.claims import Claim
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import UNUSED
from isoscope.studies.subjects import open_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.explain.unused import FirstLook


def figure_3(request: Request) -> Result:
    """Mean cosine of unused tokens with the tokens of each bin, raw and centred."""
    rows: list[Row] = []
    for subject in request.subjects:
        group = open_vectors(subject, request.column)
        if len(group.names) != 1:
            raise UsageError(f"{subject.name} holds {len(group.names)} clouds; B-F3 looks at one")
        cloud = SingleCloud(group, group.names[0])
        look = first_look(cloud)
        unused, how = which_unused(look, request.last_unused, cloud.name)
        bins = choose_bins(look.rows, unused)
        protocol = f"{look.rows:,} rows; {len(unused):,} {how}"
        for correction, centre in look.centres():
            cosines = cosines_with_unused(cloud, unused, centre)
            found = bin_rows(cosines, correction, bins, protocol)
            rows += [replace(row, subject=subject.name) for row in found]
    return Result(rows, versions=versions())


def which_unused(look: FirstLook, last: int | None, name: str) -> tuple[NDArray[np.int64], str]:
    """Return the rows of unused tokens and how they were found: by name, or as the last rows."""
    if last is not None:
        if not 0 < last < look.rows:
            raise UsageError(f"{name} has {look.rows:,} rows; {last:,} of them cannot be unused")
        return np.arange(look.rows - last, look.rows), "last ones taken for unused"
    if not len(look.named):
        raise UsageError(
            f"{name}: no token is called [unused…]; --last-unused 1000 takes the last rows, "
            "as the paper does for RoBERTa"
        )
    return look.named, BY_NAME


def printed_figure_3() -> dict[Key, float]:
    """Return the two means that the text prints."""
    bert = "BERT-base-uncased"
    return {
        (bert, called(FREQUENT), "none", MEASURE): 0.27,
        (bert, called(RARE), "none", MEASURE): 0.63,
        (bert, "", "none", DIFFERENCE): 0.36,
    }


register(
    Study(
        "B-F3", "Cosine of unused tokens with the vocabulary, from frequent tokens to rare ones",
        PAPER + ", figure 3, whose caption says cased where its numbers fit the uncased model",
        "a model, or its input embedding matrix with words as labels; all rows count", figure_3,
        (
            Claim("unused tokens are closer to rare tokens than to frequent ones, by at least 0.2",
                  {"measure": DIFFERENCE}, {"correction": "none"}, ">=", 0.2),
        ),
        ("BERT-base-uncased|BERT", "RoBERTa-base|RoBERTa"), printed_figure_3, scales=UNUSED,
    )
)  # fmt: skip
