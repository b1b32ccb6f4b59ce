"""What a score means, as a function that a program can load: percentile, or probability of a yes.

Both are rising, piecewise linear functions of the cosine. The percentile is the share of random
pairs below a score. The probability is fitted by isotonic regression on labelled pairs: of all
rising functions the one closest to the labels, so that nothing is assumed of its shape.

References
----------
Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability
estimates, KDD.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.data.output import write_atomically
from isoscope.errors import DataError, UsageError
from isoscope.typing import Mask, Vector

MapKind = Literal["percentile", "probability"]
FORMAT = "isoscope score maps"

# A percentile map has a knot at every so-manieth part of the random pairs.
STEPS = 100

# Towards either end, knots follow each other by this factor of what lies beyond them, down to
# single pairs: thresholds lie in the tails, where a straight line over a percent is far off.
DENSER = 1.5


@dataclass(frozen=True)
class ScoreMap:
    """A rising function of the cosine, linear between its knots and constant outside of them.

    Attributes
    ----------
    kind : {"percentile", "probability"}
        Whether it gives the share of random pairs below a score, in percent, or the probability
        that a pair is a yes.
    correction : str
        What vectors have been through before their cosine is taken; ``none`` for nothing.
    scores, values : tuple of float
        The knots.
    """

    kind: MapKind
    correction: str
    scores: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, cosines: ArrayLike) -> Vector:
        """Return what some cosines mean."""
        return np.interp(np.asarray(cosines, np.float64), self.scores, self.values)


def percentile_map(pairs: RandomPairs, correction: str) -> ScoreMap:
    """Say which share of random pairs lies below every score, in percent."""
    last = pairs.count - 1
    ends = np.unique(np.floor(DENSER ** np.arange(np.log(last) / np.log(DENSER))).astype(np.intp))
    even = np.linspace(0, last, STEPS + 1).round().astype(np.intp)
    places = np.unique(np.concatenate([[0], ends, even, last - ends, [last]]))
    scores = pairs.ordered[places].astype(np.float64)
    # What lies below a score is below all that are equal to it; the highest score is above all.
    below = np.searchsorted(pairs.ordered, pairs.ordered[places], "left") / pairs.count
    first = np.append(True, scores[:-1] < scores[1:])
    values = np.append(100 * below[first][:-1], 100.0) if first.sum() > 1 else np.array([100.0])
    return ScoreMap("percentile", correction, tuple(scores[first]), tuple(map(float, values)))


def probability_map(cosines: Vector, labels: Mask, correction: str) -> ScoreMap:
    """Fit the probability of a yes by isotonic regression."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(cosines, labels.astype(np.float64))
    return ScoreMap(
        "probability",
        correction,
        tuple(map(float, fitted.X_thresholds_)),
        tuple(map(float, fitted.y_thresholds_)),
    )


def save_maps(maps: list[ScoreMap], path: str | Path, about: dict[str, Any]) -> None:
    """Write maps as JSON, with what they were made of."""
    target = Path(path)
    check_map_file(target)
    text = json.dumps(
        {"format": FORMAT, "version": 1, **about, "maps": [asdict(one) for one in maps]}, indent=1
    )
    write_atomically(target, text + "\n")


def check_map_file(path: Path) -> None:
    """Refuse an ending that would hide what the file is."""
    if path.suffix.lower() != ".json":
        raise UsageError(f"{path}: a map of scores is written to a .json file")
    if not path.parent.is_dir():
        raise UsageError(f"--map {path}: there is no folder {path.parent}")


def load_maps(path: str | Path) -> dict[tuple[str, str], ScoreMap]:
    """Read maps that ``save_maps`` wrote, by kind and correction.

    Examples
    --------
    >>> load_maps("map.json")["percentile", "none"](0.86)  # doctest: +SKIP
    """
    try:
        held = json.loads(Path(path).read_text("utf-8"))
        if held["format"] != FORMAT:
            raise KeyError("format")
        maps = [
            ScoreMap(one["kind"], one["correction"], tuple(one["scores"]), tuple(one["values"]))
            for one in held["maps"]
        ]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} holds no maps of scores") from error
    return {(one.kind, one.correction): one for one in maps}
