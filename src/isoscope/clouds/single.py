"""One cloud of a group on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.contract import Cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.contract import Batch, CloudGroup


class SingleCloud(Cloud):
    """The rows of one of the clouds of a group, which is read as a whole for them."""

    def __init__(self, group: CloudGroup, name: str) -> None:
        position = group.names.index(name)
        rows = group.rows if len(group.names) == 1 else None
        super().__init__(name, rows, group.widths[position], group.dtypes[position])
        self._group = group

    def read(self) -> Iterator[Batch]:
        """Yield the batches of this cloud."""
        for batches in self._group.batches():
            if self.name in batches:
                yield batches[self.name]
