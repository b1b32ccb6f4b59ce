"""Cross-fitting with settings chosen inside the fold, against loops over copies of the data."""

from __future__ import annotations

import numpy as np
from scipy import stats

from isoscope.corrections import make_correction
from isoscope.corrections.named import named
from isoscope.tasks.cross_fitting import Candidate, CrossFitting
from isoscope.tasks.datasets.own_pairs import SPEARMAN, OwnPairProblem
from isoscope.tasks.fits import FoldedRows, parts_of

RNG = np.random.default_rng(1)
PAIRS, WIDTH = 60, 5
VECTORS = RNG.standard_normal((2 * PAIRS, WIDTH)) * [4, 2, 1, 1, 1] + 1
HUMAN = RNG.standard_normal(PAIRS) + 2 * (VECTORS[:PAIRS, 2] * VECTORS[PAIRS:, 2])
FIRST, SECOND = np.arange(PAIRS), PAIRS + np.arange(PAIRS)
SETTINGS = [f"all-but-the-top:n_components={k}" for k in (1, 2, 3)]
FOLDS = [np.arange(k, PAIRS, 4) for k in range(4)]


def toy() -> OwnPairProblem:
    return OwnPairProblem(
        "toy", (), FIRST, SECOND, HUMAN, np.full(PAIRS, "", object), main=SPEARMAN
    )


def cosines(setting: str, out: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Cosines of some pairs after a fit that has not seen others."""
    kept = np.setdiff1d(np.arange(2 * PAIRS), np.concatenate([FIRST[out], SECOND[out]]))
    changed = make_correction(setting).fit(VECTORS[kept]).transform(VECTORS)
    one, other = changed[FIRST[held]], changed[SECOND[held]]
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / lengths)


def test_settings_are_chosen_without_the_fold_they_are_scored_on() -> None:
    settings = named(SETTINGS)
    rows = FoldedRows(
        VECTORS, [toy().rows_of(fold) for fold in FOLDS], np.ones(len(VECTORS), bool),
        parts_of(settings),
    )  # fmt: skip
    seen: list[tuple[str, int, int | None]] = []
    fitting = CrossFitting(toy(), VECTORS, rows, FOLDS, lambda *step: seen.append(step))
    candidates = [Candidate("all-but-the-top", settings), Candidate("center", named(["center"]))]
    several, center = fitting.run(candidates)
    expected, chosen = np.empty(PAIRS), []
    everywhere = {name: np.empty(PAIRS) for name in SETTINGS}
    for number, held in enumerate(FOLDS):
        scores = {}
        others = np.setdiff1d(np.arange(PAIRS), held)
        for name in SETTINGS:
            inner = np.empty(PAIRS)
            for other, scored in enumerate(FOLDS):
                if other != number:
                    inner[scored] = cosines(name, np.concatenate([held, scored]), scored)
            scores[name] = stats.spearmanr(inner[others], HUMAN[others]).statistic
            everywhere[name][held] = cosines(name, held, held)
        chosen.append(max(scores, key=scores.__getitem__))
        expected[held] = cosines(chosen[-1], held, held)
    assert several.chosen == tuple(chosen)
    np.testing.assert_allclose(several.outputs, expected, atol=1e-9)
    best = max(SETTINGS, key=lambda name: stats.spearmanr(everywhere[name], HUMAN).statistic)
    assert several.final.name == best
    for held in FOLDS:
        np.testing.assert_allclose(center.outputs[held], cosines("center", held, held), atol=1e-9)
    assert seen[-1] == ("try corrections", 10, 10)
    plain = fitting.uncorrected()
    np.testing.assert_allclose(plain, toy().cosines(VECTORS))


def test_transductive_fits_see_everything() -> None:
    wanted = named(["center"])
    rows = FoldedRows(
        VECTORS, [toy().rows_of(fold) for fold in FOLDS], np.ones(len(VECTORS), bool),
        parts_of(wanted),
    )  # fmt: skip
    fitting = CrossFitting(toy(), VECTORS, rows, FOLDS, transductive=True)
    (found,) = fitting.run([Candidate("center", wanted)])
    np.testing.assert_allclose(
        found.outputs, toy().cosines(VECTORS - VECTORS.mean(axis=0)), atol=1e-9
    )
    np.testing.assert_allclose(fitting.space(wanted[0]), VECTORS - VECTORS.mean(axis=0), atol=1e-9)
