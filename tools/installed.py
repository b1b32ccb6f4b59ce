"""What a requirement pulls in, according to the metadata of the installed distributions."""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def dependencies(*requirements: str) -> dict[str, Distribution]:
    """Return the distributions that some requirements need, themselves included, by name.

    Environment markers are evaluated for this machine. A distribution that is needed but not
    installed is an error, since nothing could be said about its own dependencies.
    """
    found: dict[str, Distribution] = {}
    extras_seen: dict[str, set[str]] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        seen = extras_seen.setdefault(name, set())
        # The empty extra stands for the distribution itself.
        new = ({""} | requirement.extras) - seen
        if not new:
            continue
        seen |= new
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is needed by {requirements}, but is not installed") from None
        for text in found[name].requires or []:
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in new):
                waiting.append(needed)
    return found
