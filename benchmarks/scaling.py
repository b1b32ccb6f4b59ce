"""How time and memory of ``measure``, ``profile``, ``correct`` and ``advise`` grow with their data.

    python benchmarks/scaling.py                    measures all of them
    python benchmarks/scaling.py profile advise     measures some; others stay as stored
    python benchmarks/scaling.py page               writes the page and the figures again

Writes docs/results/scaling.{json,md}, and a figure of each. The exponent of a law of powers is
fitted by least squares on logarithms, over the larger half of the sizes: what a call costs whatever
its size hides it in the smaller ones.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sides import others

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORD, PAGE = (RESULTS / f"scaling.{kind}" for kind in ("json", "md"))

# A process of its own for every size: memory at its highest is that of a process. The call is made
# on little data first, so that what is only done once does not count.
CODE = """
import re, resource, sys, tempfile, time, warnings
import numpy as np
import isoscope
warnings.simplefilter("ignore")
rows, dimensions = map(int, sys.argv[1:])
random = np.random.default_rng(0)
spread = np.geomspace(1, 0.05, dimensions, dtype=np.float32)
def cloud(rows):
    return random.standard_normal((rows, dimensions), dtype=np.float32) * spread + np.float32(0.1)
folder = tempfile.TemporaryDirectory()
{prepare}
def resident(key):
    return int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
def processors():
    taken = resource.getrusage(resource.RUSAGE_SELF)
    return taken.ru_utime + taken.ru_stime
call(small)
before, start, used = resident("VmRSS"), time.perf_counter(), processors()
call(large)
print(time.perf_counter() - start, processors() - used, resident("VmHWM") - before)
"""

MEASURE = """
small, large = cloud(300), cloud(rows)
call = isoscope.measure
"""
CORRECT = """
def stored(rows):
    path = f"{folder.name}/{rows}.npy"
    np.save(path, cloud(rows))
    return path
def call(path):
    isoscope.fit_correction(path, "whiten", path + ".safetensors")
    isoscope.apply_correction(path + ".safetensors", path, path + ".out.npy")
small, large = stored(2_000), stored(rows)
"""
PROFILE = """
import shutil
from transformers import BertConfig, BertModel
from isoscope.models.model import open_model
import torch
torch.manual_seed(0)
minilm = open_model("package:minilm", device="cpu")
config = BertConfig(
    vocab_size=len(minilm.tokenizer), hidden_size=dimensions, num_hidden_layers=4,
    num_attention_heads=dimensions // 32, intermediate_size=4 * dimensions,
)
BertModel(config).save_pretrained(folder.name)
minilm.tokenizer.save_pretrained(folder.name)
model = open_model(folder.name, device="cpu")
def texts(rows):
    return [f"The {k}th sentence is about item {k % 97}, one of many." for k in range(rows)]
def call(some):
    isoscope.profile(model, some)
small, large = texts(60), texts(rows)
"""
ADVISE = """
def labelled(rows):
    x, half = cloud(rows), rows // 2
    x[half:] = x[: rows - half] + cloud(rows - half) / 2
    first, same = random.integers(0, half, 500), random.random(500) < 0.5
    second = np.where(same, first + half, random.integers(half, rows, 500))
    path = f"{folder.name}/{rows}.csv"
    with open(path, "w") as file:
        file.write("row1,row2,score\\n")
        file.writelines(f"{a},{b},{int(c)}\\n" for a, b, c in zip(first, second, same))
    return x, path
def call(data):
    isoscope.advise(data[0], pairs=data[1])
