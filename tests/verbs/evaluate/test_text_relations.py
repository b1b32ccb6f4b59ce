"""Isotropy against scores, as people see it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from relations_for_tests import evaluation

from isoscope.results.result import Result, load_results
from isoscope.verbs.evaluate.relation import relate
from isoscope.verbs.report.api import report

NOISE = np.random.default_rng(0).standard_normal((2, 8, 4))


@pytest.fixture
def result() -> Result:
    constant = np.full((4, 4), 0.5)
    return relate([evaluation(*NOISE), evaluation(constant, NOISE[1, :4], task="sick-r")])


def test_there_is_a_grid_a_question_and_a_sentence_below(result: Result) -> None:
    text = result.to_markdown()
    assert text.count("| score | mean_cosine | i1_scaled | mean_norm \\* |") == 3
    row = result.rows[1]
    assert f"| {row.value:+.2f} ({row.low:+.2f} to {row.high:+.2f}) |" in text
    assert "| sick-r/cosine/spearman | undefined | undefined | undefined |" in text
    assert text.count("above 0: the more isotropic a space, the better its score") == 1
    assert "- mean_cosine: lower is more isotropic, so that the sign" in text
    assert "- mean_norm: neither high nor low is more isotropic" in text
    assert "sick-r/cosine/spearman ~ i1_scaled" in text
    assert "undefined: score or isotropy is the same everywhere" in text
    assert text.count("Verdict: ") == 3
    assert "Verdict: all spaces: over 32 spaces of 1 model, 0 of 2 relations say that" in text
    assert "8 layers of 1 model; 95 % intervals from leaving out runs of neighbouring" in text
    assert "4 layers of 1 model; 95 % intervals" in text
    assert "<table>" in result._repr_html_()
    assert "all spaces" in repr(result)


def test_what_depends_on_length_is_marked() -> None:
    renamed = Result.from_json(evaluation(*NOISE).to_json().replace("sts-b/i1_scaled", "sts-b/i1"))
    text = relate(renamed).to_markdown()
    assert "| i1 \\* |" in text
    assert "compare only at equal scale" in text


@pytest.mark.parametrize("kind", ["markdown", "csv", "latex"])
def test_reports_take_it_as_any_result(result: Result, tmp_path: Path, kind: str) -> None:
    result.save(tmp_path / "relation.json")
    text = report(load_results([tmp_path / "relation.json"]), format=kind, references=kind != "csv")  # type: ignore[arg-type]
    assert "all spaces" in text
    assert "i1" in text
