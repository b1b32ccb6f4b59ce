"""How a probe's score grows while it learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError
from isoscope.results.result import Table
from isoscope.tasks.class_problem import spread
from isoscope.tasks.probes.contract import EpochProbe
from isoscope.tasks.problem_rows import has_output

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isoscope.tasks.class_problem import ClassProblem
    from isoscope.tasks.problem import Items

EPOCHS = "epochs"


def epoch_outputs(
    problem: ClassProblem, vectors: NDArray[Any], learn: Items, held: Items
) -> list[tuple[float, NDArray[np.float64]]]:
    """Return the training loss of every epoch, and the outputs of ``held`` after it.

    As in ``Problem.outputs``; but all of ``learn`` is trained on, and no epoch is chosen.
    """
    probe = problem.probe
    if not isinstance(probe, EpochProbe):
        raise UsageError(f"the probe {probe.name} does not learn in epochs; take mlp")
    lesson, asked = problem.lesson(vectors, learn, held)
    return [(loss, spread(codes, asked)) for loss, codes in probe.epochs_of(lesson)]


def epoch_table(
    where: tuple[str, str],
    correction: str,
    problem: ClassProblem,
    vectors: NDArray[Any],
    learn: Items,
    held: Items,
    *,
    level: float = 0.95,
) -> Table:
    """Score the held items after every epoch.

    The best of these rows is chosen on what is scored, as papers do; ``Problem.outputs`` chooses
    its epoch on rows that are held back.

    Parameters
    ----------
    where : tuple of str
        Subject and part, as results name them.
    correction : str
        The space.
    problem : ClassProblem
        What is scored, with a probe that learns in epochs.
    vectors, learn, held
        As in ``Problem.outputs``.
    level : float
        Coverage of the interval of the score that decides.

    Returns
    -------
    Table
        ``TASK/mlp/epochs``, a row an epoch: epoch (from 1), loss, accuracy, f1, matthews, and low
        and high of the score that decides.
    """
    rows: list[dict[str, Any]] = []
    for epoch, (loss, outputs) in enumerate(epoch_outputs(problem, vectors, learn, held), start=1):
        usable = has_output(outputs)
        found = problem.scores(outputs[usable], held[usable], level)
        deciding = found[problem.main]
        scores = {name.rpartition("/")[2]: score.value for name, score in found.items()}
        rows.append(
            {"epoch": epoch, "loss": loss, **scores, "low": deciding.low, "high": deciding.high}
        )
    return Table(
        *where, correction, f"{problem.task}/{problem.probe.name}/{EPOCHS}", rows,
        note=f"low and high are those of {problem.metric}; {problem}",
    )  # fmt: skip
