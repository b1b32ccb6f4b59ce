"""A folder of studies: what is finished is not run again, unless something else is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.folder import StudyFolder, described, load_run
from isoscope.verbs.study.registry import Request, Study, Subject, find_study

VALUES = {"none": 0.2, "center": 0.9}


@pytest.fixture
def runs() -> list[Request]:
    return []


@pytest.fixture
def study(runs: list[Request]) -> Study:
    """B-T1, with figures that are there at once."""

    def recipe(request: Request) -> Result:
        runs.append(request)
        rows = [
            Row(subject.name, "", name, "i1", value)
            for subject in request.subjects
            for name, value in VALUES.items()
        ]
        return Result(rows)

    return replace(find_study("B-T1"), recipe=recipe)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", np.eye(3))
    return tmp_path / "vectors.npy"


def test_a_finished_study_is_not_run_again(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path / "studies")
    first, known = folder.run(study, [f"BERT-base-cased={vectors}"], seed=1, command="the call")
    assert not known
    assert (tmp_path / "studies" / "B-T1.json").is_file()
    again, known = folder.run(study, [f"BERT-base-cased={vectors}"], seed=1, command="another")
    assert known
    assert len(runs) == 1
    assert again.result.rows == first.result.rows
    assert again.verdicts == first.verdicts
    assert again.result.command == "the call"
    assert runs[0].folder == tmp_path / "studies" / "work"


def test_paths_with_an_equals_sign_and_arrays(
    study: Study, runs: list[Request], tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path / "studies")
    odd = tmp_path / "lang=en"
    odd.mkdir()
    for seed in (0, 1):
        np.save(odd / "v.npy", np.random.default_rng(seed).normal(size=(4 + seed, 3)))
        folder.run(study, [str(odd / "v.npy")])
    assert len(runs) == 2
    large = np.zeros((3_000, 20))
    other = large.copy()
    other[1_500] = 1  # which a shortened text of the array does not show
    for array, times in ((large, 3), (large.copy(), 3), (other, 4)):
        folder.run(study, [Subject("array", array)])
        assert len(runs) == times


def test_what_is_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    study = find_study("B-T1")
    monkeypatch.setattr("isoscope.verbs.study.registry.is_at_hand", lambda name: "minilm" in name)
    alone = described([], {}, study)
    monkeypatch.setattr("isoscope.verbs.study.registry.is_at_hand", lambda _: True)
    assert described([], {}, study) != alone


def test_folders_are_known_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    before = described([str(tmp_path / "a")], {})
    assert described([str(tmp_path / "a")], {}) == before
    (tmp_path / "a" / "y").write_text("2")
    assert described([str(tmp_path / "a")], {}) != before
    assert described([object()], {}) != described([object()], {})


@pytest.mark.parametrize("other", [{"seed": 2}, {"tasks": None, "column": "a"}, {"again": True}])
def test_another_question_is_run(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path, other: dict[str, object]
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [str(vectors)], seed=1)
    _, known = folder.run(study, [str(vectors)], **{"seed": 1, **other})  # type: ignore[arg-type]
    assert not known
    assert len(runs) == 2


def test_a_file_that_changed_is_another_question(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [f"mine={vectors}"])
    np.save(vectors, np.eye(4))
    folder.run(study, [f"mine={vectors}"])
    assert len(runs) == 2


def test_what_changes_no_number_is_not_asked() -> None:
    plain = described(["gpt2"], {"seed": 0, "progress": None, "command": "x", "device": "cpu"})
    assert plain == described(["gpt2"], {"command": "y"})
    assert described(["gpt2"], {"sample": 3})["sample"] == 3
    assert json.loads(json.dumps(plain)) == plain


def test_results_are_given_out_paper_by_paper(study: Study, vectors: Path, tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "studies")
    folder.run(study, [str(vectors)])
    folder.run(replace(study, id="P-F5"), [str(vectors)])
    folder.run(replace(study, id="B-F6"), [str(vectors)])
    (tmp_path / "studies" / "notes.json").write_text("{}")
    assert [run.study.id for run in folder.runs()] == ["B-T1", "B-F6", "P-F5"]


def test_folders_and_files_that_hold_no_studies(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such folder of studies"):
        list(StudyFolder(tmp_path / "nowhere").runs())
    with pytest.raises(UsageError, match="holds no results of studies; isoscope study run"):
        list(StudyFolder(tmp_path).runs())
    path = tmp_path / "B-T1.json"
    Result([]).save(path)
    with pytest.raises(DataError, match="is no result of isoscope study run"):
        load_run(path)


def test_claims_of_a_file_are_judged_anew(tmp_path: Path) -> None:
    rows = [Row("mine", "", name, "i1", value) for name, value in VALUES.items()]
    Result(rows, extra={"study": {"id": "B-T1"}, "claims": []}).save(tmp_path / "B-T1.json")
    run = load_run(tmp_path / "B-T1.json")
    assert [verdict.outcome for verdict in run.verdicts] == ["holds", "cannot be judged", "holds"]
    assert len(run.result.extra["claims"]) == 3


def test_a_folder_that_cannot_be_made(study: Study, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        StudyFolder(tmp_path / "file" / "studies").run(study, [str(vectors)])


def test_data_of_the_environment_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    without = described(["gpt2"], {})
    monkeypatch.setenv("ISOSCOPE_DATA", str(tmp_path))
    assert described(["gpt2"], {}) != without
    assert described(["gpt2"], {}) == described(["gpt2"], {"data": tmp_path})
