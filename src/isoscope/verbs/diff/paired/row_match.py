"""Do two clouds have the same rows, and which belong together?

The caller may say so. Otherwise the same ids in the same order are the same rows, and ids in
another order bring rows together. Without ids the vectors decide where there are as many rows
(`row_relation`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.arrays import ArrayCloud, is_tensor
from isoscope.data.base import CloudGroup
from isoscope.data.blocks import DOCUMENT
from isoscope.data.sampling import row_keys
from isoscope.data.selection import count_rows, picked
from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.typing import Ids
from isoscope.verbs.diff.paired.row_relation import relate_rows
from isoscope.verbs.diff.two_clouds import InStep, unequal

# Labels that name rows, where nothing else is said.
ID_LABELS = ("id", "word")

# Rows in another order are held in memory, up to this many; a random sample of more.
MOST_MATCHED = 100_000

SAY_OTHERWISE = "--other-rows compares them as two clouds"


@dataclass(frozen=True)
class Matching:
    """Whether rows belong together, how that was decided, and the two clouds in step if so."""

    same: bool
    sentence: str
    clouds: tuple[CloudGroup, CloudGroup]


def match_rows(
    a: CloudGroup,
    b: CloudGroup,
    *,
    same_rows: bool | None,
    ids: str | None = None,
    documents: str | None = None,
    seed: int = 0,
) -> Matching:
    """Decide whether two clouds have the same rows.

    Parameters
    ----------
    a, b : CloudGroup
        Groups of one cloud.
    same_rows : bool, optional
        What the caller says; None finds out: the same ids where both have ids, else as many rows
        whose vectors belong together.
    ids : str, optional
        Label that names the rows.
    documents : str, optional
        Label that names documents, which are no rows.
    seed : int
        Of the sample of rows whose vectors are compared, or that are in another order.
    """
    if same_rows is False:
        return Matching(False, "Compared as clouds with different rows, as requested.", (a, b))
    label = id_label(a, b, ids, documents)
    if label is None:
        return by_vectors(a, b, same_rows, seed)
    if same_order(a, b, label):
        how = f"the same {label} in the same order"
        return Matching(True, f"Treated as the same rows: {how}; {SAY_OTHERWISE}.", (a, b))
    return by_id(a, b, label, same_rows, seed)


def id_label(a: CloudGroup, b: CloudGroup, ids: str | None, documents: str | None) -> str | None:
    """Return the label that names rows in both clouds, if there is one."""
    known = [labels_of(group) for group in (a, b)]
    if ids is not None:
        for group, names in zip((a, b), known, strict=True):
            if ids not in names:
                raise unknown_name(f"label of {group.names[0]}", ids, names)
        return ids
    left = [[name for name in names if name not in (documents, DOCUMENT)] for names in known]
    for name in ID_LABELS:
        if all(name in names for names in left):
            return name
    return left[0][0] if left[0] == left[1] and len(left[0]) == 1 else None


def labels_of(group: CloudGroup) -> list[str]:
    """Return the labels that the rows of a cloud have."""
    for batches in islice(group.batches(), 1):
        return list(batches[group.names[0]].labels)
    return []


def by_vectors(a: CloudGroup, b: CloudGroup, same_rows: bool | None, seed: int) -> Matching:
    """Decide by the number of rows and by whether the vectors of rows belong together."""
    rows = [count_rows(group) for group in (a, b)]
    if rows[0] != rows[1]:
        if same_rows:
            raise UsageError(unequal((a, b), rows))
        counts = f"{rows[0]:,} and {rows[1]:,} rows"
        return Matching(
            False, f"Compared as clouds with different rows: there are {counts}.", (a, b)
        )
    if same_rows:
        how = "as asked for"
        return Matching(True, f"Treated as the same rows in the same order: {how}.", (a, b))
    found = relate_rows(a, b, seed)
    sampled = f"{found.rows:,} sampled rows"
    if found.equal:
        how = f"no ids, but all of {sampled} are equal"
    elif found.same:
        how = (
            f"no ids, but the similarities among {sampled} correlate by "
            f"{two_digits(found.aligned)} row by row, and by at most {two_digits(found.rotated)} "
            "with B's rows shifted"
        )
    else:
        measured = "cannot be compared"
        if found.aligned is not None:
            measured = (
                f"correlate by {two_digits(found.aligned)} row by row, and by up to "
                f"{two_digits(found.rotated)} with B's rows shifted"
            )
        why = f"there are no ids, and the similarities among {sampled} {measured}"
        hint = "--same-rows compares them row by row"
        return Matching(False, f"Compared as clouds with different rows: {why}; {hint}.", (a, b))
    return Matching(
        True, f"Treated as the same rows in the same order: {how}; {SAY_OTHERWISE}.", (a, b)
    )


def two_digits(value: float | None) -> str:
    """Write a correlation."""
    # Adding zero turns −0 into 0.
    return "undefined" if value is None else f"{round(value, 2) + 0.0:.2f}"


def same_order(a: CloudGroup, b: CloudGroup, label: str) -> bool:
    """Whether both clouds have the same ids in the same order; stops where they part."""
    if a.rows is not None and b.rows is not None and a.rows != b.rows:  # nothing is read then
        return False
    try:
        for batches in InStep(a, b).batches():
            first, second = (texts(batch.labels[label]) for batch in batches.values())
            if first != second:
                return False
    except UsageError:  # one has more rows
        return False
    return True


def by_id(a: CloudGroup, b: CloudGroup, label: str, same_rows: bool | None, seed: int) -> Matching:
    """Bring rows together by their ids, where the ids are the same or the caller says so."""
    places = [places_of(group, label) for group in (a, b)]
    common = [name for name in places[0] if name in places[1]]
    counts = [count_rows(group) for group in (a, b)]
    without = [count - len(common) for count in counts]
    if same_rows is None and any(without):
        known = f"{len(common):,} of {counts[0]:,} and {counts[1]:,} rows have the same {label}"
        hint = "; --same-rows compares those row by row, and here they make the tests cautious"
        hint = hint if common else ""
        return Matching(False, f"Compared as clouds with different rows: {known}{hint}.", (a, b))
    if not common:
        raise DataError(
            f"no {label} of {a.names[0]} is in {b.names[0]}: the rows are not the same; "
            "--other-rows compares them as two clouds, --ids names another label"
        )
    chosen = np.arange(len(common))
    drawn = ""
    if len(common) > MOST_MATCHED:
        chosen = np.sort(np.argsort(row_keys(chosen, seed), kind="stable")[:MOST_MATCHED])
        drawn = f", a random {MOST_MATCHED:,} of them"
    rows = [np.array([place[common[k]] for k in chosen]) for place in places]
    matched = tuple(gathered(group, some) for group, some in zip((a, b), rows, strict=True))
    lost = f"; {without[0]:,} of A and {without[1]:,} of B have no partner" if any(without) else ""
    said = f"Rows matched by {label}: {len(common):,} in common{drawn}{lost}"
    return Matching(True, f"{said}; {SAY_OTHERWISE}.", (matched[0], matched[1]))


def places_of(group: CloudGroup, label: str) -> dict[str, int]:
    """Return the row of every id; an id that stands twice has no row of its own."""
    name = group.names[0]
    ids = [one for batches in group.batches() for one in texts(batches[name].labels[label])]
    counts = Counter(ids)
    return {one: row for row, one in enumerate(ids) if counts[one] == 1}


def texts(values: NDArray[Any]) -> list[str]:
    """Return ids as text: a number in one file may be text in another."""
    return [str(value) for value in values]


def gathered(group: CloudGroup, rows: Ids) -> ArrayCloud:
    """Return some rows of a cloud, in the order given, with their labels."""
    # Batches come in the order of the cloud: rows are taken in that order, and put back.
    order = np.argsort(rows)
    vectors: list[NDArray[Any]] = []
    labels: dict[str, list[Any]] = {}
    wanted = rows[order]
    for batches in group.batches():
        batch = batches[group.names[0]]
        here = picked(wanted, batch)
        some = batch.vectors[here]
        vectors.append(some.cpu().float().numpy() if is_tensor(some) else np.asarray(some))
        for key in batch.labels:
            labels.setdefault(key, []).extend(batch.labels[key][here])
    back = np.argsort(order)
    kept = {key: as_objects(values)[back] for key, values in labels.items()}
    return ArrayCloud(np.concatenate(vectors)[back], group.names[0], labels=kept)


def as_objects(values: list[Any]) -> NDArray[Any]:
    """Return a list as an array of its objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
