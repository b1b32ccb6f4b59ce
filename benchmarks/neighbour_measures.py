"""How fast are neighbours, clusters and single queries? Ratios of times in one run.

    python benchmarks/neighbour_measures.py                   all parts
    python benchmarks/neighbour_measures.py clusters queries  some parts; others stay as stored
    python benchmarks/neighbour_measures.py --page            writes the page from the record again

Sides alternate and the best of several rounds counts: machines are noisy. What is measured goes to
``docs/results/neighbour-measures.json``, and the page beside it is made from that alone.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import sklearn
from sides import best, cloud, others
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA

import isoscope
from isoscope.compute.threads import cores
from isoscope.corrections import ClusterRemoval, Whiten
from isoscope.corrections.clusters import centers
from isoscope.measures.registry import default_measures
from isoscope.verbs.explore.session import Plane, Space, nearest

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORD, PAGE = (RESULTS / f"neighbour-measures.{kind}" for kind in ("json", "md"))

SIZE = (20_000, 384)
SAMPLED = (12_000, 32)
NEIGHBOUR_MEASURES = ("hubness", "intrinsic_dimension")
CLUSTERS, REMOVED = 27, 12
QUERIES = 2_000


def peers() -> dict[str, Any]:
    """Compare the measures that look at neighbours with the audits that do."""
    from spectralyte import Spectralyte
    from vecscope import audit

    x = cloud(*SIZE)
    default = [item.name for item in default_measures()]
    chosen = [*default, *NEIGHBOUR_MEASURES]
    ours: dict[str, Callable[[], object]] = {
        "default": partial(isoscope.measure, x, None, "none"),
        "with neighbours": partial(isoscope.measure, x, chosen, "none"),
        "all": partial(isoscope.measure, x, "all", "none"),
    }
    full = partial(isoscope.measure, x, list(NEIGHBOUR_MEASURES), "none", exact=True)
    theirs: dict[str, Callable[[], object]] = {
        "spectralyte": lambda: Spectralyte(x).run(verbose=False),
        "spectralyte, experimental": lambda: Spectralyte(x).run(verbose=False, experimental=True),
        "vecscope": lambda: audit(x),
        "exact": full,
    }
    isoscope.measure(x[:500], "all", "none")
    return {"seconds": {**best(ours, 3), **best(theirs, 1)}, "rounds": [3, 1]}


def clusters() -> dict[str, Any]:
    """Compare ``local_i1`` with five runs of MiniBatchKMeans."""
    x = cloud(*SIZE)
    isoscope.measure(x[:500], "local_i1:n_clusters=3", "none")
    sides: dict[str, Callable[[], object]] = {
        "local_i1": partial(isoscope.measure, x, "local_i1", "none", intervals=False),
        "MiniBatchKMeans": lambda: [
            MiniBatchKMeans(20, random_state=seed).fit(x) for seed in range(5)
        ],
    }
    return {"seconds": best(sides, 2), "rounds": 2}


def grouped(rows: int, width: int) -> np.ndarray:
    """Return the cloud with its vectors moved to one of forty places."""
    random = np.random.default_rng(1)
    places = random.standard_normal((40, width), dtype=np.float32) / 2
    moved: np.ndarray = cloud(rows, width) + places[random.integers(0, 40, rows)]
    return moved


def sampling() -> dict[str, Any]:
    """Compare clusters that are found on a sample with those that are found on all rows."""
    found = {}
    for title, x in (("one cluster", cloud(*SAMPLED)), ("40 clusters", grouped(*SAMPLED))):
        rows = {}
        for per_cluster in (64, 256, len(x)):
            centers.SAMPLED_PER_CLUSTER = per_cluster
            row = isoscope.measure(x, "local_i1", "none", intervals=False).rows[0]
            logs = [row.extra[f"seed_{seed}_log10"] for seed in range(5)]
            sampled = min(20 * per_cluster, len(x))
            rows[sampled] = {"log10": row.log10, "low": min(logs), "high": max(logs)}
        centers.SAMPLED_PER_CLUSTER = 256
        found[title] = rows
    return {"log10": found}


def removal() -> dict[str, Any]:
    """Compare cluster removal with k-means of faiss and scikit-learn's PCA of each cluster."""
    found = {}
    for title, make in (("one cluster", cloud), ("40 clusters", grouped)):
        x = make(100_000, 768)
        inertia: dict[str, float] = {}

        def peer(x: np.ndarray = x, inertia: dict[str, float] = inertia) -> np.ndarray:
            model = faiss.Kmeans(x.shape[1], CLUSTERS, seed=0)
            model.train(x)
            distances, labels = model.index.search(x, 1)
            inertia["faiss"] = float(distances.sum(dtype=np.float64))
            return labels[:, 0]

        def whole(x: np.ndarray = x) -> None:
            labels = peer()
            for one in range(CLUSTERS):
                rows = x[labels == one]  # clusters of faiss may be as good as empty
                if len(rows) > 1:
                    PCA(min(REMOVED, len(rows)), random_state=0).fit(rows)

        def found_centers(x: np.ndarray = x) -> None:
            centers.find_centers(isoscope.open_cloud(x), CLUSTERS, 0)

        def ours(x: np.ndarray = x, inertia: dict[str, float] = inertia) -> None:
            inertia["ours"] = ClusterRemoval(CLUSTERS, REMOVED).fit(x).inertia_

        sides: dict[str, Callable[[], object]] = {
            "faiss k-means": peer,
            "our k-means": found_centers,
            "ClusterRemoval": ours,
        }
        seconds = best(sides, 3)
        seconds |= best({"faiss and PCA": whole}, 1)
        found[title] = {"seconds": seconds, "inertia": inertia["ours"] / inertia["faiss"]}
    return found


