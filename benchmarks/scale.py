"""How reading grows with workers, rows and disks.

python benchmarks/scale.py [workers|journal|memory|vectors|disk] [--folder DIR]

Sides are timed in turn in one run, and the best of several is taken. ``vectors`` needs 20 GB in the
folder for files, a temporary one by default.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from sides import best, cloud, run, write_npy

import isoscope
from isoscope.compute.execution import open_pool
from isoscope.compute.journal import Journal
from isoscope.data.texts import open_texts
from isoscope.models.model import open_model
from isoscope.verbs.profile.layer_reads import LayerProfile, TextRun
from isoscope.verbs.profile.profile_options import ProfileOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.compute.pool import Pool

MODEL = "package:minilm"
SENTENCES = 3_072
SHARD = 64
ROUNDS = 2
MEGABYTE, GIGABYTE = 10**6, 10**9
WIDTH = 768
FILES = 10
ROW_BYTES = 4 * WIDTH
WORDS = tuple(
    f"{first}{second}"
    for first in ("river", "stone", "winter", "garden", "paper", "silver", "village", "music")
    for second in ("", "s", " house", " road", " song", " light")
)

FOLDER = Path(tempfile.gettempdir())


def sentences(count: int, seed: int = 0, longest: int = 24) -> Iterator[str]:
    """Yield made sentences of some words, a fifth of the longest at least."""
    random = np.random.default_rng(seed)
    for first in range(0, count, 10_000):
        rows = min(10_000, count - first)
        lengths = random.integers(1 + longest // 5, longest + 1, rows)
        words = random.integers(0, len(WORDS), (rows, longest))
        for row, length in zip(words, lengths, strict=True):
            yield "the " + " ".join(WORDS[word] for word in row[:length])


def written(count: int, path: Path, longest: int = 24) -> Path:
    """Write made sentences to a file, a line each."""
    with path.open("w") as file:
        file.writelines(f"{text}\n" for text in sentences(count, longest=longest))
    return path


def one_profile(texts: Path, pool: Pool, model: Any, journal: Path | None = None) -> None:
    """Profile a text once, as the command does, on workers that are there."""
    options = ProfileOptions(intervals=False, measures="mean_cosine", corrections="none")
    with ExitStack() as stack:
        kept = None
        if journal is not None:
            kept = stack.enter_context(Journal.open(journal, {}))
        source = TextRun(open_texts(str(texts)), pool, kept).cut(SHARD)
        LayerProfile(model, source, options).run()
        if kept is not None:
            kept.remove()


def workers() -> None:
    """Compare one and two workers of Ray, and two of the local engine; models are loaded."""
    model = open_model(MODEL)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, ExitStack() as stack:
        texts = written(SENTENCES, Path(folder) / "texts.txt")
        few = written(8 * SHARD, Path(folder) / "few.txt")
        sides = {}
        pools: dict[str, Any] = {
            "Ray, 1 worker": ("ray", 1),
            "Ray, 2 workers": ("ray", 2),
            "local, 2 workers": ("local", 2),
        }
        import ray

        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level=40)
        for name, (engine, count) in pools.items():
            pool = stack.enter_context(open_pool(engine, count))
            one_profile(few, pool, model)
            sides[name] = partial(one_profile, texts, pool, model)
        times = best(sides, ROUNDS)
    ray.shutdown()
    print(f"\nworkers: {SENTENCES:,} sentences, shards of {SHARD}, {MODEL}, models loaded")
    for name, seconds in times.items():
        print(f"  {name:18} {seconds:6.1f} s  {SENTENCES / seconds:7,.0f} sentences/s")
    one, two = times["Ray, 1 worker"], times["Ray, 2 workers"]
    print(f"  Ray, 2 workers over 1: {one / two:.2f} × (at least 1.7)")
    print(f"  Ray over local, 2 workers: {times['local, 2 workers'] / two:.2f} × (at least 0.9)")


def journal() -> None:
    """Compare a run with a journal with one without."""
    model = open_model(MODEL)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, open_pool("local", 2) as pool:
        texts = written(SENTENCES, Path(folder) / "texts.txt")
        one_profile(written(4 * SHARD, Path(folder) / "few.txt"), pool, model)
        kept = Path(folder) / "journal"
        times = best(
            {
                "without": partial(one_profile, texts, pool, model),
                "with": partial(one_profile, texts, pool, model, kept),
            },
            2 * ROUNDS,
        )
    share = times["with"] / times["without"] - 1
    print(f"\njournal: {SENTENCES:,} sentences, two workers, {times['without']:.1f} s without")
    print(f"  overhead {100 * share:+.1f} % (below 2 %)")


def memory() -> None:
    """Profile more and more made sentences with a small random model, and watch the workers."""
    print("\nmemory: a random BERT of two blocks, width 64; two workers; peak resident memory")
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        small = small_model(Path(folder) / "model")
        for engine in ("local", "ray"):
            for count in (10_000, 1_000_000):
                texts = written(count, Path(folder) / "texts.txt", longest=4)
                start = time.perf_counter()
                with watched() as peaks:
                    isoscope.profile(
                        str(small), str(texts), engine=engine, workers=2, intervals=False,
                        corrections="none", measures="mean_cosine,self_similarity",
                        shard_texts=4_096,
                    )  # fmt: skip
                seconds = time.perf_counter() - start
                driver, most = peaks["driver"] / MEGABYTE, peaks["worker"] / MEGABYTE
                print(
                    f"  {engine:5} {count:9,} sentences: {most:5.0f} MB a worker, {driver:5.0f} MB "
                    f"the driver, {seconds:5.0f} s",
                    flush=True,
                )


def small_model(folder: Path) -> Path:
    """Make a small BERT with random weights and the tokenizer of MiniLM."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    source = open_model(MODEL).source.folder
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(source)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128,
    )  # fmt: skip
    network: Any = BertModel
    network(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def watched() -> Iterator[dict[str, int]]:
    """Note the most memory that this process, and any of its workers, has of its own.

    What processes share, such as the object store of Ray, is not a worker's.
    """
    peaks = {"driver": 0, "worker": 0}
    stop = threading.Event()
    here = psutil.Process()

    def look() -> None:
        while not stop.wait(0.1):
            peaks["driver"] = max(peaks["driver"], own_memory(here))
            for child in here.children(recursive=True):
                try:
                    named = " ".join(child.cmdline()[:4])
                    if "ray::Actor" in named or "spawn_main" in named:
                        peaks["worker"] = max(peaks["worker"], own_memory(child))
                except psutil.Error:
                    continue

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        stop.set()
        thread.join()


def own_memory(process: psutil.Process) -> int:
    """Return resident memory without what is shared."""
    about = process.memory_info()
    return int(about.rss - about.shared)


def vectors() -> None:
    """Measure 20 GB in files, and a part of the same rows in memory, scaled up."""
    rows = 20 * GIGABYTE // ROW_BYTES // FILES
    inside = rows // 2
    array = cloud(inside, WIDTH)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for number in range(FILES):
            write_npy(Path(folder) / f"part-{number}.npy", rows, WIDTH)
        pattern = str(Path(folder) / "part-*.npy")
        isoscope.measure(array[:100_000], workers=2)
        print(f"\nvectors: {FILES * rows:,} rows of {WIDTH}, {FILES} files, 20 GB; two workers")
        scaled = 0.0
        for engine in ("local", "ray"):
            before = seconds_of(array)
            with watched() as peaks:
                start = time.perf_counter()
                isoscope.measure(pattern, engine=engine, workers=2)
                took = time.perf_counter() - start
            scaled = min(before, seconds_of(array)) * FILES * rows / inside
            # The array for comparison is in this process too, and nobody else's.
            held = peaks["worker"] if engine == "ray" else peaks["driver"] - array.nbytes
            who = "the process" if engine == "local" else "a worker"
            print(
                f"  {engine:5} {took:5.0f} s, {took / scaled:.2f} × memory scaled up ({scaled:.0f} "
                f"s; at most 1.15); {held / MEGABYTE:,.0f} MB {who} (below 1,000)",
                flush=True,
            )


def seconds_of(array: np.ndarray) -> float:
    """Time the measuring of an array."""
    start = time.perf_counter()
    isoscope.measure(array, workers=2)
    return time.perf_counter() - start


def disk() -> None:
    """Compare the mean cosine alone with the disk's own rate; pages are dropped before."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = Path(folder) / "part.npy"
        write_npy(path, 4 * GIGABYTE // ROW_BYTES, WIDTH)
        os.sync()
        rates: dict[str, list[float]] = {"disk": [], "mean_cosine": []}
        for _ in range(ROUNDS):
            for name, call in (("disk", raw_read), ("mean_cosine", mean_cosine)):
                forget_cache(path)
                start = time.perf_counter()
                call(path)
                rates[name].append(path.stat().st_size / (time.perf_counter() - start) / MEGABYTE)
        raw, ours = max(rates["disk"]), max(rates["mean_cosine"])
    print(f"\ndisk: 4 GB, pages dropped before each round; the disk reads {raw:,.0f} MB/s")
    print(f"  mean_cosine alone {ours:,.0f} MB/s, {ours / raw:.2f} × (at least 0.5)")


def raw_read(path: Path) -> None:
    """Read a file and do nothing with it."""
    buffer = bytearray(8 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def mean_cosine(path: Path) -> None:
    """Measure the mean cosine of a file."""
    isoscope.measure(str(path), "mean_cosine", "none", intervals=False)


def forget_cache(path: Path) -> None:
    """Let go of a file's pages, so that the disk itself is read."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


PARTS = {
    "workers": workers, "journal": journal, "memory": memory, "vectors": vectors, "disk": disk,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    FOLDER = given.folder
    run(PARTS, given.parts)
