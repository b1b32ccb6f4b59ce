"""A folder of studies: what is finished is not run again, unless something else is asked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD
from isoscope.verbs.study.records.provenance import MADE, digest_of
from isoscope.verbs.study.registry import Request, Study, Subject, all_studies, find_study
from isoscope.verbs.study.runs.folder import StudyFolder, load_run
from isoscope.verbs.study.runs.pieces import described, fitting_sources, own_options, pieces_of

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
    assert {verdict.text for verdict in run.verdicts} == {c.text for c in run.study.claims}
    assert len(run.result.extra["claims"]) == len(run.verdicts) > 0


def test_a_model_that_is_run_later_is_added(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    def count(result: Result) -> list[Row]:
        models = {row.subject for row in result.rows}
        return [Row(ALL_MODELS, "", "none", "models", float(len(models)))]

    study = replace(study, over_models=count)
    folder = StudyFolder(tmp_path / "studies")
    first, _ = folder.run(study, [f"one={vectors}"], command="first")
    assert first.result.row("models").value == 1
    second, known = folder.run(study, [f"two:2={vectors}"], command="second")
    assert not known
    assert [run.subjects[0].name for run in runs] == ["one", "two:2"]
    assert {row.subject for row in second.result.rows} == {"one", "two:2", ALL_MODELS}
    assert second.result.row("models").value == 2
    assert second.result.command == "first && second"
    assert set(second.result.extra[MADE]) == {"one", "two:2"}
    made = second.result.extra[MADE]["one"]
    assert made["command"] == "first"
    assert made["seed"] == 0
    assert made["digest"] == digest_of(vectors)
    assert {"isoscope", "date", "machine", "seconds"} <= set(made)
    # Both at once are what they are one after the other.
    both, known = folder.run(study, [f"one={vectors}", f"two:2={vectors}"])
    assert known
    assert both.result.rows == second.result.rows
    assert len(runs) == 2
    # What a folder gives out does not depend on who wrote the record last.
    folder.file_of(study).unlink()
    (given,) = folder.runs()
    models = [row for row in second.result.rows if row.subject != ALL_MODELS]
    assert given.result.rows == models  # the study itself has no figure over models


def test_figures_beside_every_model_are_there_once(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    def recipe(request: Request) -> Result:
        words = Row("words", "", "none", "i1", 0.3)
        return Result([words, *(Row(one.name, "", "none", "i1", 0.2) for one in request.subjects)])

    shared = replace(study, recipe=recipe, sources=False, may_have_sources=True)
    folder = StudyFolder(tmp_path / "studies")
    folder.run(shared, [])
    for name in ("one", "two"):
        run, _ = folder.run(shared, [f"{name}={vectors}"])
    assert sorted(row.subject for row in run.result.rows) == ["one", "two", "words"]


def failing(study: Study, error: Exception) -> Study:
    def recipe(_: Request) -> Result:
        raise error

    return replace(study, recipe=recipe)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UsageError("no unembedding"), "no unembedding"),
        (RuntimeError("out of\nmemory"), "RuntimeError: out of memory"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_what_fails_leaves_a_record_and_no_figures_are_lost(
    study: Study, vectors: Path, tmp_path: Path, error: Exception, words: str
) -> None:
    folder = StudyFolder(tmp_path / "studies")
    with pytest.raises(UsageError) as raised:
        folder.run(failing(study, error), [f"one={vectors}"])
    assert str(raised.value) == words
    (kept,) = folder.runs()
    assert kept.result.rows == []
    assert kept.result.extra[NOT_RUN_FIELD] == {"one": words}
    assert {verdict.outcome for verdict in kept.verdicts} <= {"not run", "not applicable"}
    # The next run tries again, and a failure of later does not replace what was found.
    found, _ = folder.run(study, [f"one={vectors}"])
    assert found.result.rows
    with pytest.raises(UsageError):
        folder.run(failing(study, error), [f"one={vectors}"], again=True)
    (kept,) = folder.runs()
    assert kept.result.rows == found.result.rows


def test_one_model_that_fails_does_not_keep_the_others(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    def recipe(request: Request) -> Result:
        if request.subjects[0].name == "bad":
            raise UsageError("it has no rows")
        return study.recipe(request)

    folder = StudyFolder(tmp_path / "studies")
    run, _ = folder.run(replace(study, recipe=recipe), [f"bad={vectors}", f"good={vectors}"])
    assert {row.subject for row in run.result.rows} == {"good"}
    assert run.result.extra[NOT_RUN_FIELD] == {"bad": "it has no rows"}


def random_figures(request: Request) -> Result:
    name = request.subjects[0].name
    extra = {"replicates": [0.1, 0.2]}
    return Result(
        [
            Row(name, "", "none", "i1", 0.5 + request.seed / 10, extra=extra),
            Row(name, "", "center", "i1", 0.9),
        ]
    )


def test_seeds_give_a_spread_where_randomness_matters(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path / "studies")
    drawn = replace(study, recipe=random_figures)
    run, _ = folder.run(drawn, [f"one={vectors}"], seeds=3)
    row = run.result.row("i1")
    assert row.value == 0.5  # that of the first seed, with its interval
    assert row.extra["seed_mean"] == pytest.approx(0.6)
    assert row.extra["seed_sd"] == pytest.approx(0.1)
    assert row.extra["seed_count"] == 3
    assert "seed_sd" not in run.result.row("i1", "center").extra
    assert "over 3 seeds 0.6000 ± 0.1000" in run.to_markdown()
    # Read again it is the same, and a run of one seed keeps what others gave.
    again, known = folder.run(drawn, [f"one={vectors}"])
    assert known
    assert again.result.row("i1").extra == row.extra
    # Where nothing is drawn, two seeds are enough to know.
    folder.run(replace(study, id="B-F6"), [f"one={vectors}"], seeds=5)
    assert [request.seed for request in runs] == [0, 1]


def test_seeds_of_another_question_do_not_count(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path / "studies")
    drawn = replace(study, recipe=random_figures)
    folder.run(drawn, [f"one={vectors}"], seeds=2)
    other, _ = folder.run(drawn, [f"one={vectors}"], column="other")
    assert "seed_sd" not in other.result.row("i1").extra


def test_a_record_of_before_there_were_parts_is_kept(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path)
    rows = [Row(name, "", "none", "i1", 0.1) for name in ("old", "one")]
    Result(rows, extra={"study": {"id": "B-T1"}}).save(folder.file_of(study))
    run, _ = folder.run(study, [f"one={vectors}"])
    assert [(row.subject, row.value) for row in run.result.rows if row.correction == "none"] == [
        ("old", 0.1), ("one", 0.2),
    ]  # fmt: skip


def test_a_part_of_a_newer_version_is_not_overwritten(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [f"one={vectors}"])
    part = tmp_path / "parts" / "B-T1" / "one.json"
    newer = part.read_text().replace('"schema_version": ', '"schema_version": 9')
    part.write_text(newer)
    for call in (lambda: folder.run(study, [f"one={vectors}"]), lambda: list(folder.runs())):
        with pytest.raises(IsoscopeError, match="has schema version 9") as raised:
            call()
        assert "one.json" in str(raised.value)
    assert part.read_text() == newer
    assert len(runs) == 1


@pytest.mark.parametrize("damage", ["newer", "half written"])
def test_a_record_without_parts_that_cannot_be_read_is_not_overwritten(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path, damage: str
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [f"one={vectors}"])
    shutil.rmtree(tmp_path / "parts")
    whole = folder.file_of(study).read_text()
    other = whole.replace('"schema_version": ', '"schema_version": 9')
    kept = {"newer": other, "half written": whole[:200]}[damage]
    folder.file_of(study).write_text(kept)
    with pytest.raises(UsageError, match=r"B-T1\.json: .*; move it away, or name another folder"):
        folder.run(study, [f"one={vectors}"])
    assert folder.file_of(study).read_text() == kept
    assert len(runs) == 1


def test_a_record_of_a_newer_version_is_not_overwritten_by_older_parts(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [f"one={vectors}"])
    newer = folder.file_of(study).read_text().replace('"schema_version": ', '"schema_version": 9')
    folder.file_of(study).write_text(newer)
    with pytest.raises(UsageError, match="has schema version 9"):
        folder.run(study, [f"two={vectors}"])
    assert folder.file_of(study).read_text() == newer


def test_a_half_written_part_is_named_and_made_anew(
    study: Study, runs: list[Request], vectors: Path, tmp_path: Path
) -> None:
    folder = StudyFolder(tmp_path)
    folder.run(study, [f"one={vectors}"])
    part = tmp_path / "parts" / "B-T1" / "one.json"
    part.write_text(part.read_text()[:200])
    with pytest.raises(DataError, match=r"one\.json: this is not an isoscope result") as raised:
        list(folder.runs())
    assert "\n" not in str(raised.value)
    assert list(folder.sound_runs()) == []
    folder.run(study, [f"one={vectors}"])
    assert len(runs) == 2
    assert len(list(folder.runs())) == 1


def test_several_studies_pass_over_options_of_others(
    study: Study, vectors: Path, tmp_path: Path
) -> None:
    (piece,) = pieces_of(study, [str(vectors)], {})
    options = {"text": "some.txt", "tasks": "rte", "every": 2, "column": "a"}
    assert own_options(study, options) == {"column": "a"}
    assert not StudyFolder(tmp_path).run_piece(piece, several=True, **options).failure
    refused = StudyFolder(tmp_path / "alone").run_piece(piece, **options).failure
    assert "looks at no checkpoints" in refused


def test_all_studies_train_their_own_models_where_none_fits() -> None:
    every = all_studies()
    own, other = find_study("P-X"), find_study("L-LN")
    assert fitting_sources(own, every, ["package:minilm", "pretrain:tiny"]) == ["pretrain:tiny"]
    assert fitting_sources(own, [own], ["package:minilm"]) == ["package:minilm"]
    assert fitting_sources(other, every, ["package:minilm"]) == ["package:minilm"]


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
