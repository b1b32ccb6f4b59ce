"""What corrections do to a search, without a label: neighbours kept, what indexes still find."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.compute.faiss_library import load_faiss
from isoscope.compute.stats.estimates import Score, difference, mean_score
from isoscope.compute.threads import in_parallel, one_blas_thread
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.named import NONE, named
from isoscope.corrections.own_centre import centred_on, has_centre
from isoscope.corrections.query_centre import OWN
from isoscope.measures.families.neighbours import CHANGES, EQUALLY_OFTEN
from isoscope.measures.registry import counted
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.results.measuring import listed, versions
from isoscope.results.neighboured import (
    DIFFERENCE,
    HUBNESS,
    KEPT,
    NEIGHBOURS,
    REMARKS,
    WORDS,
    measure_name,
)
from isoscope.results.result import Result, Row
from isoscope.tasks.score_row import score_row
from isoscope.verbs.measure.search.consequences import STEPS, search
from isoscope.verbs.measure.search.directions import spaces_together
from isoscope.verbs.measure.search.neighbour_text import how_searched, remarks
from isoscope.verbs.measure.search.sample import (
    check_rows,
    check_sizes,
    chosen_rows,
    gather,
    sampled_queries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.corrections.named import NamedCorrection
    from isoscope.corrections.query_centre import Centres
    from isoscope.verbs.measure.search.consequences import Lists
    from isoscope.verbs.measure.search.directions import Change, SearchSpace


SAMPLE, K = 10_000, 10


def neighbours(
    cloud: Any,
    corrections: Iterable[Any] | str | None = None,
    *,
    queries: Any = None,
    centres: Centres = "both",
    sample: int = SAMPLE,
    k: int = K,
    seed: int = 0,
    column: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
    command: str = "",
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
    sample : int
        Rows of the cloud, and of the queries, that take part.
    k : int
        How many neighbours.
    seed : int
        Of the sample, of its order, and of the cells of IVF.
    column : str, optional
        Which array of a file that holds several.
    drop_invalid : bool
        Leave out rows with NaN or infinities, instead of stopping.
    progress : callable, optional
        Called with the name of the work, rows done, and rows in all.
    command : str
        Kept in the result.

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
    check_sizes(sample, k, seed)
    faiss = load_faiss()
    wanted = listed(corrections, DEFAULT_CORRECTIONS)
    every = named([NONE, *wanted])
    gathered = gather(
        cloud, every, sample, seed=seed, column=column, drop_invalid=drop_invalid,
        progress=progress,
    )  # fmt: skip
    asked = None
    if queries is not None:
        width = gathered.rows.shape[1]
        asked = sampled_queries(
            queries, width, sample, seed=seed, column=column, drop_invalid=drop_invalid
        )
    makers: dict[str, Change] = {one.name: one.apply for one in gathered.corrections}
    of_queries: dict[str, Change] = {}
    if queries is not None and centres != "shared":
        mean = Center().fit_cloud(chosen_rows(queries, column, drop_invalid)).mean_
        of_queries = with_own_centres(gathered.corrections, mean)
        makers |= {name: makers[name.removesuffix(OWN)] for name in of_queries}
        if centres == "own":
            for name in of_queries:
                makers.pop(name.removesuffix(OWN))
    spaces, without = spaces_together(makers, gathered.rows, asked, of_queries)
    rows = spaces[NONE].rows
    check_rows(gathered.name, rows, k)
    found = searched(spaces, k, seed, progress)
    protocol = how_searched(spaces[NONE], gathered, k, seed, own=asked is None)
    if gathered.caveat:
        protocol += f"; {gathered.caveat}"
    if without:
        protocol += f"; {counted(without, 'vector')} left out, without a direction in some space"
    filed = Filing(gathered.name, protocol, found)
    figures = {name: lists.figures(found[NONE].exact) for name, lists in found.items()}
    scores = {
        name: {figure: mean_score(values) for figure, values in of_space.items()}
        for name, of_space in figures.items()
    }
    result_rows = filed.rows(scores)
    return Result(
        result_rows,
        left_out=gathered.left_out,
        seeds={"seed": seed},
        versions={**versions(), "faiss": faiss.__version__},
        command=command,
        extra={NEIGHBOURS: {REMARKS: remarks(result_rows, k), "k": k, "sample": rows}},
    )


def with_own_centres(
    corrections: Iterable[NamedCorrection], mean: NDArray[np.float64]
) -> dict[str, Change]:
    """Return what queries go through where their own mean takes the place of the cloud's."""
    return {
        one.name + OWN: centred_on(one.transformer, mean).transform
        for one in corrections
        if has_centre(one.transformer)
    }


def searched(
    spaces: Mapping[str, SearchSpace], k: int, seed: int, progress: Progress | None
) -> dict[str, Lists]:
    """Search every space, as many at a time as there are cores."""
    rows = spaces[NONE].rows
    total, steps, lock = rows * len(spaces), 0, threading.Lock()

    def step() -> None:
        nonlocal steps
        with lock:
            steps += 1
            if progress is not None:
                progress("search", steps * rows // STEPS, total)

    calls = [partial(search, space, k, seed, step) for space in spaces.values()]
    with one_blas_thread():  # the same sums on any number of cores
        return dict(zip(spaces, in_parallel(calls), strict=True))


@dataclass(frozen=True)
class Filing:
    """Turns lists and scores into rows."""

    subject: str
    protocol: str
    lists: Mapping[str, Lists]

    def rows(self, scores: Mapping[str, Mapping[str, Score]]) -> list[Row]:
        """File every figure of every correction, and how far it is from that without one."""
        filed = []
        for correction, lists in self.lists.items():
            for figure in WORDS:
                if figure == HUBNESS:
                    filed.append(self.hubness(correction, lists))
                    continue
                score = scores[correction][figure]
                if figure == KEPT and correction == NONE:
                    # They are what others are compared with: 1 without an error.
                    score = replace(score, low=None, high=None)
                filed.append(self.score(correction, figure, score))
                if correction != NONE and figure != KEPT:
                    apart = difference(score, scores[NONE][figure])
                    filed.append(self.score(correction, f"{figure}/{DIFFERENCE}", apart))
        return filed

    def score(self, correction: str, figure: str, found: Any) -> Row:
        """File one share, or a difference of two."""
        return score_row(
            (self.subject, ""), correction, measure_name(figure), found, self.protocol,
            [found.note], {"unit": "queries"},
        )  # fmt: skip

    def hubness(self, correction: str, lists: Lists) -> Row:
        """File how much a few rows crowd the lists."""
        value, queries = lists.hubness, len(lists.exact.ids)
        note = f"hubness {CHANGES}"
        return Row(
            self.subject,
            "",
            correction,
            measure_name(HUBNESS),
            0.0 if value is None else value,
            n=queries,
            protocol=self.protocol,
            note=note if value is not None else f"{EQUALLY_OFTEN}; {note}",
            extra={"no_interval": CHANGES},
        )
