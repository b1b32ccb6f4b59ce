"""What is disturbed: every verb that writes, every format that is written, cache and journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import isoscope
from fault_injection.injector import Operation
from isoscope.compute.journal import Journal
from isoscope.compute.vector_cache import VectorCache, text_keys
from isoscope.verbs.study.registry import find_study
from isoscope.verbs.study.runs.folder import StudyFolder
from isoscope.verbs.threshold.score_map import ScoreMap, save_maps

TINY = Path("/dev/shm/isoscope-tiny")

VECTORS = (np.random.default_rng(0).standard_normal((60, 4)) + 0.5).astype(np.float32)
OLD = b"what was there before\n"


def put(name: str, content: bytes = OLD) -> Callable[[Path], None]:
    """Return a preparation that writes one file."""

    def prepare(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return prepare


def with_vectors(*more: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return a preparation that writes vectors, and whatever else."""

    def prepare(folder: Path) -> None:
        np.save(folder / "x.npy", VECTORS)
        for one in more:
            one(folder)

    return prepare


def nothing(folder: Path) -> None:
    """Prepare nothing."""


def measure(out: str, **options: Any) -> Callable[[Path, bool], None]:
    """Return what measures vectors into a file."""

    def run(folder: Path, resume: bool) -> None:
        isoscope.measure(
            folder / "x.npy", "mean_cosine,i1", out=folder / out, intervals=False, resume=resume,
            **options,
        )  # fmt: skip

    return run


def sources(folder: Path) -> None:
    """Write the same vectors in every format that is written again."""
    import pyarrow
    import safetensors.numpy
    from pyarrow import feather, parquet

    np.savez_compressed(folder / "x.npz", v=VECTORS, other=np.arange(3))
    column = pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32(), 4))
    table = pyarrow.table({"id": [str(k) for k in range(60)], "v": column})
    parquet.write_table(table, folder / "x.parquet", row_group_size=20)
    feather.write_feather(table, folder / "x.feather")
    (folder / "x.safetensors").write_bytes(safetensors.numpy.save({"v": VECTORS}))
    lines = [" ".join(map(str, row)) for row in VECTORS]
    (folder / "x.txt").write_text("".join(f"w{k} {line}\n" for k, line in enumerate(lines)))
    rows = b"".join((4).to_bytes(4, "little") + row.tobytes() for row in VECTORS)
    (folder / "x.fvecs").write_bytes(rows)
    (folder / "x.jsonl").write_text(
        "".join(f'{{"v": [{line.replace(" ", ", ")}]}}\n' for line in lines)
    )
    words = b"".join(b"w%d " % k + row.tobytes() for k, row in enumerate(VECTORS))
    (folder / "x.bin").write_bytes(b"60 4\n" + words)


def fitted(folder: Path) -> None:
    """Write a fitted correction."""
    isoscope.fit_correction(str(folder / "x.npy"), "whiten", folder / "whiten.safetensors")


def apply(ending: str) -> Operation:
    """Return the operation that corrects a file of a format."""
    out = f"out{ending}"

    def prepare(folder: Path) -> None:
        np.save(folder / "x.npy", VECTORS)
        sources(folder)
        fitted(folder)
        (folder / out).write_bytes(OLD)

    def run(folder: Path, resume: bool) -> None:
        isoscope.apply_correction(
            folder / "whiten.safetensors", str(folder / f"x{ending}"), folder / out, resume=resume
        )

    return Operation(f"correct apply {ending}", run, prepare, (out,), (f"{out}.journal",))


def apply_many(workers: int | None) -> Operation:
    """Return the operation that corrects several files into a folder."""

    def prepare(folder: Path) -> None:
        (folder / "many").mkdir()
        for k in range(3):
            np.save(folder / "many" / f"{k}.npy", VECTORS + k)
        np.save(folder / "x.npy", VECTORS)
        fitted(folder)

    def run(folder: Path, resume: bool) -> None:
        isoscope.apply_correction(
            folder / "whiten.safetensors", str(folder / "many" / "*.npy"), folder / "out",
            workers=workers, resume=resume,
        )  # fmt: skip

    return Operation("correct apply, several files", run, prepare, ("out",), ("out/journal",
                     "out.journal", "out"))  # fmt: skip


