"""Write docs/why-different.md: every number is computed here, from one small cloud.

python docs/make_why_different.py           the page
python docs/make_why_different.py --peers   run the other packages again first
"""

from __future__ import annotations

import json
import math
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from why_different import corrected, cosine_and_spectrum, partition
from why_different.variant import Corrected, Measured, Variant

import isoscope

HERE = Path(__file__).parent
PAGE = HERE / "why-different.md"
PARTS = HERE / "why_different"
PEERS = PARTS / "peers.json"
"""What other packages print for the cloud, kept because they are not needed to build the page."""

ROUNDING = 1e-12
"""A mean shorter than this is zero: its digits would change with the machine."""


def shown() -> str:
    """Return the code that the page shows first."""
    return (PARTS / "cloud.py").read_text("utf-8")


@cache
def names() -> dict[str, Any]:
    """Run it, and return what it names."""
    scope: dict[str, Any] = {}
    exec(shown(), scope)
    return scope


def run(code: str) -> Any:
    """Run a line of the page; overflow is one of the things that it shows."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return eval(code, names())


def measured(wanted: Measured) -> float:
    """Ask isoscope."""
    result = isoscope.measure(run(wanted.cloud), [wanted.measure], [wanted.correction])
    if wanted.measure == "spectrum":
        return float(result.table("spectrum").rows[0][wanted.field])
    return float(result.row(wanted.measure, wanted.correction).to_dict()[wanted.field])


def number(value: float) -> str:
    """Write four digits."""
    return f"{value:.4g}" if math.isfinite(value) else str(float(value))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lay a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def variant_table(listed: list[Variant], yours: str = "gives") -> str:
    """Lay numbers of variants beside isoscope's."""
    rows = []
    for one in listed:
        label = (
            one.beside.measure if one.beside.field in ("value", "variance") else one.beside.field
        )
        if one.beside.correction != "none":
            label += f", {one.beside.correction}"
        if one.beside.cloud != "X":
            label += f" of {one.beside.cloud}"
        what = f"{one.what}: {one.where}" if one.where else one.what
        rows.append(
            [
                what,
                f"`{one.code}`",
                number(run(one.code)),
                f"{number(measured(one.beside))} ({label})",
            ]
        )
    return table(["what", "code", yours, "isoscope"], rows)


def corrected_table(listed: list[Corrected], columns: list[str]) -> str:
    """Measure clouds that other code corrected; name the option that gives the same."""
    rows = []
    for one in listed:
        result = isoscope.measure(run(one.code), columns, ["none"])
        found = {name: float(result.value(name) or 0.0) for name in columns}
        if found.get("norm_of_mean", 1.0) < ROUNDING:
            found["norm_of_mean"] = 0.0
        values = [number(value) for value in found.values()]
        rows.append([one.what, f"`{one.code}`", *values, f"`{one.option}`" if one.option else ""])
    return table(["what", "code", *columns, "in isoscope"], rows)


