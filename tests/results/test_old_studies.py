"""Results of studies that were written before schema 2, whose claims had other outcomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoscope.errors import DataError
from isoscope.results.headline import headline
from isoscope.results.result import SCHEMA_VERSION, Result, Row, load_result
from isoscope.verbs.study.runs.folder import load_run

STORED = Path(__file__).parent / "stored" / "study-of-schema-1.json"


def test_an_old_file_loads_and_shows_what_it_says() -> None:
    result = load_result(STORED)
    assert result.schema_version == 1
    assert [claim["outcome"] for claim in result.extra["claims"]] == [
        "cannot be judged", "fails", "holds",
    ]  # fmt: skip
    found = headline([result])
    assert found.sentences[0].startswith("Cannot be judged: centred I1 is at least 0.87")
    assert [(one.label, one.value) for one in found.numbers] == [
        ("claims: holds", "1"),
        ("claims: fails", "1"),
        ("claims: cannot be judged", "1"),
    ]
    assert "0.4800" in result.to_markdown()
    assert Result.from_json(result.to_json()) == result


def test_claims_of_an_old_file_are_judged_anew_on_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "B-T1.json"
    path.write_text(STORED.read_text("utf-8"), "utf-8")
    run = load_run(path)
    assert {verdict.outcome for verdict in run.verdicts} <= {
        "undecided", "not applicable", "not run",
    }  # fmt: skip
    assert run.result.schema_version == SCHEMA_VERSION
    first = run.verdicts[0]
    assert (first.outcome, first.reason) == ("not applicable", "excepted by name")


def test_outcomes_raise_the_version() -> None:
    assert SCHEMA_VERSION == 2
    rows = [Row("A", "", "none", "i1", 0.5)]
    assert json.loads(Result(rows).to_json())["schema_version"] == 2


def test_a_newer_file_is_refused_in_a_line(tmp_path: Path) -> None:
    values = json.loads(STORED.read_text("utf-8")) | {"schema_version": SCHEMA_VERSION + 1}
    path = tmp_path / "new.json"
    path.write_text(json.dumps(values), "utf-8")
    with pytest.raises(DataError, match=r"new.json: this result has schema version 3"):
        load_result(path)


def test_reversed_claims_are_counted_with_those_that_fail() -> None:
    claims = [
        {"text": "x", "outcome": outcome, "subject": "A"}
        for outcome in ("holds", "reversed", "fails", "not applicable", "not run", "undecided")
    ]
    study = {"id": "B-T1", "title": "Isotropy"}
    found = headline([Result([], extra={"study": study, "claims": claims})])
    assert [(one.label, one.value) for one in found.numbers] == [
        ("claims: holds", "1"),
        ("claims: fails or reversed", "2"),
        ("claims: undecided", "1"),
    ]
    assert found.sentences[1] == "Reversed for A: x."
    assert not any("applicable" in sentence for sentence in found.sentences)
