from __future__ import annotations

import pytest

from isoscope.corrections import make_correction
from isoscope.corrections.registry import names_from_sums
from isoscope.errors import UsageError
from isoscope.verbs.correct.api import check_workers

ABLE = "center, center-scaled, all-but-the-top, whiten, clip, standardize"


def test_which_corrections_follow_from_sums() -> None:
    assert names_from_sums() == ABLE
    for name in ABLE.split(", "):
        check_workers(make_correction(name), "ray:host:6379", 4, resume=True)


@pytest.mark.parametrize("name", ["cluster-pc-removal", "flow"])
def test_others_are_fitted_here(name: str) -> None:
    correction = make_correction(name)
    check_workers(correction, "local", None, resume=False)
    for engine, workers, resume, words in (
        ("ray", None, False, f"Ray fits {ABLE}; {name} can only be .*: leave --engine out$"),
        ("ray:auto", 2, True, f"{name} can only be fitted in this process: leave --engine out$"),
        ("local", 1, False, f"--workers is for {ABLE}; {name} is .*: leave it out$"),
        ("local", None, True, f"of {ABLE} can be resumed, not of {name}: leave --resume out$"),
    ):
        with pytest.raises(UsageError, match=words):
            check_workers(correction, engine, workers, resume=resume)
