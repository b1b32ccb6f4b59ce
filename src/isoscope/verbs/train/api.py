"""``finetune()``, ``pretrain()`` and ``ablate()``, with the plans that they take."""

from __future__ import annotations

from isoscope.verbs.train.finetune.experiment import finetune
from isoscope.verbs.train.pretrain.ablation import ablate
from isoscope.verbs.train.pretrain.common_enemies import load_last, single_rows
from isoscope.verbs.train.pretrain.learner import Learner, make_corpus
from isoscope.verbs.train.pretrain.loop import pretrain
from isoscope.verbs.train.pretrain.plan import SIZES, Plan

__all__ = [
    "SIZES",
    "Learner",
    "Plan",
    "ablate",
    "finetune",
    "load_last",
    "make_corpus",
    "pretrain",
    "single_rows",
]
