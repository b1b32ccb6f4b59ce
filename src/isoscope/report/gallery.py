"""Every kind of figure, in the order in which a page shows them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from isoscope.report.figures.advice import advice_figures
from isoscope.report.figures.calibration_cost import calibration_figures
from isoscope.report.figures.claims import claim_figures
from isoscope.report.figures.cluster_contents import cluster_figures
from isoscope.report.figures.cosine_distribution import cosine_distribution_figures
from isoscope.report.figures.coverage import coverage_figures
from isoscope.report.figures.frequency_bands import frequency_band_figures
from isoscope.report.figures.layers import layer_figures
from isoscope.report.figures.mean_vectors import mean_vector_figures
from isoscope.report.figures.norm_densities import norm_density_figures
from isoscope.report.figures.norm_ranks import norm_rank_figures
from isoscope.report.figures.norm_weights import norm_figures
from isoscope.report.figures.outlier_heat_map import outlier_figures
from isoscope.report.figures.position_contributions import contribution_figures
from isoscope.report.figures.printed_numbers import printed_figures
from isoscope.report.figures.probes import probe_figures
from isoscope.report.figures.projections import projection_figures
from isoscope.report.figures.random_pairs import random_pair_figures
from isoscope.report.figures.score_against_isotropy import isotropy_figures
from isoscope.report.figures.search_recall import search_figures
from isoscope.report.figures.spectrum import spectrum_figures
from isoscope.report.figures.structure_shares import structure_figures
from isoscope.report.figures.task_scores import task_score_figures
from isoscope.report.figures.training_curves import training_figures
from isoscope.report.figures.unused_bins import unused_bin_figures
from isoscope.report.figures.verb_distances import verb_figures

if TYPE_CHECKING:
    from isoscope.report.figure import Figure, Maker
    from isoscope.results.result import Result

MAKERS: tuple[Maker, ...] = (
    claim_figures,
    printed_figures,
    cosine_distribution_figures,
    random_pair_figures,
    advice_figures,
    task_score_figures,
    isotropy_figures,
    search_figures,
    layer_figures,
    projection_figures,
    spectrum_figures,
    outlier_figures,
    mean_vector_figures,
    norm_density_figures,
    norm_figures,
    norm_rank_figures,
    probe_figures,
    contribution_figures,
    frequency_band_figures,
    unused_bin_figures,
    coverage_figures,
    cluster_figures,
    structure_figures,
    verb_figures,
    training_figures,
    calibration_figures,
)
"""Verdicts of studies first, then what a user feels (cosines, scores), then causes."""


def figures_of(*results: Result) -> list[Figure]:
    """Draw all that results have data for; names of files are told apart over all of them."""
    found: list[Figure] = []
    taken: set[str] = set()
    for figure in (one for result in results for make in MAKERS for one in make(result)):
        numbered = (figure.name if k == 1 else f"{figure.name}-{k}" for k in count(1))
        name = next(name for name in numbered if name not in taken)
        taken.add(name)
        found.append(replace(figure, name=name))
    return found
