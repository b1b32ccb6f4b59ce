"""A cloud group seen through another: the same clouds, read in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
