"""Benchmarks and their data; importing this package registers every task, in this order."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "isoscope.tasks.datasets.glue",
    "isoscope.tasks.problems.clustering",
    "isoscope.tasks.datasets.own_pairs",
    "isoscope.tasks.problems.retrieval",
    "isoscope.tasks.datasets.semcor",
    "isoscope.tasks.datasets.senteval",
    "isoscope.tasks.datasets.sts",
    "isoscope.tasks.datasets.wic",
    "isoscope.tasks.datasets.word_similarity",
)

for _module in MODULES:
    import_module(_module)
