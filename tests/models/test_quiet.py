from __future__ import annotations

import logging
import sys

import pytest

from isoscope.errors import UsageError
from isoscope.models.runtime import library, quietly

pytest.importorskip("transformers")


def test_nothing_is_written_within_and_all_is_as_before_behind(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("transformers")
    before = (logger.level, sys.stderr)
    with pytest.raises(RuntimeError):
        talk_and_fail()
    assert (logger.level, sys.stderr) == before
    assert capfd.readouterr() == ("", "")


def talk_and_fail() -> None:
    with quietly():
        logging.getLogger("transformers.anything").error("advice")
        sys.stderr.write("a progress bar")
        raise RuntimeError


def test_a_missing_library_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"models need no_such_lib; pip install 'isoscope\[models"):
        library("no_such_lib.part")
