"""What a user names as a subject of a study: a file of vectors, or a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.formats.packages import PACKAGES, PREFIX
from isoscope.data.location import Location
from isoscope.data.open import FORMATS, open_cloud
from isoscope.studies.render import MODELS

if TYPE_CHECKING:
    from isoscope.data.base import CloudGroup
    from isoscope.models.model import Model
    from isoscope.studies.registry import Request, Subject


HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")


def open_vectors(subject: Subject, column: str | None) -> CloudGroup:
    """Open a cloud, or a model's input embedding with all its rows, as Biś et al. have them."""
    if not names_a_model(subject.source):
        return open_cloud(subject.source, column=column)
    return open_subject(subject).embedding_cloud("input", padding_rows=True)


def open_subject(subject: Subject, request: Request | None = None) -> Model:
    """Open the model that a subject names, to compute as a request says."""
    from isoscope.models.model import Model, open_model  # imports transformers

    source = subject.source
    if isinstance(source, Model):
        return source
    if request is None:
        return open_model(str(source))
    return open_model(str(source), dtype=request.dtype, device=request.device)


def names_a_model(source: Any) -> bool:
    """Whether a source is a model rather than vectors; what nobody knows may be on the hub."""
    if not isinstance(source, str | Path):
        return hasattr(source, "embedding_cloud")
    text = str(source)
    if text.startswith(PREFIX):
        return text.removeprefix(PREFIX) not in PACKAGES
    path = Path(text).expanduser()
    if path.exists():
        return path.is_dir() or path.suffix.lower() == ".gguf"
    location = Location(text)
    known = location.ending in FORMATS or bool(location.compression)
    return not known and HUB_ID.fullmatch(text) is not None


def provenance_of(*models: Model) -> dict[str, Any]:
    """Return where the weights of models come from, as results keep it."""
    return {MODELS: {model.name: model.provenance for model in models}}