def peer_numbers() -> list[dict[str, Any]]:
    """Run the other packages on the cloud."""
    from IsoScore.IsoScore import IsoScore
    from spectralyte.core.transform import fit
    from spectralyte.metrics import anisotropy, dimensionality
    from vecscope.diagnostics.anisotropy import anisotropy as vecscope_anisotropy

    scope = names()
    cloud, centred, mean_cosine = scope["X"], scope["M"], scope["mean_cosine"]
    transform = fit(cloud, effective_dims=scope["d"])
    vecscope = vecscope_anisotropy(cloud)
    found = [
        (
            "IsoScore",
            "IsoScore(X)",
            float(IsoScore(cloud)),
            "iso_score",
            "the same, rounded to float32",
        ),
        ("IsoScore", "IsoScore(X.T)", float(IsoScore(cloud.T)), "iso_score", "d × n given"),
        (
            "spectralyte",
            "anisotropy.score",
            anisotropy.compute(cloud).score,
            "mean_cosine",
            "the same up to 5,000 vectors, then of a sample",
        ),
        (
            "spectralyte",
            "anisotropy.score of M",
            anisotropy.compute(centred).score,
            "mean_cosine@center",
            "negative values are set to 0",
        ),
        (
            "spectralyte",
            "participation_ratio",
            dimensionality.compute(cloud).participation_ratio,
            "participation_ratio",
            "the same",
        ),
        (
            "spectralyte",
            "mean_cosine of its 'abtt'",
            mean_cosine(transform.apply(cloud, "abtt")),
            "mean_cosine@all-but-the-top:n_components=3",
            "the same with 3 components, its default",
        ),
        (
            "spectralyte",
            "mean_cosine of its 'whiten'",
            mean_cosine(transform.apply(cloud, "whiten")),
            "mean_cosine@whiten",
            "variances below λ₁/10,000 are raised to it: here the last",
        ),
        (
            "vecscope",
            "mean_random_cosine",
            vecscope["mean_random_cosine"],
            "mean_cosine",
            "of random pairs, as many as vectors (at most 20,000)",
        ),
        (
            "vecscope",
            "effective_rank",
            vecscope["effective_rank"],
            "effective_rank",
            "the participation ratio of vectors of unit length",
        ),
        (
            "vecscope",
            "top1_pc_variance_share",
            vecscope["top1_pc_variance_share"],
            "top_variance_share",
            "of vectors of unit length",
        ),
    ]
    keys = ("package", "call", "value", "beside", "why")
    return [
        {**dict(zip(keys, entry, strict=True)), "package": f"{entry[0]} {version(entry[0])}"}
        for entry in found
    ]


def peer_table() -> str:
    """Lay what other packages printed beside isoscope's."""
    rows = []
    for entry in json.loads(PEERS.read_text("utf-8")):
        measure, _, correction = entry["beside"].partition("@")
        ours = measured(Measured(measure, correction or "none"))
        label = f"{measure}, {correction}" if correction else measure
        rows.append(
            [
                entry["package"],
                f"`{entry['call']}`",
                number(entry["value"]),
                f"{number(ours)} ({label})",
                entry["why"],
            ]
        )
    return table(["package", "its number", "prints", "isoscope", "why"], rows)


def page() -> str:
    """Return the whole page."""
    scope = names()
    every_sign = run("[i1(X, C * s) for s in signs]")
    return (
        (PARTS / "template.md")
        .read_text("utf-8")
        .format(
            prelude=shown(),
            sign_count=len(every_sign),
            distinct=len({f"{value:.9g}" for value in every_sign}),
            transposed=number(run("isotropy(X.T)")),
            transposed_here=number(measured(Measured("i1", cloud="X.T"))),
            width=scope["d"],
            rows=scope["n"],
            signs=variant_table(partition.SIGNS),
            scale=variant_table(partition.SCALE),
            directions=variant_table(partition.DIRECTIONS),
            products=variant_table(partition.PRODUCTS),
            overflow=variant_table(partition.OVERFLOW),
            i2=variant_table(partition.I2),
            cosines=variant_table(cosine_and_spectrum.COSINES),
            spectrum=variant_table(cosine_and_spectrum.SPECTRUM),
            divisor=variant_table(cosine_and_spectrum.DIVISOR, "with n − 1"),
            tops=corrected_table(corrected.TOPS, ["mean_cosine", "i1", "norm_of_mean"]),
            whitened=corrected_table(
                corrected.WHITENED, ["mean_norm", "mean_cosine", "i1", "iso_score"]
            ),
            peers=peer_table(),
        )
    )


if __name__ == "__main__":
    if "--peers" in sys.argv[1:]:
        PEERS.write_text(json.dumps(peer_numbers(), indent=2) + "\n", "utf-8")
    PAGE.write_text(page(), "utf-8")
