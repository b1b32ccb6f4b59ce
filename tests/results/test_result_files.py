from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoscope
from isoscope.errors import DataError, UsageError
from isoscope.results.destination import check_writable
from isoscope.results.result import Result, shown


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "r.txt", "must end in .json or .md"),
        (tmp_path / "absent" / "r.json", "no folder"),
        (tmp_path / "r.json", None),
    ):
        if message is None:
            check_writable(path)
        else:
            with pytest.raises(UsageError, match=message):
                check_writable(path)
    (tmp_path / "d.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path / "d.json")


def stored() -> dict[str, Any]:
    cloud = np.random.default_rng(0).standard_normal((50, 4)) + 1
    values: dict[str, Any] = json.loads(isoscope.measure(cloud).to_json())
    return values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values.update(verdicts=[1, 2]), "verdicts of the result are damaged"),
        (lambda values: values["rows"][0].update(value=10**400), "row 1 of the result is damaged"),
        (lambda values: values["rows"][0].update(note=3), "row 1 of the result is damaged"),
        (lambda values: values.update(command="\ud800"), "half of a surrogate pair"),
        (lambda values: values["tables"][0]["rows"][0].popitem(), "table 1 of the result is dam"),
        (lambda values: values.update(seeds=[1]), "seeds of the result is damaged"),
    ],
)
def test_tampered_results(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    values = stored()
    change(values)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match=rf"r\.json: .*{message}"):
        isoscope.report([path])
    with pytest.raises(DataError, match=message):
        Result.from_json(path.read_text())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"schema_version": ' + "9" * 9_000 + "}", "it holds a number of more than 4,300 digits"),
        ('{"schema_version": 2, "rows": [{"subject": "x"}]}', "it lacks 'part', .* and 'value'"),
        ('{"schema_version": 2}', "it lacks 'rows'"),
    ],
    ids=["deep", "long", "field", "rows"],
)
def test_json_that_python_does_not_take(text: str, message: str) -> None:
    with pytest.raises(DataError, match=f"this is not an isoscope result: {message}$"):
        Result.from_json(text)


def test_fields_of_one_kind_of_result_that_are_damaged() -> None:
    with pytest.raises(DataError, match="the result cannot be shown.*KeyError: 'grade'"):
        shown(lambda: {}["grade"])
    with pytest.raises(UsageError, match="no such thing"):
        shown(lambda: check_writable(Path("no such thing")))
