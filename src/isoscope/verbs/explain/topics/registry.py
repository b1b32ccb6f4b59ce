"""Every topic, in the order in which they are explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import UsageError, unknown_name
from isoscope.verbs.explain.topics.clusters import CLUSTERS
from isoscope.verbs.explain.topics.drift import DRIFT
from isoscope.verbs.explain.topics.frequency import FREQUENCY
from isoscope.verbs.explain.topics.layernorm import NORMS
from isoscope.verbs.explain.topics.outliers import OUTLIERS
from isoscope.verbs.explain.topics.position import POSITION
from isoscope.verbs.explain.topics.senses import SENSES
from isoscope.verbs.explain.topics.structure import STRUCTURE
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.verbs.explain.topics.base import Topic


TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        FREQUENCY, POSITION, NORMS, OUTLIERS, CLUSTERS, STRUCTURE, SENSES, DRIFT,
    )
}  # fmt: skip


def chosen_topics(names: str | Iterable[str] | None) -> list[Topic]:
    """Return topics by name, with commas or as a list, in their own order; all by default."""
    wanted = {name.casefold() for name in listed(names, tuple(TOPICS))}
    if not wanted:
        raise UsageError(f"name at least one topic: {', '.join(TOPICS)}")
    for name in wanted:
        if name not in TOPICS:
            raise unknown_name("topic", name, TOPICS)
    return [topic for name, topic in TOPICS.items() if name in wanted]
