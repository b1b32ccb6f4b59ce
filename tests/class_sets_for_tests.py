"""Small sets of texts with classes, and of words in two sentences, in the layout of releases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmark_files import put

NOUNS = ("cat", "dog", "bird", "tree", "river", "boat", "bank", "money")
VERBS = ("sat", "ran", "flew", "saw")
STARTS = ("the", "a", "the old", "a small red")
SIZES = {"train": 40, "dev": 24, "test": 20}


def sentence(rng: np.random.Generator) -> str:
    """Words of the tiny models' vocabularies, a token each."""
    return (
        f"{rng.choice(STARTS)} {rng.choice(NOUNS)} {rng.choice(VERBS)} on the {rng.choice(NOUNS)}"
    )


def write_rte(folder: Path) -> Path:
    """Pairs of sentences, entailed where both begin alike."""
    rng = np.random.default_rng(1)
    for split in ("train", "dev"):
        lines = ["index\tsentence1\tsentence2\tlabel"]
        for k in range(SIZES[split]):
            one, two = sentence(rng), sentence(rng)
            label = "entailment" if one[0] == two[0] else "not_entailment"
            lines.append(f"{k}\t{one}\t{two}\t{label}")
        put(folder / "glue" / "RTE" / f"{split}.tsv", "\n".join(lines) + "\n")
    return folder


def write_cola(folder: Path) -> Path:
    """Sentences, mostly acceptable where they begin with an article of one letter."""
    rng = np.random.default_rng(2)
    for split in ("train", "dev"):
        texts = [sentence(rng) for _ in range(SIZES[split])]
        good = [text.startswith("a") != (rng.random() < 0.25) for text in texts]
        rows = [f"x\t{int(k)}\t\t{text}\n" for k, text in zip(good, texts, strict=True)]
        put(folder / "glue" / "CoLA" / f"{split}.tsv", "".join(rows))
    return folder


def write_boolq(folder: Path) -> Path:
    """Questions about passages, without a train part."""
    rng = np.random.default_rng(3)
    rows = [
        f'{{"question": "{sentence(rng)}", "passage": "{sentence(rng)}", "label": '
        f"{'true' if rng.integers(2) else 'false'}}}\n"
        for _ in range(40)
    ]
    put(folder / "BoolQ" / "val.jsonl", "".join(rows))
    return folder


def write_wic(folder: Path) -> Path:
    """One noun in two sentences, always their last word but for a few more behind it."""
    rng = np.random.default_rng(4)
    for split, size in SIZES.items():
        rows, gold = [], []
        for _ in range(size):
            word = rng.choice(NOUNS)
            sides = [f"{sentence(rng)} and the {word} {rng.choice(VERBS)} it" for _ in range(2)]
            places = [side.split().index("and") + 2 for side in sides]
            rows.append(f"{word}\tN\t{places[0]}-{places[1]}\t{sides[0]}\t{sides[1]}\n")
            gold.append(rng.choice(["T", "F"]))
        put(folder / "WiC" / split / f"{split}.data.txt", "".join(rows))
        put(folder / "WiC" / split / f"{split}.gold.txt", "\n".join(gold) + "\n")
    return folder


def write_senteval(folder: Path) -> Path:
    """CR, which has no splits, and TREC, which has."""
    rng = np.random.default_rng(5)
    for name, size, classes in (
        ("custrev.all", 40, 2),
        ("TREC.train.all", 40, 6),
        ("TREC.test.all", 20, 6),
    ):
        rows = [f"{k % classes} {sentence(rng)}\n" for k in range(size)]
        put(folder / "senteval" / name, "".join(rows))
    return folder
