from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.errors import DataError, UsageError


@pytest.fixture
def result() -> isoscope.Result:
    return isoscope.measure(shifted(0, 60, 5), command="isoscope measure x.npy")


def test_json_round_trip(result: isoscope.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "r.json")
    again = isoscope.Result.load(tmp_path / "r.json")
    assert again == result
    values = json.loads(result.to_json())
    assert values["schema_version"] == 2
    assert values["command"] == "isoscope measure x.npy"
    assert {"isoscope", "numpy", "python"} <= values["versions"].keys()
    fields = {"subject", "part", "correction", "measure", "value", "log10", "low", "high"}
    assert fields | {"n", "protocol", "note"} <= values["rows"][0].keys()


def test_unknown_fields_survive(result: isoscope.Result) -> None:
    values = json.loads(result.to_json())
    values["weather"] = "fine"
    values["rows"][0]["colour"] = "blue"
    values["tables"][0]["shape"] = [1, 2]
    again = json.loads(isoscope.Result.from_json(json.dumps(values)).to_json())
    assert again == values


def test_a_value_too_small_for_a_double_is_zero_with_its_logarithm() -> None:
    cloud = shifted(0, 60, 3)
    cloud[:, 1] += 5_000
    row = json.loads(isoscope.measure(cloud, ["i1"], ["none"]).to_json())["rows"][0]
    assert row["value"] == 0
    assert row["log10"] == pytest.approx(-5_000 / np.log(10), rel=0.01)
    assert row["sign_low"] == 0
    assert row["sign_low_log10"] <= row["log10"] <= row["sign_high_log10"]


def test_infinities_become_null() -> None:
    row = isoscope.Row("a", "", "none", "x", float("nan"), high=float("inf"))
    values = json.loads(isoscope.Result([row]).to_json())["rows"][0]
    assert values["value"] is None
    assert values["high"] is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 1}', "not json"])
def test_what_is_not_a_result(text: str) -> None:
    with pytest.raises(DataError):
        isoscope.Result.from_json(text)


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(DataError, match="schema version 99"):
        isoscope.Result.from_json('{"schema_version": 99, "rows": []}')


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        isoscope.Result.load(tmp_path / "absent.json")


def test_rows_and_data_frame(result: isoscope.Result) -> None:
    frame = result.to_pandas()
    assert len(frame) == len(result.rows) == len(result.to_rows()) == len(result)
    assert set(frame["correction"]) == {"none", "center", "all-but-the-top", "whiten"}


def test_markdown_marks_length(result: isoscope.Result) -> None:
    text = result.to_markdown()
    assert "| measure | none | center | all-but-the-top | whiten |" in text
    assert "| i1 \\* |" in text
    assert "| i1_scaled |" in text
    assert "\\* changes with the norm" in text
    assert "Verdict:" in text


def test_html_is_escaped() -> None:
    row = isoscope.Row("<script>", "", "none", "mean_cosine", 0.5, n=3)
    html = isoscope.Result([row])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_repr_is_readable(result: isoscope.Result) -> None:
    lines = repr(result).splitlines()
    assert lines[0].startswith("array: 60 vectors")
    assert lines[2].split()[0] == "mean_cosine"


def test_tables_alone_are_shown_too() -> None:
    result = isoscope.measure(shifted(0, 60, 5), ["spectrum", "outlier_dimensions"], ["none"])
    assert "spectrum (none): 5 rows" in repr(result)
    assert "| component |" in result.to_markdown()
    assert "<caption>spectrum" in result._repr_html_()
    assert "Verdict:" in repr(result)


def test_lookup_by_alias(result: isoscope.Result) -> None:
    assert result.value("inter_sim") == result.value("mean_cosine")


def test_lookup_errors(result: isoscope.Result) -> None:
    with pytest.raises(KeyError, match="no row for i3"):
        result.value("i3")
    with pytest.raises(KeyError, match="no table"):
        result.table("nothing")
