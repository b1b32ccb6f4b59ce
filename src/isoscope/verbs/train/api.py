"""``finetune()``, ``pretrain()`` and ``ablate()``, with the plans that they take."""

from __future__ import annotations

from isoscope.verbs.train.finetune.experiment import finetune as finetune
from isoscope.verbs.train.pretrain.ablation import ablate as ablate
from isoscope.verbs.train.pretrain.common_enemies import load_last as load_last
from isoscope.verbs.train.pretrain.common_enemies import single_rows as single_rows
from isoscope.verbs.train.pretrain.learner import Learner as Learner
from isoscope.verbs.train.pretrain.learner import make_corpus as make_corpus
from isoscope.verbs.train.pretrain.loop import pretrain as pretrain
from isoscope.verbs.train.pretrain.plan import SIZES as SIZES
from isoscope.verbs.train.pretrain.plan import Plan as Plan
