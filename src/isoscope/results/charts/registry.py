"""Every kind of figure, in the order in which a page shows them.

Modules are known by name only and loaded when a page is made.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count

from isoscope.registry import load
from isoscope.results.charts.chart import Figure, Maker
from isoscope.results.result import Result

# Verdicts of studies first, then what a user feels (cosines, scores), then causes.
MAKERS = (
    "isoscope.verbs.study.charts:claim_figures",
    "isoscope.verbs.study.charts:printed_figures",
    "isoscope.verbs.measure.charts:cosine_distribution_figures",
    "isoscope.verbs.threshold.charts:random_pair_figures",
    "isoscope.verbs.advise.charts:advice_figures",
    "isoscope.verbs.evaluate.charts:task_score_figures",
    "isoscope.verbs.evaluate.charts:isotropy_figures",
    "isoscope.verbs.measure.search.charts:search_figures",
    "isoscope.verbs.profile.charts.layers:layer_figures",
    "isoscope.verbs.measure.charts:projection_figures",
    "isoscope.verbs.measure.charts:spectrum_figures",
    "isoscope.verbs.profile.charts.outliers:outlier_figures",
    "isoscope.verbs.explain.charts.layers:mean_vector_figures",
    "isoscope.verbs.measure.charts:norm_density_figures",
    "isoscope.verbs.profile.charts.outliers:norm_figures",
    "isoscope.verbs.profile.charts.outliers:norm_rank_figures",
    "isoscope.verbs.explain.charts.layers:probe_figures",
    "isoscope.verbs.explain.charts.layers:contribution_figures",
    "isoscope.verbs.explain.charts.frequency:frequency_band_figures",
    "isoscope.verbs.explain.charts.frequency:unused_bin_figures",
    "isoscope.verbs.explain.charts.frequency:coverage_figures",
    "isoscope.verbs.explain.charts.groups:cluster_figures",
    "isoscope.verbs.explain.charts.groups:structure_figures",
    "isoscope.verbs.explain.charts.groups:verb_figures",
    "isoscope.verbs.train.charts:training_figures",
    "isoscope.verbs.train.charts:calibration_figures",
)


@cache
def makers() -> tuple[Maker, ...]:
    """Return the functions that draw, loaded."""
    return tuple(map(load, MAKERS))


def figures_of(*results: Result) -> list[Figure]:
    """Draw all that results have data for; names of files are told apart over all of them."""
    found: list[Figure] = []
    taken: set[str] = set()
    for figure in (one for result in results for make in makers() for one in make(result)):
        # Two results may have a figure of the same name: the second one is NAME-2.
        numbered = (figure.name if k == 1 else f"{figure.name}-{k}" for k in count(1))
        name = next(name for name in numbered if name not in taken)
        taken.add(name)
        found.append(replace(figure, name=name))
    return found
