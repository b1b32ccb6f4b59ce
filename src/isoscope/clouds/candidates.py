"""Which of several arrays in a container is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def choose(
    column: str | None, candidates: Sequence[str], everything: Mapping[str, str], where: str
) -> str:
    """Return the named array, or the only one that could be meant.

    Parameters
    ----------
    column : str or None
        What the user named.
    candidates : sequence of str
        Two-dimensional floating arrays.
    everything : mapping of str to str
        Every array of the container, with a description such as ``float32 (100, 3)``.
    where : str
        The file, for messages.
    """
    if column is not None:
        if column in everything:
            return column
        raise unknown_name(f"array in {where}", column, candidates or everything)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        held = ", ".join(f"{name}: {what}" for name, what in everything.items()) or "nothing"
        raise DataError(f"{where} holds no two-dimensional float array; it holds {held}")
    listed = ", ".join(f"{name} {everything[name]}" for name in candidates)
    raise UsageError(
        f"{where} holds {len(candidates)} arrays that could be meant; "
        f"name one with --column (column= in Python): {listed}"
    )
