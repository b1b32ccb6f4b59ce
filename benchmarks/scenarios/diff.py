"""Does ``diff`` tell two clouds apart, and keep thresholds and corrections, where it should?

Decisions are taken from the fields of a comparison; every draw checks that its text says the same.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope
from isoscope.verbs.diff import names as diff_names
from isoscope.verbs.diff.screen import difference_screen
from scenarios.scenario import LEVEL, Decisions, describe, scenario

Matrix = NDArray[np.float64]

PERMUTATIONS = 199
"""Of the tests of ``diff``, which makes 999: enough for a level of 5 %, and five times as fast."""

ANY_DIFFERENCE = "significant difference, negligible or not"
DIFFERENT = "significant difference that is not negligible"
NEGLIGIBLE = "significant but negligible difference"
NEW_THRESHOLD, KEEP_THRESHOLD = "choose a new threshold", "keep the threshold"
NO_THRESHOLD, NO_CORRECTION = "no statement on the threshold", "no statement on A's correction"
FIT_AGAIN, KEEP_CORRECTION = "fit the correction again", "keep A's correction"
OUTSIDE = "significantly more or less outside the support"
SAME_ROWS, OTHER_ROWS = "taken for the same rows", "taken for other rows"
EQUAL, NOT_EQUAL = "equal vectors", "not equal vectors"
HARDLY = "shared neighbours are hardly more than chance"
NOT_HARDLY = "shared neighbours are more than chance"

SENTENCES = {
    ("correction", True): "Keep A's correction",
    ("correction", False): "Fit the correction again",
    ("correction", None): "No statement on A's",
    ("threshold", True): "Keep the threshold",
    ("threshold", False): "Choose a new threshold",
    ("threshold", None): "No statement on the threshold",
}
"""What ``diff`` prints for each answer."""

ON_SCREEN = {
    (what, keep): words
    for what in ("correction", "threshold")
    for keep, words in {
        True: ("", "may be kept for B"), False: ("", "may not be kept for B"),
        None: ("No statement on", ""),
    }.items()
}  # fmt: skip
"""What stands before and behind an answer on a screen."""

SPACES = {"as it is": "as they are", "after center": "after A's centring",
          "after whiten": "after A's whitening"}  # fmt: skip

describe(
    "diff",
    f"The tests use {PERMUTATIONS} permutations here instead of the {diff_names.PERMUTATIONS} of "
    "`diff`, which is enough for a level of 5 % and five times as fast. *Choose a new threshold* "
    "and *fit the correction again* are counted if they are said about any space or any "
    "correction.",
    {
        **{
            f"threshold of vectors {words}: keep / new / no statement": tuple(
                f"{what}: {space}" for what in (KEEP_THRESHOLD, NEW_THRESHOLD, NO_THRESHOLD)
            )
            for space, words in SPACES.items()
        },
        **{
            f"A's {words}: keep / fit again / no statement": tuple(
                f"{what}: {name}" for what in (KEEP_CORRECTION, FIT_AGAIN, NO_CORRECTION)
            )
            for name, words in (("center", "centring"), ("whiten", "whitening"))
        },
        "significant differences: not negligible / negligible": (DIFFERENT, NEGLIGIBLE),
        "same rows": (SAME_ROWS,),
    },
)


def compared(a: Matrix, b: Matrix, seed: int, **options: Any) -> set[str]:
    """Return the decisions of one comparison."""
    diff_names.PERMUTATIONS = PERMUTATIONS
    return decisions_of(isoscope.diff(a, b, seed=seed, **options))


def decisions_of(result: isoscope.Result) -> set[str]:
    """Take the decisions out of the fields of a comparison, and check that its text agrees."""
    found = {SAME_ROWS if result.extra["same_rows"] else OTHER_ROWS}
    found.add(EQUAL if result.extra["equal_vectors"] else NOT_EQUAL)
    answers: Counter[tuple[str, bool | None]] = Counter()
    for row in result:
        extra = row.extra
        if row.part == diff_names.DIFFERENT and extra.get("p_holm", 1.0) <= LEVEL:
            found |= {ANY_DIFFERENCE, NEGLIGIBLE if extra["negligible"] else DIFFERENT}
        if row.part == diff_names.SUPPORT and "@95%" in row.measure and extra["differs"]:
            found.add(OUTSIDE)
        if row.measure == "mean_cosine/old":
            keep = extra["keep"]
            answers["correction", keep] += 1
            say = {True: KEEP_CORRECTION, False: FIT_AGAIN, None: NO_CORRECTION}
            found |= {say[keep], f"{say[keep]}: {row.correction}"}
        if row.measure == "pairs_above_threshold/B":
            keep = extra["keep"]
            answers["threshold", keep] += 1
            say = {True: KEEP_THRESHOLD, False: NEW_THRESHOLD, None: NO_THRESHOLD}
            space = "as it is" if row.correction == "none" else f"after {row.correction}"
            found |= {say[keep], f"{say[keep]}: {space}"}
    text = " ".join(result.extra["remarks"])
    said: list[tuple[str, int]] = [(words, answers[answer]) for answer, words in SENTENCES.items()]
    said += [
        ("Significant differences: ", int(DIFFERENT in found)),
        ("Significant but negligible differences: ", int(NEGLIGIBLE in found)),
    ]
    for words, times in said:
        assert text.count(words) == times, f"{words!r} is not said {times} times: {text}"
    assert ("significantly" in text) == (OUTSIDE in found), text
    # A screen says it for several spaces at a time.
    screen = " ".join(difference_screen(result).answer)
    for (what, keep), (before, behind) in ON_SCREEN.items():
        assert (f"{before} A's {what} {behind}".strip() in screen) == (answers[what, keep] > 0), (
            screen
        )
    assert ("Significant differences" in screen) == (DIFFERENT in found), screen
    assert ("negligible" in screen) == (NEGLIGIBLE in found), screen
    if any(row.part == diff_names.SAME for row in result):
        found.add(HARDLY if "hardly more than chance" in text else NOT_HARDLY)
    return found


def cloud(random: np.random.Generator, rows: int, width: int, offset: float = 0.5) -> Matrix:
    """Variances 1, 1/2, 1/3, … and an offset of so many standard deviations."""
    return (random.standard_normal((rows, width)) + offset) * np.arange(1, width + 1) ** -0.5


HALVES = {
    NEW_THRESHOLD: LEVEL,
    FIT_AGAIN: LEVEL,
    ANY_DIFFERENCE: LEVEL,
    DIFFERENT: LEVEL,
    OUTSIDE: LEVEL,
    SAME_ROWS: LEVEL,
    EQUAL: 0.0,
}


def add_halves(rows: int, width: int) -> None:
    @scenario("diff", f"halves, {rows:,} × {width}", "two halves of one cloud", HALVES)
    def halves(seed: int) -> Decisions:
        both = cloud(np.random.default_rng(seed), 2 * rows, width)
        return compared(both[:rows], both[rows:], seed)


for rows_of_half in (250, 500, 2_000):
    for width_of_half in (64, 384):
        add_halves(rows_of_half, width_of_half)


def add_rotated(rows: int, width: int) -> None:
    wrong = {KEEP_CORRECTION: 0.0, SAME_ROWS: LEVEL, EQUAL: 0.0}
    truth = "halves of one cloud without an offset, one of them rotated at random"

    @scenario("diff", f"rotated, {rows:,} × {width}", truth, wrong)
    def rotated(seed: int) -> Decisions:
        random = np.random.default_rng(seed)
        both = cloud(random, 2 * rows, width, offset=0.0)
        turn = np.linalg.qr(random.standard_normal((width, width)))[0]
        return compared(both[:rows], both[rows:] @ turn, seed)


add_rotated(500, 384)
add_rotated(2_000, 64)


def add_shifted(rows: int, width: int, share: float) -> None:
    """Shift the mean by a share of the spread, in the directions that vary most."""
    wrong = {KEEP_THRESHOLD + ": as it is": LEVEL, SAME_ROWS: LEVEL, EQUAL: 0.0}
    if share >= 0.5:
        wrong |= {KEEP_CORRECTION: LEVEL, NEGLIGIBLE: LEVEL}
    truth = f"halves of one cloud, one of them shifted by {share:g} of the spread"

    @scenario("diff", f"shifted by {share:g}, {rows:,} × {width}", truth, wrong)
    def shifted(seed: int) -> Decisions:
        both = cloud(np.random.default_rng(seed), 2 * rows, width)
        scales = np.arange(1, width + 1) ** -0.5
        # Every dimension by the same number of its standard deviations: their squares add up.
        return compared(both[:rows], both[rows:] + share * scales, seed)


add_shifted(500, 64, 0.5)
add_shifted(2_000, 64, 0.2)


@scenario(
    "diff", "itself, 500 × 64", "a cloud against itself",
    dict.fromkeys((NOT_EQUAL, OTHER_ROWS, DIFFERENT, NEGLIGIBLE, FIT_AGAIN, NEW_THRESHOLD), 0.0),
)  # fmt: skip
def itself(seed: int) -> Decisions:
    rows = cloud(np.random.default_rng(seed), 500, 64)
    return compared(rows, rows.copy(), seed)


@scenario(
    "diff", "half precision, 500 × 64", "unit vectors in float32 against the same in float16",
    {DIFFERENT: 0.0, FIT_AGAIN: 0.0, NEW_THRESHOLD: 0.0, OTHER_ROWS: 0.0, EQUAL: 0.0,
     OUTSIDE: LEVEL},
)  # fmt: skip
def half_precision(seed: int) -> Decisions:
    rows = cloud(np.random.default_rng(seed), 500, 64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return compared(rows.astype(np.float32), rows.astype(np.float16), seed)


@scenario(
    "diff", "another model, 500 × 64", "the same rows by a random map, half of it noise",
    {OTHER_ROWS: LEVEL, EQUAL: 0.0, HARDLY: LEVEL},
)  # fmt: skip
def another_model(seed: int) -> Decisions:
    random = np.random.default_rng(seed)
    rows = cloud(random, 500, 64)
    mapped = rows @ random.standard_normal((64, 32))
    noise = random.standard_normal(mapped.shape) * mapped.std(axis=0)
    return compared(rows, mapped + noise, seed)


@scenario(
    "diff", "sorted by topic, 500 × 64", "other rows in two files that are sorted by topic",
    {SAME_ROWS: LEVEL, EQUAL: 0.0},
)  # fmt: skip
def sorted_by_topic(seed: int) -> Decisions:
    random = np.random.default_rng(seed)
    topics = random.standard_normal((20, 64))[np.arange(500) // 25]
    a, b = (topics + random.standard_normal((500, 64)) for _ in range(2))
    return compared(a, b, seed)


@scenario(
    "diff", "said to be the same rows, 300 × 32", "other rows, compared with --same-rows",
    {NOT_HARDLY: LEVEL, EQUAL: 0.0},
)  # fmt: skip
def said_to_be_the_same(seed: int) -> Decisions:
    both = cloud(np.random.default_rng(seed), 600, 32)
    return compared(both[:300], both[300:], seed, same_rows=True)
