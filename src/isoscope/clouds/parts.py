"""Several files of a run, such as one per layer, as the parts of one group."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING

from isoscope.clouds.contract import Cloud
from isoscope.clouds.location import matches
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoscope.clouds.contract import Batch, CloudGroup

FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


class FileParts:
    """Clouds that are measured in one run, one after the other, each as a part of its own."""

    def __init__(self, clouds: Mapping[str, Cloud]) -> None:
        self._clouds = dict(clouds)
        self.population = all(cloud.population for cloud in clouds.values())

    @property
    def clouds(self) -> Mapping[str, Cloud]:
        """The cloud of each part."""
        return self._clouds

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each part."""
        return tuple(self._clouds)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of dimensions of each part."""
        return tuple(cloud.width for cloud in self._clouds.values())

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Stored type of each part."""
        return tuple(cloud.dtype for cloud in self._clouds.values())

    @property
    def rows(self) -> int | None:
        """Number of rows of all parts together."""
        counts = [cloud.rows for cloud in self._clouds.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def place(self, name: str, row: int) -> str:
        """Say in which file and part a row is."""
        cloud = self._clouds[name]
        return f"{cloud.where}, {name}: row {cloud.start + row}"

    def only(self, name: str, cloud: Cloud) -> FileParts:
        """Return a group of one part, which is read from another cloud: a piece of its own."""
        one = copy.copy(self)
        one._clouds = {name: cloud}
        return one

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read part after part."""
        for name, cloud in self._clouds.items():
            for batch in cloud.read():
                yield {name: batch}


def clouds_of(group: CloudGroup) -> Mapping[str, Cloud] | None:
    """Return the clouds of a group that are read one by one; None of those read together."""
    if isinstance(group, Cloud):
        return {group.name: group}
    return group.clouds if isinstance(group, FileParts) else None


def is_pattern(text: str) -> bool:
    """Whether a source names several parts, as in ``acts/layer_{layer}.npy``."""
    return FIELD.search(text) is not None


def find_parts(pattern: str) -> dict[str, str]:
    """Return the files that a pattern with {field} matches: part name to file, in natural order."""
    fields = FIELD.findall(pattern)
    if len(set(fields)) != len(fields):
        raise UsageError(f"{pattern}: every field in braces needs a name of its own")
    expression, position = "", 0
    for found in FIELD.finditer(pattern):
        expression += re.escape(pattern[position : found.start()]) + f"(?P<{found[1]}>[^/]+)"
        position = found.end()
    expression += re.escape(pattern[position:])
    parts: dict[str, str] = {}
    for location in matches(FIELD.sub("*", pattern)):
        match = re.fullmatch(expression, location.text)
        if match:
            name = ", ".join(f"{key} {value}" for key, value in match.groupdict().items())
            parts[name] = location.text
    if not parts:
        raise UsageError(f"no file matches {pattern}")
    return dict(sorted(parts.items(), key=lambda item: natural(item[0])))


def natural(text: str) -> list[tuple[int, int | str]]:
    """Return a sorting key under which layer 10 follows layer 9."""
    pieces = re.split(r"(\d+)", text)
    return [(0, int(piece)) if piece.isdigit() else (1, piece) for piece in pieces]
