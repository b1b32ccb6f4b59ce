"""Texts as two plain arrays, so that a stored state needs no pickle."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def texts_to_arrays(texts: Sequence[str], name: str) -> dict[str, NDArray[Any]]:
    """Return the UTF-8 bytes of all texts and where each begins; lone surrogates survive."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(one) for one in encoded], np.int64)
    return {
        f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8).copy(),
        f"{name}.offsets": np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
    }


def texts_from_arrays(arrays: Mapping[str, NDArray[Any]], name: str) -> list[str]:
    """Rebuild the texts that ``texts_to_arrays`` took apart."""
    content = arrays[f"{name}.bytes"].tobytes()
    offsets = arrays[f"{name}.offsets"].tolist()
    return [
        content[first:last].decode("utf-8", "surrogatepass") for first, last in pairwise(offsets)
    ]
