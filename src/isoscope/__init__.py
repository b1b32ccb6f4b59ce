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

LATER = {
    "Batch": "isoscope.data.base",
    "Cloud": "isoscope.data.base",
    "CloudGroup": "isoscope.data.base",
    "Measure": "isoscope.measures.registry",
    "Model": "isoscope.models.model",
    "Result": "isoscope.results.result",
    "Row": "isoscope.results.result",
    "Table": "isoscope.results.result",
    "ablate": "isoscope.verbs.train.pretrain.ablation",
    "advise": "isoscope.verbs.advise.api",
    "all_measures": "isoscope.measures.registry",
    "apply_correction": "isoscope.verbs.correct.api",
    "diff": "isoscope.verbs.diff.api",
    "evaluate": "isoscope.verbs.evaluate.api",
    "explain": "isoscope.verbs.explain.api",
    "explore": "isoscope.verbs.explore.api",
    "finetune": "isoscope.verbs.train.finetune.experiment",
    "fit_correction": "isoscope.verbs.correct.api",
    "load_correction": "isoscope.corrections.storage",
    "load_maps": "isoscope.verbs.threshold.score_map",
    "make_correction": "isoscope.corrections.registry",
    "measure": "isoscope.verbs.measure.api",
    "open_cloud": "isoscope.data.open",
    "open_model": "isoscope.models.model",
    "pretrain": "isoscope.verbs.train.pretrain.loop",
    "profile": "isoscope.verbs.profile.api",
    "refresh_correction": "isoscope.verbs.correct.api",
    "relate": "isoscope.verbs.evaluate.relation",
    "report": "isoscope.verbs.report.api",
    "run_study": "isoscope.verbs.study.api",
    "threshold": "isoscope.verbs.threshold.api",
}
"""Where every name is; its module is imported when the name is used first."""


install()


__getattr__ = lazy_names(__name__, LATER)
