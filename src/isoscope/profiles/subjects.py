"""What a profile is about: models, and trainings with their checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError
from isoscope.models.checkpoints import Training, find_training, holds_checkpoints
from isoscope.models.model import Model, open_model
from isoscope.models.runtime import library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.models.checkpoints import Every


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
        raise UsageError("--revision is one state of a model, --revisions are many; name one")
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
    trainings = [subject for subject in found if isinstance(subject, Training)]
    if every is not None and not trainings:
        raise UsageError(
            "--every chooses among checkpoints: add --revisions, or name a folder of them"
        )
    tell_apart([subject for subject in found if isinstance(subject, Model)])
    names = [subject.name if isinstance(subject, Model) else subject.model for subject in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"two models are called {twice[0]}; profile them one at a time")
    return found


def tell_apart(models: Sequence[Model]) -> None:
    """Name models after two folders where the last one is the same: a/model and b/model."""
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
