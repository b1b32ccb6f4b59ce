"""The rows of an embedding matrix, each with the text of its token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import NO_LABELS, Batch, Cloud
from isoscope.data.formats.packages import WordList
from isoscope.errors import DataError, UsageError, check_name
from isoscope.typing import Ids

if TYPE_CHECKING:
    from isoscope.models.model import Model


# Tokens that were put into a vocabulary for later and never trained; T5's ``<extra_id_0>`` was.
UNUSED = re.compile(
    r"\[unused\d+\]|<unused\d+>|<reserved[\w-]*\d+>|<\|(reserved|extra)[\w-]*\d+\|>", re.IGNORECASE
)


def unused_tokens(cloud: Any) -> list[dict[str, Any]]:
    """Find the tokens that are there for later by their names, with their lengths."""
    found = []
    for batch in cloud.read():
        if "word" not in batch.labels:
            return []
        words = batch.labels["word"]
        for k in [k for k, word in enumerate(words) if UNUSED.fullmatch(str(word))]:
            vector = np.asarray(batch.vectors[k], dtype=np.float64)
            found.append(
                {
                    "token": str(words[k]),
                    "row": batch.first_row + k,
                    "norm": float(np.linalg.norm(vector)),
                }
            )
    return found


class EmbeddingCloud(Cloud):
    """One row a token of the vocabulary.

    Attributes
    ----------
    padding_rows : int
        How many rows of the matrix no token has, as it was made longer for the hardware.
    left_out : int
        How many of them are left out: all or none.
    note : str or None
        What to know about the rows, where there is something.
    """

    population = True

    def __init__(
        self, cloud: Cloud, words: WordList | None, padding_rows: int, left_out: int
    ) -> None:
        super().__init__(cloud.name, cloud.rows, cloud.width, cloud.dtype)
        self._cloud, self._words = cloud, words
        self.padding_rows, self.left_out = padding_rows, left_out
        self.note = (
            None
            if words is not None
            else "without a tokenizer, rows without a token cannot be recognised"
        )

    @property
    def where(self) -> str:
        """The file, where there is one."""
        return self._cloud.where

    def read(self) -> Iterator[Batch]:
        """Yield the rows in the order of the vocabulary."""
        for batch in self._cloud.read():
            last = batch.first_row + len(batch.vectors)
            words = self._words
            labels = NO_LABELS if words is None else words.labels(batch.first_row, last)
            yield batch._replace(labels=labels)

    def read_rows(self, indices: Ids) -> Any:
        """Return some rows."""
        return self._cloud.read_rows(indices)


def embedding_cloud(model: Model, which: str, *, padding_rows: bool) -> EmbeddingCloud:
    """Open the input embedding or the unembedding of a model; see `Model.embedding_cloud`."""
    paths = {"input": model.parts.input_embedding, "output": model.parts.unembedding}
    check_name("embedding", which, paths)
    path = paths[which]
    if path is None:
        raise UsageError(
            f"{model.name} has no unembedding: it was saved without a language-model head"
        )
    rows, _ = model.weights.shape(path)
    try:
        used = min(rows, rows_with_a_token(model.tokenizer))
    except DataError:
        words, used = None, rows
    else:
        words = WordList(partial(token_texts, model.tokenizer, rows))
    kept = rows if padding_rows else used
    cloud = model.weights.cloud(path, kept, f"{model.name} {which} embedding")
    return EmbeddingCloud(cloud, words, rows - used, rows - kept)


def rows_with_a_token(tokenizer: Any) -> int:
    """Return how many rows there are up to that of the last token."""
    return int(max(tokenizer.get_vocab().values())) + 1


def token_texts(tokenizer: Any, rows: int) -> list[str]:
    """Return the token of every row as the tokenizer writes it, and nothing where there is none."""
    tokens = {row: token for token, row in tokenizer.get_vocab().items()}
    return [tokens.get(row, "") for row in range(rows)]
