"""A small folder of benchmarks that has something of every set that studies read.

Sets come in the layout of their releases, with words of the tiny models' vocabularies.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from benchmark_files import put
from class_sets_for_tests import (
    sentence,
    write_boolq,
    write_cola,
    write_rte,
    write_senteval,
    write_wic,
)
from sts_for_tests import write_sts_sets
from tiny_models import WORDS

from isoscope.results.result import Result, Row
from isoscope.verbs.explain.topics.sentence_groups import SentenceGroup
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import Outcome

WORD_SETS = {
    "MEN_dataset_lemma_form_full": "{}-n {}-v {}",
    "rw.txt": "{}\t{}\t{}\t1\t2\t3\t4\t5\t6\t7",
    "SimLex-999.txt": "{}\t{}\tN\t{}\t1\t1\t1\t1\t1\t1",
    "wordsim_similarity_goldstandard.txt": "{}\t{}\t{}",
    "wordsim_relatedness_goldstandard.txt": "{}\t{}\t{}",
}
"""Files of word pairs, and what a line looks like."""

VERBS = {
    "run": ("run", "runs", "running", "ran"),
    "sit": ("sit", "sits", "sitting", "sat"),
    "see": ("see", "sees", "seeing", "saw"),
}
"""Forms of verbs, from which their tense is told."""

FRAMES = (
    "the {} of the {} sat, it was {}.", "in the {}, the {} of a {} ran.",
    "the {} was {}, and of the {}.", "a {} saw the {} of {}, big.", "of the {}, {} is the {}.",
)  # fmt: skip
FILLED = (("cat", "dog", "big"), ("bird", "tree", "old"), ("bank", "river", "new"))

PAIRS = 30
OCCURRENCES = 12
"""Of each of two senses of every verb."""


def write_benchmarks(folder: Path) -> Path:
    """Write all sets."""
    for write in (
        write_sts_sets, write_rte, write_cola, write_boolq, write_wic, write_senteval,
        write_sst_2, write_word_pairs, write_semcor, write_wikitext, write_articles,
        write_translations,
    ):  # fmt: skip
        write(folder)
    return folder


def write_sst_2(folder: Path) -> None:
    """Sentences with a class, which is drawn."""
    rng = np.random.default_rng(6)
    for split, size in (("train", 60), ("dev", 20)):
        rows = [f"{sentence(rng)}\t{rng.integers(2)}\n" for _ in range(size)]
        put(folder / "glue" / "SST-2" / f"{split}.tsv", "sentence\tlabel\n" + "".join(rows))


def write_word_pairs(folder: Path) -> None:
    """Pairs of whole words with drawn scores."""
    rng = np.random.default_rng(7)
    words = [word for word in WORDS.split() if not word.startswith("##")]
    for name, line in WORD_SETS.items():
        pairs = [(*rng.choice(words, 2, replace=False), k % 10) for k in range(PAIRS)]
        put(folder / name, "".join(line.format(*pair) + "\n" for pair in pairs))


def write_semcor(folder: Path) -> None:
    """Verbs in two senses each, between nouns, in three documents."""
    rng = np.random.default_rng(8)
    said = [
        (str(rng.choice(forms)), lemma, f"{lemma}%2:30:0{sense}::")
        for lemma, forms in VERBS.items()
        for sense in range(2)
        for _ in range(OCCURRENCES)
    ]
    lines = []
    for number, (form, lemma, key) in enumerate(said):
        one, two = rng.choice(["cat", "dog", "bird", "tree", "boat"], 2)
        words = [("the", "the", "DT", ""), (one, one, "NN", ""), (form, lemma, "VB", key),
                 ("on", "on", "IN", ""), (two, two, "NN", "")]  # fmt: skip
        lines += [
            "\t".join((f"brown1/{'abc'[number % 3]}", str(number), str(place), *word)) + "\n"
            for place, word in enumerate(words)
        ]
    put(folder / "semcor" / "semcor3.tsv.gz", gzip.compress("".join(lines).encode()))


def write_wikitext(folder: Path) -> None:
    """Lines to learn a language from."""
    rng = np.random.default_rng(9)
    lines = [f"{sentence(rng)} and {sentence(rng)}\n" for _ in range(200)]
    put(folder / "wikitext-2" / "wiki.train.raw", "".join(lines))


def write_articles(folder: Path) -> None:
    """Articles of two sentences, and the first of them as a summary."""
    rng = np.random.default_rng(10)
    rows = ["text,y\n"]
    for _ in range(20):
        first = sentence(rng)
        rows.append(f"{first} {sentence(rng)},{first}\n")
    put(folder / "cnndm" / "cnn_dailymail.csv", "".join(rows))


def write_translations(folder: Path) -> None:
    """Sentences, and their words backwards."""
    rng = np.random.default_rng(11)
    for part, size in (("train", 16), ("test", 6)):
        texts = [sentence(rng) for _ in range(size)]
        back = [" ".join(reversed(text.split())) for text in texts]
        for language, lines in (("de", texts), ("en", back)):
            put(folder / "multi30k" / f"{part}.{language}", "".join(f"{x}\n" for x in lines))


def write_texts(path: Path) -> Path:
    """Texts of no set, a line each."""
    rng = np.random.default_rng(12)
    return put(path, "".join(f"{sentence(rng)}.\n" for _ in range(40)))


def write_vocabulary(path: Path) -> Path:
    """An embedding matrix with rows enough for bins of a thousand."""
    np.save(path, np.random.default_rng(13).normal(0.2, 1, (3_000, 8)))
    return path


def small_groups(seed: int) -> list[SentenceGroup]:
    """Sentences of a few structures, short enough for the tiny models; the same for all seeds."""
    del seed
    return [
        SentenceGroup(frame, tuple(frame.format(*words) for words in FILLED)) for frame in FRAMES
    ]


def write_finetuned(path: Path) -> Path:
    """A result of fine-tuning, as ``isoscope train finetune --out`` leaves it."""
    outcomes = [
        Outcome("rte", name, seed, {"accuracy": accuracy + seed / 100}, {"head": {"i1": accuracy}})
        for name, accuracy in (("none", 0.6), ("cosreg", 0.5), ("spectrum-exp", 0.4))
        for seed in range(3)
    ]
    Result(compared_rows("BERT", outcomes, {"rte": "made by hand"})).save(path)
    return path


def write_ablation(path: Path) -> Path:
    """A result of an ablation, as ``isoscope train ablate --out`` leaves it, in short."""
    rows = [
        Row("main effects", "unembedding matrix", "untied instead of tied", name, 0.2,
            low=low, high=0.3, extra={"factor": "tie"})
        for name, low in (("i1", 0.1), ("i1_scaled", -0.1))
    ]  # fmt: skip
    extra = {"kind": "ablation", "factors": {"tie": ["tied", "untied"]}}
    Result(rows, extra=extra).save(path)
    return path
