"""Whoever encodes: the vectors are the same, bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from isoscope.compute.pool import Pool
from isoscope.compute.processes import Processes
from isoscope.compute.ray import RayActors
from isoscope.compute.vector_cache import VectorCache
from isoscope.models import encode as encoding_shards
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.models.tokens import Mention

RNG = np.random.default_rng(0)
WORDS = ("the", "old", "cat", "dog", "bird", "sat", "ran", "on", "a", "boat", "tree", "river")
TEXTS = [" ".join(RNG.choice(WORDS, length)) for length in RNG.integers(1, 30, 60)]
MENTIONS = [Mention(k, 0, text.find(" ") % len(text) + 1) for k, text in enumerate(TEXTS)]

Vectors = dict[str, bytes]


@pytest.fixture(scope="module")
def bert(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("bert")), device="cpu")


@pytest.fixture(scope="module", autouse=True)
def _small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding_shards, "SHARD_TEXTS", 16)
        yield


def encoded(bert: Model, pool: Pool | None) -> Vectors:
    """Encode texts, and words in them, and return the bytes of every layer."""
    said: list[int] = []
    texts = Encoder(bert, "max", longest=20, cache=False, pool=pool).encode(
        TEXTS, progress=lambda _, done, __: said.append(done)
    )
    assert sorted(said) == said
    assert said[-1] == len(set(TEXTS))
    words = Encoder(bert, cache=False, pool=pool).encode(TEXTS, mentions=MENTIONS)
    assert all(np.isfinite(rows).all() for rows in (*texts.values(), *words.values()))
    return {f"{name} texts": rows.tobytes() for name, rows in texts.items()} | {
        f"{name} words": rows.tobytes() for name, rows in words.items()
    }


@pytest.fixture(scope="module")
def by_one_process(bert: Model) -> Vectors:
    with Processes(1) as pool:
        return encoded(bert, pool)


def test_this_process_finds_the_same(bert: Model, by_one_process: Vectors) -> None:
    assert encoded(bert, None) == by_one_process


def test_two_processes_find_what_one_finds(
    bert: Model, by_one_process: Vectors, tmp_path: Path
) -> None:
    with Processes(2) as pool:
        assert encoded(bert, pool) == by_one_process
        cache = VectorCache(tmp_path)
        kept = Encoder(bert, "max", longest=20, cache=cache, pool=pool).encode(TEXTS)
    # The pool is closed: what is held needs nobody.
    again = Encoder(bert, "max", longest=20, cache=cache, pool=pool).encode(TEXTS)
    for name, rows in kept.items():
        assert rows.tobytes() == again[name].tobytes() == by_one_process[f"{name} texts"]


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("workers", [1, 2])
def test_actors_find_what_a_process_finds(
    bert: Model, by_one_process: Vectors, workers: int
) -> None:
    with RayActors("", workers) as pool:
        assert encoded(bert, pool) == by_one_process
