"""What ``measure`` says of queries, of corrections in a search, and of shorter vectors.

*Queries.* Whether they have a centre of their own, where the distance of the true means is known.
*Corrections.* Centring a cloud around zero changes no recall but by chance. *Shorter vectors.* The
truth is what they keep of the neighbours of every row; the command looks at some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import isoscope
from isoscope.verbs.measure.queries import NEAR, measure_queries
from isoscope.verbs.measure.search import names
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.reduction import reduce
from isoscope.verbs.measure.search.text import ENOUGH, least
from scenarios.clouds import even, shifted
from scenarios.measure import NO_STATEMENT, OWN, SHARED
from scenarios.scenario import LEVEL, Decisions, scenario

OPENINGS = {
    "Queries have a centre of their own": OWN,
    "Queries and documents share a centre": SHARED,
    "No statement on a centre of the queries": NO_STATEMENT,
}
CHANGES = "a correction raises or lowers a recall"
TOO_SHORT = f"vectors that keep less than {ENOUGH:g} of the neighbours are called good enough"


def add_queries(queries: int, documents: int, apart: float) -> None:
    """Queries and documents of one shape, whose means are so many spreads apart."""
    name = f"{queries:,} queries, {documents:,} documents, {apart:g} spreads apart"
    wrong = {OWN: LEVEL} if apart < NEAR else {SHARED: LEVEL}

    @scenario("measure", name, "64 dimensions with variances as 1/k and an offset", wrong)
    def centres(seed: int) -> Decisions:
        random = np.random.default_rng(seed)
        cloud = even(random, queries + documents, 64, 1.0)
        cloud = shifted(random, cloud, 0.3)
        spread = np.sqrt((1 / np.arange(1, 65)).sum())
        direction = random.standard_normal(64)
        asked = cloud[:queries] + apart * spread * direction / np.linalg.norm(direction)
        (found,) = measure_queries(cloud[queries:], asked, "none,center").verdicts
        said = [words for start, words in OPENINGS.items() if found["sentence"].startswith(start)]
        assert len(said) == 1, found
        return said


for asking, held in ((20, 800), (100, 400)):
    for distance in (0.0, 0.15, 0.3):
        add_queries(asking, held, distance)


@scenario(
    "measure", "neighbours after centring, 800 × 32", "an even cloud around zero", {CHANGES: LEVEL}
)
def centring(seed: int) -> Decisions:
    cloud = even(np.random.default_rng(seed), 800, 32)
    said = " ".join(
        neighbours(cloud, "none,center", seed=seed).extra[names.NEIGHBOURS][names.REMARKS]
    )
    return {CHANGES} if re.search("raises|lowers", said) else set()


SOME, EVERY = 100, 600


@scenario(
    "measure", "shorter vectors, 600 × 16", f"{SOME} of the rows are asked; how much is kept "
    "of the neighbours of all is known", {TOO_SHORT: LEVEL},
)  # fmt: skip
def shorter(seed: int) -> Decisions:
    cloud = even(np.random.default_rng(seed), EVERY, 16, 2.0)
    some = shortened(cloud, SOME, seed)
    chosen = [row for row in some if row.measure == names.REDUCED_KEPT and least(row) >= ENOUGH]
    sizes = {
        (row.correction, row.part): row.value or 0.0
        for row in some
        if row.measure == names.REDUCED_BYTES
    }
    chosen = [row for row in chosen if sizes[row.correction, row.part] < sizes["none", "float32"]]
    if not chosen:
        return set()
    row = min(chosen, key=lambda one: (sizes[one.correction, one.part], -(one.value or 0.0)))
    kept = f"as {row.part}, {sizes[row.correction, row.part]:,.0f} of"
    assert kept in some.extra[names.REDUCE][names.REMARKS][0]
    components = [row.extra["components"]]
    truth = shortened(cloud, EVERY, seed, components).value(row.measure, row.correction, row.part)
    assert truth is not None
    return {TOO_SHORT} if truth < ENOUGH else set()


def shortened(
    cloud: Any, queries: int, seed: int, components: Sequence[int] = range(10, 16)
) -> isoscope.Result:
    """Shorten vectors, and ask for the neighbours of so many rows."""
    before, names.SEARCHES = names.SEARCHES, queries
    try:
        return reduce(cloud, components, seed=seed)
    finally:
        names.SEARCHES = before
