"""The main call: profile models, with a text or without."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL, on_accelerators, open_pool, ray_address
from isoscope.compute.journal import journal_while, refuse_unfinished
from isoscope.data.identity import identity_of
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import SampledTexts
from isoscope.errors import UsageError
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.checkpoints import Training
from isoscope.models.model import Model
from isoscope.profiles.kept import keep_result, kept_result
from isoscope.profiles.layers import LayerProfile
from isoscope.profiles.over_training import profile_over_training
from isoscope.profiles.request import ProfileOptions, refuse_of_layers
from isoscope.profiles.rows import layer_rows, with_moved
from isoscope.profiles.subjects import described, find_subjects
from isoscope.profiles.text_run import surveyed
from isoscope.profiles.verdict import profile_verdict
from isoscope.profiles.weights import weights_profile
from isoscope.results.joining import joined
from isoscope.results.layered import KIND, PROFILE
from isoscope.results.measuring import versions
from isoscope.results.result import Result
from isoscope.results.scaled import check_scale, skipped_count, skipped_shards

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.compute.journal import Journal
    from isoscope.compute.stage import OnError, Progress
    from isoscope.models.checkpoints import Every
    from isoscope.profiles.text_run import TextRun


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
    journal: str | Path | None = None,
    resume: bool = False,
    before_removal: Callable[[Result], None] | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Result:
    """Look inside transformers: every layer over a text, or the weights without one.

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
        Take one in so many checkpoints, or those nearest to doubled steps.
    keep, cache : int and path, optional
        How many checkpoints of the hub are on disk at a time, and where; see `CheckpointCache`.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Processes of the local engine, or actors of Ray, each with its own copy of the model; on a
        processor with one thread each. The numbers are the same with any of them. Without it the
        local engine is this process with all its threads, whose rounding in the network differs.
    on_error : {"stop", "skip"}
        Whether a file or shard that cannot be read ends the run, or is left out and counted.
    shard_texts : int, optional
        Texts that are read by one worker at a time.
    journal : path, optional
        Folder that keeps the state of the run, so that a killed one can go on; it is removed when
        the run is done.
    resume : bool
        Go on where a journal ends.
    before_removal : callable, optional
        Called with the result, before the journal goes where there is one, to write it to a file.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
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
    if journal is not None and not resume:
        refuse_unfinished(Path(journal))  # before anything is loaded
    if text is None:
        refuse_of_layers(asked, column=column, document=document)
        refuse_workers(engine, workers)
    source = None
    if text is not None:
        source = open_texts(text, column=column, document=document, on_error=on_error)
    bad = getattr(source, "bad", {})
    if source is not None and asked.sample_texts is not None:
        source = SampledTexts(source, asked.sample_texts, asked.seed)
    subjects = find_subjects(
        named, revision=revision, revisions=revisions, every=every, dtype=dtype, device=device
    )
    trained = any(isinstance(subject, Training) for subject in subjects)
    distant = ray_address(engine) is not None
    if distant:
        for subject in subjects:
            if isinstance(subject, Model):
                subject.settle(device or "cpu", dtype or "float32")

    def profile_all(kept: Journal | None, run: TextRun | None) -> Result:
        def one(model: Model) -> Result:
            if run is None:
                return weights_profile(model, asked, progress)
            return with_text(model, run, asked)

        with CheckpointCache(cache, keep) as downloads:
            open_one = partial(downloads.open, dtype=dtype, device=device)
            found = joined(
                released(subject, one, keep=subject in named)
                if isinstance(subject, Model)
                else profile_over_training(subject, one, open_one, journal=kept, progress=progress)
                for subject in subjects
            )
        if run is not None and run.skipped:
            found = replace(
                found,
                left_out={**found.left_out, **skipped_count(run.skipped)},
                extra={**found.extra, **skipped_shards(run.skipped)},
            )
        return replace(found, command=command)

    configuration = {
        "models": [described(subject, dtype, device) for subject in subjects],
        "text": None
        if source is None or journal is None
        else {"name": source.name, "files": identity_of(source), "shard_texts": shard_texts},
        "options": asked.configuration(),
    }
    worth_keeping = source is not None or trained
    with journal_while(journal if worth_keeping else None, configuration, resume=resume) as kept:
        if source is None:
            found = profile_all(kept, None)
        else:
            with open_pool(engine, workers, accelerators=on_accelerators(device)) as pool:
                run = surveyed(
                    source, pool, size=shard_texts, journal=kept, on_error=on_error,
                    progress=progress, spools=not ray_address(engine), bad=bad,
                )  # fmt: skip
                found = profile_all(kept, run)
        if before_removal is not None:
            before_removal(found)
    return found


def refuse_workers(engine: str, workers: int | None) -> None:
    """Say that only texts are read by workers."""
    if workers is not None or ray_address(engine) is not None:
        raise UsageError(
            "--engine and --workers are for reading texts; add --text, without which only weights "
            "are measured"
        )


def released(model: Model, profile_one: Callable[[Model], Result], *, keep: bool) -> Result:
    """Profile a model and let go of its network, unless the user holds the model."""
    try:
        return profile_one(model)
    finally:
        if not keep:
            model.release()


def with_text(model: Model, run: TextRun, options: ProfileOptions) -> Result:
    """Profile the layers of one model over a text, unless the journal has the result."""
    finished = kept_result(run.journal, model.name)
    if finished is not None:
        return finished
    profile = LayerProfile(model, run, options)
    layers = profile.run()
    met = profile.met
    name = run.texts.name
    protocol = f"{met.counted:,} tokens of {met.texts:,} texts ({name}), {profile.group.rule}"
    found = layer_rows(profile, layers, protocol)
    verdict = profile_verdict(model.name, profile.group.names, found)
    left_out = {}
    if met.truncation.texts:
        left_out[f"tokens of {met.truncation.texts:,} texts beyond the limit"] = (
            met.truncation.tokens
        )
    if met.tokens > met.counted:
        left_out["tokens that do not count"] = met.tokens - met.counted
    if options.max_norm_multiple is not None:
        most = max(layer.massive for layer in layers)
        left_out[f"tokens above {options.max_norm_multiple:g} median lengths, at most a layer"] = (
            most
        )
    if run.survey.blank:
        left_out["blank texts"] = run.survey.blank
    result = Result(
        with_moved(found.rows),
        found.tables,
        [verdict, *found.verdicts],
        left_out,
        {"seed": options.seed},
        versions() | {name: model.provenance[name] for name in ("transformers", "torch")},
        extra={KIND: PROFILE, "models": {model.name: model.provenance}},
    )
    keep_result(run.journal, model.name, result)
    profile.forget()
    return result
