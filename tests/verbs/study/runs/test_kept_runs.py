"""Trainings of studies that are kept: read again, gone on with, or made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isoscope.errors import DataError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.runs.trainings import kept_run

Save = Callable[[Result], None]

ABOUT = {"tasks": ("rte",), "seeds": 3}


class Training:
    """Counts how often it is asked for, and writes down what it gets."""

    def __init__(self) -> None:
        self.journals: list[Path | None] = []

    def __call__(self, *, journal: Path | None, resume: bool, save: Save | None) -> Result:
        assert resume == (journal is not None)
        self.journals.append(journal)
        result = Result([Row("tiny", "", "none", "accuracy", float(len(self.journals)))])
        if save is not None:
            save(result)
        return result


def test_a_finished_run_is_read_again(tmp_path: Path) -> None:
    training = Training()
    first = kept_run(tmp_path, "finetuned", ABOUT, training)
    again = kept_run(tmp_path, "finetuned", dict(ABOUT), training)
    assert len(training.journals) == 1
    assert again.rows == first.rows
    (file,) = (tmp_path / "runs").iterdir()
    assert file.name.startswith("finetuned-")
    journal = training.journals[0]
    assert journal is not None
    assert journal.parent == file.parent
    assert journal.stem == file.stem


def test_another_question_is_another_run(tmp_path: Path) -> None:
    training = Training()
    for about in (ABOUT, {**ABOUT, "seeds": 2}, {**ABOUT, "tasks": ("mrpc",)}):
        kept_run(tmp_path, "finetuned", about, training)
    kept_run(tmp_path, "ablation", ABOUT, training)
    assert len(set(training.journals)) == 4


def test_a_run_is_made_again_where_that_is_asked_for(tmp_path: Path) -> None:
    training = Training()
    kept_run(tmp_path, "finetuned", ABOUT, training)
    again = kept_run(tmp_path, "finetuned", ABOUT, training, again=True)
    assert again.rows[0].value == 2.0
    assert kept_run(tmp_path, "finetuned", ABOUT, training).rows[0].value == 2.0


def test_nothing_is_kept_without_a_folder(tmp_path: Path) -> None:
    training = Training()
    for _ in range(2):
        kept_run(None, "finetuned", ABOUT, training)
    assert training.journals == [None, None]
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_failed_is_made_again(tmp_path: Path) -> None:
    def fail(**how: object) -> Result:
        del how
        raise DataError("the loss is not finite")

    with pytest.raises(DataError, match="not finite"):
        kept_run(tmp_path, "finetuned", ABOUT, fail)
    training = Training()
    kept_run(tmp_path, "finetuned", ABOUT, training)
    assert len(training.journals) == 1
