"""Spaces that take a fitted correction: each is measured on what that makes of the cloud."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoscope.corrections.apply import CorrectedCloud
from isoscope.corrections.registry import make_correction
from isoscope.data.combine import SingleCloud
from isoscope.data.selection import RowSelection
from isoscope.measures.families.partition import log_i1
from isoscope.measures.registry import find_measure
from isoscope.measures.views import NONE
from isoscope.registry import load

if TYPE_CHECKING:
    from isoscope.data.base import CloudGroup
    from isoscope.measures.reads.request import Request
    from isoscope.measures.space import Space


def corrected_spaces(request: Request, group: CloudGroup, name: str) -> list[Space]:
    """Fit each correction that is not a view on one cloud, and describe what it makes of it."""
    if not request.fitted_names:
        return []
    cloud = SingleCloud(group, name)
    spaces = []
    for correction in request.fitted_names:
        fitted = make_correction(correction.text).fit_cloud(cloud, progress=request.progress)
        made = RowSelection(CorrectedCloud(cloud, fitted))
        ((_, found, _),) = request.of_corrected().spaces(made)
        spaces += [replace(space, correction=correction.text) for space in found.spaces]
    return spaces


def with_clusters(
    request: Request, spaces: list[Space], group: CloudGroup, name: str
) -> list[Space]:
    """Let the cloud as it is be measured within clusters, where a measure asks for it."""
    if "clusters" not in request.needs:
        return spaces
    local = LocalIsotropy(SingleCloud(group, name), request)
    return [
        replace(space, local_log_i1=local.log_i1) if space.correction == NONE else space
        for space in spaces
    ]


@dataclass(frozen=True)
class LocalIsotropy:
    """I1 of a cloud whose clusters are centred each on its own mean."""

    cloud: SingleCloud
    request: Request

    def log_i1(self, n_clusters: int, seed: int) -> float | None:
        """Cluster with a seed, centre, and take ln I1; None where there are fewer clusters."""
        progress = self.request.progress
        # By name, as it imports scikit-learn, which other measures do without.
        removal = load("isoscope.corrections.estimators.cluster_pc_removal:ClusterRemoval")
        centring = removal(n_clusters, n_components=0, random_state=self.request.seed + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the measure says it in its own words
            centring.fit_cloud(self.cloud, progress=progress)
        if centring.n_clusters_ < n_clusters:
            return None
        made = CorrectedCloud(self.cloud, centring)
        asked = replace(self.request.of_corrected(), measures=(find_measure("i1"),))
        ((_, found, _),) = asked.spaces(RowSelection(made))
        partition = found.spaces[0].partition
        assert partition is not None
        return log_i1(partition)
