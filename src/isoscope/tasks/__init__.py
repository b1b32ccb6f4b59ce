"""What a space is good for: benchmarks with their data, protocol, scores and intervals."""

from isoscope.tasks import sick_data, sts_data, wic_data  # noqa: F401 - they register their tasks
from isoscope.tasks.evaluating import evaluate
from isoscope.tasks.registry import Task, all_tasks, find_task

__all__ = ["Task", "all_tasks", "evaluate", "find_task"]
