"""Does an inner-product index keep its neighbours when its vectors are corrected?

``correct apply`` says that vectors had norm 1 and brings them to norm 1 again. Each draw makes
documents and queries of known norms, fits a correction on the documents, and applies it to both as
files, as a user would. What is right is known: the top 10 by the cosine of the corrected vectors in
double precision.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope
from isoscope.corrections import make_correction
from isoscope.data.arrays import normalized
from scenarios.scenario import Decisions, describe, scenario

Matrix = NDArray[Any]

DOCUMENTS, QUERIES, TOP = 1_000, 100, 10
CORRECTIONS = (
    "center", "all-but-the-top", "standardize", "whiten:n_components=32",
    "cluster-pc-removal:n_clusters=5:n_components=2",
)  # fmt: skip

SAID, NOT_SAID = "says that the vectors had norm 1", "does not say that the vectors had norm 1"
LOST = "more than 1 % of the top 10 lost"
LOST_FAISS = "more than 1 % of the top 10 lost by to_faiss"
SHARES = {
    "apply": "top 10 lost after correct apply",
    "keep-norms": "top 10 lost with --keep-norms",
    "to_faiss": "top 10 lost by to_faiss",
}

describe(
    "correct",
    f"There are {DOCUMENTS:,} documents and {QUERIES} queries in an inner-product index. *Lost* is "
    "the share of the top 10, by the cosine of the corrected vectors, that the index does not "
    "find. The last column is empty if a correction is not affine and cannot be exported.",
    {
        "says norm 1": (SAID,),
        "lost: correct apply": (SHARES["apply"],),
        "lost: with --keep-norms": (SHARES["keep-norms"],),
        "lost: to_faiss": (SHARES["to_faiss"],),
    },
)


def embeddings(rng: np.random.Generator, rows: int, dimension: int) -> Matrix:
    """Unit vectors with a common offset and uneven variances; their mean cosine is about 0.5."""
    spread = np.geomspace(2.0, 0.2, dimension)
    offset = np.random.default_rng(0).standard_normal(dimension)
    offset *= math.sqrt((spread**2).sum()) / np.linalg.norm(offset)
    vectors = rng.standard_normal((rows, dimension)) * spread + offset
    return np.asarray(normalized(vectors).astype(np.float32))


def add_index(name: str, dimension: int) -> None:
    wrong = {NOT_SAID: 0.0, LOST: 0.0}
    if make_correction(name).affine:
        wrong[LOST_FAISS] = 0.0

    @scenario("correct", f"{name.partition(':')[0]}, {dimension} dimensions", "unit vectors", wrong)
    def index(seed: int) -> Decisions:
        rng = np.random.default_rng(seed)
        documents, queries = (embeddings(rng, rows, dimension) for rows in (DOCUMENTS, QUERIES))
        correction = make_correction(name).fit(documents)
        truth = top(
            normalized(correction.transform(queries.astype(np.float64))),
            normalized(correction.transform(documents.astype(np.float64))),
        )
        return found_by(correction, documents, queries, truth)


def found_by(correction: Any, documents: Matrix, queries: Matrix, truth: Matrix) -> Decisions:
    """Return what is said, and what indexes of corrected vectors lose of the top 10."""
    import faiss

    found: dict[str, float] = {}
    for key, keep_norms in (("apply", False), ("keep-norms", True)):
        made, said = in_files(correction, documents, keep_norms)
        asked, _ = in_files(correction, queries, keep_norms)
        if not keep_norms:
            found[SAID if said else NOT_SAID] = 1
        flat = faiss.IndexFlatIP(made.shape[1])
        flat.add(made)
        found[SHARES[key]] = lost(flat.search(asked, TOP)[1], truth)
    if correction.affine:
        exported = correction.to_faiss(faiss.IndexFlatIP(correction._output_width))
        exported.add(documents)
        found[SHARES["to_faiss"]] = lost(exported.search(queries, TOP)[1], truth)
        found[LOST_FAISS] = float(found[SHARES["to_faiss"]] > 0.01)
    found[LOST] = float(found[SHARES["apply"]] > 0.01)
    return found


def in_files(correction: Any, rows: Matrix, keep_norms: bool) -> tuple[Matrix, bool]:
    """Correct vectors by way of files; also whether vectors are said to have had norm 1."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "v.npy", Path(folder) / "w.npy"
        np.save(source, rows)
        applied = isoscope.apply_correction(correction, str(source), out, keep_norms=keep_norms)
        return np.asarray(np.load(out)), applied.written[0].normalized


def top(queries: Matrix, documents: Matrix) -> Matrix:
    """Return the documents with the largest inner products, for every query."""
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :TOP]


def lost(found: Matrix, truth: Matrix) -> float:
    """Return the share of true neighbours that are not among those that were found."""
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return 1 - sum(len({*one} & {*other}) for one, other in pairs) / truth.size


for width in (64, 384):
    for correction_name in CORRECTIONS:
        add_index(correction_name, width)


def add_stored(kind: str, norms: float) -> None:
    """Register vectors as they are stored; ``norms`` is the spread of their norms."""
    name = f"{kind}, norms ± {100 * norms:g} %" if norms else kind
    truth = f"norms with a spread of {100 * norms:g} %" if norms else "unit vectors"

    @scenario("correct", name, truth, {SAID if norms else NOT_SAID: 0.0})
    def stored(seed: int) -> Decisions:
        rng = np.random.default_rng(seed)
        vectors = embeddings(rng, DOCUMENTS, 64).astype(np.float64)
        vectors *= rng.normal(1, norms, (len(vectors), 1))
        rows = vectors.astype(kind)
        _, said = in_files(make_correction("center").fit(rows), rows, keep_norms=False)
        return {SAID if said else NOT_SAID}


for stored_as in ("float16", "float32", "float64"):
    add_stored(stored_as, 0.0)
add_stored("float32", 0.01)
