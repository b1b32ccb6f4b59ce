"""What a score means, as a function that a program can load: percentile, or probability of a yes.

Both are rising, piecewise linear functions of the cosine. The percentile is the share of random
pairs below a score. The probability is fitted by isotonic regression on labelled pairs: of all
rising functions the one closest to the labels, so that nothing is assumed of its shape.

Isotonic regression alone gives a probability of exactly 1 to every score above the highest no, and
of 0 to every score below the lowest yes, however few pairs lie there. So one yes and one no are
added at either end. Where the k highest pairs are all a yes, the probability is then Laplace's
(k + 1) / (k + 2), which is also what the two fits of a Venn-Abers predictor merge to; away from
the ends nothing changes. Scores outside of the labelled pairs have no data behind them: they get
the value at the nearer end, with a warning.

References
----------
Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability
estimates, KDD. Vovk & Petej (2014), Venn-Abers predictors, UAI.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.data.output import write_atomically
from isoscope.errors import DataError, UsageError, one_of
from isoscope.typing import Mask, Vector

MapKind = Literal["percentile", "probability"]
Outside = Literal["warn", "clip", "nan", "raise"]
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
        The knots. The first and the last score are the range of the data.
    pairs : int or None
        How many pairs it was made of; None in files of earlier versions.
    """

    kind: MapKind
    correction: str
    scores: tuple[float, ...]
    values: tuple[float, ...]
    pairs: int | None = None

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest cosine of the pairs that the map was made of."""
        return self.scores[0], self.scores[-1]

    def inside(self, cosines: ArrayLike) -> Mask:
        """Tell which cosines lie within the range of the data."""
        given = np.asarray(cosines, np.float64)
        low, high = self.range
        return np.asarray((given >= low) & (given <= high))

    def __call__(self, cosines: ArrayLike, *, outside: Outside = "warn") -> Vector:
        """Return what some cosines mean.

        Parameters
        ----------
        cosines : array-like
            Scores.
        outside : {"warn", "clip", "nan", "raise"}
            What becomes of scores outside of the labelled pairs that a probability was fitted on:
            the value at the nearer end, with or without a warning, NaN, or an error. A percentile
            is known there: no random pair lies beyond the ends.

        Examples
        --------
        >>> found = ScoreMap("probability", "none", (0.2, 0.6), (0.1, 0.9))
        >>> found([0.4, 0.8], outside="nan").round(2).tolist()
        [0.5, nan]
        """
        one_of("outside", outside, get_args(Outside))
        given = np.asarray(cosines, np.float64)
        found: Vector = np.interp(given, self.scores, self.values)
        beyond = ~self.inside(given)
        if self.kind == "percentile" or outside == "clip" or not beyond.any():
            return found
        if outside == "nan":
            return np.where(beyond, np.nan, found)
        low, high = self.range
        told = (
            f"{int(beyond.sum()):,} of {given.size:,} scores lie outside the range of the "
            f"labelled pairs ({low:.4f} to {high:.4f})"
        )
        if outside == "raise":
            raise DataError(f"{told}; outside='clip' gives them the value at the nearer end")
        warnings.warn(f"{told} and get the value at the nearer end", UserWarning, stacklevel=2)
        return found


def percentile_map(pairs: RandomPairs, correction: str) -> ScoreMap:
    """Say which share of random pairs lies below every score, in percent."""
    last = pairs.count - 1
    # Two rows have a single pair, whose place is 0.
    powers = np.arange(np.log(max(last, 1)) / np.log(DENSER))
    ends = np.unique(np.floor(DENSER**powers).astype(np.intp))
    even = np.linspace(0, last, STEPS + 1).round().astype(np.intp)
    places = np.unique(np.concatenate([[0], ends, even, last - ends, [last]]))
    scores = pairs.ordered[places].astype(np.float64)
    # What lies below a score is below all that are equal to it; the highest score is above all.
    below = np.searchsorted(pairs.ordered, pairs.ordered[places], "left") / pairs.count
    first = np.append(True, scores[:-1] < scores[1:])
    values = np.append(100 * below[first][:-1], 100.0) if first.sum() > 1 else np.array([100.0])
    knots = tuple(map(float, scores[first]))
    return ScoreMap("percentile", correction, knots, tuple(map(float, values)), pairs.count)


def probability_map(cosines: Vector, labels: Mask, correction: str) -> ScoreMap:
    """Fit the probability of a yes by isotonic regression, never exactly 0 or 1."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    # A yes and a no at either end: Laplace's rule for the pairs that isotonic regression pools
    # there. Without them it gives exactly 0 and 1.
    ends = np.repeat([cosines.min(), cosines.max()], 2)
    fitted.fit(
        np.concatenate([cosines, ends]),
        np.concatenate([labels.astype(np.float64), np.tile([0.0, 1.0], 2)]),
    )
    return ScoreMap(
        "probability",
        correction,
        tuple(map(float, fitted.X_thresholds_)),
        tuple(map(float, fitted.y_thresholds_)),
        len(cosines),
    )


def save_maps(maps: list[ScoreMap], path: str | Path, about: dict[str, Any]) -> None:
    """Write maps as JSON, with what they were made of."""
    target = Path(path)
    check_map_file(target)
    written = [asdict(one) | {"range": one.range} for one in maps]
    text = json.dumps({"format": FORMAT, "version": 2, **about, "maps": written}, indent=1)
    write_atomically(target, text + "\n")


def check_map_file(path: Path) -> None:
    """Refuse an ending that would hide what the file is."""
    if path.suffix.lower() != ".json":
        raise UsageError(f"{path}: a map of scores is written to a .json file")
    if not path.parent.is_dir():
        raise UsageError(f"--map {path}: there is no folder {path.parent}")


def knots(values: Any) -> tuple[float, ...]:
    """Return the numbers of one axis of a map, all finite."""
    found = tuple(map(float, values)) if isinstance(values, list) else ()
    if not all(map(math.isfinite, found)):
        raise ValueError("a knot is not finite")
    return found


# What a file raises that `save_maps` did not write.
FORGED = (
    ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip


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
            ScoreMap(
                one["kind"], str(one["correction"]), knots(one["scores"]), knots(one["values"]),
                one.get("pairs"),
            )
            for one in held["maps"]
        ]  # fmt: skip
        for one in maps:
            one_of("kind", one.kind, get_args(MapKind))
            if not 1 <= len(one.scores) == len(one.values) or sorted(one.scores) != [*one.scores]:
                raise ValueError("scores do not rise, or are not as many as values")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except FORGED as error:
        raise DataError(f"{path} holds no maps of scores") from error
    return {(one.kind, one.correction): one for one in maps}
