from __future__ import annotations

import json

from typer.testing import CliRunner

import isoscope
from isoscope.cli.app import app

NAMES = {
    "mean_cosine", "cosine_quantiles", "cosine_density", "mean_offset", "mean_norm", "norm_of_mean",
    "mean_alignment", "i1", "i1_symmetric", "i1_scaled", "i2", "top_variance_share",
    "effective_rank", "participation_ratio", "iso_score", "outlier_dimensions",
    "dead_dimensions", "spectrum", "norm_density", "random_pair_cosine", "uniformity", "hubness",
    "intrinsic_dimension", "local_i1",
}  # fmt: skip
OF_LAYERS = {
    "intra_sim", "self_similarity", "intra_sentence_similarity", "max_explainable_variance",
    "massive_activations", "persistence",
}  # fmt: skip


def test_every_measure_is_listed_with_all_that_is_known() -> None:
    output = CliRunner().invoke(app, ["list", "measures", "--json"]).output
    everything = json.loads(output)
    assert {item["name"] for item in everything if item.get("of") == "layers"} == OF_LAYERS
    listed = [item for item in everything if "of" not in item]
    assert {item["name"] for item in listed} == NAMES
    assert {item["name"] for item in listed if item["length_dependent"]} == {
        "i1", "i1_symmetric", "i2", "mean_norm", "norm_of_mean", "norm_density", "spectrum",
        "local_i1",
    }  # fmt: skip
    for item in listed:
        assert item["formula"]
        assert item["reference"]
        assert item["table"] or bool(item["interval"]) != bool(item["no_interval"])
    assert listed[0]["name"] == "mean_cosine"
    assert listed[0]["alias"] == "inter_sim"


def test_for_people() -> None:
    output = CliRunner().invoke(app, ["list", "measures"]).output
    for item in isoscope.all_measures():
        assert item.name in output
