"""What a terminal shows of scores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screens_for_tests import screen_lines, words_of

from isoscope.results.result import Result, Row

SPACES = {"center": (0.03, 0.01, 0.05), "whiten": (-0.02, -0.03, -0.01), "clip": (0.0, -0.1, 0.1)}


def scores(task: str, part: str = "", subject: str = "glove") -> list[Row]:
    unit = {"unit": "pairs"}
    measure = f"{task}/cosine/spearman"
    how = "mean pooling; corrections fitted on the texts that are scored (transductive)"
    rows = [Row(subject, part, "none", measure, 0.5, n=90, protocol=how, extra={**unit, "of": 100})]
    for name, (value, low, high) in SPACES.items():
        rows.append(Row(subject, part, name, measure, 0.5 + value, extra=unit))
        rows.append(
            Row(subject, part, name, f"{measure}/difference", value, low=low, high=high, extra=unit)
        )
    return rows


def test_what_corrections_change_in_points() -> None:
    lines = screen_lines(Result([*scores("men"), *scores("simlex-999")]))
    text = words_of(lines)
    assert "men: the vectors as they are score 50.0 points (cosine/spearman)." in text
    assert "center gains 3.0 (1.0 to 5.0); whiten loses 2.0 (1.0 to 3.0)." in text
    assert "No significant change: clip." in text
    assert "Pairs that could be scored: 90 of 100 of men, 90 of 100 of simlex-999." in text
    assert "Corrections fitted on the texts that are scored (transductive)." in text
    assert sum("●" in line for line in lines) == 6


def test_an_interval_that_excludes_zero_shows_that() -> None:
    rows = scores("men")
    ends = {"center": (0.0051, 0.0002, 0.0101), "whiten": (-0.0021, -0.0042, -0.00003)}
    for k, row in enumerate(rows):
        if row.measure.endswith("difference") and row.correction in ends:
            value, low, high = ends[row.correction]
            rows[k] = replace(row, value=value, low=low, high=high)
    text = words_of(screen_lines(Result(rows)))
    assert "center gains 0.51 (0.02 to 1.01)" in text
    assert "whiten loses 0.210 (0.003 to 0.420)" in text


def test_a_line_for_each_of_many_tasks() -> None:
    names = ["men", "simlex-999", "rare-words", "wordsim-similarity", "wordsim-relatedness"]
    result = Result([row for name in names for row in scores(name)])
    lines = screen_lines(result)
    text = words_of(lines)
    assert lines[0] == "glove · 5 tasks"
    assert "Significant changes on 5 tasks: center gains on 5; whiten loses on 5." in text
    for name in names:
        line = next(line for line in lines if line.startswith(f"  {name} "))
        assert line.split()[1:] == ["50.0", "+3.0*", "−2.0*", "+0.0"]
    nothing = [replace(row, low=-1.0) if row.low == 0.01 else row for row in result.rows]
    nothing = [replace(row, high=1.0) if row.high == -0.01 else row for row in nothing]
    text = words_of(screen_lines(Result(nothing)))
    assert "No correction changes a score significantly (5 tasks)." in text


@pytest.mark.parametrize("name", ["layer", "向量空间", "متجه", "x" * 60])
def test_thirty_layers(name: str) -> None:
    rows = [row for k in range(30) for row in scores("sts-b", f"block {k}", name)]
    result = Result(rows, extra={"kind": "scores"}, command="isoscope evaluate m --tasks sts-b")
    text = words_of(screen_lines(result))
    assert "30 layers" in text
    assert "isoscope advise m --task sts-b" in text


def test_undefined_scores() -> None:
    row = Row("a", "", "none", "men/cosine/spearman", None, note="no pair", extra={"unit": "pairs"})
    assert "undefined: no pair" in words_of(screen_lines(Result([row])))


def test_relations() -> None:
    rows = [
        Row("all spaces", "", "none", f"r{k}", 0.1 * k - 0.3, low=0.1 * k - 0.5, high=0.1 * k,
            n=49, extra={"isotropy": "mean_cosine", "score": f"sts-{k}", "models": 2,
                         "direction": "lower"})
        for k in range(9)
    ]  # fmt: skip
    told = {"subject": "all spaces", "part": "", "sentence": "all spaces: 2 of 9 relations hold."}
    lines = screen_lines(Result(rows, verdicts=[told], extra={"kind": "relation"}))
    text = words_of(lines)
    assert lines[0] == "isotropy and scores · 2 models · 9 relations"
    assert "all spaces: 2 of 9 relations hold." in text
    assert sum("●" in line for line in lines) == 9
