"""Does an inner-product index keep its neighbours when its vectors are corrected?

    python benchmarks/sentences_correct.py --draws 500

``correct apply`` says that vectors had norm 1 and brings them to norm 1 again. Each draw makes
documents and queries of known norms anew (seeds 0, 1, …), fits every correction on the documents,
and applies it to both as files, as a user would. What is right is known: the top 10 by the cosine
of the corrected vectors in double precision. Prints Markdown.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope
from isoscope.corrections import make_correction
from isoscope.data.arrays import normalized

Matrix = NDArray[Any]

DIMENSIONS = (64, 384)
DOCUMENTS, QUERIES, TOP = 1_000, 100, 10
CORRECTIONS = ("center", "all-but-the-top", "standardize", "whiten", "cluster-pc-removal")

# Corrections with a size of their own get one that fits a thousand rows.
OPTIONS = {"cluster-pc-removal": ":n_clusters=5:n_components=2", "whiten": ":n_components=32"}

# What is stored, and whether it has norm 1.
STORED = {"float16": True, "float32": True, "float64": True, "float32, norms ± 1 %": False}


def counts(draws: int) -> dict[str, dict[str, int]]:
    """Count what an inner-product index keeps of the top 10, and how often the sentence is true.

    Parameters
    ----------
    draws : int
        Clouds of each kind, from seeds 0, 1, …

    Returns
    -------
    dict of str to dict of str to int
        For every correction and dimension how many of the ``places`` of the top 10 by cosine an
        inner-product index finds: in files as they are written by default (``apply``), in files
        with ``--keep-norms``, and through ``to_faiss`` (0 of 0 where that is not possible). Under
        ``says norm 1: …`` how often the sentence was said in so many ``draws``, and how often that
        was ``wrong``.
    """
    found: dict[str, dict[str, int]] = {}
    for dimension in DIMENSIONS:
        for name in CORRECTIONS:
            tally = found[f"{name}, {dimension} dimensions"] = {
                "places": 0, "apply": 0, "keep_norms": 0, "exported_places": 0, "to_faiss": 0,
            }  # fmt: skip
            for seed in range(draws):
                for key, count in kept(name + OPTIONS.get(name, ""), dimension, seed).items():
                    tally[key] += count
    for kind, unit in STORED.items():
        said = sum(says_norm_1(kind, seed) for seed in range(draws))
        wrong = draws - said if unit else said
        found[f"says norm 1: {kind}"] = {"draws": draws, "said": said, "wrong": wrong}
    return found


def embeddings(rng: np.random.Generator, rows: int, dimension: int) -> Matrix:
    """Unit vectors with a common offset and uneven variances; their mean cosine is about 0.5."""
    spread = np.geomspace(2.0, 0.2, dimension)
    offset = np.random.default_rng(0).standard_normal(dimension)
    offset *= math.sqrt((spread**2).sum()) / np.linalg.norm(offset)
    vectors = rng.standard_normal((rows, dimension)) * spread + offset
    return np.asarray(normalized(vectors).astype(np.float32))


def kept(name: str, dimension: int, seed: int) -> dict[str, int]:
    """Count the places of the top 10 that are kept in one draw."""
    import faiss

    rng = np.random.default_rng(seed)
    documents, queries = (embeddings(rng, rows, dimension) for rows in (DOCUMENTS, QUERIES))
    correction = make_correction(name).fit(documents)
    truth = top(
        normalized(correction.transform(queries.astype(np.float64))),
        normalized(correction.transform(documents.astype(np.float64))),
    )
    places = QUERIES * TOP
    found = {"places": places}
    for key, keep_norms in (("apply", False), ("keep_norms", True)):
        made = [in_files(correction, rows, keep_norms) for rows in (documents, queries)]
        index = faiss.IndexFlatIP(made[0].shape[1])
        index.add(made[0])
        found[key] = shared(index.search(made[1], TOP)[1], truth)
    if correction.affine:
        index = correction.to_faiss(faiss.IndexFlatIP(correction._output_width))
        index.add(documents)
        found["exported_places"] = places
        found["to_faiss"] = shared(index.search(queries, TOP)[1], truth)
    return found


def in_files(correction: Any, rows: Matrix, keep_norms: bool) -> Matrix:
    """Correct vectors by way of files."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "v.npy", Path(folder) / "w.npy"
        np.save(source, rows)
        isoscope.apply_correction(correction, str(source), out, keep_norms=keep_norms)
        return np.asarray(np.load(out))


def top(queries: Matrix, documents: Matrix) -> Matrix:
    """Return the documents with the largest inner products, for every query."""
    return np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :TOP]


def shared(found: Matrix, truth: Matrix) -> int:
    """Count the places that two lists of neighbours share."""
    return sum(len({*one} & {*other}) for one, other in zip(found.tolist(), truth, strict=True))


def says_norm_1(kind: str, seed: int) -> bool:
    """Whether ``correct apply`` says that the vectors of the fit had norm 1."""
    rng = np.random.default_rng(seed)
    vectors = embeddings(rng, DOCUMENTS, 64).astype(np.float64)
    if not STORED[kind]:
        vectors *= rng.normal(1, 0.01, (len(vectors), 1))
    stored = vectors.astype(kind.partition(",")[0])
    correction = make_correction("center").fit(stored)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "v.npy"
        np.save(source, stored)
        applied = isoscope.apply_correction(correction, str(source), Path(folder) / "w.npy")
    return applied.written[0].normalized


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    draws = parser.parse_args().draws
    found = counts(draws)
    print(f"{draws} draws of {DOCUMENTS:,} documents and {QUERIES} queries\n")
    print(
        "| of the top 10 by cosine an inner-product index finds | apply | --keep-norms | to_faiss |"
    )
    print("| --- | --- | --- | --- |")
    for name, tally in found.items():
        if "places" in tally:
            exported = share(tally["to_faiss"], tally["exported_places"])
            print(
                f"| {name} | {share(tally['apply'], tally['places'])} "
                f"| {share(tally['keep_norms'], tally['places'])} | {exported} |"
            )
    print("\n| vectors stored as | said that they had norm 1 | wrong |")
    print("| --- | --- | --- |")
    for name, tally in found.items():
        if "said" in tally:
            kind = name.removeprefix("says norm 1: ")
            print(f"| {kind} | {tally['said']} of {tally['draws']} | {tally['wrong']} |")


def share(part: int, whole: int) -> str:
    """Write a share in percent; nothing of nothing is a dash."""
    return f"{100 * part / whole:.2f} %" if whole else "–"


if __name__ == "__main__":
    main()
