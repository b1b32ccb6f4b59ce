"""What a stored correction says about itself, as JSON in the metadata of its ``.safetensors`` file.

All of it stands under one name: the library writes several in a random order, and the same
correction should give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

METADATA_NAME = "isoscope_correction"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Header:
    """Everything about a fitted correction that is not an array."""

    name: str
    parameters: dict[str, Any]
    renormalize: bool
    width_in: int
    width_out: int
    rows: int
    """Vectors that it was fitted on."""
    dtype: str
    """Type in which they were stored."""
    unit_length: bool
    """Whether they all had length 1."""
    fitted_on: str
    """Fingerprint of those vectors."""
    fingerprint: str
    """Fingerprint of the correction: SHA-256 of its name, parameters and arrays."""
    feature_names: list[str] | None = None
    isoscope_version: str = __version__
    format_version: int = FORMAT_VERSION

    def to_text(self) -> str:
        """Write as JSON with a checksum over everything; the fingerprint in it covers arrays."""
        values = asdict(self)
        return canonical({**values, "checksum": checksum(values)})

    @classmethod
    def from_text(cls, text: str) -> Header:
        """Read and check what ``to_text`` wrote; a ``DataError`` says what is wrong."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError("its header is not JSON") from error
        if not isinstance(values, dict):
            raise DataError("its header is not a JSON object")
        check_version(values)
        found = values.pop("checksum", None)
        if found != checksum(values):
            raise DataError("its header was changed or damaged: the checksum does not match")
        names = {field.name for field in fields(cls)}
        if values.keys() != names:
            wrong = sorted(values.keys() ^ names)
            raise DataError(f"its header lacks fields or has unknown ones: {', '.join(wrong)}")
        for field in fields(cls):
            if not KINDS[str(field.type)](values[field.name]):
                raise DataError(f"{field.name} in its header is {values[field.name]!r:.80}")
        return cls(**values)


KINDS = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int and value >= 0,
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "list[str] | None": lambda value: (
        value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))
    ),
}
"""What a JSON value must be for each type of field."""


def check_version(values: Mapping[str, Any]) -> None:
    """Refuse formats of later versions, before anything in them is trusted."""
    version = values.get("format_version")
    if type(version) is not int or version < 1:
        raise DataError("its header names no format version")
    if version > FORMAT_VERSION:
        raise DataError(
            f"it has format {version}, written by isoscope {values.get('isoscope_version')}, and "
            f"isoscope {__version__} reads up to {FORMAT_VERSION}; upgrade isoscope"
        )


def checksum(values: Mapping[str, Any]) -> str:
    """SHA-256 of a header without its checksum."""
    return hashlib.sha256(canonical(values).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(values: Mapping[str, Any]) -> str:
    """JSON that is the same for the same values."""
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def fingerprint_of(
    name: str, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> str:
    """SHA-256 of all that decides what a correction does, and of what it keeps to be refreshed."""
    digest = hashlib.sha256(canonical({"name": name, "parameters": parameters}).encode())
    for key in sorted(arrays):
        array = np.asarray(arrays[key], order="C")
        digest.update(f"\n{key} {array.dtype.name} {list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()
