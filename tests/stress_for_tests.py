"""Clouds that are hard on numbers, how far measures are from the oracle there, and the exceptions.

A cloud has a structure, an offset in units of its spread, a scale and a type. Rank-deficient clouds
and duplicates are whole numbers times a power of two, so that they are exact in every type: of
rounded ones the oracle would take the rounding for directions.

    python tests/stress_for_tests.py       measure the grid, and write the table of exceptions
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import oracle
from mpmath import mp
from oracle_values_for_tests import ORACLE_NAMES, expected, measured

import isoscope
from isoscope.measures.registry import all_measures

TABLE = Path(__file__).parent / "measures" / "stress.json"
"""The one list of exceptions: where an error is above the tolerance, and how large it was."""

CORRECTIONS = ("none", "center", "all-but-the-top:n_components=2", "whiten")
STRUCTURES = ("full rank", "rank 3", "duplicates")
DTYPES = ("float64", "float32", "float16")
TOLERANCE = {"float64": (1e-10, 1e-10), "float32": (1e-4, 1e-5), "float16": (1e-4, 1e-5)}
"""Of logarithms and of other numbers, relative to max(1, |value|); lengths to the cloud's own."""

CLUSTERS = "local_i1:n_clusters=1:seeds=1"
MEASURES = [*(one.name for one in all_measures() if one.name != "local_i1"), CLUSTERS]
"""All that there are; one cluster, because which ones are found is not a matter of digits."""

LENGTHS = ("mean_norm", "norm_of_mean")
OFFSETS = (0.5, 1e3, 1e6)
SEEDS = range(3)
MARGIN = 4.0
"""An exception allows this many times the error that was measured in its region."""


@dataclass(frozen=True)
class Stress:
    """One cloud."""

    dtype: str
    structure: str
    offset: float
    scale: float
    seed: int = 0

    def cloud(self) -> np.ndarray:
        """Return the vectors."""
        rng = np.random.default_rng(self.seed)
        scale = 2.0 ** round(math.log2(self.scale))
        if self.structure == "full rank":
            X = rng.standard_normal((16, 4)) * (2, 1, 0.7, 0.4)
        elif self.structure == "rank 3":
            X = rng.integers(-4, 5, (16, 3)) @ np.array([[1, 0, 1, 2], [0, 1, 1, -1], [1, 1, 0, 0]])
        else:
            X = np.repeat(rng.integers(-4, 5, (6, 4)), 3, axis=0)
        spread = math.sqrt(X.var(axis=0).sum())
        direction = rng.choice([-1.0, 1.0], 4) * rng.integers(1, 3, 4)
        moved = X + np.rint(self.offset * spread / np.linalg.norm(direction)) * direction
        return (moved * scale).astype(self.dtype)


def errors_of(stress: Stress) -> Iterator[tuple[str, str, float]]:
    """Yield correction, measure and error of every number of a cloud."""
    cloud = stress.cloud()
    length = float(np.linalg.norm(cloud.astype(np.float64), axis=1).mean())
    for correction in CORRECTIONS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = isoscope.measure(cloud, MEASURES, corrections=[correction], intervals=False)
        found = measured(result, correction)
        found |= in_tables(result, correction)
        wanted = expected(cloud.astype(np.float64), correction)
        for measure, value in (wanted | more_expected(stress, cloud, correction)).items():
            if measure not in found:
                yield correction, measure, math.inf
                continue
            unit = max(1.0, abs(value))
            if measure in LENGTHS:
                unit = max(abs(value), length if correction != "whiten" else 1.0)
            yield correction, measure, abs(found[measure] - value) / unit


