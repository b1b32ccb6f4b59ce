"""What is tried: every correction, with the settings that it may choose between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.corrections.named import NONE, NamedCorrection, named
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


FLOW = "flow"

SETTINGS: dict[str, tuple[str, ...]] = {
    "clip": ("clip", "clip:by=length"),
    "center": ("center",),
    "center-scaled": ("center-scaled",),
    "standardize": ("standardize",),
    "all-but-the-top": tuple(
        f"all-but-the-top:n_components={count}" for count in (1, 2, 3, 5, 8, 15)
    ),
    "whiten": ("whiten", *(f"whiten:n_components={count}" for count in (256, 128, 64, 32))),
    "cluster-pc-removal": tuple(
        f"cluster-pc-removal:n_clusters={clusters}:n_components={count}"
        for clusters, count in ((5, 1), (10, 3), (27, 12))
    ),
    FLOW: (FLOW,),
}
"""The settings of every correction, by how much a correction stores and changes, least first: of
two that are as good, the earlier one is recommended."""


@dataclass(frozen=True)
class Candidate:
    """A correction with the settings that are tried; one is chosen inside each fold."""

    name: str
    settings: tuple[NamedCorrection, ...]

    @property
    def rank(self) -> int:
        """How simple it is among all corrections; those of somebody else's come last."""
        names = list(SETTINGS)
        plain = self.name.split(" ")[0]
        # A centre for each side is one more thing to store and to keep up to date.
        return 2 * (names.index(plain) if plain in names else len(names)) + (plain != self.name)


def candidates(
    given: Iterable[str] | None, width: int, *, flow: bool = False
) -> tuple[Candidate, ...]:
    """Make candidates of names, or of all corrections.

    Parameters
    ----------
    given : iterable of str, optional
        Names of corrections; one with options, such as ``whiten:n_components=64``, is tried as it
        stands. By default all but the flow.
    width : int
        Number of dimensions: settings that need more are left out.
    flow : bool
        Whether the flow is among the default ones; it takes minutes.
    """
    if given is None:
        names = [name for name in SETTINGS if flow or name != FLOW]
    else:
        names = [name.strip() for name in given if name.strip() and name.strip() != NONE]
    if not names:
        raise UsageError("name at least one correction to try, besides 'none'")
    found = []
    for name in dict.fromkeys(names):
        options = named(SETTINGS.get(name, (name,)))
        fitting = tuple(one for one in options if fits(one, width))
        found.append(Candidate(name, fitting or options[:1]))
    return tuple(found)


def fits(correction: NamedCorrection, width: int) -> bool:
    """Whether a setting leaves something of vectors of this width."""
    count = getattr(correction.transformer, "n_components", None)
    return not isinstance(count, int) or count < width


def settings_of(tried: Iterable[Candidate]) -> list[NamedCorrection]:
    """Return every setting that is tried."""
    return [one for candidate in tried for one in candidate.settings]
