"""How short may vectors be? Fewer components, fewer bits, and what a search then still finds.

Components are the first ones (Kusupati et al. 2022, Matryoshka representation learning), the
principal ones, or these with variance 1; codes are float32, a byte or a bit a component. Labelled
pairs of rows are scored by the similarity of their codes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.compute.nearest_neighbours import load_faiss, one_faiss_thread
from isoscope.compute.stats.estimates import Estimate, Score, difference, mean_score
from isoscope.compute.threads import one_blas_thread
from isoscope.corrections.named import named
from isoscope.data.open import open_cloud
from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.tasks.datasets.own_pairs import OwnPairProblem, own_pair_task
from isoscope.verbs.measure.search import indexes, names
from isoscope.verbs.measure.search.directions import (
    SHORTEST,
    SearchSpace,
    lengths_of,
    search_all,
    spaces_together,
    unit_rows,
)
from isoscope.verbs.measure.search.indexes import Int8, exact_neighbours, nearest
from isoscope.verbs.measure.search.sample import (
    SearchOptions,
    SearchSample,
    check_rows,
    draw_sample,
)
from isoscope.verbs.measure.search.text import REDUCED_DIFFERENCE, how_reduced, reduction_remarks
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.corrections.estimators.whiten import Whiten
    from isoscope.typing import Ids, Mask, Matrix


Way = Literal["as they are", "truncate", "pca", "whiten"]
WAYS: tuple[Way, ...] = ("truncate", "pca", "whiten")

Code = Literal["float32", "int8", "binary"]
CODES: tuple[Code, ...] = ("float32", "int8", "binary")

BITS = {"float32": 32, "int8": 8, "binary": 1}


@dataclass(frozen=True)
class Shortening:
    """One way to fewer components, learned from a whole cloud.

    ``truncate`` takes the first m components as they stand, which models trained for it allow
    (Kusupati et al. 2022, Matryoshka representation learning); ``pca`` gives (x − μ) V_m with the m
    directions of largest variance, ``whiten`` the same with variance 1 in each.
    """

    way: Way
    components: int
    fit: Whiten

    @property
    def name(self) -> str:
        """What rows call it."""
        return "none" if self.way == "as they are" else f"{self.way}:n_components={self.components}"

    def apply(self, vectors: Matrix) -> Matrix:
        """Make vectors shorter."""
        m = self.components
        if self.way in ("as they are", "truncate"):
            return vectors[:, :m]
        shorter = (vectors - self.fit.mean_) @ self.fit.components_[:m].T
        if self.way == "whiten":
            variances = self.fit.explained_variance_[:m].copy()
            variances[self.fit.dropped_[self.fit.dropped_ < m]] = np.inf  # rounding, so 0
            shorter = shorter / np.sqrt(variances)
        return np.asarray(shorter)

    def row(
        self,
        subject: str,
        code: Code,
        protocol: str,
        measure: str,
        found: Estimate | float,
        note: str = "",
        **extra: str,
    ) -> Row:
        """Return a figure of the shorter vectors in some code as a row."""
        about = {"way": self.way, "components": self.components, **extra}
        return Row.of(
            found, subject, code, self.name, measure, protocol=protocol, note=note, extra=about
        )

    def bytes(self, code: Code) -> int:
        """Return the bytes of a vector; bits are filled up to whole bytes."""
        return math.ceil(self.components * BITS[code] / 8)


def parse_components(given: Iterable[int] | int | str) -> tuple[int, ...]:
    """Turn ``64,128,256`` or numbers into numbers, rising, without repeats."""
    if isinstance(given, int):
        given = [given]
    texts = given.split(",") if isinstance(given, str) else list(given)
    numbers = []
    for text in texts:
        number = str(text).strip()
        if not number.isdecimal() or int(number) < 1:
            raise UsageError(
                f"components must be whole numbers of at least 1, such as 64,128,256, got {text!r}"
            )
        numbers.append(int(number))
    if not numbers:
        raise UsageError("name at least one number of components, such as 64,128,256")
    return tuple(sorted(set(numbers)))


def check_components(components: tuple[int, ...], width: int, name: str) -> None:
    """Refuse more components than there are dimensions."""
    if components[-1] > width:
        raise UsageError(
            f"{name} has {width:,} dimensions and cannot be reduced to {components[-1]:,}"
        )


# In place of the number of rows where only reading tells: reading then finds rows missing.
UNKNOWN_ROWS = 2**62

# Cosines are rounded to these: of codes of bits many are equal, which rounding must not order.
DECIMALS = 12


@dataclass(frozen=True)
class LabelledRows:
    """Pairs of rows of a cloud.

    Attributes
    ----------
    problem : OwnPairProblem
        Its rows are numbered among ``wanted``.
    wanted : array of int
        The rows of the cloud that pairs name, rising.
    """

    problem: OwnPairProblem
    wanted: NDArray[np.int64]

    @classmethod
    def of(cls, path: str | Path, rows: int | None) -> LabelledRows:
        """Read a file of pairs of rows (row1, row2, score)."""
        task = own_pair_task(str(path))
        known = UNKNOWN_ROWS if rows is None else rows
        problem = OwnPairProblem.of_rows(task.name, task.load(), known)
        sides = np.concatenate([problem.first, problem.second])
        wanted, places = np.unique(sides, return_inverse=True)
        first, second = places[: len(problem)], places[len(problem) :]
        return cls(replace(problem, first=first, second=second), wanted.astype(np.int64))

    def usable(self, vectors: Mapping[str, Matrix]) -> Mask:
        """Tell which pairs have two directions in every space."""
        has = np.ones(len(self.wanted), np.bool_)
        for rows in vectors.values():
            lengths = np.nan_to_num(lengths_of(rows))
            has &= lengths > SHORTEST * float(np.median(lengths))
        return np.asarray(has[self.problem.first] & has[self.problem.second])

    def score(self, coded: Matrix, usable: Mask) -> Score:
        """Compare cosines of what codes say of the rows with what the user says of the pairs."""
        items = np.flatnonzero(usable)
        outputs = np.round(self.problem.outputs(coded, items, items), DECIMALS)
        return self.problem.scores(outputs, items, 0.95)[self.problem.main]

    def rows(
        self,
        row_of: Callable[..., Row],
        scores: Mapping[tuple[str, str], Score],
        key: tuple[str, str],
    ) -> list[Row]:
        """Return the score of one way and code, and its difference to that of the full vectors."""
        found, unit = scores[key], self.problem.unit
        missing = len(self.problem) - found.n
        notes = [found.note, self.problem.left_out]
        if missing:
            notes.append(f"{counted(missing, 'pair')} left out: a row without a direction")
        name = f"{names.REDUCE}/{self.problem.task}/{self.problem.main}"
        rows = [row_of(name, found, "; ".join(filter(None, notes)), unit=unit)]
        if key != FULL:
            rows.append(
                row_of(name + REDUCED_DIFFERENCE, difference(found, scores[FULL]), unit=unit)
            )
        return rows


def coded_rows(rows: Matrix, base: Matrix, code: Code) -> Matrix:
    """Return what a code keeps of some rows of a space; ranges of int8 are those of the base.

    The cosine of two rows of signs, 1 and −1, is 1 − 2h/m with their Hamming distance h.
    """
    units = as_units(np.nan_to_num(rows))
    if code == "binary":
        return np.where(units > 0, 1.0, -1.0)
    if code == "int8":
        rounded = Int8(as_units(base).astype(np.float32)).rounded(units.astype(np.float32))
        return rounded.astype(np.float64)
    return units.astype(np.float32).astype(np.float64)


def as_units(vectors: Matrix) -> Matrix:
    """Divide rows by their lengths; zero stays zero."""
    return unit_rows(vectors, lengths_of(vectors), 0.0)[0]


# The vectors as they are, which all others are compared with.
FULL = ("none", "float32")


def reduce(
    cloud: Any,
    components: Iterable[int] | int | str,
    *,
    pairs: str | Path | None = None,
    **how: Any,
) -> Result:
    """Say what a search by cosine still finds with fewer components and fewer bits.

    Every number of components by truncation, by principal components and by whitened ones, each in
    float32, int8 and binary: bytes of a vector, which share of the k nearest neighbours of the full
    vectors it finds, with and without rescoring by these, and the score of labelled pairs.

    Parameters
    ----------
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    components : iterable of int or str
        Numbers of components, such as ``[64, 128, 256]`` or ``"64,128,256"``.
    pairs : str or Path, optional
        Labelled pairs of rows of the cloud (row1, row2, score), by number from 0: Spearman's
        correlation of the similarities of codes with the scores, or the area under the ROC curve.
    **how
        As ``SearchOptions`` describes them.

    Returns
    -------
    Result
        Rows ``reduce/…``: the correction is the way, such as ``pca:n_components=64``, the part is
        the code; ``none`` are the vectors as they are.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).normal(size=(500, 16)) * np.linspace(2, 0.1, 16)
    >>> result = reduce(vectors, [4, 12])
    >>> result.value("reduce/bytes", "pca:n_components=12", "binary")
    2.0
    """
    options = SearchOptions(**how)
    load_faiss()
    wanted = parse_components(components)
    group = open_cloud(cloud, column=options.column)
    check_components(wanted, group.widths[0], group.names[0])
    labelled = None if pairs is None else LabelledRows.of(pairs, group.rows)
    drawn = draw_sample(
        group, named(["whiten"]), replace(options, column=None),
        wanted=None if labelled is None else labelled.wanted,
    )  # fmt: skip
    whitening: Any = drawn.corrections[0].transformer
    ways = [
        Shortening("as they are", group.widths[0], whitening),
        *(Shortening(way, m, whitening) for m in wanted for way in WAYS),
    ]
    spaces, without = spaces_together({one.name: one.apply for one in ways}, drawn.rows)
    full, k = spaces["none"], options.k
    check_rows(drawn.name, full.rows, k)
    protocol = how_reduced(full, drawn, options, without)
    find = partial(by_codes, indexes.RESCORED * k)
    found = search_all(spaces, find, "reduce", 1, options.progress)
    with one_blas_thread(), one_faiss_thread():
        truth = exact_neighbours(full, k, names.SEARCHES)
    scores = {} if labelled is None else scored(labelled, ways, drawn)
    rows = []
    for one in ways:
        for code in CODES:
            row_of = partial(one.row, drawn.name, code, protocol)
            rows.append(row_of(names.REDUCED_BYTES, float(one.bytes(code))))
            lists = found[one.name][code]
            for measure, some in (
                (names.REDUCED_KEPT, lists[:, :k]),
                (names.REDUCED_RESCORED, lists),
            ):
                # Rows of shares do not say why one has no interval.
                share = replace(mean_score(truth.recall(some)), note="")
                rows.append(row_of(measure, share, unit="queries"))
            if labelled is not None:
                rows += labelled.rows(row_of, scores, (one.name, code))
    return drawn.result(rows, options, names.REDUCE, reduction_remarks(rows), full.rows)


def by_codes(most: int, space: SearchSpace, step: Callable[[], None]) -> dict[Code, Ids]:
    """Return the candidates that every code finds in one space, on one thread."""
    count = min(most, space.findable)
    with one_faiss_thread():
        found: dict[Code, Ids] = {
            "float32": nearest(space, count, names.SEARCHES)[0],
            "int8": indexes.by_int8(space, count, names.SEARCHES),
            "binary": indexes.by_bits(space, count, names.SEARCHES),
        }
    step()
    return found


def scored(
    labelled: LabelledRows, ways: list[Shortening], drawn: SearchSample
) -> dict[tuple[str, str], Score]:
    """Score labelled pairs by every code of every space; pairs count that have all of them."""
    assert drawn.wanted is not None
    vectors = {one.name: one.apply(drawn.wanted) for one in ways}
    usable = labelled.usable(vectors)
    found: dict[tuple[str, str], Score] = {}
    for one in ways:
        base = one.apply(drawn.rows)
        for code in CODES:
            coded = coded_rows(vectors[one.name], base, code)
            found[one.name, code] = labelled.score(coded, usable)
    return found
