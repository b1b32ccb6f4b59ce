"""What the commands of ``tools/guards.py`` read: vectors, texts, benchmarks and tiny models.

Everything is made from fixed seeds, and has a fixed time of change, which journals compare.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow
from formats_for_tests import FORMATS
from pyarrow import parquet

WIDTH = 16
TIME = 1_700_000_000
MODELS = ("bert", "gpt2", "bart")
STEPS = {"step0": 0.0, "step10": 0.1, "step20": 0.3, "step40": 0.7}

KNOWN = (
    "cat dog bird tree river bank money boat sat ran flew saw big small old new red green the a of "
    "and in is was it on that"
)
"""Words of the benchmarks' pairs."""


def make_inputs(folder: Path, *, models: bool) -> None:
    """Fill a folder; without models where nobody asks for them, as torch takes long to import."""
    make_clouds(folder)
    make_tables(folder)
    make_words(folder)
    make_formats(folder / "formats")
    if models:
        make_models(folder)
        make_texts(folder)
    for path in sorted(folder.rglob("*")):
        os.utime(path, (TIME, TIME))


def cloud(seed: int, rows: int, width: int = WIDTH, offset: float = 0.8) -> np.ndarray:
    """Vectors around an offset, narrower from dimension to dimension, but for one."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rows, width)) / np.arange(1, width + 1) ** 0.5 + offset
    vectors[:, 3] *= 4
    return vectors.astype(np.float32)


def make_clouds(folder: Path) -> None:
    vectors = cloud(0, 400)
    np.save(folder / "cloud.npy", vectors)
    np.save(folder / "small.npy", cloud(1, 200, 8))
    np.save(folder / "new.npy", cloud(2, 60, 8))
    np.save(folder / "other.npy", cloud(3, 300, offset=0.5))
    noise = np.random.default_rng(4).normal(0, 0.2, vectors.shape)
    np.save(folder / "moved.npy", (vectors + noise).astype(np.float32))
    np.save(folder / "queries.npy", (vectors[:80] + 3 * noise[:80] - 0.4).astype(np.float32))
    np.save(folder / "empty.npy", np.empty((0, 4), np.float32))
    invalid = cloud(5, 120)
    invalid[[7, 50], 2] = np.nan, np.inf
    np.save(folder / "invalid.npy", invalid)
    (folder / "acts").mkdir()
    for number in range(3):
        np.save(folder / f"part-{number}.npy", cloud(10 + number, 90, 8))
        np.save(folder / "acts" / f"layer_{number}.npy", cloud(20 + number, 90, offset=number / 3))
    np.save(folder / "bad-0.npy", cloud(13, 90))
    (folder / "bad-1.npy").write_bytes((folder / "bad-0.npy").read_bytes()[:3_000])
    spoiled = np.random.default_rng(6).normal(size=(300, 32))
    share = np.random.default_rng(7).uniform(0, 1, (150, 1))
    spoiled[150:] = share * spoiled[:150] + np.sqrt(1 - share**2) * spoiled[150:]
    spoiled[:, 7] = np.random.default_rng(8).normal(0, 12, 300)
    np.save(folder / "spoiled.npy", spoiled.astype(np.float32))
    rows = [f"{k}\t{150 + k}\t{share[k, 0]:.4f}" for k in range(150)]
    write_lines(folder / "pairs-of-spoiled.tsv", ["row1\trow2\tscore", *rows])


def make_tables(folder: Path) -> None:
    """Labelled pairs, and vectors beside other columns."""
    rng = np.random.default_rng(30)
    rows = [f"{k}\t{200 + 3 * k % 200}\t{rng.random():.3f}" for k in range(120)]
    write_lines(folder / "pairs.tsv", ["row1\trow2\tscore", *rows])
    clicks = [f"{k % 80},{(k + 7 * (k % 2)) % 400},{1 - k % 2}" for k in range(160)]
    write_lines(folder / "clicks.csv", ["query_row,document_row,score", *clicks])
    for name, seed in (("table", 31), ("table-later", 32)):
        columns = {
            "id": [f"row {k}" for k in range(200)],
            "document": [f"document {k // 5}" for k in range(200)],
            "v": list(cloud(31, 200, 8) + 0.1 * cloud(seed, 200, 8)),
            "other": list(cloud(seed + 10, 200, 4)),
        }
        parquet.write_table(pyarrow.table(columns), folder / f"{name}.parquet")


def make_words(folder: Path) -> None:
    """Vectors of words, and scored pairs of them."""
    rng = np.random.default_rng(52)
    words = [f"word{k}" for k in range(30)] + KNOWN.split()
    vectors = cloud(51, len(words), 8)
    lines = [
        f"{word} {' '.join(f'{x:.4f}' for x in row)}"
        for word, row in zip(words, vectors, strict=True)
    ]
    write_lines(folder / "words.txt", lines)
    np.save(folder / "matrix.npy", vectors)
    write_lines(folder / "vocabulary.txt", words)
    scored = [
        f"{a} {b} {s:.1f}"
        for a, b, s in zip(*rng.choice(words, (2, 40)), rng.uniform(0, 10, 40), strict=True)
    ]
    write_lines(folder / "word-pairs.txt", scored)


def make_formats(folder: Path) -> None:
    """The same vectors in every format."""
    folder.mkdir()
    words, vectors = [f"word{k}" for k in range(50)], cloud(40, 50, 8)
    for name, kind in (("half", np.float16), ("single", np.float32), ("double", np.float64)):
        np.save(folder / f"{name}.npy", vectors.astype(kind))
    for ending in (
        ".npz", ".safetensors", ".parquet", ".feather", ".txt", ".vec", ".bin", ".fvecs", ".jsonl",
        ".txt.gz", ".jsonl.zst",
    ):  # fmt: skip
        one = FORMATS[ending]
        (folder / f"v{ending}").write_bytes(one.write(words, vectors.astype(one.dtypes[0]), {}))
    (folder / "v.arrow").write_bytes((folder / "v.feather").read_bytes())
    import faiss

    index = faiss.IndexFlatIP(8)
    index.add(vectors)
    faiss.write_index(index, str(folder / "v.faiss"))


def make_texts(folder: Path) -> None:
    """Benchmarks; texts of the tiny models' words, pairs of them, and a search among them."""
    from class_sets_for_tests import sentence
    from small_benchmarks import FILLED, FRAMES, write_benchmarks, write_texts

    write_benchmarks(folder / "data")
    rng = np.random.default_rng(50)
    write_texts(folder / "texts.txt")
    rows = [f"{sentence(rng)},speaker {k % 6}" for k in range(30)]
    write_lines(folder / "texts.csv", ["said,who", *rows])
    write_lines(folder / "many.txt", [f"{sentence(rng)} {k % 7}." for k in range(600)])
    write_lines(folder / "wiki.txt", [f"{sentence(rng)} and {sentence(rng)}" for _ in range(60)])
    pairs = [f"{sentence(rng)}\t{sentence(rng)}\t{rng.uniform(0, 5):.2f}" for _ in range(40)]
    write_lines(folder / "text-pairs.tsv", ["text1\ttext2\tscore", *pairs])
    groups = [f"{k}\t{frame.format(*words)}" for k, frame in enumerate(FRAMES) for words in FILLED]
    write_lines(folder / "groups.tsv", groups)
    documents = list(dict.fromkeys(sentence(rng) for _ in range(60)))
    beir = folder / "beir"
    (beir / "qrels").mkdir(parents=True)
    corpus = [json.dumps({"_id": f"d{k}", "text": text}) for k, text in enumerate(documents)]
    write_lines(beir / "corpus.jsonl", corpus)
    asked = [json.dumps({"_id": f"q{k}", "text": documents[k] + " !"}) for k in range(20)]
    write_lines(beir / "queries.jsonl", asked)
    write_lines(beir / "qrels" / "test.tsv", [f"q{k}\td{k}\t1" for k in range(20)])


def make_models(folder: Path) -> None:
    """Tiny models, and a training of one of them."""
    from tiny_models import save_tiny_model
    from trainings_for_tests import save_training

    for architecture in MODELS:
        save_tiny_model(architecture, folder / f"tiny-{architecture}")
    base = save_tiny_model("gpt-neox", folder / "tiny-gpt-neox")
    save_training(base, folder / "training", STEPS)


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")
