"""Every topic, in the order in which they are explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import UsageError, unknown_name
from isoscope.explain.clusters import CLUSTERS
from isoscope.explain.drift import DRIFT
from isoscope.explain.frequency import FREQUENCY
from isoscope.explain.norms import NORMS
from isoscope.explain.outliers import OUTLIERS
from isoscope.explain.position import POSITION
from isoscope.explain.senses import SENSES
from isoscope.explain.structure import STRUCTURE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.explain.contract import Topic

TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        FREQUENCY, POSITION, NORMS, OUTLIERS, CLUSTERS, STRUCTURE, SENSES, DRIFT,
    )
}  # fmt: skip


def chosen_topics(names: str | Iterable[str] | None) -> list[Topic]:
    """Return topics by name, with commas or as a list, in their own order; all by default."""
    if names is None:
        return list(TOPICS.values())
    parts = names.split(",") if isinstance(names, str) else list(names)
    wanted = {part.strip().casefold() for part in parts if part.strip()}
    if not wanted:
        raise UsageError(f"name at least one topic: {', '.join(TOPICS)}")
    for name in wanted:
        if name not in TOPICS:
            raise unknown_name("topic", name, TOPICS)
    return [topic for name, topic in TOPICS.items() if name in wanted]
