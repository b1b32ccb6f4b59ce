"""How often is a sentence that contains a decision wrong, on data where the truth is known?

Every scenario draws data whose truth is known, calls the verb, and counts the decisions that the
result holds, from its fields, never from its text; that text and fields agree is checked in every
draw. Results are kept in ``docs/results/sentences.json`` and written as tables to
``docs/results/sentences.md``; scenarios that are not run again stay as they are.

    python benchmarks/sentences.py --draws 500
    python benchmarks/sentences.py --draws 20 --only "halves, 250"
    python benchmarks/sentences.py --draws 0            # writes the tables again

A new scenario is a function from a seed to the decisions of one draw, with ``@scenario``.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope
from isoscope.compute.threads import one_blas_thread
from isoscope.verbs.diff import names as diff_names

Matrix = NDArray[np.float64]
Decisions = Iterable[str]

RESULTS = Path(__file__).parent.parent / "docs" / "results"
STORED, PAGE = RESULTS / "sentences.json", RESULTS / "sentences.md"

PERMUTATIONS = 199
"""Of the tests of ``diff``, which makes 999: enough for a level of 5 %, and five times as fast."""


@dataclass(frozen=True)
class Scenario:
    """Data whose truth is known.

    Attributes
    ----------
    verb, name, truth : str
        The verb, a name that ``--only`` is looked for in, and what is true of the data.
    draw : callable
        Returns the decisions of the draw with a seed, each at most once.
    wrong : dict of str to float
        Decisions that are wrong here, each with the rate that is allowed.
    """

    verb: str
    name: str
    truth: str
    draw: Callable[[int], Decisions]
    wrong: dict[str, float]


SCENARIOS: list[Scenario] = []


def scenario(verb: str, name: str, truth: str, wrong: dict[str, float]) -> Callable[..., Any]:
    """Register a function from a seed to the decisions of one draw."""

    def register(draw: Callable[[int], Decisions]) -> Callable[[int], Decisions]:
        SCENARIOS.append(Scenario(verb, name, truth, draw, wrong))
        return draw

    return register


# --- diff ----------------------------------------------------------------------------------------

LEVEL = 0.05
DIFFERENT = "significant difference that is not negligible"
NEGLIGIBLE = "significant but negligible difference"
NEW_THRESHOLD, KEEP_THRESHOLD = "choose a new threshold (any space)", "keep the threshold"
FIT_AGAIN, KEEP_CORRECTION = "fit a correction again (any)", "keep A's correction"
OUTSIDE = "significantly more or less outside the support"
SAME_ROWS, OTHER_ROWS = "taken for the same rows", "taken for other rows"
EQUAL, NOT_EQUAL = "equal vectors", "not equal vectors"

SENTENCES = {
    ("correction", True): "Keep A's correction",
    ("correction", False): "Fit the correction again",
    ("correction", None): "No statement on A's",
    ("threshold", True): "Keep the threshold",
    ("threshold", False): "Choose a new threshold",
    ("threshold", None): "No statement on the threshold",
}
"""What ``diff`` prints for each answer."""


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
            found.add(NEGLIGIBLE if extra["negligible"] else DIFFERENT)
        if row.part == diff_names.SUPPORT and "@95%" in row.measure and extra["differs"]:
            found.add(OUTSIDE)
        if row.measure == "mean_cosine/old":
            keep = extra["keep"]
            answers["correction", keep] += 1
            say = {True: KEEP_CORRECTION, False: FIT_AGAIN, None: "no statement on a correction"}
            found |= {say[keep], f"{say[keep]}: {row.correction}"}
        if row.measure == "pairs_above_threshold/B":
            keep = extra["keep"]
            answers["threshold", keep] += 1
            say = {True: KEEP_THRESHOLD, False: NEW_THRESHOLD, None: "no statement on a threshold"}
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
    return found


def cloud(random: np.random.Generator, rows: int, width: int, offset: float = 0.5) -> Matrix:
    """Variances 1, 1/2, 1/3, … and an offset of so many standard deviations."""
    return (random.standard_normal((rows, width)) + offset) * np.arange(1, width + 1) ** -0.5


HALVES = {
    NEW_THRESHOLD: LEVEL,
    FIT_AGAIN: LEVEL,
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
    {OTHER_ROWS: LEVEL, EQUAL: 0.0},
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


# --- run and write -------------------------------------------------------------------------------


def drawn(name: str, seed: int) -> list[str]:
    """Return the decisions of one draw of a scenario, which another process finds by its name."""
    (found,) = (one for one in SCENARIOS if one.name == name)
    with one_blas_thread():
        return sorted(set(found.draw(seed)))


def count(one: Scenario, draws: int, workers: int) -> dict[str, Any]:
    """Return how often each decision was made, as it is kept."""
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(drawn, [one.name] * draws, range(draws), chunksize=4):
            counts.update(found)
    seconds = time.perf_counter() - started
    return {
        "verb": one.verb, "truth": one.truth, "draws": draws, "seconds": round(seconds),
        "wrong": one.wrong, "counts": dict(sorted(counts.items())),
    }  # fmt: skip


def wilson(times: int, draws: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate."""
    z = 1.96
    middle = (times + z * z / 2) / (draws + z * z)
    reach = z / (draws + z * z) * math.sqrt(times * (draws - times) / draws + z * z / 4)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def page(kept: dict[str, Any]) -> str:
    """Write what is kept as tables: wrong decisions with what is allowed, then all decisions."""
    lines = [
        "# How often are sentences wrong?",
        "",
        "`python benchmarks/sentences.py --draws 500` draws data whose truth is known and counts",
        "how often a sentence with a decision was printed that is wrong there. Rates have Wilson's",
        "interval of 95 %. A rate that is higher than allowed, to the lower end of its interval,",
        "is marked with **!**. The column *of* has the number of draws, which is below 500 where",
        "a scenario has not been run at full length yet. Draws have the seeds 0, 1, 2 and so on.",
        "Machine: two cores, 24 GiB. Other verbs have scripts of their own, which print tables:",
        "`sentences_threshold.py`, `sentences_advise.py` and `sentences_correct.py`.",
    ]
    for verb in dict.fromkeys(one["verb"] for one in kept.values()):
        some = {name: one for name, one in kept.items() if one["verb"] == verb}
        lines += [
            "", f"## {verb}", "", "### Wrong decisions", "",
            "| data | sentence | wrong | of | rate | allowed |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for name, one in some.items():
            for decision, allowed in one["wrong"].items():
                times, draws = one["counts"].get(decision, 0), one["draws"]
                low, high = wilson(times, draws)
                mark = " **!**" if low > allowed else ""
                rate = f"{times / draws:.1%} ({low:.1%} to {high:.1%}){mark}"
                lines.append(
                    f"| {name} | {decision} | {times} | {draws} | {rate} | {allowed:.0%} |"
                )
        lines += ["", "### All decisions", ""]
        for name, one in some.items():
            all_of = "; ".join(
                f"{what} {n / one['draws']:.0%}" for what, n in one["counts"].items()
            )
            lines.append(f"- **{name}** ({one['truth']}; {one['draws']} draws): {all_of}.")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run scenarios, keep what they found, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--only", default="", help="run scenarios whose verb or name contains this")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    kept = json.loads(STORED.read_text()) if STORED.exists() else {}
    for one in SCENARIOS:
        if asked.draws and asked.only in f"{one.verb}: {one.name}":
            kept[one.name] = count(one, asked.draws, asked.workers)
            counts = kept[one.name]["counts"]
            wrong = {what: counts.get(what, 0) for what in one.wrong}
            print(f"{one.verb}: {one.name}, {kept[one.name]['seconds']} s: {wrong}", flush=True)
    # In the order of this file, whichever were run again.
    order = [one.name for one in SCENARIOS]
    kept = {name: kept[name] for name in sorted(kept, key=order.index) if name in order}
    STORED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(kept))


if __name__ == "__main__":
    main()
