"""What corrections do to a search, without a label: neighbours kept, what indexes still find.

The recall of a search is the share of the k exact nearest neighbours that it finds,
|found ∩ exact| / k, averaged over queries. Hubness is the skewness of how often rows are found
(Radovanović, Nanopoulos & Ivanović 2010, Hubs in space).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.nearest_neighbours import load_faiss, one_faiss_thread
from isoscope.compute.stats.estimates import Score, difference, mean_score
from isoscope.compute.stats.significance import holm
from isoscope.corrections.affine import Centring, centred_on
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.named import NONE, NamedCorrection, named
from isoscope.corrections.query_centre import OWN, Centres
from isoscope.measures.families.neighbours import CHANGES, EQUALLY_OFTEN, skewness
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.results.result import Result, Row
from isoscope.verbs.measure.search import names
from isoscope.verbs.measure.search.directions import (
    Change,
    SearchSpace,
    search_all,
    spaces_together,
)
from isoscope.verbs.measure.search.indexes import (
    RESCORED,
    Neighbours,
    by_bits,
    by_hnsw,
    by_int8,
    by_ivf,
    exact_neighbours,
)
from isoscope.verbs.measure.search.sample import SearchOptions, check_rows, draw_sample
from isoscope.verbs.measure.search.text import TOLD, WORDS, how_searched, neighbour_remarks
from isoscope.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.typing import Ids, Vector


# What intervals of shares are over.
UNIT = {"unit": "queries"}


@dataclass(frozen=True)
class Lists:
    """What searches in one space find."""

    exact: Neighbours
    hnsw: Ids
    ivf: Ids
    int8: Ids
    """Candidates, best first: ``RESCORED`` times as many as neighbours."""
    binary: Ids

    @property
    def hubness(self) -> float | None:
        """Skewness of how often rows are found; None where all are found equally often."""
        found = self.exact.ids.reshape(-1)
        return skewness(np.bincount(found, minlength=self.exact.space.rows))

    def figures(self, original: Neighbours) -> dict[str, Vector]:
        """Return every share, query by query.

        Parameters
        ----------
        original : Neighbours
            Those of the vectors as they are.
        """
        exact, k = self.exact, self.exact.k
        found = {
            names.KEPT: original.recall(exact.ids),
            names.HNSW: exact.recall(self.hnsw),
            names.IVF: exact.recall(self.ivf),
        }
        codes = (
            (names.INT8, names.INT8_RESCORED, self.int8),
            (names.BINARY, names.BINARY_RESCORED, self.binary),
        )
        for plain, rescored, candidates in codes:
            found[plain] = exact.recall(candidates[:, :k])
            found[rescored] = exact.recall(candidates)
            found[f"{plain}/{names.ORIGINAL}"] = original.recall(candidates[:, :k])
            found[f"{rescored}/{names.ORIGINAL}"] = original.recall(candidates)
        return found


def search(k: int, seed: int, space: SearchSpace, step: Callable[[], None]) -> Lists:
    """Search one space in every way, on one thread.

    Parameters
    ----------
    k : int
        How many neighbours.
    seed : int
        Of the cells of IVF.
    space : SearchSpace
        What to search.
    step : callable
        Called after every list.
    """
    most = min(RESCORED * k, space.findable)
    searches: tuple[Callable[[], Any], ...] = (
        partial(exact_neighbours, space, k),
        partial(by_hnsw, space, k, names.SEARCHES),
        partial(by_ivf, space, k, names.SEARCHES, seed),
        partial(by_int8, space, most, names.SEARCHES),
        partial(by_bits, space, most, names.SEARCHES),
    )
    found = []
    with one_faiss_thread():
        for one in searches:
            found.append(one())
            step()
    return Lists(*found)


def neighbours(
    cloud: Any,
    corrections: Iterable[Any] | str | None = None,
    *,
    queries: Any = None,
    centres: Centres = "both",
    **how: Any,
) -> Result:
    """Say what each correction does to a search by cosine in a sample of a cloud.

    For the vectors as they are and for each correction, fitted on the whole cloud: which share of
    the k nearest neighbours is still among them, how much a few rows crowd the lists (hubness), and
    which share of the exact neighbours *in the same space* HNSW, IVF, codes of a byte a dimension
    and codes of a bit a dimension find. Nothing of this takes a label; whether the neighbours that
    change become better does.

    Parameters
    ----------
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes; its vectors are searched in.
    corrections : iterable of str or transformers, optional
        As ``measure`` takes them; ``none`` is always among them, as others are compared with it.
    queries : str, Path, array, tensor or CloudGroup, optional
        Vectors that are looked for, corrected as the others are. By default the sampled rows look
        for each other, without finding themselves.
    centres : {"both", "shared", "own"}
        Whether queries are centred on the mean of the cloud, on their own, or both.
    **how
        As ``SearchOptions`` describes them.

    Returns
    -------
    Result
        Rows ``neighbours/…`` for every correction, with intervals over queries, and with paired
        differences to ``none``; sentences in ``extra["neighbours"]["remarks"]``.

    Examples
    --------
    >>> import numpy as np
    >>> far = np.random.default_rng(0).normal(size=(500, 16)) + 2
    >>> result = neighbours(far, ["none", "center"])
    >>> result.value("neighbours/binary") < result.value("neighbours/binary", "center")
    True
    """
    options = SearchOptions(**how)
    load_faiss()
    drawn = draw_sample(cloud, named([NONE, *listed(corrections, DEFAULT_CORRECTIONS)]), options)
    makers: dict[str, Change] = {one.name: one.apply for one in drawn.corrections}
    of_queries: dict[str, Change] = {}
    asked = None
    if queries is not None:
        asked = options.sampled_queries(queries, drawn.rows.shape[1])
        if centres != "shared":
            mean = Center().fit_cloud(options.rows_of(queries)).mean_
            of_queries = with_own_centres(drawn.corrections, mean)
    makers |= {name: makers[name.removesuffix(OWN)] for name in of_queries}
    if centres == "own":
        for name in of_queries:
            makers.pop(name.removesuffix(OWN))
    spaces, without = spaces_together(makers, drawn.rows, asked, of_queries)
    check_rows(drawn.name, spaces[NONE].rows, options.k)
    find = partial(search, options.k, options.seed)
    found = search_all(spaces, find, "search", names.STEPS, options.progress)
    protocol = how_searched(spaces[NONE], drawn, options, own=asked is None)
    if without:
        protocol += f"; {counted(without, 'vector')} left out, without a direction in some space"
    rows = figure_rows(found, drawn.name, protocol)
    remarks = neighbour_remarks(rows, options.k)
    return drawn.result(rows, options, names.NEIGHBOURS, remarks, spaces[NONE].rows)


def with_own_centres(
    corrections: Iterable[NamedCorrection], mean: NDArray[np.float64]
) -> dict[str, Change]:
    """Return what queries go through where their own mean takes the place of the cloud's."""
    return {
        one.name + OWN: centred_on(one.transformer, mean).transform
        for one in corrections
        if isinstance(one.transformer, Centring)
    }


