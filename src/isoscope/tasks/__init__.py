"""What a space is good for: benchmarks with their data, protocol, scores and intervals."""

# They register tasks, which are listed in this order, and how tasks are prepared.
from isoscope.tasks import (  # noqa: F401, I001
    boolq_data,
    clustering,
    glue_data,
    own_pair_problem,
    retrieval,
    semcor_data,
    senteval_data,
    sick_data,
    sts_data,
    wic_data,
    word_similarity,
    families,
)
from isoscope.tasks.evaluating import evaluate
from isoscope.tasks.registry import Task, all_tasks, find_task
from isoscope.tasks.relating import relate
from isoscope.tasks.sentence_protocol import SentenceProtocol

__all__ = ["SentenceProtocol", "Task", "all_tasks", "evaluate", "find_task", "relate"]
