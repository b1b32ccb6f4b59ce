"""Training a small model from scratch: checkpoints, perplexity, and a run that can be resumed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoscope.compute.journal import CONFIGURATION, Journal, check_same, remove_unused
from isoscope.data.output import PREFIX, cannot_be_written
from isoscope.errors import DataError, UsageError
from isoscope.models.runtime import device_name, quietly
from isoscope.progress import Progress, report
from isoscope.results.fields import KIND
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.train.names import DRIFT, ENEMIES, LOSS, PERPLEXITY, PRETRAINING, UNEMBEDDING
from isoscope.verbs.train.needs import announced, plan_need
from isoscope.verbs.train.pretrain.common_enemies import CommonEnemies
from isoscope.verbs.train.pretrain.learner import JUDGED_BLOCKS, Corpus, Learner, make_corpus
from isoscope.verbs.train.pretrain.plan import Plan
from isoscope.verbs.train.save_errors import is_save_error, save_reason
from isoscope.verbs.train.seed_means import versions_of_training

JOURNAL, RESULT = "journal", "result.json"
STATE = "state"

# Seconds after which a state is kept, also between checkpoints.
KEPT_EVERY = 60.0

STAGE = "pretraining"
ENEMIES_NOTE = (
    "rows of the output matrix in single steps; h is the mean of what predicts in the batch"
)


@dataclass
class TrainingLog:
    """What a training has shown so far; it is kept with every state."""

    points: list[dict[str, Any]]
    losses: list[float]
    updates: list[dict[str, Any]]
    drift: list[dict[str, Any]]
    seconds: float = 0.0


def pretrain(
    text: Any,
    plan: Plan,
    out: str | Path,
    *,
    validation: Any = None,
    column: str | None = None,
    record: int = 0,
    resume: bool = False,
    device: str | None = None,
    progress: Progress | None = None,
    command: str = "",
    corpus: Corpus | None = None,
    announce: Callable[[str], None] | None = None,
) -> Result:
    """Train a model from scratch, and keep checkpoints on the way.

    The folder has a subfolder for every checkpoint, ``step0``, ``step200``, …, each a model that
    ``open_model`` and transformers open, and ``result.json``. ``isoscope profile`` of the folder
    follows measures over training.

    Parameters
    ----------
    text : str, Path, list of str or TextSource
        What ``open_texts`` takes.
    plan : Plan
        Objective, architecture, size.
    out : str or Path
        A folder, which is made.
    validation : optional
        Texts for perplexities; without them one in twenty of ``text`` is not learned from.
    column : str, optional
        Which column of a table holds the texts.
    record : int
        Record how the rows of the output matrix move every so many steps; 0 for never.
    resume : bool
        Go on with a run that was killed; it ends as if it had not been. A finished one is read.
    device : str, optional
        Where the network computes.
    progress : callable, optional
        Called with a name, steps done, and steps in all.
    command : str
        Kept in the result, so that it can be made again.
    corpus : Corpus, optional
        Of the same texts, where several trainings share one.
    announce : callable, optional
        Called before the first step with a sentence that says what the training will need.

    Examples
    --------
    >>> pretrain("wiki.train.txt", Plan("clm", "tiny"), "tiny-clm")  # doctest: +SKIP
    """
    folder = Path(out)
    refuse_others(folder, resume=resume)
    if record < 0:
        raise UsageError(f"record must be a number of steps of at least 0, got {record}")
    found = corpus or make_corpus(text, plan.shape, validation=validation, column=column)
    configuration = {**plan.to_facts(), "record": record, "text": found.digest}
    if (folder / RESULT).is_file():
        result = Result.load(folder / RESULT)
        check_same(result.extra.get("configuration", {}), configuration, folder)
        # The configuration of a journal is removed before its last step: either may be left.
        left = (folder / JOURNAL / CONFIGURATION).is_file()
        if left or any((folder / JOURNAL).glob("step *")):
            with Journal.open(folder / JOURNAL, configuration, resume=True) as journal:
                journal.remove()
        remove_unused(folder / JOURNAL)  # which could not be removed at the end of the run
        return result
    where = device_name(device)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(cannot_be_written(folder, error)) from error
    announced([plan_need(plan, 1, found.words)], device, announce)
    with Journal.open(folder / JOURNAL, configuration, resume=resume) as journal:
        for leftover in folder.glob(f"{PREFIX}*"):  # of a run that was killed while it wrote
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
        run = Pretraining(plan, found, folder, journal, record, where, progress)
        story = run.train()
        result = to_result(folder.resolve().name, plan, found, story, configuration, command)
        result.save(folder / RESULT)
        journal.remove()
    return result


@dataclass
class Pretraining:
    """A training with its folder and its journal."""

    plan: Plan
    corpus: Corpus
    folder: Path
    journal: Journal
    record: int
    device: str
    progress: Progress | None

    def __post_init__(self) -> None:
        self.learner = Learner(self.plan, self.corpus, self.device)
        output, counts = self.learner.reader.output, self.corpus.counts
        self.enemies = CommonEnemies(output, counts) if self.record else None
        self.story = TrainingLog([], [], [], [])
        kept = self.journal.load(STATE)
        if kept is not None:
            self.learner.load_state(kept.arrays, int(kept.facts["step"]))
            self.story = TrainingLog(**kept.facts["story"])
            if self.enemies is not None:
                self.enemies.updates, self.enemies.drift = self.story.updates, self.story.drift

    def train(self) -> TrainingLog:
        """Do all steps that are left."""
        learner, length, kept_steps = self.learner, self.plan.length, self.plan.kept_steps
        began = last = time.monotonic()
        before = self.story.seconds
        if learner.step == 0 and not self.story.points:
            self._judge()
        while learner.step < length:
            step = learner.step + 1
            recorded = bool(self.record) and (step == 1 or step % self.record == 0)
            self.story.losses.append(learner.learn(self.enemies if recorded else None))
            report(self.progress, STAGE, step, length)
            now = time.monotonic()
            self.story.seconds = before + now - began
            if learner.step in kept_steps:
                self._judge()
            elif now - last < KEPT_EVERY:
                continue
            self._keep()
            last = now
        return self.story

    def _judge(self) -> None:
        """Keep a checkpoint, and take its perplexity."""
        self._save()
        losses, self.story.losses = self.story.losses, []
        loss = sum(losses) / len(losses) if losses else None
        perplexity = self.learner.perplexity()
        self.story.points.append({"step": self.learner.step, PERPLEXITY: perplexity, LOSS: loss})

    def _keep(self) -> None:
        if self.enemies is not None:
            self.story.updates, self.story.drift = self.enemies.updates, self.enemies.drift
        facts = {"step": self.learner.step, "story": vars(self.story)}
        self.journal.save(STATE, self.learner.state(), facts, finished=False)

    def _save(self) -> None:
        """Write a checkpoint whole or not at all."""
        target = self.folder / f"step{self.learner.step}"
        temporary = None
        try:
            temporary = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.folder))
            temporary.chmod(0o755)
            with quietly():
                self.learner.network.save_pretrained(temporary)
                self.corpus.tokenizer.save_pretrained(temporary)
            if target.is_dir():
                shutil.rmtree(target)  # of a run that was killed before it kept its state
            temporary.rename(target)
        except Exception as error:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
            if not is_save_error(error):
                raise
            raise DataError(
                f"{target} could not be written: {save_reason(error)}; "
                "earlier checkpoints are kept; free some space and continue with --resume"
            ) from error


def refuse_others(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds something else, or a run that nobody asked to go on with."""
    if folder.is_file():
        raise UsageError(f"--out {folder} is a file; name a folder for checkpoints")
    if not folder.is_dir():
        return
    there = {path.name for path in folder.iterdir() if not path.name.startswith(PREFIX)}
    begun = (folder / RESULT).is_file() or (folder / JOURNAL / CONFIGURATION).is_file()
    if (there <= {JOURNAL} and not begun) or (resume and begun):
        return
    if (folder / RESULT).is_file():
        raise UsageError(f"{folder} holds a finished training; name another folder, or delete it")
    if (folder / JOURNAL / CONFIGURATION).is_file():
        raise UsageError(
            f"{folder} holds a training that did not finish; --resume continues it; to start "
            "over, delete that folder"
        )
    raise UsageError(f"{folder} holds other files; name a folder that is new or empty")


