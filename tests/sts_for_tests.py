"""Small sets of scored sentence pairs in the layout of their releases, all seven of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmark_files import put
from scipy import stats

from isoscope.tasks import find_task
from isoscope.tasks.datasets.sts import SUBSETS
from isoscope.tasks.problems.pairs import SentenceSimilarity

NOUNS = ("cat", "dog", "bird", "tree", "river", "boat", "bank", "money")
VERBS = ("sat", "ran", "flew", "saw")
PAIRS = 7


def write_sts_sets(folder: Path) -> Path:
    """Write a few pairs of every subset, other ones each time."""
    rng = np.random.default_rng(0)

    def text() -> str:
        start = rng.choice(["the", "a", "the old", "a small red"])
        return f"{start} {rng.choice(NOUNS)} {rng.choice(VERBS)} on the {rng.choice(NOUNS)}"

    def pairs(count: int) -> list[tuple[str, str, float]]:
        return [(text(), text(), round(float(rng.uniform(1, 5)), 2)) for _ in range(count)]

    for year, subsets in SUBSETS.items():
        inside = folder / f"STS{year % 100}-en-test"
        prefix = "STS2016" if year == 2016 else "STS"
        for name in subsets:
            some = pairs(PAIRS)
            put(inside / f"{prefix}.input.{name}.txt", "".join(f"{a}\t{b}\n" for a, b, _ in some))
            put(inside / f"{prefix}.gs.{name}.txt", "".join(f"{score}\n" for *_, score in some))
    for split in ("train", "dev", "test"):
        some = pairs(3 * PAIRS)
        lines = [f"genre\tfile\t2012\t{k}\t{s}\t{a}\t{b}\n" for k, (a, b, s) in enumerate(some)]
        put(folder / "STSBenchmark" / f"sts-{split}.csv", "".join(lines))
    for name in ("SICK_train", "SICK_trial", "SICK_test_annotated"):
        some = pairs(3 * PAIRS)
        lines = [f"{k}\t{a}\t{b}\t{s}\tNEUTRAL\n" for k, (a, b, s) in enumerate(some)]
        put(folder / "SICK" / f"{name}.txt", "".join(lines))
    return folder


def scored_pairs(name: str, folder: Path) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Return first and second texts, human scores and subsets of a set."""
    task = find_task(name)
    assert isinstance(task, SentenceSimilarity)
    pairs = task.load(folder)
    return (
        [pair.first for pair in pairs],
        [pair.second for pair in pairs],
        np.array([pair.score for pair in pairs]),
        np.array([pair.subset for pair in pairs]),
    )


def both_correlations(
    vectors: dict[str, np.ndarray], name: str, folder: Path
) -> tuple[float, float]:
    """Spearman's ρ of cosine and score over all pairs, and its mean over subsets."""
    first, second, human, subsets = scored_pairs(name, folder)
    cosines = np.array(
        [
            1.0
            if a == b
            else vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])
            for a, b in zip(first, second, strict=True)
        ]
    )
    each = [
        stats.spearmanr(cosines[subsets == name], human[subsets == name]).statistic
        for name in np.unique(subsets)
    ]
    return float(stats.spearmanr(cosines, human).statistic), float(np.mean(each))


def hidden_states(folder: Path, texts: list[str], *, special: bool) -> dict[str, list[np.ndarray]]:
    """Every layer's tokens of each distinct text, by transformers itself, one at a time."""
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = {}
    with torch.no_grad():
        for text in dict.fromkeys(texts):
            inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
            kept = (inputs.pop("special_tokens_mask")[0] == 0) | special
            inputs.pop("token_type_ids", None)
            states = network(**inputs, output_hidden_states=True).hidden_states
            found[text] = [state[0][kept].double().numpy() for state in states]
    return found


def log10_i1(vectors: np.ndarray) -> float:
    """min Z / max Z over eigenvectors, each turned so that Z(c) ≥ Z(−c)."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    projected = vectors @ directions
    z = np.maximum(np.exp(projected).sum(axis=0), np.exp(-projected).sum(axis=0))
    return float(np.log10(z.min() / z.max()))
