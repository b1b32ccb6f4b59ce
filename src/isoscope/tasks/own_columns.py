"""Which columns of a user's table are which: by name, by number, or by habit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PairKind = Literal["texts", "rows", "scores"]
KNOWN: dict[PairKind, str] = {
    "texts": "pairs of texts",
    "rows": "pairs of rows",
    "scores": "scores alone",
}
QUERY_SIDES = (
    ("query_row", "document_row"), ("query_id", "document_id"), ("query-id", "corpus-id"),
)  # fmt: skip
"""Names that tell a row of queries from one of documents."""

SIDES: dict[PairKind, tuple[tuple[str, str], ...]] = {
    "texts": (
        ("first", "second"), ("text1", "text2"), ("text_a", "text_b"),
        ("sentence1", "sentence2"), ("sentence_a", "sentence_b"), ("question1", "question2"),
    ),
    "rows": (
        ("row1", "row2"), ("row_a", "row_b"), ("id1", "id2"), ("id_a", "id_b"),
        *QUERY_SIDES,
    ),
    "scores": (),
}  # fmt: skip
SCORES = (
    "score", "label", "similarity", "similarity_score", "relatedness_score", "gold",
    "is_duplicate", "same",
)  # fmt: skip
SHOWN = 30


@dataclass(frozen=True)
class PairColumns:
    """Where a row has what.

    Attributes
    ----------
    kind : str
        What a pair is.
    sides : tuple of int or None
        Columns of the two texts or rows; None where there are only scores.
    score : int
        Column of the score.
    header : bool
        Whether the first row names the columns.
    queries : bool
        Whether the first of a pair is a query, and the second a document.
    """

    kind: PairKind
    sides: tuple[int, int] | None
    score: int
    header: bool
    queries: bool = False


def choose_columns(
    top: Sequence[str],
    kind: PairKind | None,
    asked: tuple[str | None, str | None, str | None],
    where: str,
    is_value: Callable[[str], bool],
) -> PairColumns:
    """Find the columns in the first row of a table, which may be its header.

    Parameters
    ----------
    top : sequence of str
        The first row, or the names of a table that has them.
    kind : str or None
        What a pair is, if the user says so.
    asked : tuple of (str or None)
        The user's columns for first, second and score: names, or numbers from 1.
    where : str
        The file, for errors.
    is_value : callable
        Tells whether a field could be a score; a first row without one is a header.
    """
    if kind is not None and kind not in KNOWN:
        raise unknown_name("kind of pairs", kind, KNOWN)
    names = [name.lower() for name in top]
    first, second, score = asked
    if kind is None:
        kind = usual_kind(names, first, second)
    sides = None
    if kind != "scores":
        usual = usual_sides(kind, names)
        sides = (
            position(first, usual[0], top, where, "the first of a pair"),
            position(second, usual[1], top, where, "the second of a pair"),
        )
    habit = next((names.index(name) for name in SCORES if name in names), None)
    if habit is None and len(top) == (1 if kind == "scores" else 3):
        habit = len(top) - 1
    at = position(score, habit, top, where, "the score")
    queries = sides is not None and (names[sides[0]], names[sides[1]]) in QUERY_SIDES
    return PairColumns(kind, sides, at, header=not is_value(top[at]), queries=queries)


def usual_kind(names: Sequence[str], first: str | None, second: str | None) -> PairKind:
    """Tell what the names of the columns, or their number, say that a pair is."""
    if first is not None or second is not None:
        chosen = tuple(str(name).lower() for name in (first, second))
        return "rows" if chosen in SIDES["rows"] else "texts"
    for kind in ("texts", "rows"):
        if any(one in names and other in names for one, other in SIDES[kind]):
            return kind
    return "scores" if len(names) == 1 else "texts"


def usual_sides(kind: PairKind, names: Sequence[str]) -> tuple[int | None, int | None]:
    """Find the two columns of a pair by their usual names, else by their place among three."""
    for one, other in SIDES[kind]:
        if one in names and other in names:
            return names.index(one), names.index(other)
    return (0, 1) if len(names) == 3 else (None, None)


def position(
    asked: str | None, usual: int | None, top: Sequence[str], where: str, what: str
) -> int:
    """Return the place of a column that the user names or numbers, else the usual one."""
    if asked is None:
        if usual is None:
            raise UsageError(
                f"{where} has {len(top)} columns, and it is not clear which holds {what}; name it, "
                f"or give its number from 1: {', '.join(shortened(top))}"
            )
        return usual
    if asked in top:
        return top.index(asked)
    if asked.isdecimal() and 1 <= int(asked) <= len(top):
        return int(asked) - 1
    raise unknown_name(f"column of {where}", asked, shortened(top))


def shortened(fields: Sequence[str]) -> list[str]:
    """Cut long fields, as the first row may hold texts instead of names."""
    return [field if len(field) <= SHOWN else f"{field[:SHOWN]}…" for field in fields]
