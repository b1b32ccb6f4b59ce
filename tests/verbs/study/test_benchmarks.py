"""Which sets a study scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from class_sets_for_tests import write_rte

from isoscope.errors import UsageError
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.inputs import chosen_tasks, sets_to_score
from isoscope.verbs.study.registry import Request, find_study


def request(data: Path | None, tasks: tuple[str, ...] = ()) -> Request:
    return Request((), data, 0, None, None, {}, tasks=tasks)


def test_sets_are_chosen_by_name_in_the_order_of_the_study() -> None:
    study = find_study("R-T3")
    assert chosen_tasks(study, None) == ()
    assert chosen_tasks(study, "MRPC , rte,mrpc") == ("rte", "mrpc")
    with pytest.raises(UsageError, match="no set of R-T3 is called 'rtee'; did you mean"):
        chosen_tasks(study, "rtee")
    with pytest.raises(UsageError, match="name at least one set of R-T3: rte, cola"):
        chosen_tasks(study, " , ")
    with pytest.raises(UsageError, match="B-T1 has no sets to choose from; leave --tasks out"):
        run_study("B-T1", ["x.npy"], tasks="rte")


def test_what_is_not_there_is_left_out_unless_it_was_asked_for(tmp_path: Path) -> None:
    data = write_rte(tmp_path)
    names = ("cola", "rte", "mrpc")
    assert sets_to_score(request(data), names) == (["rte"], {"sets without data (cola, mrpc)": 2})
    assert sets_to_score(request(data), ("rte",)) == (["rte"], {})
    assert sets_to_score(request(data, ("cola",)), names) == (["cola"], {})
    with pytest.raises(UsageError, match="there is no CoLA/train.tsv"):
        sets_to_score(request(data), ("cola", "mrpc"))
    with pytest.raises(UsageError, match="--data"):
        sets_to_score(request(None), names)
    (tmp_path / "glue" / "RTE" / "dev.tsv").unlink()
    with pytest.raises(UsageError, match="none of the sets rte, wic|there is no RTE/dev.tsv"):
        sets_to_score(request(data), ("rte", "wic"))
