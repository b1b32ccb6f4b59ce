"""The main call: profile models, with a text or without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.clouds.texts import TextSource, open_texts
from isoscope.engines.journal import Journal
from isoscope.errors import UsageError
from isoscope.models.opening import Model, open_model
from isoscope.profiles.layers import LayerProfile
from isoscope.profiles.request import ProfileOptions
from isoscope.profiles.rows import layer_rows, with_moved
from isoscope.results.joining import joined
from isoscope.results.measuring import versions
from isoscope.results.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.clouds.texts import TextSurvey
    from isoscope.measures.reading import Progress

KIND, PROFILE = "kind", "profile"
"""Says in a result what it is, so that it is shown as such."""


def profile(
    models: Any,
    text: Any = None,
    *,
    column: str | None = None,
    document: str | None = None,
    revision: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Result:
    """Look inside transformers: every layer over a text, or the weights without one.

    Parameters
    ----------
    models : str, Path, Model or a list of them
        Anything that ``open_model`` takes.
    text : str, Path, list of str or TextSource, optional
        Anything that ``open_texts`` takes. Without it only weights are measured.
    column, document : str, optional
        Which column of a table holds the texts, and which says what document they are from.
    revision, dtype, device : str, optional
        As ``open_model`` takes them.
    journal : path, optional
        Folder that keeps the state of the run, so that a killed one can go on; it is removed when
        the run is done.
    resume : bool
        Go on where a journal ends.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    command : str
        Kept in the result, so that it can be made again.
    **options
        What ``ProfileOptions`` describes: ``measures``, ``corrections``, ``layers``,
        ``special_tokens``, ``skip_first``, ``max_norm_multiple``, ``subwords``, ``longest``,
        ``budget``, ``spool_limit``, ``group_limit``, ``intervals``, ``seed``.

    Returns
    -------
    Result
        A row per model, layer or tensor, correction and measure.
    """
    named = list(models) if isinstance(models, list | tuple) else [models]
    if not named:
        raise UsageError("name at least one model")
    asked = ProfileOptions(**options)
    source = None if text is None else open_texts(text, column=column, document=document)
    opened = [
        model
        if isinstance(model, Model)
        else open_model(model, revision=revision, dtype=dtype, device=device)
        for model in named
    ]
    if source is None:
        raise NotImplementedError
    survey = source.survey()
    results = [
        with_text(model, source, survey, asked, folder=journal, resume=resume, progress=progress)
        for model in opened
    ]
    return replace(joined(results), command=command)


def with_text(
    model: Model,
    texts: TextSource,
    survey: TextSurvey,
    options: ProfileOptions,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Profile the layers of one model over a text."""
    configuration = {
        "model": model.name,
        "weights": model.provenance,
        "text": texts.name,
        "text sha256": survey.sha256,
        **options.configuration(),
    }
    journal = None if folder is None else Journal.open(folder, configuration, resume=resume)
    run = LayerProfile(
        model, texts, options, total=survey.texts, journal=journal, progress=progress
    )
    layers = run.run()
    met = run.group.so_far
    protocol = f"{met.counted:,} tokens of {met.texts:,} texts ({texts.name}), {run.group.rule}"
    found = layer_rows(run, layers, protocol)
    left_out = {}
    if met.truncation.texts:
        left_out[f"tokens of {met.truncation.texts:,} texts beyond the limit"] = (
            met.truncation.tokens
        )
    if met.tokens > met.counted:
        left_out["tokens that do not count"] = met.tokens - met.counted
    if survey.blank:
        left_out["blank texts"] = survey.blank
    if journal is not None:
        journal.remove()
    return Result(
        with_moved(found.rows),
        found.tables,
        found.verdicts,
        left_out,
        {"seed": options.seed},
        versions() | {name: model.provenance[name] for name in ("transformers", "torch")},
        extra={KIND: PROFILE, "models": {model.name: model.provenance}},
    )
