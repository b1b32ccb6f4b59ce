"""How evenly do embeddings fill their space, why not, and what does it cost?

>>> import isoscope
>>> isoscope.measure("package:glove")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.moved import install
from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.corrections.registry import make_correction as make_correction
    from isoscope.corrections.storage import load_correction as load_correction
    from isoscope.data.base import Batch as Batch
    from isoscope.data.base import Cloud as Cloud
    from isoscope.data.base import CloudGroup as CloudGroup
    from isoscope.data.open import open_cloud as open_cloud
    from isoscope.errors import DataError as DataError
    from isoscope.errors import IsoscopeError as IsoscopeError
    from isoscope.errors import UsageError as UsageError
    from isoscope.measures.registry import Measure as Measure
    from isoscope.measures.registry import all_measures as all_measures
    from isoscope.models.model import Model as Model
    from isoscope.models.model import open_model as open_model
    from isoscope.results.result import Result as Result
    from isoscope.results.result import Row as Row
    from isoscope.results.result import Table as Table
    from isoscope.verbs.advise.api import advise as advise
    from isoscope.verbs.correct.api import apply_correction as apply_correction
    from isoscope.verbs.correct.api import fit_correction as fit_correction
    from isoscope.verbs.correct.api import refresh_correction as refresh_correction
    from isoscope.verbs.diff.api import diff as diff
    from isoscope.verbs.evaluate.api import evaluate as evaluate
    from isoscope.verbs.evaluate.relation import relate as relate
    from isoscope.verbs.explain.api import explain as explain
    from isoscope.verbs.explore.api import explore as explore
    from isoscope.verbs.measure.api import measure as measure
    from isoscope.verbs.profile.api import profile as profile
    from isoscope.verbs.report.api import report as report
    from isoscope.verbs.study.api import run_study as run_study
    from isoscope.verbs.threshold.api import threshold as threshold
    from isoscope.verbs.threshold.score_map import load_maps as load_maps
    from isoscope.verbs.train.finetune.experiment import finetune as finetune
    from isoscope.verbs.train.pretrain.ablation import ablate as ablate
    from isoscope.verbs.train.pretrain.loop import pretrain as pretrain
    from isoscope.verbs.verify.api import verify as verify
    from isoscope.version import __version__ as __version__


install()

# Which names are where; a module is imported when one of its names is used first.
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "isoscope.corrections.registry": ["make_correction"],
        "isoscope.corrections.storage": ["load_correction"],
        "isoscope.data.base": ["Batch", "Cloud", "CloudGroup"],
        "isoscope.data.open": ["open_cloud"],
        "isoscope.errors": ["DataError", "IsoscopeError", "UsageError"],
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
        "isoscope.verbs.verify.api": ["verify"],
        "isoscope.verbs.measure.api": ["measure"],
        "isoscope.verbs.profile.api": ["profile"],
        "isoscope.verbs.report.api": ["report"],
        "isoscope.verbs.study.api": ["run_study"],
        "isoscope.verbs.threshold.api": ["threshold"],
        "isoscope.verbs.threshold.score_map": ["load_maps"],
        "isoscope.verbs.train.finetune.experiment": ["finetune"],
        "isoscope.verbs.train.pretrain.ablation": ["ablate"],
        "isoscope.verbs.train.pretrain.loop": ["pretrain"],
        "isoscope.version": ["__version__"],
    },
)
