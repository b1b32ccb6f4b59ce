"""Rank correlations over spaces that are not independent of each other.

Spaces of one layer under several corrections share the layer, neighbouring layers are alike, and
all layers of a model share the model. A relation is the mean over groups of spaces of Spearman's ρ
in each; with one group that is ρ itself. Its error is what leaving out a whole cluster of spaces
does, never a single space:

    s² = Σ_h (G_h − 1) / G_h Σ_g (ρ₋g − ρ̄₋h)²

over the G_h clusters of stratum h: all of them, or those of one group where groups hold several.
The interval is symmetric on Fisher's scale artanh ρ, where the error is s / (1 − ρ²), with
Student's quantile for Σ G_h − H − 1 degrees of freedom, H the number of strata. Resampling
clusters instead gives intervals that are too short where clusters are few: in simulations of 5 to
30 clusters of four spaces, percentiles of the bootstrap held the truth 75 to 95 % of the time, and
these 93 to 98 %.

Clusters of layers are runs of neighbours. What changes slowly with depth correlates with anything
else that does: of two unrelated random walks over 31 layers, 48 % of the intervals leave out 0 when
single layers are left out, and 9 % with six runs of layers. Where layers are independent, runs
make intervals a quarter longer.

References
----------
Efron & Stein (1981), The jackknife estimate of variance. Shao & Tu (1995), The jackknife and
bootstrap, ch. 6, on sample surveys. Fisher (1921), On the "probable error" of a
coefficient of correlation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import (
    FEWEST,
    ROUNDING,
    Estimate,
    check_level,
    is_constant,
    spearman_influences,
)
from isoscope.measures.registry import counted

if TYPE_CHECKING:
    from isoscope.typing import Mask, Vector


FEWEST_CLUSTERS = 5
"""Below this many clusters the spread of what leaving one out does says little."""

RUNS = 6
"""Clusters that the layers of a model make."""


def mean_rank_correlation(
    x: Vector,
    y: Vector,
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    unit: str = "layer",
    level: float = 0.95,
) -> tuple[Estimate, int]:
    """Return the mean rank correlation within groups with its interval, and how many groups count.

    Parameters
    ----------
    x, y : array
        Two numbers of every space; spaces without one (NaN) are left out.
    groups : sequence
        The group of every space. Groups in which x or y is constant have no ρ and are left out;
        of two spaces it is the sign.
    clusters : sequence
        What a space is left out with. Clusters lie within groups, or groups within clusters.
    unit : str
        What a cluster is, for notes.
    level : float
        Coverage of the interval.
    """
    check_level(level)
    usable = np.isfinite(x) & np.isfinite(y)
    members = places_of(groups)
    varying = {
        name: mask
        for name, mask in members.items()
        if rank_correlation(x, y, mask & usable) is not None
    }
    n = int(usable.sum())
    if n < FEWEST:
        return Estimate(None, None, None, n, f"undefined: fewer than {FEWEST} spaces"), 0
    if not varying:
        alone = all((mask & usable).sum() < 2 for mask in members.values())
        why = "no two spaces to compare" if alone else "score or isotropy is the same everywhere"
        return Estimate(None, None, None, n, f"undefined: {why}"), 0
    kept = usable & np.logical_or.reduce(list(varying.values()))
    value = mean_over(x, y, list(varying.values()), kept)
    n = int(kept.sum())
    if value is None or n < FEWEST:
        return Estimate(None, None, None, n, f"undefined: fewer than {FEWEST} spaces"), 0
    low, high, why = interval(x, y, varying, clusters, kept, value, unit, level)
    notes = [why] if why else []
    if len(usable) > int(usable.sum()):
        without = len(usable) - int(usable.sum())
        notes.append(f"{counted(without, 'space')} without score or isotropy left out")
    return Estimate(value, low, high, n, "; ".join(notes)), len(varying)


def interval(
    x: Vector,
    y: Vector,
    groups: dict[Hashable, Mask],
    clusters: Sequence[Hashable],
    kept: Mask,
    value: float,
    unit: str,
    level: float,
) -> tuple[float | None, float | None, str]:
    """Return both ends of the interval, or why there is none."""
    masks = {name: mask & kept for name, mask in places_of(clusters).items() if (mask & kept).any()}
    if len(masks) < FEWEST_CLUSTERS:
        return None, None, f"no interval from fewer than {counted(FEWEST_CLUSTERS, unit)}"
    if 1 - abs(value) < ROUNDING:
        return None, None, "no interval around a perfect correlation"
    strata = strata_of(groups, masks)
    left: dict[Hashable, list[float]] = {}
    for name, mask in masks.items():
        rest = kept & ~mask
        without = mean_over(x, y, list(groups.values()), rest) if rest.any() else None
        if without is None:
            return None, None, f"no interval: undefined without some {unit}s"
        left.setdefault(strata[name], []).append(without)
    if any(len(found) < 2 for found in left.values()):
        return None, None, f"no interval: a group with one {unit} tells no error"
    variance = sum(
        (len(found) - 1) / len(found) * float(np.sum((np.array(found) - np.mean(found)) ** 2))
        for found in left.values()
    )
    if variance <= ROUNDING**2:
        return None, None, f"no interval: no {unit} changes the correlation"
    from scipy.special import stdtrit

    freedom = max(len(masks) - len(left) - 1, 1)
    half = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance) / (1 - value**2)
    centre = math.atanh(value)
    return math.tanh(centre - half), math.tanh(centre + half), ""


def strata_of(
    groups: dict[Hashable, Mask], clusters: dict[Hashable, Mask]
) -> dict[Hashable, Hashable]:
    """Return the stratum of every cluster: its group where that holds several, else one for all."""
    within = {
        name: next(group for group, mask in groups.items() if (mask & places).any())
        for name, places in clusters.items()
    }
    inside = all(not (clusters[name] & ~groups[group]).any() for name, group in within.items())
    sizes = Counter(within.values())
    if inside and any(size > 1 for size in sizes.values()):
        return within
    return dict.fromkeys(clusters)


def mean_over(x: Vector, y: Vector, groups: list[Mask], kept: Mask) -> float | None:
    """Return the mean of the groups' correlations; None where one that has spaces has none."""
    found = [rank_correlation(x, y, mask & kept) for mask in groups if (mask & kept).any()]
    values = [value for value in found if value is not None]
    return float(np.mean(values)) if values and len(values) == len(found) else None


def rank_correlation(x: Vector, y: Vector, chosen: Mask) -> float | None:
    """Return Spearman's ρ of some spaces, None where it is undefined."""
    first, second = x[chosen], y[chosen]
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return None
    return spearman_influences(first, second)[0]


def runs_of_layers(layers: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Return the run of neighbours that each layer of a model belongs to.

    Layers are neighbours in the order in which they first appear; runs are as equal as can be.
    """
    in_order: dict[str, list[str]] = {}
    for model, layer in dict.fromkeys(layers):
        in_order.setdefault(model, []).append(layer)
    run = {
        (model, layer): place * min(RUNS, len(names)) // len(names)
        for model, names in in_order.items()
        for place, layer in enumerate(names)
    }
    return [(model, run[model, layer]) for model, layer in layers]


def places_of(names: Sequence[Hashable]) -> dict[Hashable, Mask]:
    """Return for every name where it stands, in the order in which they first appear."""
    return {
        name: np.array([other == name for other in names], bool) for name in dict.fromkeys(names)
    }