def fit(folder: Path, resume: bool) -> None:
    """Fit a correction in several shards."""
    isoscope.fit_correction(
        str(folder / "x.npy"), "whiten", folder / "out.safetensors", resume=resume, shard_rows=20
    )


def fit_clusters(folder: Path, resume: bool) -> None:
    """Fit a correction that needs clusters."""
    isoscope.fit_correction(
        str(folder / "x.npy"), "cluster-pc-removal:n_clusters=2:n_components=1",
        folder / "out.safetensors", resume=resume,
    )  # fmt: skip


def refresh(folder: Path, resume: bool) -> None:
    """Take new vectors into a correction, in place."""
    isoscope.refresh_correction(folder / "whiten.safetensors", str(folder / "y.npy"), resume=resume)


def more_vectors(folder: Path) -> None:
    """Write the new vectors."""
    np.save(folder / "y.npy", VECTORS * 2 + 1)


def journal(folder: Path, resume: bool) -> None:
    """Keep steps in a journal, and forget one."""
    with Journal.open(folder / "run.journal", {"seed": 0}, resume=resume) as opened:
        for step in ("one", "two", "three"):
            if not opened.done(step):
                opened.save(step, {"sums": np.eye(4)}, {"rows": 3}, finished=step != "two")
        assert opened.load("one") is not None
        opened.forget("two")


def cache(folder: Path, resume: bool) -> None:
    """Keep vectors of texts."""
    del resume
    kept = VectorCache(folder / "cache")
    for first in range(0, 30, 6):
        keys = text_keys([f"text {k}" for k in range(first, first + 6)])
        kept.put("a" * 64, keys, VECTORS[first : first + 6])


def score_map(folder: Path, resume: bool) -> None:
    """Write a map of scores."""
    del resume
    maps = [ScoreMap("percentile", "none", (-0.5, 0.2), (0.0, 1.0))]
    save_maps(maps, folder / "map.json", {"made": "for tests"})


def report(folder: Path, resume: bool) -> None:
    """Write a table and a page."""
    del resume
    isoscope.report([folder / "result.json"], out=folder / "table.md", html=folder / "page.html")


def measured(folder: Path) -> None:
    """Write a result."""
    isoscope.measure(folder / "x.npy", "mean_cosine,i1", intervals=False).save(
        folder / "result.json"
    )


def labelled(folder: Path) -> None:
    """Write labelled pairs of rows."""
    rows = "".join(f"{k}\t{(7 * k + 1) % 60}\t{k // 2 % 2}\n" for k in range(60))
    (folder / "pairs.tsv").write_text(f"row1\trow2\tscore\n{rows}")


def threshold(folder: Path, resume: bool) -> None:
    """Find thresholds, and write a map of scores and a result."""
    del resume
    isoscope.threshold(
        folder / "x.npy", pairs=folder / "pairs.tsv", corrections="none",
        map_file=folder / "map.json",
    ).save(folder / "out.json")  # fmt: skip


def evaluate(folder: Path, resume: bool) -> None:
    """Score vectors on labelled pairs."""
    del resume
    isoscope.evaluate(folder / "x.npy", [f"pairs:{folder / 'pairs.tsv'}"], "none").save(
        folder / "out.json"
    )


def diff(folder: Path, resume: bool) -> None:
    """Compare two clouds."""
    del resume
    isoscope.diff(folder / "x.npy", folder / "y.npy").save(folder / "out.json")


def study(folder: Path, resume: bool) -> None:
    """Run a study."""
    del resume
    StudyFolder(folder / "studies").run(
        find_study("B-T1"), [f"mine={folder / 'x.npy'}"], seed=1, command="the call"
    )


def profile(folder: Path, resume: bool) -> None:
    """Profile a tiny model."""
    isoscope.profile(
        TINY / "bert", folder / "texts.txt", measures="mean_cosine", corrections="none",
        shard_texts=3, out=folder / "out.json", resume=resume, intervals=False,
    )  # fmt: skip


