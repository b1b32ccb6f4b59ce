"""How fast and how small are corrections? Everything as ratios of times in one run.

    python benchmarks/correct.py              all of it, about five minutes
    python benchmarks/correct.py fit apply    some parts of it

Sides alternate and the best of several rounds counts: machines are noisy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import faiss
import numpy as np
import sklearn
from sides import best, cloud, run
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from isoscope.corrections import (
    AllButTheTop,
    Center,
    ClusterRemoval,
    Correction,
    Whiten,
    fit_together,
    make_correction,
)

SIZE = (100_000, 768)
FIT_ROUNDS = 7
CLUSTER_ROUNDS = 3
CLUSTERS, REMOVED = 27, 12
AFFINE = (
    "center",
    "all-but-the-top",
    "whiten",
    "whiten:kind=zca",
    "standardize",
    "clip",
    "whiten:renormalize=true",
)
OTHERS = ("center-scaled", "cluster-pc-removal")
PEAK = """
import re, sys, numpy as np
from isoscope.corrections import make_correction
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
x = np.load(sys.argv[1])
before = peak()
make_correction(sys.argv[2]).fit(x)
print((peak() - before) // 1024)
"""


def three() -> list[Correction]:
    return [Whiten(), AllButTheTop(), Center()]


def fit() -> None:
    x = cloud(*SIZE)
    times = best(
        {
            "PCA": lambda: PCA(svd_solver="covariance_eigh").fit(x),
            "single": lambda: fit_together(three(), x, precision="single"),
            "double": lambda: fit_together(three(), x),
            "center": lambda: Center().fit(x),
        },
        FIT_ROUNDS,
    )
    print(f"\nFit, {SIZE[0]:,} × {SIZE[1]} float32, best of {FIT_ROUNDS}")
    print(f"  scikit-learn PCA (covariance_eigh)       {times['PCA']:7.3f} s")
    for precision, most in (("single", " (≤ 1.3)"), ("double", "")):
        seconds = times[precision]
        print(
            f"  Whiten, AllButTheTop, Center: {precision}     {seconds:7.3f} s  "
            f"{seconds / times['PCA']:.2f} × PCA{most}"
        )
    print(f"  Center alone                             {times['center']:7.3f} s")


def sklearn_clusters(x: np.ndarray) -> float:
    """Cluster and decompose each cluster as scikit-learn does; return the inertia."""
    clusters = KMeans(CLUSTERS, n_init=1, random_state=0).fit(x)
    for cluster in range(CLUSTERS):
        PCA(REMOVED, random_state=0).fit(x[clusters.labels_ == cluster])
    return float(clusters.inertia_)


def our_clusters(x: np.ndarray) -> float:
    """Cluster and decompose each cluster as ``ClusterRemoval`` does; return the inertia."""
    return ClusterRemoval(CLUSTERS, REMOVED).fit(x).inertia_


def faiss_clusters(x: np.ndarray) -> float:
    """Cluster alone, as faiss does by default: 25 iterations on 256 rows a cluster."""
    clusters = faiss.Kmeans(x.shape[1], CLUSTERS, seed=0)
    clusters.train(x)
    return float(clusters.index.search(x, 1)[0].sum())


def cluster() -> None:
    for title, x in (("one cluster", cloud(*SIZE)), ("40 clusters", grouped(*SIZE))):
        found: dict[str, float] = {}

        def keep(name: str, call: Callable[[], float], found: dict[str, float] = found) -> None:
            found[name] = call()

        sides: dict[str, Callable[[], float]] = {
            "KMeans and PCA": partial(sklearn_clusters, x),
            "ClusterRemoval": partial(our_clusters, x),
            "faiss": partial(faiss_clusters, x),
        }
        calls = {name: partial(keep, name, call) for name, call in sides.items()}
        times = best(calls, CLUSTER_ROUNDS)
        print(f"\n{CLUSTERS} clusters, {REMOVED} components each, of {title}: "
              f"{SIZE[0]:,} × {SIZE[1]} float32, best of {CLUSTER_ROUNDS}")  # fmt: skip
        reference, inertia = times["KMeans and PCA"], found["KMeans and PCA"]
        print(f"  scikit-learn KMeans(n_init=1) and PCA    {reference:7.3f} s")
        for name, most, within in (
            ("ClusterRemoval", " (≤ 0.5)", " (≤ 1.01)"),
            ("faiss", " (k-means alone)", ""),
        ):
            print(
                f"  {name:<40} {times[name]:7.3f} s  {times[name] / reference:.2f} ×{most}, "
                f"inertia {found[name] / inertia:.4f} ×{within}"
            )


def grouped(rows: int, width: int) -> np.ndarray:
    """Return the cloud with its vectors moved to one of forty places."""
    random = np.random.default_rng(1)
    places = random.standard_normal((40, width), dtype=np.float32) / 2
    moved: np.ndarray = cloud(rows, width) + places[random.integers(0, 40, rows)]
    return moved


def apply() -> None:
    x = cloud(*SIZE)
    fitted = {text: make_correction(text).fit(x) for text in (*AFFINE, *OTHERS)}
    matrix = np.asarray(Whiten().fit(x).matrix_, dtype=np.float32)
    sides: dict[str, Callable[[], object]] = {"product": lambda: x @ matrix}
    sides.update({text: partial(one.transform, x) for text, one in fitted.items()})
    times = best(sides, FIT_ROUNDS)
    print(f"\nApply, {SIZE[0]:,} × {SIZE[1]} float32, best of {FIT_ROUNDS}")
    print(f"  one matrix product                       {times['product']:7.3f} s")
    for text in fitted:
        most = " (≤ 1.2)" if text in AFFINE else ""
        ratio = times[text] / times["product"]
        print(f"  {text:<40} {times[text]:7.3f} s  {ratio:.2f} × product{most}")


def memory() -> None:
    """Peak resident memory of a fit above its input, in a process of its own."""
    print(f"\nPeak memory of fit above its input of {SIZE[0]:,} × {SIZE[1]} float32")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cloud.npy"
        np.save(path, cloud(*SIZE))
        for text in (*AFFINE[:-1], *OTHERS):
            peak = subprocess.check_output([sys.executable, "-c", PEAK, path, text])
            print(f"  {text:<40} {int(peak):5,} MB (≤ 500)")


PARTS = {"fit": fit, "cluster": cluster, "apply": apply, "memory": memory}

if __name__ == "__main__":
    print(f"scikit-learn {sklearn.__version__}, faiss {faiss.__version__}", end=", ")
    run(PARTS, sys.argv[1:])
