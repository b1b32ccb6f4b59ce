"""Fitted corrections in files: ``.safetensors`` with a header, never pickle.

What a correction says about itself (name, parameters, what it was fitted on) is one JSON text in
the metadata of the file. All of it stands under one name, because the library writes several names
in a random order, and the same correction should give the same bytes.

Whatever class is among ``all_corrections`` can be stored: what it learned goes through its
``state_arrays`` and ``from_state``.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.memory import check_bytes
from isoscope.corrections.fit import FittedOn
from isoscope.corrections.parameters import plain_parameters, restored_parameters
from isoscope.corrections.registry import all_corrections
from isoscope.data.base import EPSILON
from isoscope.data.formats.safetensors import METADATA, read_whole_header
from isoscope.data.location import Location, first_line, readable
from isoscope.data.output import write_atomically
from isoscope.errors import DataError, UsageError
from isoscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction
    from isoscope.typing import Arrays


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
        # First: a later format may have another checksum, and the error should say to upgrade.
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


# What a JSON value must be for each type of field.
KINDS = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int and value >= 0,
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "list[str] | None": lambda value: (
        value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))
    ),
}


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
        # Type and shape stand in front of the bytes, or two arrays of different shapes with the
        # same bytes would have one fingerprint.
        digest.update(f"\n{key} {array.dtype.name} {list(array.shape)}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()


# Bytes of memory for each byte of a file: the file, its tensors, and what is computed with.
HELD = 3

# What a class may raise over arrays that it did not write, besides TypeError and ValueError.
WRONG_STATE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError)


def save_correction(correction: Correction, path: str | Path) -> None:
    """Write a fitted correction to a file, whole or not at all."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(a, order="C") for name, a in correction.state_arrays().items()}
    check_finite(arrays, correction.records)
    metadata = {METADATA_NAME: header_of(correction, arrays).to_text()}
    write_atomically(Location(str(path)).path, save(arrays, metadata=metadata))


def load_correction(path: str | Path) -> Correction:
    """Read a correction that its method ``save`` wrote.

    Parameters
    ----------
    path : str or Path
        A file, or an address that fsspec knows.

    Returns
    -------
    Correction
        Fitted: it makes the same bits of the same vectors as the one that was saved.

    Raises
    ------
    DataError
        Where the file is not a whole, unchanged correction.
    """
    location = Location(str(path))
    header = read_header(path)
    size = location.size()
    check_bytes(
        HELD * size, f"reading {location}", f"{size:,} bytes of tensors",
        "fit a correction with fewer dimensions or components",
    )  # fmt: skip
    with readable(str(location)), location.open() as file:
        content = file.read()
    with blamed_on(location):
        return rebuilt(header, unpacked(content))


def read_header(path: str | Path) -> Header:
    """Read what a stored correction says about itself, without its arrays."""
    location = Location(str(path))
    with readable(str(location)):
        if not location.exists():
            raise UsageError(f"there is no file {location}")
        entries, _ = read_whole_header(location)
    metadata = entries.get(METADATA)
    text = metadata.get(METADATA_NAME) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise DataError(
            f"{location} is a .safetensors file, but not a correction saved by isoscope"
        )
    with blamed_on(location):
        return Header.from_text(text)


def fingerprint(correction: Correction) -> str:
    """Fingerprint of a fitted correction: the same before it is saved and after it is loaded."""
    return fingerprint_of(correction.name, plain_parameters(correction), correction.state_arrays())


def header_of(correction: Correction, arrays: Arrays) -> Header:
    """Describe a fitted correction."""
    names = getattr(correction, "feature_names_in_", None)
    parameters, seen = plain_parameters(correction), correction.fitted_on_
    return Header(
        name=correction.name,
        parameters=parameters,
        renormalize=bool(correction.renormalize),
        width_in=int(correction.n_features_in_),
        width_out=correction._output_width,
        rows=seen.rows,
        dtype=seen.dtype,
        unit_length=seen.unit_length,
        fitted_on=seen.fingerprint,
        fingerprint=fingerprint_of(correction.name, parameters, arrays),
        feature_names=None if names is None else [str(name) for name in names],
    )


def rebuilt(header: Header, arrays: Arrays) -> Correction:
    """Make a correction of a header and arrays, and check that they belong together."""
    kind = all_corrections().get(header.name)
    if kind is None:
        raise DataError(
            f"it holds the correction {header.name!r:.80}, written by isoscope "
            f"{header.isoscope_version!s:.40}, which isoscope {__version__} does not know"
        )
    if header.fingerprint != fingerprint_of(header.name, header.parameters, arrays):
        raise DataError("it was changed or damaged: its tensors do not match their fingerprint")
    check_finite(arrays, kind.records)
    parameters = restored_parameters(kind, header.parameters)
    # What was fitted on is not among the arrays of every correction: it comes from the header.
    correction = kind.from_state(parameters, arrays)
    if header.feature_names is not None:
        correction.feature_names_in_ = np.array(header.feature_names, dtype=object)
    correction._fitted_on = FittedOn(
        header.rows, header.dtype, header.unit_length, header.fitted_on
    )
    check_agreement(correction, header)
    # What a correction keeps is all that it was given: a tensor that it does not know, or of a type
    # that it has changed, is not of its own making.
    if fingerprint(correction) != header.fingerprint:
        raise DataError("it holds tensors that isoscope did not write for this correction")
    return correction


def check_agreement(correction: Correction, header: Header) -> None:
    """Refuse a correction that is not what its header says, or that cannot be applied."""
    with np.errstate(all="ignore"):
        if header.feature_names is not None and len(header.feature_names) != header.width_in:
            raise DataError(
                "the number of feature names in its header is not its number of dimensions"
            )
        if correction.n_features_in_ != header.width_in:
            raise DataError(
                f"its header says {header.width_in} dimensions, its tensors "
                f"{correction.n_features_in_}"
            )
        width, zeros = correction._output_width, np.zeros((1, header.width_in))
        if width != header.width_out or correction._correct(zeros).shape != (1, width):
            raise DataError(
                f"its header says {header.width_out} dimensions after correction, its tensors "
                f"{width}"
            )
        summed = correction.state_arrays().get("moments.rows")
        if summed is not None and int(summed) != header.rows:
            raise DataError(
                f"its header says that it was fitted on {header.rows:,} vectors, its sums "
                f"{int(summed):,}"
            )
        if header.dtype not in EPSILON:
            raise DataError(f"its header names an unknown type of vectors, {header.dtype!r:.40}")
        if correction.renormalize != header.renormalize:
            raise DataError("renormalize differs between its header and its parameters")


def check_finite(arrays: Arrays, records: Collection[str]) -> None:
    """Refuse NaN and infinities in everything that is applied or merged."""
    for name, array in arrays.items():
        if name not in records and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise DataError(f"the tensor {name} holds NaN or an infinity")


def unpacked(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, each in memory of its own."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"it is truncated or damaged: {first_line(error)}") from error
    return {name: np.array(tensor) for name, tensor in tensors.items()}


@contextmanager
def blamed_on(location: Location) -> Iterator[None]:
    """Put the name of the file before what is wrong with it."""
    try:
        yield
    except UsageError as error:  # something to install
        raise UsageError(f"{location}: {error}") from error
    except DataError as error:
        raise DataError(f"{location}: {error}") from error
    except (*WRONG_STATE, TypeError, ValueError) as error:
        raise DataError(
            f"{location}: its tensors do not fit together: {first_line(error)}"
        ) from error
