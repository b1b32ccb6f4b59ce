"""A model's configuration, read without running any code that came with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError
from isoscope.models.quantisation import quantisation_of
from isoscope.models.quiet import first_line, library, quietly
from isoscope.models.rms_final_norm import know_own
from isoscope.models.sources import CONFIG

if TYPE_CHECKING:
    from isoscope.models.sources import Source


def read_config(source: Source) -> Any:
    """Read the configuration of a model whose architecture transformers has itself."""
    if source.gguf is None:
        check_config(source)
    transformers = library("transformers")
    try:
        with quietly():
            return transformers.AutoConfig.from_pretrained(source.folder, **source.arguments)
    except Exception as error:
        if source.gguf is not None:
            quantisation_of(source.folder / source.gguf)  # which says so if the file is not whole
        raise DataError(
            f"{source.name}: its configuration cannot be used: {first_line(error)}"
        ) from error


def check_config(source: Source) -> None:
    """Refuse what transformers would refuse at length, or would run code for."""
    path = source.folder / CONFIG
    try:
        entries = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON") from error
    if not isinstance(entries, dict):
        raise DataError(f"{path} is not a model's configuration: it is no JSON object")
    kind = entries.get("model_type")
    know_own(kind)
    transformers = library("transformers")
    if kind in transformers.CONFIG_MAPPING:
        return
    # Some models bring code although transformers has their architecture by now; that one is used.
    if "auto_map" in entries:
        raise DataError(
            f"{source.name} ({kind}) is made of code that comes with it (auto_map), which isoscope "
            "never runs; choose a model whose architecture transformers has"
        )
    if kind is None:
        raise DataError(f"{path} is not a transformer's configuration: it has no model_type")
    raise DataError(
        f"{source.name}: transformers {transformers.__version__} has no architecture {kind!r}; a "
        "newer one may"
    )
