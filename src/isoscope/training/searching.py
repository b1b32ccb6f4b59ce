"""Choosing the options of a calibration on the part that is scored, over a grid that is stated.

Ding et al. (2022) print no options, so a fair comparison gives every calibration a choice. One run
of each, with a seed that no reported run has; the score that decides picks. The same part is
scored again afterwards, which favours calibrations over none a little: results say so.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.training.outcomes import Outcome

SEARCH_SEED = 1_000

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "cosreg": {"weight": (0.01, 0.1, 1.0, 10.0)},
    "spectrum-pol": {"weight": (0.01, 1.0), "c1": (0.1, 1.0), "gamma": (-1.0, -0.5)},
    "spectrum-exp": {"weight": (0.01, 1.0), "c1": (0.1, 1.0), "c2": (0.1, 1.0)},
    "flow": {"weight": (0.1, 1.0)},
    "i-star": {"weight": (0.01, 0.1, 1.0, 10.0)},
}
"""Values that are tried, all combinations of them."""


def candidates(calibration: str) -> list[str]:
    """Return what is tried for a calibration; options that the user gave stay as they are."""
    name, *given = calibration.split(":")
    fixed = {pair.partition("=")[0] for pair in given}
    open_options = {option: values for option, values in GRIDS[name].items() if option not in fixed}
    return [
        ":".join((calibration, *(f"{o}={v:g}" for o, v in zip(open_options, values, strict=True))))
        for values in product(*open_options.values())
    ]


def best_options(
    run: Callable[[str, str, int], Outcome], task: str, calibration: str
) -> tuple[str, str]:
    """Return the calibration with the options that score best, and a sentence about the choice.

    Parameters
    ----------
    run : callable
        Runs a task with a calibration and a seed.
    task, calibration : str
        What is searched for.
    """
    tried = candidates(calibration)
    scores = {}
    for text in tried:
        outcome = run(task, text, SEARCH_SEED)
        score = next(iter(outcome.scores.values()))
        if score is not None:
            scores[text] = score
    if not scores:
        raise UsageError(f"{task}: no options of {calibration} gave a score; see --calibration")
    best = max(scores, key=scores.__getitem__)
    return best, (
        f"{task}: {best} is the best of {len(tried)} on the part that is scored (seed "
        f"{SEARCH_SEED}): {scores[best]:.4f}"
    )
