"""Which reader a file's ending calls for, or why none does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.clouds.location import Location

Opener = TypeVar("Opener")


@dataclass(frozen=True)
class Format(Generic[Opener]):
    """How files with some ending are opened."""

    opener: Opener
    streamed: bool = False
    """Read from front to back, so that it may be compressed as well."""


def opener_of(
    location: Location, formats: Mapping[str, Format[Opener]], packaged: Iterable[str]
) -> Opener:
    """Return the opener for a file that is there.

    Parameters
    ----------
    location : Location
        The file.
    formats : mapping of str to Format
        What every ending means.
    packaged : iterable of str
        What can be opened without a file, for the message that there is none.
    """
    if not location.is_remote and location.path.is_dir():
        inside = sorted(p.name for p in location.path.iterdir() if p.suffix in formats)
        held = f"; in it: {', '.join(inside[:5])}" if inside else ""
        raise UsageError(f"{location} is a folder; name a file{held}")
    if not location.exists():
        raise UsageError(
            f"there is no file {location}; to try isoscope without one: {', '.join(packaged)}"
        )
    found = formats.get(location.ending)
    if found is None:
        raise UsageError(
            f"{location}: isoscope does not read {location.ending or 'files without an ending'}; "
            f"it reads {', '.join(formats)}"
        )
    if location.compression and not found.streamed:
        raise UsageError(
            f"{location}: a {location.ending} file is read by seeking in it, which "
            f"{location.compression} does not allow; decompress it first"
        )
    return found.opener
