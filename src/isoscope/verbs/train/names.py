"""Names of rows that studies and charts read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.fields import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row


FINE_TUNING = "fine-tuning"
SECONDS = "seconds_per_epoch"

# Between task and matrix in a part.
MATRIX = ": "

MEASURED = {"i1": "I1", "i2": "I2", "mean_norm": "mean norm", "i1_scaled": "I1 at norm 1"}

# Scores that are no shares: they are shown as they are.
OF_ITSELF = ("bleu", "chrf")


PRETRAINING = "pretraining"
PERPLEXITY, LOSS = "perplexity", "training_loss"
ENEMIES, DRIFT = "common_enemies", "mean_drift"
SINGLE = "single positions"
OTHERS, TRUE = "lowest_cosine_of_others", "highest_cosine_of_target"


ABLATION, EFFECTS, FACTORS = "ablation", "main effects", "factors"
EMBEDDING, UNEMBEDDING = "embedding matrix", "unembedding matrix"
NON_INPUT, LAST_LAYER, FINAL_NORM = "non-input layers", "last layer", "last norm"
VALIDATION = "validation"
EXTREME, MEAN_COSINE = "largest_share_as_extreme", "mean_cosine"
GAIN, BIAS, BIAS_OVER_GAIN = "gain_avgnorm", "bias_avgnorm", "bias_over_gain"


def is_ablation(result: Result) -> bool:
    """Whether a result compares models that differ in some factors."""
    return result.extra.get(KIND) == ABLATION


def model_of(row: Row) -> str:
    """Return the name of a row's cell."""
    return str(row.extra.get("model", row.subject))
