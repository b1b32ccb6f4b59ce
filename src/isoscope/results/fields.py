"""Names of the fields of results and rows, and what a row is about."""

from __future__ import annotations

from isoscope.results.result import Row, Table

KIND = "kind"
"""Field of a result that says what it is, so that it is shown as such."""


UNCORRECTED = "none"

REMARKS = "remarks"
"""Sentences about a result as a whole."""


def base_name(measure: str) -> str:
    """Return the name of a measure without its options and without which of its numbers."""
    return measure.split("/")[0].split(":")[0]


SCORES = "scores"
"""Kind of a result."""

PART_OF_TASK = "subset"
"""Field of rows about a subset of a task: they are in JSON, tables would grow too long."""

MAIN = "main_score"
"""Field of a row that is true for the score that decides, of those that a task has."""

BEST = "best_layer"
"""Field of a row that is true for the layer with the highest score."""

CHOSEN_ON = "chosen_on"
"""Field of such a row: what the layer was chosen on."""


PARTS = "parts"
"""Says of a row what kind of part it is about, so that tables hold one kind each."""

REVISION = "revision"
"""Field of rows and tables about a checkpoint of a training, which are shown by themselves."""

PROFILE = "profile"
"""Kind of a result."""


def is_of_checkpoint(record: Row | Table) -> bool:
    """Whether a row or a table is about one checkpoint of a training."""
    return REVISION in record.extra


MODEL, STEP = "model", "step"
"""Fields of rows, tables and verdicts about a checkpoint, beside its revision."""

DUPLICATE_OF = "duplicate_of"
"""Field of a checkpoint that has the weights of another: the revision of that one."""

CHECKPOINTS = "checkpoints"
"""Table with all checkpoints of a training; its note is the list of steps."""


TOPIC, TITLE = "topic", "title"
"""Fields of rows and verdicts: the topic, and what it asks."""


DIFFERENCE, RATIO = "/difference", "/ratio"
"""Ends of measures that compare a calibration with none."""


SETTINGS = "settings"
"""Field of a result: what decided the runs besides task, calibration and seed."""

STAR, CONSTANT = " *", " c"


UNIT = "runs"
"""What a row counts: scores of runs, not of vectors."""
