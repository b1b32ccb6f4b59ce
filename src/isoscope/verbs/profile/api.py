"""``profile()``: models, or trainings with their checkpoints, with a text or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from isoscope.compute.execution import LOCAL, check_scale, on_accelerators, open_pool, ray_address
from isoscope.compute.journal import journal_beside, journal_while, refuse_unfinished
from isoscope.compute.stage import OnError
from isoscope.data.base import identity_of
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import SampledTexts
from isoscope.errors import UsageError
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.checkpoints import Every, Training, find_training, holds_checkpoints
from isoscope.models.model import Model, open_model
from isoscope.models.reading_needs import announce_reading
from isoscope.models.runtime import library
from isoscope.progress import Progress
from isoscope.results.destination import check_writable
from isoscope.results.fields import PROFILE
from isoscope.results.merge import joined, skipped_count, skipped_shards
from isoscope.results.model_rows import model_header
from isoscope.results.result import Result, keep_result, kept_result
from isoscope.verbs.profile.checkpoint_series import profile_over_training
from isoscope.verbs.profile.layer_reads import LayerProfile, TextRun, flag_moved, layer_rows
from isoscope.verbs.profile.matrices import weights_profile
from isoscope.verbs.profile.profile_options import ProfileOptions, refuse_of_layers
from isoscope.verbs.profile.verdict import profile_verdict

__all__ = ["find_subjects", "profile", "profile_over_training"]

Subject = Model | Training


def find_subjects(
    named: Sequence[Any],
    *,
    revision: str | None,
    revisions: str | None,
    every: Every,
    dtype: str | None,
    device: str | None,
) -> list[Subject]:
    """Open models; find checkpoints where revisions are asked for or a folder has nothing else."""
    if revision is not None and revisions is not None:
        raise UsageError(
            "--revision names one state of a model and --revisions several; give only one of them"
        )
    found: list[Subject] = []
    for name in named:
        if isinstance(name, Model):
            found.append(name)
        elif revisions is not None or holds_checkpoints(str(name)):
            if revision is not None:
                raise UsageError(f"{name} is a folder of checkpoints; use --revisions {revision}")
            found.append(find_training(str(name), revisions, every))
        else:
            found.append(open_model(name, revision=revision, dtype=dtype, device=device))
    if every is not None and not any(isinstance(subject, Training) for subject in found):
        raise UsageError(
            "--every chooses among checkpoints: add --revisions, or name a folder of them"
        )
    tell_apart([subject for subject in found if isinstance(subject, Model)])
    names = [subject.name if isinstance(subject, Model) else subject.model for subject in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two models are called {name}; profile them one at a time")
    return found


def tell_apart(models: Sequence[Model]) -> None:
    """Rename models whose folders have the same name after two folders: a/model and b/model."""
    names = [model.name for model in models]
    for model in models:
        folder = model.source.folder
        if names.count(model.name) > 1 and folder.name == model.name:
            model.name = f"{folder.absolute().parent.name}/{folder.name}"


def described(subject: Subject, dtype: str | None, device: str | None) -> dict[str, Any]:
    """Return what decides the numbers of a subject, for a journal; nothing is fetched."""
    if isinstance(subject, Model):
        return {"name": subject.name, **subject.provenance}
    return {
        "name": subject.model,
        "checkpoints": {one.revision: one.commit or str(one.folder) for one in subject.checkpoints},
        "dtype": dtype,
        "device": device,
        **{name: library(name).__version__ for name in ("transformers", "torch")},
    }


def profile(
    models: Any,
    text: Any = None,
    *,
    column: str | None = None,
    document: str | None = None,
    revision: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    revisions: str | None = None,
    every: Every = None,
    keep: int | None = None,
    cache: str | Path | None = None,
    engine: str = LOCAL,
    workers: int | None = None,
    on_error: OnError = "stop",
    shard_texts: int | None = None,
    out: str | Path | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    command: str = "",
    **options: Any,
) -> Result:
    """Profile transformer models: every layer on a text, or the weights without one.

    Parameters
    ----------
    models : str, Path, Model or a list of them
        Anything that ``open_model`` takes, or a folder whose subfolders are checkpoints.
    text : str, Path, list of str or TextSource, optional
        Anything that ``open_texts`` takes. Without it only weights are measured.
    column, document : str, optional
        Which column of a table holds the texts, and which says what document they are from.
    revision, dtype, device : str, optional
        As ``open_model`` takes them.
    revisions : str, optional
        Pattern of the branches, tags or subfolders that are checkpoints of a training, such as
        ``step*``: each is profiled, in the order of training.
    every : int or "log", optional
        Take one in so many checkpoints, or those nearest to steps 1, 2, 4, 8, ….
    keep, cache : int and path, optional
        How many checkpoints of the hub are on disk at a time, and where; see `CheckpointCache`.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Processes of the local engine, or actors of Ray, each with its own copy of the model; on a
        processor with one thread each. Without it the local engine is this process, which takes as
        many batches through the model at a time as torch has threads. The numbers are the same with
        any of them.
    on_error : {"stop", "skip"}
        Whether a file or shard that cannot be read ends the run, or is left out and counted.
    shard_texts : int, optional
        Texts that are read by one worker at a time.
    out : path, optional
        File that the result is written to, ``.json`` or ``.md``.
    journal : path, optional
        Folder that keeps the state of the run, so that a killed one can go on; it is removed when
        the run is done. By default beside ``out``.
    resume : bool
        Go on where a journal ends.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    announce : callable, optional
        Called with what a long run will need, time and memory, before it starts. Nothing is said
        of runs by several workers.
    command : str
        Kept in the result, so that it can be made again.
    **options
        What ``ProfileOptions`` describes: ``measures``, ``corrections``, ``layers``,
        ``special_tokens``, ``skip_first``, ``max_norm_multiple``, ``subwords``, ``longest``,
        ``budget``, ``spool_limit``, ``group_limit``, ``intervals``, ``sample_texts``, ``seed``.

    Returns
    -------
    Result
        A row per model, layer or tensor, correction and measure.
    """
    named = list(models) if isinstance(models, list | tuple) else [models]
    if not named:
        raise UsageError("name at least one model")
    if revisions is None and (keep is not None or cache is not None):
        raise UsageError("--keep and --cache are about what --revisions fetches; add --revisions")
    check_scale(engine, workers, on_error, shard_texts, "texts")
    asked = ProfileOptions(**options)
    if out is not None:
        check_writable(Path(out))
    journal = journal_beside(out, journal, resume=resume)
    if journal is not None and not resume:
        refuse_unfinished(journal)  # before anything is loaded
    if text is None:
        refuse_of_layers(asked, column=column, document=document)
        if workers is not None or ray_address(engine) is not None:
            raise UsageError(
                "--engine and --workers are for reading texts; add --text, without which only "
                "weights are measured"
            )
    source, bad = open_sample(text, asked, column=column, document=document, on_error=on_error)
    subjects = find_subjects(
        named, revision=revision, revisions=revisions, every=every, dtype=dtype, device=device
    )
    distant = ray_address(engine) is not None
    if distant:
        # What this machine has says nothing about where distant workers compute.
        for subject in subjects:
            if isinstance(subject, Model):
                subject.settle(device or "cpu", dtype or "float32")
    # Identifying texts reads them, which only a journal is worth.
    identified = None
    if source is not None and journal is not None:
        files = identity_of(source)
        identified = {"name": source.name, "files": files, "shard_texts": shard_texts}
    configuration = {
        "models": [described(subject, dtype, device) for subject in subjects],
        "text": identified,
        "options": asked.configuration(),
    }
    # Weights of single models are measured in seconds: to begin again is no trouble.
    slow = source is not None or any(isinstance(subject, Training) for subject in subjects)
    with ExitStack() as stack:
        kept = stack.enter_context(
            journal_while(journal if slow else None, configuration, resume=resume)
        )
        profile_one: Callable[[Model], Result]
        run = None
        if source is None:
            profile_one = partial(weights_profile, options=asked, progress=progress)
        else:
            accelerated = on_accelerators(device)
            pool = stack.enter_context(open_pool(engine, workers, accelerators=accelerated))
            run = TextRun(source, pool, kept, on_error, progress, not distant, bad)
            run.cut(shard_texts)
            alone = not distant and workers is None
            profile_one = partial(
                with_text, run=run, options=asked, announce=announce if alone else None
            )
        downloads = stack.enter_context(CheckpointCache(cache, keep))
        open_one = partial(downloads.open, dtype=dtype, device=device)
        found = joined(
            released(subject, profile_one, keep=subject in named)
            if isinstance(subject, Model)
            else profile_over_training(
                subject, profile_one, open_one, journal=kept, progress=progress
            )
            for subject in subjects
        )
        skipped = {} if run is None else run.skipped
        found = replace(
            found,
            left_out={**found.left_out, **skipped_count(skipped)},
            extra={**found.extra, **skipped_shards(skipped)},
            command=command,
        )
        if out is not None:
            found.save(out)  # before the journal goes
    return found


def open_sample(
    text: Any, options: ProfileOptions, **how: Any
) -> tuple[TextSource | None, dict[str, str]]:
    """Open texts, or a sample of them; also return the files that could not be opened, and why."""
    if text is None:
        return None, {}
    source = open_texts(text, **how)
    bad = dict(getattr(source, "bad", {}))
    if options.sample_texts is not None:
        source = SampledTexts(source, options.sample_texts, options.seed)
    return source, bad


def released(model: Model, profile_one: Callable[[Model], Result], *, keep: bool) -> Result:
    """Profile a model and free its network, unless the user holds the model."""
    try:
        return profile_one(model)
    finally:
        if not keep:
            model.release()


def with_text(
    model: Model,
    run: TextRun,
    options: ProfileOptions,
    announce: Callable[[str], None] | None = None,
) -> Result:
    """Profile the layers of one model over a text, unless the journal has the result."""
    finished = kept_result(run.journal, model.name)
    if finished is not None:
        return finished
    announce_reading(model, run.survey.texts, run.survey.characters, announce)
    profile = LayerProfile(model, run, options)
    layers = profile.run()
    met = profile.met
    name = run.texts.name
    protocol = f"{met.counted:,} tokens of {met.texts:,} texts ({name}), {profile.group.rule}"
    found = layer_rows(profile, layers, protocol)
    verdict = profile_verdict(model.name, profile.group.names, found)
    left_out = {}
    if met.truncation.texts:
        cut = f"tokens of {met.truncation.texts:,} texts beyond the limit"
        left_out[cut] = met.truncation.tokens
    if met.tokens > met.counted:
        left_out["special or skipped tokens"] = met.tokens - met.counted
    if options.max_norm_multiple is not None:
        above = (
            f"tokens above {options.max_norm_multiple:g} times the median norm, in the layer "
            "that has most of them"
        )
        left_out[above] = max(layer.massive for layer in layers)
    if run.survey.blank:
        left_out["blank texts"] = run.survey.blank
    result = replace(
        found,
        rows=flag_moved(found.rows),
        verdicts=[verdict, *found.verdicts],
        left_out=left_out,
        seeds={"seed": options.seed},
        **model_header(model, PROFILE),
    )
    keep_result(run.journal, model.name, result)
    profile.forget()
    return result