def queries() -> dict[str, Any]:
    """Time a single query through whitening, and the neighbours that a page asks for."""
    x = cloud(5_000, 768)
    fitted = Whiten().fit(x)
    matrix, query = np.asarray(fitted.matrix_, np.float32), x[:1]

    def repeated(call: Callable[[], object]) -> None:
        for _ in range(QUERIES):
            call()

    sides = {
        "product": partial(repeated, lambda: query @ matrix),
        "transform": partial(repeated, lambda: fitted.transform(query)),
    }
    seconds = {name: each / QUERIES for name, each in best(sides, 5).items()}
    for rows, width in ((400_000, 50), (1_000_000, 384)):
        units = cloud(rows, width)
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        plane = Plane(np.zeros(width, np.float32), np.zeros((width, 2), np.float32), (0.0, 0.0))
        space = Space(units, np.ones(rows, np.float32), plane)
        call = partial(nearest, space, 3, 10)
        seconds |= best({f"explore {rows:,} × {width}": call}, 9)
        del units, space
    return {"seconds": seconds}


PARTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "peers": peers,
    "clusters": clusters,
    "sampling": sampling,
    "removal": removal,
    "queries": queries,
}


def main(chosen: list[str]) -> None:
    """Run some parts, store what they found, and write the page."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if chosen != ["--page"]:
        for name in chosen or PARTS:
            when = f"{datetime.now(UTC):%Y-%m-%d}"
            where = machine() + others()
            record[name] = {"date": when, "machine": where, **PARTS[name]()}
            print(name, json.dumps(record[name], indent=1), flush=True)
            RECORD.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(page(json.loads(json.dumps(record))))


def machine() -> str:
    """Say on what and with what this runs."""
    return (
        f"{cores()} cores, {platform.machine()}, Python {platform.python_version()}, numpy "
        f"{np.__version__}, scikit-learn {sklearn.__version__}, faiss {faiss.__version__}"
    )


def page(record: Mapping[str, Any]) -> str:
    """Return the page of a record."""
    lines = [
        "# Time of neighbours, clusters and single queries",
        "",
        "```sh",
        "python benchmarks/neighbour_measures.py",
        "```",
        "",
        "All clouds are generated (seed 0): float32, with a falling spectrum and a common offset.",
        "The methods take turns in one run, and the best of several rounds counts.",
    ]
    for name in PARTS:
        if name in record:
            part = record[name]
            lines += ["", *WRITERS[name](part), "", f"{part['date']}, {part['machine']}."]
    return "\n".join(lines) + "\n"


def peers_text(part: Mapping[str, Any]) -> list[str]:
    """Write the comparison with other packages, and what each side computes."""
    seconds = part["seconds"]
    lines = [
        f"## Beside audits that look at neighbours, {SIZE[0]:,} × {SIZE[1]}",
        "",
        "| measures of one space | seconds | spectralyte | with its experimental ones | vecscope |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    names = ("spectralyte", "spectralyte, experimental", "vecscope")
    titles = {
        "default": "the default measures, which need no neighbours",
        "with neighbours": "the same with hubness and intrinsic dimension",
        "all": "all, with `local_i1`",
    }
    for name, title in titles.items():
        ratios = (seconds[peer] / seconds[name] for peer in names)
        shown = " | ".join(f"{ratio:.1f} ×" for ratio in ratios)
        lines.append(f"| {title} | {seconds[name]:.2f} | {shown} |")
    return [
        *lines,
        "",
        f"With its default options, spectralyte 0.4.0 takes {seconds['spectralyte']:.1f} s and",
        "needs no neighbours: it computes anisotropy on 5,000 sampled rows and the effective",
        "dimension. With its experimental measures, it takes",
        f"{seconds['spectralyte, experimental']:.1f} s, and also computes the distances to the",
        "tenth neighbour of all rows, local outlier factors on 10,000 rows, TwoNN on 5,000 rows,",
        "and the stability of the neighbours of perturbed vectors. The audit of vecscope 0.2.0",
        f"takes {seconds['vecscope']:.1f} s for exact neighbours of all rows, hubness, anisotropy",
        "and near duplicates.",
        "",
        "isoscope computes hubness and intrinsic dimension on 4,096 sampled rows, as its notes",
        "say, and the quantiles and the density of cosines on 1,024 rows; everything else is",
        "computed on all rows. It does not perturb vectors. With `--exact`, neighbours are found",
        f"among all {SIZE[0]:,} rows, as in vecscope: hubness and intrinsic dimension then take",
        f"{seconds['exact']:.1f} s.",
    ]


def clusters_text(part: Mapping[str, Any]) -> list[str]:
    """Write how long five seeds of clusters take."""
    ours, theirs = part["seconds"]["local_i1"], part["seconds"]["MiniBatchKMeans"]
    return [
        f"## `local_i1`, 20 clusters, five seeds, {SIZE[0]:,} × {SIZE[1]}",
        "",
        f"`local_i1` takes {ours:.2f} s. Five runs of scikit-learn's MiniBatchKMeans, which only",
        f"find clusters, take {theirs:.2f} s: {ours / theirs:.2f} × (at most 1.0).",
    ]


def sampling_text(part: Mapping[str, Any]) -> list[str]:
    """Write what a sample does to the clusters, and so to the measure."""
    lines = [
        f"## The effect of the sample on `local_i1`, {SAMPLED[0]:,} × {SAMPLED[1]}",
        "",
        "| cloud | clusters found on | log10 of `local_i1` | lowest and highest seed |",
        "| --- | ---: | ---: | ---: |",
    ]
    for title, rows in part["log10"].items():
        for sampled, found in rows.items():
            lines.append(
                f"| {title} | {int(sampled):,} | {found['log10']:.4f} | "
                f"{found['low']:.4f} to {found['high']:.4f} |"
            )
    return [
        *lines,
        "",
        "The clusters are found on 256 rows each (5,120 here). All rows are then assigned, centred",
        "and projected, so that the sample affects only the centres of the clusters.",
    ]


def removal_text(part: Mapping[str, Any]) -> list[str]:
    """Write how long clusters and their components take."""
    lines = [
        f"## {CLUSTERS} clusters, {REMOVED} components each, 100,000 × 768",
        "",
        "| cloud | faiss k-means and assignment | our k-means | ratio (≤ 2) | inertia | "
        "faiss and PCAs | ClusterRemoval | ratio (≤ 0.5) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for title in ("one cluster", "40 clusters"):
        seconds = part[title]["seconds"]
        theirs, ours = seconds["faiss k-means"], seconds["our k-means"]
        whole, removal = seconds["faiss and PCA"], seconds["ClusterRemoval"]
        lines.append(
            f"| {title} | {theirs:.2f} s | {ours:.2f} s | {ours / theirs:.2f} × | "
            f"{part[title]['inertia']:.4f} × | {whole:.2f} s | {removal:.2f} s | "
            f"{removal / whole:.2f} × |"
        )
    return [
        *lines,
        "",
        "The inertia is that of isoscope divided by that of faiss. Best of three runs; faiss with",
        "PCAs: one run.",
    ]


def queries_text(part: Mapping[str, Any]) -> list[str]:
    """Write how long a single query takes."""
    seconds = part["seconds"]
    beyond = seconds["transform"] - seconds["product"]
    lines = [
        "## Single queries",
        "",
        f"- Whitening one vector of 768 dimensions takes {1e6 * seconds['transform']:.0f} µs, and",
        f"  the matrix product alone {1e6 * seconds['product']:.0f} µs: the rest takes "
        f"{1e6 * beyond:.0f} µs (at most 20).",
    ]
    for name, each in seconds.items():
        if name.startswith("explore"):
            most = 10 if "400,000" in name else 150
            lines.append(
                f"- `explore` finds the ten nearest of {name.removeprefix('explore ')} in "
                f"{1e3 * each:.1f} ms (at most {most})."
            )
    return lines


WRITERS: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "peers": peers_text,
    "clusters": clusters_text,
    "sampling": sampling_text,
    "removal": removal_text,
    "queries": queries_text,
}

if __name__ == "__main__":
    main(sys.argv[1:])