def more_expected(stress: Stress, cloud: np.ndarray, correction: str) -> dict[str, float]:
    """Compute by definition what samples, neighbours, clusters and tables tell.

    Neighbours are compared where there is one answer: not where rounding of the stored type makes
    rows equal, or where two rows are equally near.
    """
    exact = cloud.astype(np.float64)
    made = oracle.corrected(exact, ORACLE_NAMES[correction], 2 if "top" in correction else None)
    kept = made.tolist()
    for row in np.flatnonzero(~exact.any(axis=1)):
        kept[row] = [0] * len(kept[row])
    kept = mp.matrix(kept)
    cosines = oracle.pair_cosines(kept)
    values = {
        f"cosine_quantiles/{share}%": oracle.quantile(cosines, f"{share / 100}")
        for share in (1, 5, 50, 95, 99)
    }
    values["uniformity"] = oracle.uniformity(kept)
    variances, moments = oracle.variances(made), oracle.second_moments(made)
    for k, (variance, moment) in enumerate(zip(variances, moments, strict=True)):
        values[f"spectrum {k + 1} share"] = variance / sum(variances)
        # Of a singular value that is zero, the root of a rounding is left: squares are compared.
        values[f"spectrum {k + 1} relative_singular_value"] = moment / moments[0]
    if correction == "none":
        found = oracle.dimension_variances(made)
        parts = oracle.mean_cosine_by_dimension(kept)
        for k, (variance, part) in enumerate(zip(found, parts, strict=True)):
            values[f"dimension {k} share_of_variance"] = variance / sum(found)
            values[f"dimension {k} mean_cosine_part"] = part
        centred = oracle.corrected(exact, "center", None)
        values[f"ln {CLUSTERS}"] = oracle.log_i1(oracle.log_partitions(centred))
    if stress.structure == "full rank":
        _, apart = oracle.two_nn(oracle.as_matrix(exact))
        if apart > 200 * float(np.finfo(stress.dtype).eps) * float(np.abs(exact).max()):
            values["intrinsic_dimension"], _ = oracle.two_nn(made)
        skewness, gap = oracle.hubness(kept)
        if gap > 1e-11:
            values["hubness"] = skewness
    return {name: float(value) for name, value in values.items()}


def in_tables(result: isoscope.Result, correction: str) -> dict[str, float]:
    """Return the numbers of the tables whose rows are components or dimensions."""
    found = {}
    for table in result.tables:
        if table.correction != correction:
            continue
        for row in table.rows:
            for column, power in (("share", 1), ("relative_singular_value", 2)):
                if table.measure == "spectrum":
                    found[f"spectrum {row['component']} {column}"] = row[column] ** power
            for column in ("share_of_variance", "mean_cosine_part"):
                if table.measure == "outlier_dimensions" and correction == "none":
                    found[f"dimension {row['dimension']} {column}"] = row[column]
    return found


def limit_of(stress: Stress, measure: str, table: list[dict[str, Any]]) -> float:
    """Return the error that is allowed."""
    usual = TOLERANCE[stress.dtype][0 if measure.startswith("ln ") else 1]
    for row in table:
        if row["dtype"] == stress.dtype and stress.offset > row["offset_above"]:
            usual = max(usual, row["error"] * MARGIN)
    return usual


def grid() -> Iterator[Stress]:
    """Yield the clouds of which the table is made; half precision has no room for most of them."""
    for dtype, structure in itertools.product(DTYPES, STRUCTURES):
        half = dtype == "float16"
        # Ordinary scales are computed in single precision, others are not.
        offsets, scales = ((0.5, 50.0), (1.0,)) if half else (OFFSETS, (1e-30, 1.0, 1e30))
        for offset, scale, seed in itertools.product(offsets, scales, SEEDS):
            yield Stress(dtype, structure, offset, scale, seed)


def write_table() -> None:
    """Measure the grid, and list what is above the tolerance."""
    worst: dict[tuple[str, float], tuple[float, str]] = {}
    cases = 0
    for stress in grid():
        for correction, measure, error in errors_of(stress):
            cases += 1
            if error > limit_of(stress, measure, []):
                # The region begins behind the last offset of the grid at which all was well.
                above = max((one for one in OFFSETS if one < stress.offset), default=0.0)
                found = (error, f"{measure}, {correction}")
                worst[stress.dtype, above] = max(worst.get((stress.dtype, above), found), found)
        print(stress, flush=True)
    rows = [
        {"dtype": dtype, "offset_above": above, "error": float(f"{error:.2g}"), "worst": where}
        for (dtype, above), (error, where) in sorted(worst.items())
    ]
    about = {"command": "python tests/stress_for_tests.py", "date": date.today().isoformat(),
             "numbers": cases, "seeds": len(SEEDS)}  # fmt: skip
    TABLE.write_text(json.dumps({**about, "exceptions": rows}, indent=1) + "\n")
    print(f"{cases} numbers, {len(rows)} exceptions")


if __name__ == "__main__":
    write_table()
