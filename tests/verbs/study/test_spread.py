"""Several studies at a time."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from isoscope.compute.pool import Here
from isoscope.compute.processes import Processes
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.folder import StudyFolder, StudyShard, StudyWork, run_spread
from isoscope.verbs.study.registry import Request, find_study


def test_each_is_run_into_the_folder_or_says_why_not(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "studies")
    data = tmp_path / "data"
    data.mkdir()
    studies = [find_study("B-F2"), find_study("R-T2")]
    options = {"data": data, "seed": 3}
    first = {
        one.study.id: one for one in run_spread(studies, [], folder, Here(), again=False, **options)
    }
    assert first["B-F2"].run is not None
    assert not first["B-F2"].known
    assert first["R-T2"].run is None
    assert first["R-T2"].failure
    second = {
        one.study.id: one for one in run_spread(studies, [], folder, Here(), again=False, **options)
    }
    assert second["B-F2"].known
    assert folder.file_of(studies[0]).is_file()
    assert not folder.file_of(studies[1]).is_file()


def test_a_worker_finds_what_this_process_finds(tmp_path: Path) -> None:
    study = find_study("B-F2")
    with Processes(1) as pool:
        (found,) = run_spread([study], [], StudyFolder(tmp_path), pool, again=False, seed=1)
    alone = run_study(study, seed=1)
    assert found.run is not None
    assert found.run.result.rows == alone.result.rows
    assert [one.to_dict() for one in found.run.verdicts] == [
        one.to_dict() for one in alone.verdicts
    ]


def test_a_result_of_a_folder_elsewhere_comes_home(tmp_path: Path) -> None:
    class Elsewhere(Here):
        def run(self, work, shards, tick):  # type: ignore[no-untyped-def]
            moved = StudyWork(str(tmp_path / "there"), work.sources, work.again, work.options)
            return super().run(moved, shards, tick)

    home = StudyFolder(tmp_path / "here")
    home.prepare()
    (found,) = run_spread([find_study("B-F2")], [], home, Elsewhere(), again=False, seed=0)
    assert found.run is not None
    assert home.file_of(found.study).read_text() == (tmp_path / "there" / "B-F2.json").read_text()


def test_works_travel() -> None:
    work = StudyWork("folder", ["package:minilm"], False, {"seed": 0})
    assert pickle.loads(pickle.dumps((work, StudyShard("B-F2")))) == (work, StudyShard("B-F2"))


def test_a_single_study_says_that_it_shares_nothing() -> None:
    with pytest.warns(UserWarning, match="B-F2 has nothing that workers share"):
        run_study("B-F2", workers=2)
    asked = Request((), None, 0, None, None, {}, engine="ray", workers=2)
    assert asked.shares_work
    assert asked.readers() == {"engine": "ray", "workers": 2}
    assert asked.shared