def figure_rows(lists: Mapping[str, Lists], subject: str, protocol: str) -> list[Row]:
    """Return every figure of every correction, and how far it is from that without one."""
    scores = {
        name: {
            figure: mean_score(values)
            for figure, values in found.figures(lists[NONE].exact).items()
        }
        for name, found in lists.items()
    }
    # The neighbours of the vectors as they are what others are compared with: 1 without an error.
    scores[NONE][names.KEPT] = replace(scores[NONE][names.KEPT], low=None, high=None)
    p_values = adjusted(scores)
    rows = []
    for correction, found in lists.items():
        about: Any = {"subject": subject, "part": "", "correction": correction}
        row_of: Callable[..., Row] = partial(Row.of, **about, protocol=protocol)
        for figure in WORDS:
            measure = names.measure_name(figure)
            if figure == names.HUBNESS:
                rows.append(hubness_row(found, partial(row_of, measure=measure)))
                continue
            score = scores[correction][figure]
            rows.append(row_of(score, measure=measure, extra=UNIT))
            if correction != NONE and figure != names.KEPT:
                apart = difference(score, scores[NONE][figure])
                p = p_values.get((correction, figure))
                extra = UNIT if p is None else {**UNIT, names.P_HOLM: p}
                rows.append(row_of(apart, measure=f"{measure}/{names.DIFFERENCE}", extra=extra))
    return rows


def adjusted(scores: Mapping[str, Mapping[str, Score]]) -> dict[tuple[str, str], float]:
    """Return p-values by Holm's correction of all changes that sentences speak of."""
    found = {
        (correction, figure): difference(own[figure], scores[NONE][figure]).p_value
        for correction, own in scores.items()
        for figure in TOLD
        if correction != NONE
    }
    known = {key: p for key, p in found.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def hubness_row(lists: Lists, row_of: Callable[..., Row]) -> Row:
    """Return how much a few rows crowd the lists."""
    value, note = lists.hubness, f"hubness {CHANGES}"
    note = note if value is not None else f"{EQUALLY_OFTEN}; {note}"
    return row_of(value or 0.0, n=len(lists.exact.ids), note=note, extra={"no_interval": CHANGES})
