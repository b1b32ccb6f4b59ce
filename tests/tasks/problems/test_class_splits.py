"""What is learned from and what is scored, for every way in which releases come in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.tasks import SentenceProtocol, find_task
from isoscope.tasks.problems.classification import ClassProblem, with_splits

SIZE = 60


def problem(*parts: str, second: np.ndarray | None = None) -> ClassProblem:
    return ClassProblem(
        "toy",
        "texts" if second is None else "pairs",
        tuple(f"text {k}" for k in range(SIZE)),
        ("0", "1"),
        np.arange(SIZE),
        second,
        np.arange(SIZE) % 2,
        np.array([parts[k % len(parts)] for k in range(SIZE)], object),
    )


@pytest.mark.parametrize(
    ("parts", "scored", "learned", "held"),
    [
        (("train", "dev"), None, {"train"}, "dev"),
        (("train", "val"), None, {"train"}, "val"),
        (("train", "test"), None, {"train"}, "test"),
        (("train", "dev", "test"), None, {"train", "dev"}, "test"),
        (("train", "trial", "test"), None, {"train", "trial"}, "test"),
        (("train", "dev", "test"), "dev", {"train"}, "dev"),
    ],
)
def test_parts_of_releases(
    parts: tuple[str, ...], scored: str | None, learned: set[str], held: str
) -> None:
    ready = with_splits(problem(*parts), scored=scored)
    ((learn, asked, _),) = ready.splits
    assert set(ready.problem.parts[learn]) == learned  # type: ignore[attr-defined]
    assert set(ready.problem.parts[asked]) == {held}  # type: ignore[attr-defined]
    assert len(learn) + len(asked) == sum(
        part in {*learned, held} for part in problem(*parts).parts
    )
    assert f"learned from train, {'settings' if len(learned) > 1 else 'scored'}" in ready.words[0]
    assert ready.words[0].endswith(f"scored on {held}")


@pytest.mark.parametrize("parts", [("all",), ("dev",), ("val",), ("train",)])
def test_without_train_every_item_is_held_once(parts: tuple[str, ...]) -> None:
    ready = with_splits(problem(*parts), folds=4, seed=1)
    assert len(ready.splits) == 4
    np.testing.assert_array_equal(
        np.sort(np.concatenate([split.held for split in ready.splits])), np.arange(SIZE)
    )
    for learn, held, _ in ready.splits:
        assert not set(learn) & set(held)
        assert len(learn) + len(held) == SIZE
    assert f"cross-validated on {parts[0]} in 4 folds" in ready.words[0]
    assert "logistic regression" in ready.words[0]


def test_items_that_share_a_text_are_not_on_two_sides() -> None:
    shared = np.arange(SIZE) // 3 * 3  # three questions about one passage
    for learn, held, _ in with_splits(problem("val", second=shared)).splits:
        assert not set(shared[learn]) & set(shared[held])


def test_parts_that_cannot_be_scored_are_refused() -> None:
    with pytest.raises(UsageError, match="no part of toy is called 'tets'"):
        with_splits(problem("train", "test"), scored="tets")
    for parts, scored in ((("train", "dev"), "train"), (("all",), "all")):
        with pytest.raises(UsageError, match="nothing to train on"):
            with_splits(problem(*parts), scored=scored)


def test_a_task_is_prepared_from_its_files(tmp_path: Path) -> None:
    lines = [f"{k % 2} text {k}" for k in range(20)]
    (tmp_path / "subj.all").write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="holds 20 texts"):
        ready = find_task("subj").plan(tmp_path, SentenceProtocol(), fits=False)
    assert len(ready.splits) == 5
    assert len(ready.problem.texts) == 20
    assert "cross-validated on all in 5 folds" in ready.words[0]
