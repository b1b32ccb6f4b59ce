from __future__ import annotations

import doctest
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.errors import UsageError
from isoscope.models import checkpoints as steps
from isoscope.models.checkpoints import (
    choose,
    order_of,
    parse_every,
    said_rule,
    said_steps,
    step_of,
)

PYTHIA = [0, *(2**k for k in range(10)), *range(1000, 144_000, 1000)]


def test_examples_in_docstrings() -> None:
    found = doctest.testmod(steps)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("step0", 0),
        ("step143000", 143_000),
        ("checkpoint-500", 500),
        ("global_step1000", 1000),
        ("iter_0002000", 2000),
        ("step1000-tokens4B", 1000),
        ("stage2-step50K", 50_000),
        ("STEP-2m", 2_000_000),
        ("ckpt_3b_tokens", 3_000_000_000),
        ("step12kilo", 12),
        ("run2-epoch-3", 3),
        ("v1.0", 0),
        ("main", None),
        ("step", None),
    ],
)
def test_the_step_in_a_name(name: str, step: int | None) -> None:
    assert step_of(name) == step


def test_order_is_that_of_numbers() -> None:
    names = ["main", "step1000", "step200", "step9", "step200-b10", "step200-b9", "final", "step0"]
    expected = ["step0", "step9", "step200", "step200-b9", "step200-b10", "step1000"]
    assert sorted(names, key=order_of) == [*expected, "final", "main"]


def test_every_tenth_has_the_first_and_the_last() -> None:
    chosen = [PYTHIA[k] for k in choose(PYTHIA, 10)]
    assert chosen == [*PYTHIA[::10], 143_000]
    assert choose(PYTHIA, 1) == choose(PYTHIA, None) == list(range(154))
    assert choose([7], 10) == [0]


def test_doubled_steps_of_pythia() -> None:
    chosen = [PYTHIA[k] for k in choose(PYTHIA, "log")]
    assert chosen == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 4000, 8000, 16_000,
                      33_000, 66_000, 131_000, 143_000]  # fmt: skip


@given(st.sets(st.integers(0, 10**6), min_size=1))
def test_log_leaves_no_gap_that_a_step_could_fill(found: set[int]) -> None:
    known = sorted(found)
    chosen = [known[k] for k in choose(known, "log")]
    assert chosen[0] == known[0]
    assert chosen[-1] == known[-1]
    assert chosen == sorted(set(chosen))
    for before, after in pairwise(chosen):
        if before and after > 8 * before:
            # Some target is within a factor of √2 of such a step: its nearest would be taken.
            between = [step for step in known if 2 * before < step < after / 4]
            assert not between


def test_names_without_a_step_are_taken() -> None:
    assert choose([1, 2, 3, 4, None], "log") == [0, 1, 3, 4]
    assert choose([None], "log") == [0]


def test_reading_every() -> None:
    assert parse_every(None) is None
    assert parse_every("log") == "log"
    assert parse_every("10") == 10
    for wrong in ("0", "-1", "ten", "1.5", "", "²"):
        with pytest.raises(UsageError, match="--every must be log or a number of at least 1"):
            parse_every(wrong)
    with pytest.raises(UsageError, match="--every"):
        choose([1, 2], 0)


def test_saying_the_rule() -> None:
    assert [said_rule(every) for every in (None, 1, 10, "log")] == [
        "", "", "one in 10", "nearest to steps 1, 2, 4, 8, …"
    ]  # fmt: skip


def test_saying_steps() -> None:
    assert said_steps(PYTHIA) == (
        "0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000 to 143000 by 1000"
    )
    assert said_steps([]) == ""
    assert said_steps([5]) == "5"
    assert said_steps([1, 2, 3]) == "1, 2, 3"
    assert said_steps([1, 2, 3, 4, 6, 8, 10]) == "1 to 4 by 1, 6, 8, 10"


@given(st.lists(st.integers(0, 30), unique=True).map(sorted))
def test_said_steps_are_those_that_there_are(found: list[int]) -> None:
    back: list[int] = []
    for piece in filter(None, said_steps(found).split(", ")):
        first, _, rest = piece.partition(" to ")
        last, _, by = rest.partition(" by ")
        back += range(int(first), int(last) + 1, int(by)) if rest else [int(first)]
    assert back == found
