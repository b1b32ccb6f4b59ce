"""Layers of models, scores of texts, large files and pages beside what they cannot do without."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bar import Bar, Figure, compared
from evaluate import CLUSTERS, SETS, of
from profiling import BUDGETS, LONGEST, bare, first, plain_batches
from sides import cloud, write_npy

import isoscope
from isoscope.corrections import Whiten
from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.tasks import SentenceProtocol
from isoscope.verbs.evaluate.api import evaluate
from isoscope.verbs.explore.session import find_plane, made, nearest
from isoscope.verbs.profile.api import profile

MINILM = "package:minilm"
MPNET = os.environ.get("ISOSCOPE_MPNET", "sentence-transformers/all-mpnet-base-v2")
"""A folder, where the hub cannot be reached."""
LARGE_FILE = (2_000_000, 768)
BLOCK = 16_384
NEIGHBOURS = 20
QUERIES = 20


def layers(model: str, sentences: int, rounds: int) -> Iterator[Figure]:
    """Compare a profile with all default measures with the network alone on ready batches."""
    texts, opened = first(sentences), open_model(model, device="cpu")
    others = {
        f"bare forward pass, {budget:,} tokens a batch": partial(
            bare, opened, plain_batches(opened, texts, budget)
        )
        for budget in BUDGETS
    }
    bare(opened, plain_batches(opened, texts[:20], BUDGETS[0]))  # what is only done once
    found = compared(
        f"{opened.name}, {sentences:,} sentences",
        lambda: profile(opened, texts, longest=LONGEST),
        others,
        rounds,
        warm=False,
    )
    yield min(found, key=lambda figure: figure.theirs[0])


def similarity() -> Iterator[Figure]:
    """Compare scores of all layers in eight spaces with one encoding of the distinct texts."""
    folder = Path(os.environ["ISOSCOPE_DATA"])
    model = open_model(MINILM, device="cpu")
    texts = list(dict.fromkeys(text for name in SETS.split(",") for text in of(name, folder)))
    protocol = SentenceProtocol(
        layers="all", correct_at="sentence", transductive=True, cache=False, device="cpu"
    )

    def ours() -> Any:
        return evaluate(model, SETS, CLUSTERS, data=folder, sentences=protocol)

    def encode() -> Any:
        return Encoder(model, cache=False).encode(texts, None)

    spaces = len(CLUSTERS.split(","))
    case = f"{len(texts):,} texts, {len(model.layer_names())} layers, {spaces} spaces"
    yield from compared(case, ours, {"encoding all layers": encode}, 1, warm=False)


def file() -> Iterator[Figure]:
    """Compare whitening a file with copying it and multiplying its rows with a matrix."""
    rows, dimensions = LARGE_FILE
    with tempfile.TemporaryDirectory() as folder:
        source, target, copy = (Path(folder) / f"{name}.npy" for name in ("in", "out", "copy"))
        write_npy(source, rows, dimensions)
        fitted = Whiten().fit(cloud(20_000, dimensions))
        matrix = np.asarray(fitted.matrix_, np.float32)

        def ours() -> None:
            isoscope.apply_correction(fitted, str(source), target)
            target.unlink()

        def theirs() -> None:
            with source.open("rb") as original, copy.open("wb") as other:
                while chunk := original.read(4 * dimensions * BLOCK):
                    other.write(chunk)
            copy.unlink()
            block = np.resize(np.load(source, mmap_mode="r")[:BLOCK], (BLOCK, dimensions)).copy()
            for start in range(0, rows, BLOCK):
                block[: min(BLOCK, rows - start)] @ matrix

        size = source.stat().st_size / 1e9
        others = {"copying it and one product": theirs}
        yield from compared(f"{size:.1f} GB, {rows:,} × {dimensions}", ours, others, 2, warm=False)


def page(size: tuple[int, int], allowed: float) -> Iterator[Figure]:
    """Compare the neighbours of single rows with the seconds that a page may take for them."""
    x = cloud(*size)
    space = made(x, find_plane(x[:5_000], np.arange(1_000)))

    def ours() -> None:
        for row in range(QUERIES):
            nearest(space, row, NEIGHBOURS)

    case = f"{size[0]:,} × {size[1]}, {QUERIES} queries"
    (figure,) = compared(case, ours, {f"{1000 * allowed:.0f} ms for each": ours}, 5)
    yield figure._replace(theirs=(allowed * QUERIES, allowed * QUERIES))


BARS = {
    "profile-minilm": Bar("profile, both reads", 1.5, 1.3, partial(layers, MINILM, 2_000, 2)),
    "profile-mpnet": Bar("profile, both reads", 1.15, 1.08, partial(layers, MPNET, 600, 1)),
    "sts": Bar("seven STS sets, all layers, eight spaces", 1.3, 1.15, similarity),
    "file": Bar("whitening a large file", 1.3, 1.1, file),
    "explore-many": Bar("neighbours on a page", 1.0, 1.0, partial(page, (400_000, 50), 0.010)),
    "explore-long": Bar("neighbours on a page", 1.0, 1.0, partial(page, (1_000_000, 384), 0.150)),
}
