from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.compute.journal import journal_while
from isoscope.errors import DataError, UsageError

ASKED = {"correction": "center"}


def test_it_goes_when_all_went_well(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with journal_while(folder, ASKED, resume=False) as journal:
        assert journal is not None
        journal.save("fit 0-0", {"x": np.ones(1)})
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize("error", [DataError("cut off"), KeyboardInterrupt()])
def test_it_stays_where_somebody_can_go_on(tmp_path: Path, error: BaseException) -> None:
    folder = tmp_path / "journal"

    def cut_off() -> None:
        with journal_while(folder, ASKED, resume=False) as journal:
            assert journal is not None
            journal.save("fit 0-0", {"x": np.ones(1)})
            raise error

    with pytest.raises(type(error)):
        cut_off()
    with (
        pytest.raises(UsageError, match="--resume continues it"),
        journal_while(folder, ASKED, resume=False),
    ):
        pass
    with journal_while(folder, ASKED, resume=True) as journal:
        assert journal is not None
        assert journal.steps == ("fit 0-0",)
    assert not folder.exists()


@pytest.mark.parametrize("error", [UsageError("no such dimension"), KeyboardInterrupt()])
def test_an_empty_one_goes_in_any_case(tmp_path: Path, error: BaseException) -> None:
    with (
        pytest.raises(type(error)),
        journal_while(tmp_path / "journal", ASKED, resume=False),
    ):
        raise error
    assert not list(tmp_path.iterdir())


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    with journal_while(None, ASKED, resume=False) as journal:
        assert journal is None
    assert not list(tmp_path.iterdir())


def test_a_short_run_that_fails_is_not_worth_keeping(tmp_path: Path) -> None:
    def cut_off(resume: bool, worth: float) -> None:
        with journal_while(tmp_path / "journal", ASKED, resume=resume, worth=worth) as journal:
            assert journal is not None
            journal.save("read 0-0", {"x": np.ones(1)})
            raise DataError("cut off")

    with pytest.raises(DataError):
        cut_off(resume=False, worth=60.0)
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError):
        cut_off(resume=False, worth=0.0)
    with pytest.raises(DataError):
        cut_off(resume=True, worth=60.0)  # what an earlier run kept is not this one's to delete
    assert (tmp_path / "journal").is_dir()
