"""Running a study: names, printed values, claims, files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoscope.clouds.arrays import ArrayCloud
from isoscope.errors import UsageError
from isoscope.results.result import Result
from isoscope.studies import find_study, run_study
from isoscope.studies.registry import Subject
from isoscope.studies.running import as_subject

CLOUD = ArrayCloud(np.random.default_rng(0).normal(0.3, 0.2, (400, 6)), "toy")


def test_names_of_subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_subject("GPT-2=run/wte.npy") == Subject("GPT-2", "run/wte.npy")
    assert as_subject("package:glove") == Subject("glove", "package:glove")
    assert as_subject("some/where/model.safetensors").name == "model"
    assert as_subject("s3://bucket/day=3/x.npy") == Subject("x", "s3://bucket/day=3/x.npy")
    assert as_subject(CLOUD).name == "toy"
    assert as_subject("postgresql://me:pw@h/db?table=t&password=pw").name == "db?table=t"
    monkeypatch.chdir(tmp_path)
    np.save("a=b.npy", np.eye(3))
    assert as_subject("a=b.npy").source == "a=b.npy"


def test_the_papers_model_has_its_printed_values_beside_it() -> None:
    run = run_study("B-T1", [Subject("roberta-LARGE", CLOUD)])
    row = run.result.row("i1", "center")
    assert (row.subject, row.extra["printed"]) == ("roberta-LARGE", 0.64)
    assert "printed 0.64" in run.to_markdown()
    assert [verdict.other_models for verdict in run.verdicts] == [(), (), ()]
    first = run.verdicts[0]
    assert first.outcome == "cannot be judged"  # the paper excepts the only model there is


def test_another_model_is_called_so() -> None:
    run = run_study("B-T1", [CLOUD])
    assert "other model: toy" in run.to_markdown()
    assert "printed" not in run.result.row("i1", "center").extra
    assert "misprint: GPT-2 (24 layers)" in run.to_markdown()


def test_files(tmp_path: Path) -> None:
    run = run_study("B-F6", [CLOUD], command="the call", seed=3)
    run.save(tmp_path / "run.json")
    run.save(tmp_path / "run.md")
    loaded = Result.load(tmp_path / "run.json")
    assert loaded.rows == run.result.rows
    assert loaded.seeds == {"seed": 3}
    values = json.loads((tmp_path / "run.json").read_text())
    assert values["study"]["id"] == "B-F6"
    assert values["claims"][0]["outcome"] == "holds"
    assert "Command: `the call`" in (tmp_path / "run.md").read_text("utf-8")
    with pytest.raises(UsageError, match="must end in"):
        run.save(tmp_path / "run.txt")


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="B-T1 needs the input embedding matrix"):
        run_study("B-T1")
    with pytest.raises(UsageError, match="makes its own vectors"):
        run_study(replace(find_study("B-F2"), may_have_sources=False), [CLOUD])
    with pytest.raises(UsageError, match="same name"):
        run_study("B-T1", [CLOUD, CLOUD])
