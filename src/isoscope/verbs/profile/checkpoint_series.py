"""The same profile for each checkpoint of a training."""

from __future__ import annotations

import gc
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isoscope.measures.views import NONE
from isoscope.models.weights.tensors import weights_digest
from isoscope.progress import Progress, report
from isoscope.results.fields import CHECKPOINTS, DUPLICATE_OF, KIND, PROFILE
from isoscope.results.merge import joined
from isoscope.results.model_rows import fields_of
from isoscope.results.result import Result, Row, Table, keep_result, kept_result
from isoscope.verbs.profile.verdict import training_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.compute.journal import Journal
    from isoscope.models.checkpoints import Checkpoint, Training
    from isoscope.models.model import Model


# Stands for a measure in the only row of a checkpoint without numbers of its own.
SAME_WEIGHTS = "same_weights"


def profile_over_training(
    training: Training,
    profile_one: Callable[[Model], Result],
    open_one: Callable[[Checkpoint], Model],
    *,
    journal: Journal | None = None,
    progress: Progress | None = None,
) -> Result:
    """Profile one checkpoint after the other, and put the results together.

    The subject of a row is ``model@revision``, and the fields ``model``, ``revision`` and ``step``
    stand beside it. So whatever tells rows apart by their subject goes on to do so: claims compare
    steps with ``{"subject": "*@step1000"}``, ``report --rows model,part`` has a line per step, and
    the steps of a journal differ. The fields serve whoever draws a curve.

    A checkpoint with the weights of an earlier one is no point of the curve: it gets a warning and
    one row without a number, whose field ``duplicate_of`` is the revision of the other. One row per
    measure, all undefined, would make every claim over the checkpoints undecidable.

    Parameters
    ----------
    training : Training
        The checkpoints, in order.
    profile_one : callable
        Gives the result of a model; its name is ``model@revision``.
    open_one : callable
        Opens a checkpoint, such as `CheckpointCache.open`.
    journal : Journal, optional
        Where results are kept; checkpoints that it has are not opened again.
    progress : callable, optional
        Called with ``checkpoints``, the number done, and the number in all.

    Returns
    -------
    Result
        Rows, tables and verdicts of all checkpoints, a verdict on the training, and a table
        ``checkpoints`` with the digest of the weights of each.
    """
    profiler = CheckpointProfiler(profile_one, open_one, journal)
    results, listed = [], []
    total = len(training.checkpoints)
    for number, checkpoint in enumerate(training.checkpoints):
        report(progress, CHECKPOINTS, number, total)
        digest, same, found = profiler.profile(checkpoint)
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        about = fields_of(checkpoint)
        if same is not None:
            warnings.warn(
                f"{checkpoint.name} has the same weights as {same.name}; it gets no numbers of "
                "its own",
                stacklevel=2,
            )
            results.append(duplicate_result(checkpoint, same, training.protocol))
        if found is not None:
            results.append(of_checkpoint(found, about, training.protocol))
        duplicate = None if same is None else same.revision
        listed.append({**about, "sha256": digest, DUPLICATE_OF: duplicate})
    report(progress, CHECKPOINTS, total, total)
    whole = joined(results)
    table = Table(training.model, "", NONE, CHECKPOINTS, listed, training.protocol)
    return replace(
        whole,
        tables=[table, *whole.tables],
        verdicts=[*training_verdicts(training.model, whole.rows), *whole.verdicts],
        left_out=left_out_of_each(results),
        extra={**whole.extra, KIND: PROFILE},
    )


@dataclass
class CheckpointProfiler:
    """Opens checkpoints as far as a journal does not know what they give."""

    profile_one: Callable[[Model], Result]
    open_one: Callable[[Checkpoint], Model]
    journal: Journal | None
    _first: dict[str, Checkpoint] = field(default_factory=dict)
    """The first checkpoint with some weights, by their digest."""
    _digests: dict[str | None, str] = field(default_factory=dict)
    """Digests by commit: branches of one commit need not be fetched twice."""

    def profile(self, checkpoint: Checkpoint) -> tuple[str, Checkpoint | None, Result | None]:
        """Return the digest of the weights, whose they were first, and what was found if nobody's.

        The model is let go when this returns.
        """
        digest, model = self._digest(checkpoint)
        if checkpoint.commit is not None:
            self._digests[checkpoint.commit] = digest
        same = self._first.setdefault(digest, checkpoint)
        if same is not checkpoint:
            return digest, same, None
        found = kept_result(self.journal, checkpoint.name)
        if found is None:
            found = self.profile_one(model or self.open_one(checkpoint))
            keep_result(self.journal, checkpoint.name, found)
        return digest, None, found

    def _digest(self, checkpoint: Checkpoint) -> tuple[str, Model | None]:
        """Return the digest of the weights, and the model where it had to be opened for that."""
        if checkpoint.commit in self._digests:
            return self._digests[checkpoint.commit], None
        step = f"{checkpoint.name} weights"
        entry = None if self.journal is None else self.journal.load(step)
        if entry is not None:
            return str(entry.facts["sha256"]), None
        model = self.open_one(checkpoint)
        digest = weights_digest(model)
        if self.journal is not None:
            self.journal.save(step, {}, {"sha256": digest})
        return digest, model


def of_checkpoint(result: Result, about: dict[str, Any], protocol: str) -> Result:
    """Return a result whose rows, tables and verdicts say of which checkpoint they are."""
    return replace(
        result,
        rows=[
            replace(
                row,
                protocol="; ".join(filter(None, (row.protocol, protocol))),
                extra={**row.extra, **about},
            )
            for row in result.rows
        ],
        tables=[replace(table, extra={**table.extra, **about}) for table in result.tables],
        verdicts=[{**verdict, **about} for verdict in result.verdicts],
    )


def duplicate_result(checkpoint: Checkpoint, same: Checkpoint, protocol: str) -> Result:
    """Return the row of a checkpoint whose weights are those of an earlier one."""
    row = Row.of(
        None, checkpoint.name, "", NONE, SAME_WEIGHTS,
        protocol=protocol, note=f"its weights are those of {same.revision}",
        extra={**fields_of(checkpoint), DUPLICATE_OF: same.revision},
    )  # fmt: skip
    return Result([row])


def left_out_of_each(results: list[Result]) -> dict[str, int]:
    """Return what each checkpoint left out, once if it is the same for all.

    Every checkpoint reads the same texts: their sum would count each token many times.
    """
    each = [
        result.left_out
        for result in results
        if any(DUPLICATE_OF not in row.extra for row in result.rows)
    ]
    if all(one == each[0] for one in each):
        return each[0] if each else {}
    return joined(results).left_out
