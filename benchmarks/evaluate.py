"""What scoring costs beside encoding: seven STS sets, all layers, many corrections.

    python benchmarks/evaluate.py [--model package:minilm] [--rounds 2] [--levels sentence]

Sides alternate in one run, and the best of several rounds counts. *Encoding* is one pass over the
distinct texts of all sets with every layer pooled, nothing kept; *evaluating* is all of
``isoscope evaluate`` on the same sets and layers without a cache. The data are read from
ISOSCOPE_DATA.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from sides import best

from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.tasks import SentenceProtocol, find_task
from isoscope.tasks.problems.pairs import SentenceSimilarity
from isoscope.tasks.protocol import ISOTROPY
from isoscope.verbs.evaluate.api import evaluate

SETS = "sts-12,sts-13,sts-14,sts-15,sts-16,sts-b,sick-r"
CORRECTIONS = "none,center,center-scaled,all-but-the-top,whiten,clip,standardize"
CLUSTERS = f"{CORRECTIONS},cluster-pc-removal"


def main() -> None:
    """Measure all sides, and print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="package:minilm")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--levels", default="sentence,token", help="what is corrected")
    given = parser.parse_args()
    if not os.environ.get("ISOSCOPE_DATA"):
        print("ISOSCOPE_DATA names no folder: evaluation is left out")
        return
    folder = Path(os.environ["ISOSCOPE_DATA"])
    model = open_model(given.model, device="cpu")
    texts = list(dict.fromkeys(text for name in given.sets.split(",") for text in of(name, folder)))

    def encode(layers: Any = None) -> None:
        Encoder(model, cache=False).encode(texts, layers)

    def score(corrections: str, level: Any, isotropy: Any = ISOTROPY) -> None:
        protocol = SentenceProtocol(
            layers="all", correct_at=level, transductive=True, cache=False, device="cpu",
            isotropy=isotropy,
        )  # fmt: skip
        evaluate(model, given.sets, corrections, data=folder, sentences=protocol)

    sides: dict[str, Any] = {"encode all layers": encode}
    for level in given.levels.split(","):
        sides[f"evaluate, {level}s corrected"] = lambda level=level: score(CORRECTIONS, level)
        sides[f"the same without isotropy, {level}s"] = lambda level=level: score(
            CORRECTIONS, level, ()
        )
        sides[f"the same with clusters, {level}s"] = lambda level=level: score(CLUSTERS, level)
    last = model.stacks[0].layers[-1:]
    sides["encode the last layer"] = lambda: encode(last)
    peer = sentence_transformer(given.model)
    if peer is not None:
        sides["sentence-transformers"] = lambda: peer.encode(texts, batch_size=32)
    print(f"{len(texts):,} distinct texts of {given.sets}; {model.name}, best of {given.rounds}")
    found = best(sides, given.rounds)
    whole = found["encode all layers"]
    for name, seconds in found.items():
        print(f"{name:<36}{seconds:8.1f} s{seconds / whole:8.2f} x encoding all layers")
    if peer is not None:
        share = found["encode the last layer"] / found["sentence-transformers"]
        print(f"encoding beside sentence-transformers: {share:.2f} x its time")


def of(name: str, folder: Path) -> list[str]:
    """Return the texts of a set."""
    task = find_task(name)
    assert isinstance(task, SentenceSimilarity)
    return [text for pair in task.load(folder) for text in (pair.first, pair.second)]


def sentence_transformer(model: str) -> Any:
    """Open the same weights with sentence-transformers, where that is installed."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return None
    folder = open_model(model).source.folder
    return SentenceTransformer(str(folder), device="cpu")


if __name__ == "__main__":
    main()
