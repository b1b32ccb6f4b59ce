"""Several studies at a time."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.compute.pool import Here
from isoscope.compute.processes import Processes
from isoscope.errors import DataError
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD
from isoscope.verbs.study.registry import Request, find_study
from isoscope.verbs.study.runs.folder import Outcome, StudyFolder
from isoscope.verbs.study.runs.needs import BASE, UNKNOWN, memory_needed
from isoscope.verbs.study.runs.pieces import pieces_of
from isoscope.verbs.study.runs.spread import StudyShard, StudyWork, run_spread
from isoscope.verbs.study.screen import Telling, planned, run_shared, workers_that_fit


def spread(
    ids: Sequence[str], folder: StudyFolder, pool: Any, sources: Sequence[str] = (), **options: Any
) -> dict[str, Outcome]:
    """Run studies on a pool, by id."""
    studies = [find_study(name) for name in ids]
    wanted = {name: list(sources) for name in ids}
    pieces, refused = planned(studies, wanted, options)
    assert not refused
    found = run_spread(pieces, wanted, folder, pool, again=False, **options)
    return {outcome.study.id: outcome for outcome in found}


def test_each_is_run_into_the_folder_or_says_why_not(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "studies")
    data = tmp_path / "data"
    data.mkdir()
    np.save(tmp_path / "v.npy", np.eye(3))
    mine = [f"mine={tmp_path / 'v.npy'}"]
    first = spread(["B-F6", "B-T2"], folder, Here(), mine, data=data, seed=3)
    assert first["B-F6"].run is not None
    assert not first["B-F6"].known
    assert first["B-T2"].run is None
    assert "MEN" in first["B-T2"].failure
    second = spread(["B-F6", "B-T2"], folder, Here(), mine, data=data, seed=3)
    assert second["B-F6"].known
    # What failed has a record that says why.
    (kept,) = (run for run in folder.runs() if run.study.id == "B-T2")
    assert "MEN" in kept.result.extra[NOT_RUN_FIELD]["mine"]


def test_a_worker_finds_what_this_process_finds(tmp_path: Path) -> None:
    with Processes(1) as pool:
        found = spread(["B-F2"], StudyFolder(tmp_path), pool, seed=1)["B-F2"]
    alone = run_study("B-F2", seed=1)
    assert found.run is not None
    assert found.run.result.rows == alone.result.rows
    assert [one.to_dict() for one in found.run.verdicts] == [
        one.to_dict() for one in alone.verdicts
    ]


def test_a_result_of_a_folder_elsewhere_comes_home(tmp_path: Path) -> None:
    class Elsewhere(Here):
        def run(self, work, shards, tick):  # type: ignore[no-untyped-def]
            return super().run(replace(work, folder=str(tmp_path / "there")), shards, tick)

    home = StudyFolder(tmp_path / "here")
    home.prepare()
    found = spread(["B-F2"], home, Elsewhere(), seed=0)["B-F2"]
    assert found.run is not None
    assert home.file_of(found.study).read_text() == (tmp_path / "there" / "B-F2.json").read_text()


def test_works_travel() -> None:
    work = StudyWork("folder", {"B-F2": ["package:minilm"]}, False, {"seed": 0})
    assert pickle.loads(pickle.dumps((work, StudyShard("B-F2")))) == (work, StudyShard("B-F2"))


def test_all_studies_of_a_model_come_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.eye(3))
    sources = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    studies = [find_study("B-T1"), find_study("B-F6")]
    pieces, _ = planned(studies, {study.id: sources for study in studies}, {})
    assert [(piece.study.id, piece.name) for piece in pieces] == [
        ("B-T1", "a"), ("B-F6", "a"), ("B-T1", "b"), ("B-F6", "b"),
    ]  # fmt: skip


def test_workers_are_as_many_as_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.gguf").write_bytes(b"x" * 1000)
    study = find_study("L-F3.2")
    pieces = pieces_of(study, [str(tmp_path / "model.gguf")], {})
    needed = memory_needed(pieces)
    assert needed == BASE + 16 * 1000
    assert memory_needed(pieces_of(study, ["someone/a-model"], {})) == UNKNOWN
    pieces = 9 * pieces
    assert memory_needed(pieces, 3) == 3 * needed
    for free, workers in ((3 * needed, 3), (needed // 2, 1), (None, 8), (100 * needed, 8)):
        monkeypatch.setattr("isoscope.verbs.study.screen.available_memory", lambda free=free: free)
        assert workers_that_fit(pieces, 8) == workers


def test_a_worker_that_dies_ends_its_own_study_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "v.npy", np.eye(3))

    class Dying(Here):
        def run(self, work, shards, tick):  # type: ignore[no-untyped-def]
            for number, shard in shards:
                if shard.study == "B-F6":
                    raise DataError("a worker died")
                yield from super().run(work, [(number, shard)], tick)

    monkeypatch.setattr("isoscope.verbs.study.screen.open_pool", lambda *_, **__: Dying())
    folder = StudyFolder(tmp_path / "studies")
    ids, source = ("B-T1", "B-F6", "B-F1"), str(tmp_path / "v.npy")
    wanted = {name: [source] for name in ids}
    pieces, _ = planned([find_study(name) for name in ids], wanted, {})
    options = {"again": False, "engine": "local", "workers": 2, "device": None}
    shown = run_shared(pieces, wanted, folder, nullcontext, Telling(3), **options)
    lines = []
    while True:
        try:
            lines.append(next(shown).text)
        except StopIteration as finished:
            outcomes = finished.value
            break
    assert "a worker died; the rest runs one by one" in lines
    assert {one.study.id: bool(one.failure) for one in outcomes} == {
        "B-T1": False, "B-F6": True, "B-F1": False,
    }  # fmt: skip
    (kept,) = (run for run in folder.runs() if run.study.id == "B-F6")
    assert "its process was killed" in kept.result.extra[NOT_RUN_FIELD]["v"]


def test_a_single_study_says_that_it_shares_nothing() -> None:
    with pytest.warns(UserWarning, match="B-F2 has no work that workers could share"):
        run_study("B-F2", workers=2)
    asked = Request((), None, 0, None, None, {}, engine="ray", workers=2)
    assert asked.shares_work
    assert asked.readers() == {"engine": "ray", "workers": 2}
    assert asked.shared
