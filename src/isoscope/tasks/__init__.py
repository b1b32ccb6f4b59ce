"""What a space is good for: benchmarks with their data, protocol, scores and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.tasks.protocol import SentenceProtocol
    from isoscope.tasks.registry import Task, all_tasks, find_task


__all__ = ["SentenceProtocol", "Task", "all_tasks", "find_task"]

__getattr__ = lazy_names(
    __name__,
    {
        "SentenceProtocol": "isoscope.tasks.protocol",
        "Task": "isoscope.tasks.registry",
        "all_tasks": "isoscope.tasks.registry",
        "find_task": "isoscope.tasks.registry",
    },
    moved={
        "evaluate": "isoscope.verbs.evaluate.api:evaluate",
        "relate": "isoscope.verbs.evaluate.relation:relate",
    },
)
