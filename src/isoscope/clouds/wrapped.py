"""A cloud group seen through another: the same clouds, read in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.contract import Cloud

if TYPE_CHECKING:
    from isoscope.clouds.contract import CloudGroup


class WrappedGroup:
    """What a group says of its clouds, passed on; how they are read is up to the wrapper."""

    def __init__(self, group: CloudGroup) -> None:
        self._group = group

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each cloud."""
        return self._group.names

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of dimensions of each cloud."""
        return self._group.widths

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Stored type of each cloud."""
        return self._group.dtypes

    @property
    def rows(self) -> int | None:
        """Number of rows before anything is left out, which is what progress counts."""
        return self._group.rows

    @property
    def fault(self) -> str:
        """What is wrong with rows that are not finite, as the cloud below says it."""
        return str(getattr(self._group, "fault", Cloud.fault))

    @property
    def invalid(self) -> str:
        """Why such rows are left out."""
        return str(getattr(self._group, "invalid", Cloud.invalid))

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages."""
        below = getattr(self._group, "place", None)
        return f"{name}: row {row}" if below is None else str(below(name, row))