def to_result(
    name: str,
    plan: Plan,
    corpus: Corpus,
    story: TrainingLog,
    configuration: dict[str, Any],
    command: str,
) -> Result:
    """Return what a training has shown as a result."""
    tokens = plan.shape.batch_size * plan.shape.context
    protocol = (
        f"{plan.words}; {plan.size}, {plan.length:,} steps of {tokens:,} tokens; {corpus.words}"
    )
    rows = [
        Row(
            name, f"step{point['step']}", "none", measure, point[measure],
            n=min(JUDGED_BLOCKS, len(corpus.validation)) if measure == PERPLEXITY else None,
            protocol=protocol, extra={"step": point["step"], "unit": "blocks"},
        )
        for point in story.points
        for measure in (PERPLEXITY, LOSS)
        if point[measure] is not None
    ]  # fmt: skip
    tables = [
        Table(name, UNEMBEDDING, "none", ENEMIES, story.updates, ENEMIES_NOTE),
        Table(name, UNEMBEDDING, "none", DRIFT, story.drift, "the mean row since the start"),
    ]
    return Result(
        rows,
        [table for table in tables if table.rows],
        seeds={"seed": plan.seed},
        versions=versions_of_training(),
        command=command,
        extra={KIND: PRETRAINING, "configuration": configuration, "seconds": story.seconds},
    )
