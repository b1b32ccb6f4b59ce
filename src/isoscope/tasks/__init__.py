"""What a space is good for: benchmarks with their data, protocol, scores and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.tasks.protocol import SentenceProtocol as SentenceProtocol
    from isoscope.tasks.registry import Task as Task
    from isoscope.tasks.registry import all_tasks as all_tasks
    from isoscope.tasks.registry import find_task as find_task


__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "isoscope.tasks.protocol": ["SentenceProtocol"],
        "isoscope.tasks.registry": ["Task", "all_tasks", "find_task"],
    },
    moved={
        "evaluate": "isoscope.verbs.evaluate.api:evaluate",
        "relate": "isoscope.verbs.evaluate.relation:relate",
    },
)