small, large = labelled(1_500), labelled(rows)
"""


@dataclass(frozen=True)
class Job:
    """What is called, at which sizes, and why it grows as it does."""

    prepare: str
    call: str
    unit: str
    rows: tuple[int, ...]
    dimensions: tuple[int, ...]
    fixed: tuple[int, int]
    """Rows where dimensions vary, and dimensions where rows do."""
    rounds: int
    why_rows: str
    why_dimensions: str


JOBS = {
    "measure": Job(
        MEASURE, "`isoscope measure` with its default measures, of vectors in memory", "rows",
        (2_500, 5_000, 10_000, 20_000, 40_000, 80_000), (48, 96, 192, 384, 768, 1_536),
        (20_000, 384), 2,
        "Every row is read twice and added to sums, and is not kept. Below 10,000 rows, the "
        "eigenvectors of two matrices and the cosines of 1,024 sampled rows take most of the time, "
        "whatever the number of rows. The memory is that of a few batches and of the matrices.",
        "The products XᵀX, X V and X W need n d² operations, the eigenvectors d³, and everything "
        "else n d. Therefore the exponent is between 1 and 2 for few dimensions, and 2 or more for "
        "many. Matrices of d × d need memory in proportion to d².",
    ),
    "profile": Job(
        PROFILE, "`isoscope profile` with its default measures, of a model of 4 blocks with random "
        "weights, on sentences of 17 tokens", "sentences",
        (250, 500, 1_000, 2_000, 4_000), (96, 192, 384, 768),
        (1_000, 384), 1,
        "Every token goes through the network once, and its layers are read twice. Below 1,000 "
        "sentences, the eigenvectors of every layer and the variance of each word that one static "
        "vector explains take a large part of the time, whatever the number of sentences. The "
        "memory is that of a few batches, of the matrices of all layers, and of sums by word and "
        "by token type, which grow with the vocabulary of the texts up to a limit.",
        "The products of the network and those of both reads need n d² operations, the "
        "eigenvectors d³, and everything else n d. Therefore the exponent is between 1 and 2, and "
        "approaches 2. The matrices of every layer need memory in proportion to d².",
    ),
    "correct": Job(
        CORRECT, "`isoscope correct fit` of whitening and `correct apply`, of a file", "rows",
        (10_000, 20_000, 40_000, 80_000, 160_000), (48, 96, 192, 384, 768, 1_536),
        (20_000, 384), 2,
        "A file is read once for the fit and once for applying it, and written once, in batches "
        "that are not kept.",
        "The products XᵀX and X A need n d² operations, the eigenvectors d³, and reading and "
        "writing n d. Therefore the exponent is between 1 and 2 for few dimensions, and 2 or more "
        "for many. Matrices of d × d need memory in proportion to d².",
    ),
    "advise": Job(
        ADVISE, "`isoscope advise` with its default corrections, of vectors in memory and 500 "
        "labelled pairs of rows", "rows",
        (2_500, 5_000, 10_000, 20_000), (48, 96, 192, 384),
        (5_000, 96), 1,
        "Every correction is fitted once for each fold, on the rows of the other folds, which "
        "takes time in proportion to their number. The 500 scored pairs are always the same, so "
        "that the exponent is below 1 until there are many more rows than pairs.",
        "The same holds as for fitting, with d³ operations for each of the folds and settings that "
        "are tried. With few rows, the eigenvectors take most of the time, and the exponent is "
        "above 2.",
    ),
}  # fmt: skip


def run(job: Job, rows: int, dimensions: int) -> dict[str, float]:
    """Return the best seconds, those of processors, and the highest megabytes beyond the data."""
    found = []
    for _ in range(job.rounds):
        code = CODE.replace("{prepare}", job.prepare)
        command = [sys.executable, "-c", code, str(rows), str(dimensions)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append([float(word) for word in output.split()[-3:]])
    seconds, processors, megabytes = zip(*found, strict=True)
    return {
        "seconds": min(seconds), "processors": min(processors), "megabytes": max(megabytes),
    }  # fmt: skip


def measured(job: Job) -> dict[str, list[dict[str, float]]]:
    """Run a job at all sizes."""
    rows, dimensions = job.fixed
    return {
        "rows": [{"size": size, **run(job, size, dimensions)} for size in job.rows],
        "dimensions": [{"size": size, **run(job, rows, size)} for size in job.dimensions],
    }


def exponent(points: list[dict[str, float]], key: str) -> float:
    """Fit value = c · size^e over the larger half of the sizes."""
    half = points[-max(3, (len(points) + 1) // 2) :]
    sizes = [point["size"] for point in half]
    values = [max(point[key], 1e-3) for point in half]
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def time_of(points: list[dict[str, float]]) -> str:
    """Return which time is fitted: that of processors where it was taken."""
    return "processors" if all("processors" in point for point in points) else "seconds"


LABELS = {"processors": "seconds of processors", "seconds": "seconds", "megabytes": "megabytes"}


def draw(name: str, job: Job, points: dict[str, list[dict[str, float]]]) -> None:
    """Write the figure of a job."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "isoscope"
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (what, some) in zip(axes, points.items(), strict=True):
        for key, marker in ((time_of(some), "o"), ("megabytes", "s")):
            values = [max(point[key], 1e-3) for point in some]
            fitted = f"{LABELS[key]}: exponent {exponent(some, key):.2f}"
            axis.loglog([point["size"] for point in some], values, marker=marker, label=fitted)
        axis.set(xlabel=job.unit if what == "rows" else what, title=fixed(job, what))
        axis.set_xticks([point["size"] for point in some])
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.legend(fontsize="small")
    figure.savefig(RESULTS / f"scaling-{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def fixed(job: Job, what: str) -> str:
    """Say which size stays the same while another one grows."""
    rows, dimensions = job.fixed
    return f"{dimensions} dimensions" if what == "rows" else f"{rows:,} {job.unit}"


def section(name: str, job: Job, found: dict[str, Any]) -> list[str]:
    """Return what the page says of a job."""
    lines = [
        f"## {name}",
        "",
        f"{job.call}. {found['how']}.",
        "",
        f"![Seconds and megabytes over {job.unit} and over dimensions](scaling-{name}.svg)",
    ]
    for what, why in (("rows", job.why_rows), ("dimensions", job.why_dimensions)):
        points = found["points"][what]
        heading = f"{job.unit if what == 'rows' else what}, at {fixed(job, what)}"
        keys = ["seconds", *(["processors"] if time_of(points) == "processors" else [])]
        time, memory = (exponent(points, key) for key in (time_of(points), "megabytes"))
        columns = [LABELS[key] for key in keys]
        lines += [
            "",
            f"| {' | '.join([heading, *columns])} | MB beyond the data |",
            f"| {' | '.join(['---:'] * (len(keys) + 2))} |",
        ]
        for point in points:
            cells = [f"{point['size']:,}", *(f"{point[key]:.3f}" for key in keys)]
            lines.append(f"| {' | '.join([*cells, format(point['megabytes'], '.0f')])} |")
        lines += [
            "",
            f"Fitted exponents over the larger half: {time:.2f} for {LABELS[time_of(points)]}, "
            f"{memory:.2f} for memory. {why}",
        ]
    return [*lines, ""]


def write(record: dict[str, Any]) -> None:
    """Write the page and the figures of a record."""
    lines = ["# How time and memory grow", "", "Command: `python benchmarks/scaling.py`.", ""]
    for name, job in JOBS.items():
        if name in record:
            draw(name, job, record[name]["points"])
            lines += section(name, job, record[name])
    PAGE.write_text("\n".join(lines), "utf-8")


def main(chosen: list[str]) -> None:
    """Measure and write, or write again."""
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    for name in [] if chosen == ["page"] else chosen or JOBS:
        company = others()
        points = measured(JOBS[name])
        machine = f"{os.cpu_count()} cores, {platform.machine()}"
        how = f"{datetime.now(UTC):%Y-%m-%d}, {machine}, seed 0, best of {JOBS[name].rounds}"
        record[name] = {"how": how + company, "points": points}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    write(record)


if __name__ == "__main__":
    main(sys.argv[1:])
