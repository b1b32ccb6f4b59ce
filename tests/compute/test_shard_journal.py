"""Kept states of shards: one for each shard after any kill, and little time spent on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from clock_for_tests import Clock
from faults_for_tests import Nested, balanced
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from isoscope.compute.journal import Journal
from isoscope.compute.stage import MergeTree, Node, ShardJournal

Kept = tuple[ShardJournal[Nested], "MergeTree[Nested]", set[int], dict[int, str]]


def new_tree() -> MergeTree[Nested]:
    return MergeTree(lambda one, other: one.merge(other))


def loaded(journal: Journal, stage: str = "read") -> Kept:
    kept: ShardJournal[Nested] = ShardJournal(journal, stage, Nested)
    tree = new_tree()
    done, skipped = kept.load(tree)
    return kept, tree, done, skipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def resumed(folder: Path) -> Journal:
    return Journal.open(folder, {}, resume=True)


def steps(folder: Path) -> set[str]:
    with resumed(folder) as journal:
        return set(journal.steps)


def save(folder: Path, numbers: range, bad: Mapping[int, str] | None = None) -> None:
    """Work shards through in a run of their own."""
    with resumed(folder) as journal:
        kept, tree, _, skipped = loaded(journal)
        skipped.update(bad or {})
        for number in numbers:
            tree.add(number, None if number in skipped else Nested(number))
        kept.save(tree, skipped)


def test_nothing_is_known_of_a_new_run(folder: Path) -> None:
    with resumed(folder) as journal:
        _, tree, done, skipped = loaded(journal)
    assert (tree.nodes, done, skipped) == ({}, set(), {})


def test_states_come_back_and_go_on(folder: Path) -> None:
    save(folder, range(3))
    assert steps(folder) == {"read 1-0", "read 0-2"}
    save(folder, range(3, 6))
    assert steps(folder) == {"read 2-0", "read 1-2"}
    with resumed(folder) as journal:
        _, tree, done, _ = loaded(journal)
        assert done == set(range(6))
        tree.add(6, Nested(6))
        found = tree.result()
    assert found == Nested(balanced(list(range(7))), 7.0)


def test_shards_that_were_left_out_stay_out_with_their_reasons(folder: Path) -> None:
    save(folder, range(4), {1: "is no .npy file", 2: "ends early", 3: "ends early"})
    with resumed(folder) as journal:
        kept, tree, done, skipped = loaded(journal)
        assert done == {0, 1, 2, 3}
        assert skipped == {1: "is no .npy file", 2: "ends early", 3: "ends early"}
        assert tree.result() == Nested(0)
        tree.add(4, None)
        kept.save(tree, {**skipped, 4: "is gone"})
    with resumed(folder) as journal:
        _, tree, done, skipped = loaded(journal)
    assert done == {0, 1, 2, 3, 4}
    assert skipped[4] == "is gone"
    assert tree.nodes == {Node(2, 0): Nested(0), Node(0, 4): None}


def test_a_reason_is_kept_with_its_shard_only(folder: Path) -> None:
    """Or a shard whose own file is lost would pass for bad, and be read all the same."""
    save(folder, range(3), {2: "ends early"})
    (folder / "step read 0-2.safetensors").unlink()
    with resumed(folder) as journal:
        _, _, done, skipped = loaded(journal)
    assert (done, skipped) == ({0, 1}, {})


def test_killed_before_the_children_were_deleted_no_shard_counts_twice(folder: Path) -> None:
    save(folder, range(3), {2: "is gone"})
    small = {path.name: path.read_bytes() for path in folder.glob("step *")}
    save(folder, range(3, 6))
    assert not any((folder / name).exists() for name in small)
    for name, content in small.items():
        (folder / name).write_bytes(content)
    assert steps(folder) == {"read 1-0", "read 0-2", "read 2-0", "read 1-2"}
    with resumed(folder) as journal:
        kept, tree, done, skipped = loaded(journal)
        assert set(tree.nodes) == {Node(2, 0), Node(1, 2)}
        assert done == set(range(6))
        assert skipped == {2: "is gone"}
        found = tree.result()
        kept.save(tree, skipped)
        assert set(journal.steps) == {"read 2-0", "read 1-2"}  # the small ones are gone for good
    assert found == Nested(balanced([0, 1, None, 3, 4, 5]), 5.0)


@settings(max_examples=12)
@given(st.permutations(range(11)), st.lists(st.integers(1, 11), max_size=6))
def test_killed_anywhere_between_writing_and_deleting(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], saves: list[int]
) -> None:
    """Every file that ever was may be there: the largest count."""
    folder = tmp_path_factory.mktemp("runs") / "run.journal"
    ever: dict[str, bytes] = {}
    for stop in sorted({*saves, 11}):
        for name, content in ever.items():
            (folder / name).write_bytes(content)
        with resumed(folder) as journal:
            kept, tree, done, skipped = loaded(journal)
            for number in order[:stop]:
                if number not in done:
                    tree.add(number, Nested(number))
            kept.save(tree, skipped)
            assert {f"read {node.level}-{node.place}" for node in tree.nodes} == set(journal.steps)
        ever |= {path.name: path.read_bytes() for path in folder.glob("step *")}
    with resumed(folder) as journal:
        _, tree, done, _ = loaded(journal)
    assert done == set(range(11))
    assert tree.result() == Nested(balanced(list(range(11))), 11.0)
    shutil.rmtree(folder)


def test_a_node_is_written_before_its_children_are_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder, range(2))
    said: list[str] = []
    for name in ("save", "forget"):
        monkeypatch.setattr(Journal, name, noted(said, name, getattr(Journal, name)))
    save(folder, range(2, 4))
    assert said == ["save read 2-0", "forget read 1-0"]


def noted(said: list[str], name: str, method: Callable[..., None]) -> Callable[..., None]:
    def called(self: Journal, step: str, *rest: Any) -> None:
        said.append(f"{name} {step}")
        method(self, step, *rest)

    return called


def test_what_is_kept_is_not_written_again(folder: Path) -> None:
    save(folder, range(4))
    (path,) = folder.glob("step *")
    before = path.stat().st_mtime_ns, path.stat().st_ino
    save(folder, range(4, 6))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_stages_do_not_see_each_other(folder: Path) -> None:
    stages = ("read", "read 0-1", "model.read", "modelXread")
    with resumed(folder) as journal:
        for number, stage in enumerate(stages):
            kept, tree, done, _ = loaded(journal, stage)
            assert done == set()
            tree.add(number, Nested(stage))
            kept.save(tree, {})
        for number, stage in enumerate(stages):
            kept, tree, done, _ = loaded(journal, stage)
            assert done == {number}
            assert tree.result() == Nested(stage)
        kept.forget()
        assert set(journal.steps) == {"read 0-0", "read 0-1 0-1", "model.read 0-2"}


def test_a_stage_is_forgotten_whole(folder: Path) -> None:
    save(folder, range(7))
    with resumed(folder) as journal:
        journal.save("result", {})
        kept, _, _, _ = loaded(journal)
        kept.forget()
        assert journal.steps == ("result",)
    with resumed(folder) as journal:
        _, tree, done, _ = loaded(journal)
    assert (tree.nodes, done) == ({}, set())


class Slow(Nested):
    """A state that takes its time to be saved."""

    clock = Clock()
    seconds = 2.0
    saves = 0

    def to_entry(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        Slow.clock.now += Slow.seconds
        Slow.saves += 1
        return super().to_entry()


@pytest.mark.parametrize(("seconds", "wait"), [(2.0, 200.0), (0.01, 1.0)])
def test_saving_takes_a_hundredth_of_the_time(folder: Path, seconds: float, wait: float) -> None:
    clock = Slow.clock = Clock()
    Slow.seconds, Slow.saves = seconds, 0
    with resumed(folder) as journal:
        kept: ShardJournal[Slow] = ShardJournal(journal, "read", Slow, clock)
        tree: MergeTree[Slow] = MergeTree(lambda one, other: Slow((one.tree, other.tree)))

        def offer(number: int) -> None:
            tree.add(number, Slow(number))
            kept.offer(tree, {})

        offer(0)
        assert Slow.saves == 1  # the first one at once: a run may be killed soon
        saved = clock.now
        clock.now = saved + wait * 0.99
        offer(1)
        assert Slow.saves == 1
        clock.now = saved + wait * 1.01
        offer(2)
        assert Slow.saves == 3  # the pair, and what came now
        assert set(journal.steps) == {"read 1-0", "read 0-2"}
        saved = clock.now
        clock.now = saved + 2 * wait * 0.99  # two were saved
        offer(4)
        assert Slow.saves == 3
        kept.save(tree, {})  # at the end, whatever it takes
        assert set(journal.steps) == {"read 1-0", "read 0-2", "read 0-4"}
