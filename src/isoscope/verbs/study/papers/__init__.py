"""The papers whose experiments are studies; importing this package registers every study."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "isoscope.verbs.study.papers.bis2021",
    "isoscope.verbs.study.papers.bis2021.training",
    "isoscope.verbs.study.papers.ding2022",
    "isoscope.verbs.study.papers.luo2021.layers",
    "isoscope.verbs.study.papers.luo2021",
    "isoscope.verbs.study.papers.luo2021.positions",
    "isoscope.verbs.study.papers.luo2021.tasks",
    "isoscope.verbs.study.papers.luo2021.weights",
    "isoscope.verbs.study.papers.pythia2024",
    "isoscope.verbs.study.papers.pythia2024.training",
    "isoscope.verbs.study.papers.pythia2024.weights",
    "isoscope.verbs.study.papers.rajaee2021.isotropy",
    "isoscope.verbs.study.papers.rajaee2021.tasks",
    "isoscope.verbs.study.papers.rajaee2021.language",
)

for _module in MODULES:
    import_module(_module)
