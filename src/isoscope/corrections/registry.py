"""Corrections by name, as the command line writes them: ``whiten:kind=zca``.

A class is imported when it is looked for, as scikit-learn takes a second. So corrections that are
views of the two reads, which need no class, cost nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError, unknown_name
from isoscope.measures.views import CorrectionName, is_view, parse_correction
from isoscope.registry import load
from isoscope.spec import as_text, chosen_options, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.corrections.base import Correction

# Where every correction is, in the order in which they are listed. The next one is a line here.
CLASSES = {
    "center": "isoscope.corrections.estimators.center:Center",
    "center-scaled": "isoscope.corrections.estimators.center_scaled:ScaledCenter",
    "all-but-the-top": "isoscope.corrections.estimators.all_but_the_top:AllButTheTop",
    "cluster-pc-removal": "isoscope.corrections.estimators.cluster_pc_removal:ClusterRemoval",
    "whiten": "isoscope.corrections.estimators.whiten:Whiten",
    "clip": "isoscope.corrections.estimators.clip:Clip",
    "standardize": "isoscope.corrections.estimators.standardize:Standardize",
    "flow": "isoscope.corrections.estimators.flow:Flow",
}


def all_corrections() -> dict[str, type[Correction]]:
    """Return the class of every correction under its name."""
    return {name: load(place) for name, place in CLASSES.items()}


def make_correction(text: str) -> Correction:
    """Build a correction from ``name`` or ``name:option=value:option=value``.

    Options are the parameters of its class; a list of numbers is written ``127+223+319``.

    Parameters
    ----------
    text : str
        Such as ``whiten:kind=zca`` or ``all-but-the-top:n_components=8:renormalize=true``.

    Returns
    -------
    Correction
        The correction, not fitted yet.

    Examples
    --------
    >>> from isoscope.corrections import make_correction
    >>> make_correction("all-but-the-top:n_components=8")
    AllButTheTop(n_components=8)
    """
    name, *pairs = text.strip().split(":")
    if name not in CLASSES:
        raise unknown_name("correction", name, CLASSES)
    kind: type[Correction] = load(CLASSES[name])
    correction = kind(**chosen_options(f"correction {text!r}", name, pairs, kind().get_params()))
    correction._check_params()
    return correction


def parse_corrections(texts: Sequence[str]) -> tuple[CorrectionName, ...]:
    """Take a list of corrections apart, without repeats, in the order given."""
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"corrections must be names, such as 'whiten:kind=zca', got {text!r}")
    parsed = {text.strip(): parse(text.strip()) for text in texts}
    if not parsed:
        raise UsageError("name at least one correction; 'none' measures the cloud as it is")
    return tuple(parsed.values())


def parse(text: str) -> CorrectionName:
    """Take one correction apart and check its options as far as that goes without a cloud."""
    if is_view(text):
        return parse_correction(text)
    make_correction(text)
    name, *pairs = text.split(":")
    return CorrectionName(text, name, dict(pair.split("=", 1) for pair in pairs))


def text_of(correction: Correction) -> str:
    """Write a correction as ``make_correction`` takes it; options that were chosen, by name."""
    defaults = type(correction)().get_params(deep=False)
    options = correction.get_params(deep=False)
    # Compared as text: lists of numbers have no truth of their own.
    chosen: dict[str, Any] = {
        name: value for name, value in options.items() if as_text(value) != as_text(defaults[name])
    }
    return with_options(correction.name, chosen)


def names_from_sums() -> str:
    """Return the names of all corrections that follow from sums, with commas."""
    return ", ".join(name for name, kind in all_corrections().items() if kind.from_sums)
