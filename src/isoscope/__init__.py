"""How evenly do embeddings fill their space, why not, and what does it cost?

>>> import isoscope
>>> isoscope.measure("package:glove")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.moved import install
from isoscope.registry import lazy_names
from isoscope.version import __version__

if TYPE_CHECKING:
    from isoscope.corrections.registry import make_correction
    from isoscope.corrections.storage import load_correction
    from isoscope.data.base import Batch, Cloud, CloudGroup
    from isoscope.data.open import open_cloud
    from isoscope.measures.registry import Measure, all_measures
    from isoscope.models.model import Model, open_model
    from isoscope.results.result import Result, Row, Table
    from isoscope.verbs.advise.api import advise
    from isoscope.verbs.correct.api import apply_correction, fit_correction, refresh_correction
    from isoscope.verbs.diff.api import diff
    from isoscope.verbs.evaluate.api import evaluate
    from isoscope.verbs.evaluate.relation import relate
    from isoscope.verbs.explain.api import explain
    from isoscope.verbs.explore.api import explore
    from isoscope.verbs.measure.api import measure
    from isoscope.verbs.profile.api import profile
    from isoscope.verbs.report.api import report
    from isoscope.verbs.study.api import run_study
    from isoscope.verbs.threshold.api import threshold
    from isoscope.verbs.threshold.score_map import load_maps
    from isoscope.verbs.train.finetune.experiment import finetune
    from isoscope.verbs.train.pretrain.ablation import ablate
    from isoscope.verbs.train.pretrain.loop import pretrain


__all__ = [
    "Batch",
    "Cloud",
    "CloudGroup",
    "DataError",
    "IsoscopeError",
    "Measure",
    "Model",
    "Result",
    "Row",
    "Table",
    "UsageError",
    "__version__",
    "ablate",
    "advise",
    "all_measures",
    "apply_correction",
    "diff",
    "evaluate",
    "explain",
    "explore",
    "finetune",
    "fit_correction",
    "load_correction",
    "load_maps",
    "make_correction",
    "measure",
    "open_cloud",
    "open_model",
    "pretrain",
    "profile",
    "refresh_correction",
    "relate",
    "report",
    "run_study",
    "threshold",
]

# Which names are where; a module is imported when one of its names is used first.
LATER = {
    "isoscope.corrections.registry": ["make_correction"],
    "isoscope.corrections.storage": ["load_correction"],
    "isoscope.data.base": ["Batch", "Cloud", "CloudGroup"],
    "isoscope.data.open": ["open_cloud"],
    "isoscope.measures.registry": ["Measure", "all_measures"],
    "isoscope.models.model": ["Model", "open_model"],
    "isoscope.results.result": ["Result", "Row", "Table"],
    "isoscope.verbs.advise.api": ["advise"],
    "isoscope.verbs.correct.api": ["apply_correction", "fit_correction", "refresh_correction"],
    "isoscope.verbs.diff.api": ["diff"],
    "isoscope.verbs.evaluate.api": ["evaluate"],
    "isoscope.verbs.evaluate.relation": ["relate"],
    "isoscope.verbs.explain.api": ["explain"],
    "isoscope.verbs.explore.api": ["explore"],
    "isoscope.verbs.measure.api": ["measure"],
    "isoscope.verbs.profile.api": ["profile"],
    "isoscope.verbs.report.api": ["report"],
    "isoscope.verbs.study.api": ["run_study"],
    "isoscope.verbs.threshold.api": ["threshold"],
    "isoscope.verbs.threshold.score_map": ["load_maps"],
    "isoscope.verbs.train.finetune.experiment": ["finetune"],
    "isoscope.verbs.train.pretrain.ablation": ["ablate"],
    "isoscope.verbs.train.pretrain.loop": ["pretrain"],
}


install()


__getattr__ = lazy_names(__name__, LATER)
