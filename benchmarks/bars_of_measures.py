"""Measures, start-up, neighbours and clusters beside the arithmetic and other packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

import faiss
import numpy as np
from bar import Bar, Figure, compared, repeated
from measure import CALLS, ELSEWHERE, floor
from sides import best_of_both, cloud
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA

import isoscope
from isoscope.corrections import ClusterRemoval, Whiten
from isoscope.corrections.clusters import centers
from isoscope.measures.registry import default_measures

LARGE, SMALL, LONG = (100_000, 768), (20_000, 384), (100_000, 384)
CLUSTERS, REMOVED = 27, 12
AROUND = 2_000
"""Times that a single query is corrected."""
SAMPLED = 4_096
"""Rows that neighbours are looked for in where there are more."""


def shape(size: tuple[int, int]) -> str:
    """Return the size of a cloud in words."""
    return f"{size[0]:,} × {size[1]}"


def whole() -> Iterator[Figure]:
    """Compare all measures of four corrections with the products that they cannot do without."""
    x = cloud(*LARGE)
    others = {"three products: XᵀX and two X·V": partial(floor, x)}
    yield from compared(shape(LARGE), partial(isoscope.measure, x), others, 4)


def audits(
    names: list[str] | str, size: tuple[int, int], peer: str, looked_at: tuple[int, int]
) -> Iterator[Figure]:
    """Compare measures with the audit of another package, which may look at fewer of the rows."""
    x = cloud(*size)
    isoscope.measure(x[:500], names, "none")
    ours = best_of_both({"": partial(isoscope.measure, x, names, "none")}, 2)[""]
    case = shape(size)
    against = peer if looked_at == size else f"{peer}, on {looked_at[0]:,} of the rows"
    yield Figure(case, against, ours, of_audit(peer, looked_at), 1)


@cache
def of_audit(peer: str, size: tuple[int, int]) -> tuple[float, float]:
    """Time an audit once: it takes minutes, and several of our calls are compared with it."""
    from spectralyte import Spectralyte
    from vecscope import audit

    x = cloud(*size)
    peers: dict[str, Callable[[], object]] = {
        SPECTRALYTE: lambda: Spectralyte(x).run(verbose=False),
        VECSCOPE: lambda: audit(x),
    }
    return best_of_both({peer: peers[peer]}, 1)[peer]


# Spectralyte's experimental part, which looks at neighbours, had not ended after seven minutes.
SPECTRALYTE, VECSCOPE = "spectralyte 0.4.0, without neighbours", "vecscope 0.2.0"


def audit_default(peer: str) -> Iterator[Figure]:
    """Compare default measures, hubness and intrinsic dimension with an audit."""
    names = [item.name for item in default_measures()]
    return audits([*names, "hubness", "intrinsic_dimension"], SMALL, peer, SMALL)


def clusters() -> Iterator[Figure]:
    """Compare ``local_i1`` with as many runs of scikit-learn's k-means."""
    x = cloud(*SMALL)
    ours = partial(isoscope.measure, x, "local_i1", "none", intervals=False)
    others = {
        "five MiniBatchKMeans": lambda: [
            MiniBatchKMeans(20, random_state=seed).fit(x) for seed in range(5)
        ]
    }
    yield from compared(shape(SMALL), ours, others, 3)


def single(size: tuple[int, int]) -> Iterator[Figure]:
    """Compare each measure by itself with whoever else computes it."""
    x = cloud(*size)
    for name, (whose, other) in ELSEWHERE.items():
        ours = partial(isoscope.measure, x, [name], ["none"], intervals=False)
        value = ours().value(name)
        if value is None or abs(value / other(x) - 1) > 1e-3:
            raise ValueError(f"{name} is not what {whose} computes")
        others: dict[str, Callable[[], object]] = {whose: partial(other, x)}
        if "PCA" in whose:  # its products are in the precision of the rows, ours always in double
            wide = x.astype(np.float64)
            others[f"{whose}, of the rows in double precision"] = partial(other, wide)
        yield from compared(f"{name}, {shape(size)}", ours, others, 5)


def intrinsic_dimension() -> Iterator[Figure]:
    """Compare the intrinsic dimension with that of scikit-dimension, on as many rows."""
    # Not among the requirements of the other benchmarks: pip install scikit-dimension.
    # numba, which it imports, would take coverage.py beside this file for the package coverage.
    with warnings.catch_warnings(), patch.dict(sys.modules, {"coverage": None}):
        warnings.simplefilter("ignore")
        from skdim.id import TwoNN

    for size in (SMALL, LARGE):
        x = cloud(*size)
        some = x[np.random.default_rng(0).permutation(len(x))[:SAMPLED]]
        ours = partial(isoscope.measure, x, "intrinsic_dimension", "none", intervals=False)
        theirs = partial(TwoNN(discard_fraction=0.1).fit, some)
        others = {f"scikit-dimension 0.5.0 on {SAMPLED:,} rows": theirs}
        yield from compared(f"intrinsic_dimension, {shape(size)}", ours, others, 3)