def with_texts(times: int, *more: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return a preparation that writes texts."""

    def prepare(folder: Path) -> None:
        lines = ("the cat sat on a bank\n", "a dog ran and saw the tree\n", "it was a red bird\n")
        (folder / "texts.txt").write_text("".join(lines) * times)
        for one in more:
            one(folder)

    return prepare


def pretrain(folder: Path, resume: bool) -> None:
    """Train a tiny model from scratch."""
    from isoscope.verbs.train.pretrain.plan import Plan

    small = {"vocabulary": 270, "context": 8, "batch_size": 4}
    plan = Plan(steps=2, checkpoints=1, changed=small)
    isoscope.pretrain(folder / "texts.txt", plan, folder / "model", resume=resume)


def finetune(folder: Path, resume: bool) -> None:
    """Fine-tune a tiny model."""
    from isoscope.verbs.train.finetune.experiment import finetune as run

    run(
        str(TINY / "bert"), "rte", "none", data=folder / "data", epochs=1, seeds=2, batch_size=8,
        limit=8, longest=16, out=folder / "out.json", resume=resume,
    )  # fmt: skip


def pairs(folder: Path) -> None:
    """Write a small set of labelled pairs, and an old result."""
    from class_sets_for_tests import write_rte

    (folder / "data").mkdir()
    write_rte(folder / "data")
    (folder / "out.json").write_bytes(OLD)


SMALL_OPERATIONS = [
    Operation(
        "measure --out .json",
        measure("out.json", shard_rows=20),
        with_vectors(put("out.json")),
        ("out.json",),
        ("out.json.journal",),
    ),
    Operation(
        "measure --out .md",
        measure("out.md"),
        with_vectors(put("out.md")),
        ("out.md",),
        ("out.md.journal",),
    ),
    Operation(
        "correct fit",
        fit,
        with_vectors(put("out.safetensors")),
        ("out.safetensors",),
        ("out.safetensors.journal",),
    ),
    Operation(
        "correct fit, clusters",
        fit_clusters,
        with_vectors(put("out.safetensors")),
        ("out.safetensors",),
        ("out.safetensors.journal",),
    ),
    Operation(
        "correct refresh",
        refresh,
        with_vectors(more_vectors, fitted),
        ("whiten.safetensors",),
        ("whiten.safetensors.journal",),
        once=True,
    ),
    *(
        apply(ending)
        for ending in (
            ".npy",
            ".npz",
            ".parquet",
            ".feather",
            ".safetensors",
            ".txt",
            ".fvecs",
            ".jsonl",
            ".bin",
        )
    ),
    Operation("journal", journal, nothing, ("nothing",), ("run.journal",)),
    Operation("vector cache", cache, nothing, ("cache",), ("cache",), lenient=True),
    Operation("score map", score_map, put("map.json"), ("map.json",)),
    Operation(
        "report",
        report,
        with_vectors(measured, put("table.md"), put("page.html")),
        ("table.md", "page.html"),
    ),
    Operation(
        "threshold",
        threshold,
        with_vectors(labelled, put("map.json"), put("out.json")),
        ("map.json", "out.json"),
    ),
    Operation("evaluate", evaluate, with_vectors(labelled, put("out.json")), ("out.json",)),
    Operation("diff", diff, with_vectors(more_vectors, put("out.json")), ("out.json",)),
    Operation("study", study, with_vectors(), ("studies",), ("studies",)),
    apply_many(None),
]

# These load torch: a case takes a second instead of a tenth of it.
NETWORK_OPERATIONS = [
    Operation("profile --text", profile, with_texts(3, put("out.json")), ("out.json",),
              ("out.json.journal",)),
    Operation("train pretrain", pretrain, with_texts(100), ("model/result.json",), ("model",)),
    Operation("train finetune", finetune, pairs, ("out.json",),
              ("out.json.journal", "out.json.checkpoints")),
]  # fmt: skip


def careless(folder: Path, resume: bool) -> None:
    """Write in place, as no verb may: a file that is cut off is neither old nor new."""
    del resume
    with (folder / "out.txt").open("wb") as file:
        file.write(OLD * 100)


# Shows that harm is noticed; not among the operations of isoscope.
CARELESS = Operation("careless", careless, put("out.txt"), ("out.txt",))
