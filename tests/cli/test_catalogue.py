from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isoscope.cli.app import app
from isoscope.cli.catalogue import FAMILIES
from isoscope.cli.contents import contents
from isoscope.errors import UsageError
from isoscope.results.screen.cells import width

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


@pytest.mark.parametrize("kind", ["measures", "corrections", "tasks"])
@pytest.mark.parametrize("columns", [80, 120, 200])
def test_every_list_fits_a_screen_and_names_all(
    monkeypatch: pytest.MonkeyPatch, kind: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    output = CliRunner().invoke(app, ["list", kind]).output
    lines = output.splitlines()
    assert len(lines) <= 40
    assert max(map(width, lines)) <= columns
    for item in contents()[kind]:
        assert item.get("name", item.get("written")) in output


def test_wide_terminals_show_more_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    output = CliRunner().invoke(app, ["list", "measures"]).output
    for item in contents()["measures"]:
        assert all(item[key] in output for key in ("title", "symbol", "range", "when"))


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("measures", "hubness", "formula: skewness"),
        ("corrections", "whiten", "options: kind=pca"),
        ("tasks", "sts-b", "licence: "),
    ],
)
def test_one_of_a_list_is_shown_in_full(kind: str, name: str, shown: str) -> None:
    output = CliRunner().invoke(app, ["list", kind, name]).output
    assert shown in output
    assert name in output.splitlines()[4 if kind == "measures" else 0]
    assert [item["name"] for item in json.loads(
        CliRunner().invoke(app, ["list", kind, name, "--json"]).output
    )] == [name]  # fmt: skip


def test_what_is_not_listed_is_refused() -> None:
    with pytest.raises(UsageError, match="no task is called 'sts-x'; did you mean sts-b"):
        CliRunner().invoke(app, ["list", "tasks", "sts-x"], catch_exceptions=False)


def test_tasks_that_a_folder_lacks_are_named(tmp_path: Path) -> None:
    output = CliRunner().invoke(app, ["list", "tasks", "--data", str(tmp_path)]).output
    assert "has none of them" in " ".join(output.split())


def test_every_family_of_tasks_has_its_place() -> None:
    named = [item for item in contents()["tasks"] if "written" not in item]
    assert {item["family"] for item in named} == set(FAMILIES)
