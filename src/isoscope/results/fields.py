"""Names of the fields of results and rows, and what a row is about."""

from __future__ import annotations

from isoscope.results.result import Row, Table

# Field of a result that says what it is, so that it is shown as such.
KIND = "kind"


UNCORRECTED = "none"

# Sentences about a result as a whole.
REMARKS = "remarks"

# Words in the protocol of a row: what corrections were fitted on, and that it is about a sample.
FITTED_ON, RANDOM_SAMPLE = "corrections fitted on", "a random sample"


def base_name(measure: str) -> str:
    """Return the name of a measure without its options and without which of its numbers."""
    return measure.split("/")[0].split(":")[0]


# Kind of a result.
SCORES = "scores"

# Field of rows about a subset of a task: they are in JSON, tables would grow too long.
PART_OF_TASK = "subset"

# Field of a row that is true for the score that decides, of those that a task has.
MAIN = "main_score"

# Field of a row that is true for the layer with the highest score.
BEST = "best_layer"

# Field of such a row: what the layer was chosen on.
CHOSEN_ON = "chosen_on"


# Says of a row what kind of part it is about, so that tables hold one kind each.
PARTS = "parts"

# Field of rows and tables about a checkpoint of a training, which are shown by themselves.
REVISION = "revision"

# Kind of a result.
PROFILE = "profile"


def is_of_checkpoint(record: Row | Table) -> bool:
    """Whether a row or a table is about one checkpoint of a training."""
    return REVISION in record.extra


# Fields of rows, tables and verdicts about a checkpoint, beside its revision.
MODEL, STEP = "model", "step"

# Field of a checkpoint that has the weights of another: the revision of that one.
DUPLICATE_OF = "duplicate_of"

# Table with all checkpoints of a training; its note is the list of steps.
CHECKPOINTS = "checkpoints"


# Fields of rows and verdicts: the topic, and what it asks.
TOPIC, TITLE = "topic", "title"


# Ends of measures that compare a calibration with none.
DIFFERENCE, RATIO = "/difference", "/ratio"


# Field of a result: what decided the runs besides task, calibration and seed.
SETTINGS = "settings"

STAR, CONSTANT = " *", " c"


# What a row counts: scores of runs, not of vectors.
UNIT = "runs"

# Fields of a row: its values without each block of the data, and what the blocks are. Two figures
# of the same blocks are compared by the differences of these.
REPLICATES, BLOCKS = "replicates", "blocks"

# Field of a row: the degrees of freedom of Student's distribution that its interval was made with.
# Without it, the interval is a normal one.
FREEDOM = "degrees_of_freedom"
