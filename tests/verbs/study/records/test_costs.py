"""What studies took."""

from __future__ import annotations

import csv

from isoscope.results.result import Result
from isoscope.verbs.study.api import StudyRun
from isoscope.verbs.study.records.costs import cost_lines, costs_table, line_of, measured_costs
from isoscope.verbs.study.registry import all_studies, find_study


def test_a_table_of_costs_from_records() -> None:
    made = {
        "one, two": {"seconds": 61.5, "memory": 1.25, "machine": "2 cores, 24 GiB, x86_64"},
        "failed": {"machine": "2 cores"},
        "read": {"seconds": 0.1, "command": "isoscope study run P-X --from runs.json"},
    }
    run = StudyRun(find_study("B-T1"), Result([], extra={"made": made}), ())
    (line,) = csv.DictReader(costs_table([run]).splitlines())
    assert line == {
        "study": "B-T1", "model": "one, two", "seconds": "61.5", "memory": "1.25",
        "machine": "2 cores, 24 GiB, x86_64",
    }  # fmt: skip


def test_time_in_which_other_work_had_the_cores_does_not_count() -> None:
    study = find_study("B-T1")
    made = {"seconds": 60.0, "processor": 20.5}
    assert ",20.5," in line_of("B-T1", "m", made)
    assert ",60.0," in line_of("B-T1", "m", {**made, "processor": 110.0})  # two cores
    assert study.id in costs_table([StudyRun(study, Result([], extra={"made": {"m": made}}), ())])


def test_every_study_says_what_it_took_or_that_nobody_measured() -> None:
    for study in all_studies():
        lines = cost_lines(study)
        assert len(lines) == (len(measured_costs(study.id)) or 1)
        assert all(line.startswith(("took ", "time and memory: not measured")) for line in lines)