def starting(calls: tuple[str, ...]) -> Iterator[Figure]:
    """Compare commands that compute nothing with the import of what they are written with."""
    with tempfile.TemporaryDirectory() as folder:
        # Compiled as an installed package is, whatever this environment says.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def process(code: str, *arguments: str) -> None:
            subprocess.run(
                [sys.executable, "-c", code, *arguments],
                capture_output=True, env=environment, cwd=Path(folder),
            )  # fmt: skip

        imports = {"import typer, rich.console": partial(process, "import typer, rich.console")}
        run_command = "from isoscope.cli.app import main; main()"
        for call in calls:
            ours = partial(process, run_command, *call.split())
            yield from compared(f"`isoscope {call}`", ours, imports, 11 if len(calls) == 1 else 5)


def removal(title: str) -> Iterator[Figure]:
    """Compare cluster removal with k-means of faiss and scikit-learn's PCA of each cluster."""
    x = CLOUDS[title]()

    def peer() -> None:
        labels = faiss_clusters(x)[0]
        for one in range(CLUSTERS):
            rows = x[labels == one]  # clusters of faiss may be as good as empty
            if len(rows) > 1:
                PCA(min(REMOVED, len(rows)), random_state=0).fit(rows)

    ours = partial(ClusterRemoval(CLUSTERS, REMOVED).fit, x)
    others = {"faiss k-means and scikit-learn PCAs": peer}
    yield from compared(f"{shape(LARGE)}, {title}", ours, others, 2)


def kmeans(title: str) -> Iterator[Figure]:
    """Compare k-means with that of faiss, at the same inertia or a lower one."""
    x = CLOUDS[title]()
    group = isoscope.open_cloud(x)
    ratio = ClusterRemoval(CLUSTERS, 0).fit(x).inertia_ / faiss_clusters(x)[1]
    case = f"{shape(LARGE)}, {title}, inertia {ratio:.4f} ×"
    ours = partial(centers.find_centers, group, CLUSTERS, 0)
    yield from compared(case, ours, {"faiss": partial(faiss_clusters, x)}, 5)


def grouped() -> np.ndarray:
    """Return the cloud with its vectors moved to one of forty places."""
    x = cloud(*LARGE)
    random = np.random.default_rng(1)
    places = random.standard_normal((40, LARGE[1]), dtype=np.float32) / 2
    moved: np.ndarray = x + places[random.integers(0, 40, LARGE[0])]
    return moved


CLOUDS: dict[str, Callable[[], np.ndarray]] = {
    "one cluster": partial(cloud, *LARGE),
    "40 clusters": grouped,
}


def faiss_clusters(x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the clusters of faiss and their inertia."""
    model = faiss.Kmeans(x.shape[1], CLUSTERS, seed=0)
    model.train(x)
    distances, labels = model.index.search(x, 1)
    return labels[:, 0], float(distances.sum(dtype=np.float64))


def query() -> Iterator[Figure]:
    """Compare correcting a single query with the product that it takes, and 20 µs."""
    x = cloud(5_000, LARGE[1])
    fitted = Whiten().fit(x)
    matrix, one = np.asarray(fitted.matrix_, np.float32), x[:1]
    ours = repeated(lambda: fitted.transform(one), AROUND)
    product = repeated(lambda: one @ matrix, AROUND)
    (figure,) = compared(f"{AROUND:,} times one vector of {LARGE[1]}", ours, {"": product}, 7)
    allowed = [seconds + 20e-6 * AROUND for seconds in figure.theirs]
    yield figure._replace(against="its product and 20 µs", theirs=(allowed[0], allowed[1]))


BARS: dict[str, Bar] = {
    "measure": Bar("all measures, four corrections", 1.8, 1.5, whole),
    **{
        f"audit-default-{peer.split()[0]}": Bar(
            "default measures, hubness, intrinsic dimension",
            15,
            40,
            partial(audit_default, peer),
            faster=True,
        )
        for peer in (SPECTRALYTE, VECSCOPE)
    },
    **{
        f"audit-all-{peer.split()[0]}-{size[0]}": Bar(
            "`--measures all`, one space",
            4,
            15,
            partial(audits, "all", size, peer, looked_at),
            faster=True,
        )
        # Of 100,000 rows spectralyte would take an hour: it gets a fifth of them.
        for size, peer, looked_at in (
            (SMALL, SPECTRALYTE, SMALL),
            (SMALL, VECSCOPE, SMALL),
            (LONG, SPECTRALYTE, SMALL),
            (LONG, VECSCOPE, LONG),
        )
    },
    "local-i1": Bar("`local_i1`, five seeds", 1.0, 0.3, clusters),
    "single-small": Bar("one measure without interval", 1.0, 0.5, partial(single, SMALL)),
    "single-large": Bar("one measure without interval", 1.0, 0.5, partial(single, LARGE)),
    "intrinsic-dimension": Bar("one measure without interval", 1.0, 0.5, intrinsic_dimension),
    "version": Bar("starting", 1.5, 1.2, partial(starting, ("--version",))),
    "startup": Bar("starting", 1.5, 1.5, partial(starting, CALLS[1:])),
    "removal-one": Bar("cluster removal, 27 × 12", 0.5, 0.25, partial(removal, "one cluster")),
    "removal-40": Bar("cluster removal, 27 × 12", 0.5, 0.25, partial(removal, "40 clusters")),
    "kmeans-one": Bar("k-means, 27 clusters", 2.0, 2.0, partial(kmeans, "one cluster")),
    "kmeans-40": Bar("k-means, 27 clusters", 2.0, 2.0, partial(kmeans, "40 clusters")),
    "query": Bar("whitening a single query", 1.0, 1.0, query),
}
