"""Does advice say what it should where the answer is known?

Noise: labels that have nothing to do with the vectors. Anything recommended is a false alarm, of
which there may be 5 in 100. STS: all-MiniLM-L6-v2's vectors of the benchmark's test pairs, as they
are and with one dimension made of noise; it needs the benchmark in ISOSCOPE_DATA.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from isoscope.tasks.datasets.own_pairs import AUC, SPEARMAN, OwnPairProblem
from isoscope.tasks.problems.pairs import ScoredPairs, SentenceSimilarity
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.tasks.registry import find_task
from isoscope.tasks.vectors import Ground, texts_ground
from isoscope.verbs.advise.api import Advice, advice_on
from isoscope.verbs.advise.decision import candidates

RUNS = 200
PAIRS, WIDTH = 200, 24
PLANTED, SPREAD = 127, 0.5
"""Which dimension is made of noise, and its standard deviation beside vectors of length 1."""


def noise(seed: int) -> Advice:
    """Advise on labels that are drawn at random, grades and yes/no by turns."""
    random = np.random.default_rng(seed)
    spread = random.standard_normal((WIDTH, WIDTH)) * np.exp(-np.arange(WIDTH) / 8)[:, None]
    offset = 2 * random.standard_normal(WIDTH)
    vectors = random.standard_normal((2 * PAIRS, WIDTH)) @ spread + offset
    yes_no = seed % 2 == 1
    labels = random.integers(0, 2 if yes_no else 6, PAIRS).astype(np.float64)
    problem = OwnPairProblem(
        "noise", (), np.arange(PAIRS), PAIRS + np.arange(PAIRS), labels,
        np.full(PAIRS, "", object), main=AUC if yes_no else SPEARMAN, yes_no=yes_no,
    )  # fmt: skip
    ground = Ground(problem, vectors.astype(np.float32), "noise", "drawn")
    return advice_on(ground, candidates(None, WIDTH), seed=seed, worthwhile=0.0)


def false_alarms() -> None:
    """Count what is recommended for noise."""
    found = []
    for seed in range(RUNS):
        advice = noise(seed)
        if advice.correction is not None:
            found.append(f"seed {seed}: {advice.sentence}")
    print(
        f"noise: {len(found)} of {RUNS} runs recommend a correction ({PAIRS} pairs, {WIDTH} "
        "dimensions, any gain worthwhile)",
        *found,
        sep="\n",
        flush=True,
    )


def sts(folder: Path) -> None:
    """Advise on MiniLM's vectors, of length 1 as it gives them out."""
    task = find_task("sts-b")
    assert isinstance(task, SentenceSimilarity)
    problem = ScoredPairs.of(task.name, task.load(folder))
    tried = candidates(None, 10_000)
    settings = [one for candidate in tried for one in candidate.settings]
    from isoscope.tasks.fits import parts_of

    ground = texts_ground("package:minilm", problem, parts_of(settings), SentenceProtocol(), None)
    units = ground.vectors / np.linalg.norm(ground.vectors, axis=1, keepdims=True)
    planted = units.copy()
    planted[:, PLANTED] += np.random.default_rng(0).normal(0, SPREAD, len(planted))
    width = units.shape[1]
    for name, vectors in (("MiniLM", units), (f"noise in dimension {PLANTED}", planted)):
        advice = advice_on(replace(ground, vectors=vectors, name=name), candidates(None, width))
        print(f"\n{advice.result.to_markdown()}", flush=True)


if __name__ == "__main__":
    if "--sts" not in sys.argv:
        false_alarms()
    if os.environ.get("ISOSCOPE_DATA"):
        sts(Path(os.environ["ISOSCOPE_DATA"]))
    else:
        print("ISOSCOPE_DATA names no folder: STS is left out")
