"""Made-up batches of labelled layers, and the contextual measures by their definitions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import Batch

Rows = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class MadeUpText:
    """Sentences with labels, and vectors for each layer."""

    layers: dict[str, NDArray[np.float32]]
    labels: Rows

    @property
    def widths(self) -> dict[str, int]:
        return {name: vectors.shape[1] for name, vectors in self.layers.items()}

    def sentence_rows(self) -> list[NDArray[np.int64]]:
        sentence = self.labels["sentence"]
        return [np.flatnonzero(sentence == number) for number in np.unique(sentence)]

    def batches(
        self, per_batch: int = 3, order: list[int] | None = None, tensors: bool = False
    ) -> list[dict[str, Batch]]:
        """Cut into batches of so many sentences, in the order given."""
        sentences = self.sentence_rows()
        order = list(range(len(sentences))) if order is None else order
        made = []
        for first in range(0, len(order), per_batch):
            rows = np.concatenate([sentences[k] for k in order[first : first + per_batch]])
            labels = {name: values[rows] for name, values in self.labels.items()}
            made.append(
                {
                    name: Batch(as_given(vectors[rows], tensors), 0, labels)
                    for name, vectors in self.layers.items()
                }
            )
        return made


def as_given(vectors: NDArray[Any], tensors: bool) -> Any:
    if not tensors:
        return vectors
    import torch

    return torch.from_numpy(vectors)


def made_up_text(
    seed: int = 0,
    sentences: int = 12,
    widths: tuple[int, ...] = (6, 9),
    vocabulary: int = 9,
    clumped: bool = False,
    special: bool = True,
) -> MadeUpText:
    """Make sentences of words of one to three tokens, with a special token in front."""
    draw = np.random.default_rng(seed)
    pieces = [tuple(draw.integers(10, 10 + vocabulary, 1 + k % 3)) for k in range(vocabulary)]
    labels: dict[str, list[Any]] = defaultdict(list)
    occurrence = 0
    for sentence in range(sentences):
        tokens = [(1, "", -1)] if special else []
        for _ in range(int(draw.integers(0, 9))):
            word = int(draw.integers(0, vocabulary) * draw.random())
            tokens += [(int(piece), f"wörd{word}", occurrence) for piece in pieces[word]]
            occurrence += 1
        for position, (token, word_text, index) in enumerate(tokens):
            labels["token id"].append(token)
            labels["token"].append(f"⟨{token}⟩")
            labels["word"].append(word_text)
            labels["word index"].append(index)
            labels["sentence"].append(sentence)
            labels["document"].append(sentence // 4)
            labels["position"].append(position)
    kinds = {"token": object, "word": object}
    columns = {name: np.array(all_, kinds.get(name, np.int64)) for name, all_ in labels.items()}
    rows = len(columns["sentence"])
    layers = {}
    for number, width in enumerate(widths):
        vectors = draw.standard_normal((rows, width))
        if clumped:
            centres = 4 * draw.standard_normal((200, width))
            vectors += centres[columns["token id"]] + 3
        layers[f"block {number}"] = vectors.astype(np.float32)
    return MadeUpText(layers, columns)


def cosine(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def pairwise_mean(vectors: list[NDArray[Any]]) -> float:
    """Mean cosine of all pairs, one after the other."""
    pairs = [
        cosine(vectors[i], vectors[j]) for i in range(len(vectors)) for j in range(len(vectors))
        if i != j
    ]  # fmt: skip
    return float(np.mean(pairs))


def vectors_by_type(text: MadeUpText, layer: str) -> dict[Any, list[NDArray[Any]]]:
    found = defaultdict(list)
    for token, x in zip(text.labels["token id"], text.layers[layer], strict=True):
        if np.any(x):
            found[int(token)].append(x.astype(np.float64))
    return dict(found)


def vectors_by_word(text: MadeUpText, layer: str, subwords: str) -> dict[Any, list[NDArray[Any]]]:
    found = defaultdict(list)
    index = text.labels["word index"]
    for occurrence in np.unique(index[index >= 0]):
        rows = np.flatnonzero(index == occurrence)
        x = text.layers[layer][rows].astype(np.float64)
        vector = {"first": x[0], "last": x[-1], "mean": x.mean(axis=0)}[subwords]
        if np.any(vector):
            found[text.labels["word"][rows[0]]].append(vector)
    return dict(found)


def mean_within(groups: dict[Any, list[NDArray[Any]]]) -> tuple[float, float, float]:
    """Mean over groups, mean by count, share of groups of two or more."""
    twice = [vectors for vectors in groups.values() if len(vectors) >= 2]
    means = [pairwise_mean(vectors) for vectors in twice]
    return (
        float(np.mean(means)),
        float(np.average(means, weights=[len(vectors) for vectors in twice])),
        len(twice) / len(groups),
    )


def intra_sentence(text: MadeUpText, layer: str) -> tuple[float, int]:
    """Mean over sentences, and how many were left out."""
    means = []
    sentences = text.sentence_rows()
    for rows in sentences:
        x = [row for row in text.layers[layer][rows].astype(np.float64) if np.any(row)]
        if len(x) >= 2:
            mean = np.mean(x, axis=0)
            means.append(np.mean([cosine(row, mean) for row in x]))
    return float(np.mean(means)), len(sentences) - len(means)
