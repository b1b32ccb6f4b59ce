"""From which quantisation a GGUF file is dequantised."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError
from isoscope.models.quiet import library

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = ("F64", "F32", "F16", "BF16")
"""Types of tensors that are not quantised."""


def quantisation_of(path: Path) -> str:
    """Describe how the tensors of a GGUF file are stored, the commonest type first."""
    gguf = library("gguf")
    try:
        reader = gguf.GGUFReader(str(path))
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise DataError(f"{path} is not a whole GGUF file: {error}") from error
    counts = Counter(str(tensor.tensor_type.name) for tensor in reader.tensors)
    listed = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    listed = f"tensors: {listed}"
    if set(counts) <= set(WHOLE):
        return f"none ({listed})"
    field = reader.get_field("general.file_type")
    names = {int(kind): kind.name for kind in gguf.LlamaFileType}
    common = next(kind for kind, _ in counts.most_common() if kind not in WHOLE)
    kind = common if field is None else names.get(int(field.contents()), common)
    return f"dequantised from {kind.removeprefix('MOSTLY_')} ({listed})"


def dequantised(path: Path, name: str) -> Any:
    """Read one tensor of a GGUF file that is stored row by row, such as the unembedding."""
    gguf, torch = library("gguf"), library("torch")
    reader = gguf.GGUFReader(str(path))
    found = next((tensor for tensor in reader.tensors if tensor.name == name), None)
    if found is None:
        raise DataError(f"{path} has no {name}")
    rows = gguf.quants.dequantize(found.data, found.tensor_type)
    return torch.from_numpy(rows.astype("float32"))
