"""Texts that go to workers in shards: where they are cut, what is kept, what is run again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled_for_tests import pooled

from isoscope.compute.pool import Here, Tick, no_tick
from isoscope.compute.vector_cache import ENDING, VectorCache, VectorFile, text_keys
from isoscope.errors import DataError, UsageError
from isoscope.models import encode as encoding_shards
from isoscope.models import runtime as precision
from isoscope.models.encode import Encoder, EncodingWork, Entries, cut_entries
from isoscope.models.model import Model, open_model
from isoscope.models.tokens import Mention

NOUNS = ("cat", "dog", "bird", "tree", "boat")
TEXTS = [f"{'the old ' * (k % 4)}{noun} sat{'.' * k}" for k in range(4) for noun in NOUNS]
"""Of several lengths, so that other shards have other batches."""

SHARDS = [TEXTS[k : k + 6] for k in range(0, len(TEXTS), 6)]


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("bert")), device="cpu")


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding_shards, "SHARD_TEXTS", 6)


class KilledError(Exception):
    """What kills a run."""


class Watched(Here):
    """Notes the texts of the shards that it runs, the last first; may stop in between."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.ran: list[list[str]] = []
        self._stop_after = stop_after

    def run(self, work: Any, shards: Sequence[tuple[int, Any]], tick: Tick) -> Iterator[Any]:
        for number, found in super().run(work, shards[::-1], tick):
            if len(self.ran) == self._stop_after:
                raise KilledError
            self.ran.append(dict(shards)[number].texts)
            yield number, found


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return list(first) == list(second) and all(
        first[name].dtype == second[name].dtype and first[name].tobytes() == second[name].tobytes()
        for name in first
    )


def test_every_shard_goes_through_the_model_by_itself(bert: Model) -> None:
    pool = Watched()
    asked = [*TEXTS, TEXTS[3]]
    found = Encoder(bert, "max", False, longest=5, cache=False, pool=pool).encode(asked)
    assert pool.ran == SHARDS[::-1]
    alone = [pooled(bert, texts, None, "max", False, longest=5) for texts in SHARDS]
    for name, rows in found.items():
        whole = np.concatenate([vectors[name] for vectors in alone])
        assert rows.tobytes() == np.concatenate([whole, whole[3:4]]).tobytes()


def test_words_are_put_where_they_belong(bert: Model) -> None:
    pool = Watched()
    texts = [*TEXTS, "the cats and the dog"]
    places = [(k, text.index("sat"), text.index("sat") + 3) for k, text in enumerate(TEXTS)]
    mentions = [Mention(20, 4, 8), *(Mention(*place) for place in places), Mention(20, 17, 20)]
    assert "##s" in bert.tokenizer.tokenize("cats")  # the mean of two tokens is neither of them
    found = Encoder(bert, "cls", cache=False, pool=pool).encode(texts, mentions=mentions)
    direct = Encoder(bert, "cls", cache=False).encode(texts, mentions=mentions)
    for name, rows in found.items():
        np.testing.assert_allclose(rows, direct[name], atol=1e-5)
    ran = [text for shard in pool.ran for text in shard]
    assert sorted(ran) == sorted(texts)  # each once, though one has two words far apart
    assert max(map(len, pool.ran)) == 6


def test_a_killed_run_ends_with_the_same_numbers(bert: Model, tmp_path: Path) -> None:
    whole = Watched()
    expected = Encoder(bert, cache=False, pool=whole).encode(TEXTS)
    cache = VectorCache(tmp_path)
    with pytest.raises(KilledError):
        Encoder(bert, cache=cache, pool=Watched(stop_after=2)).encode(TEXTS)
    held = list(cache.folder.glob(f"*/*{ENDING}"))
    assert len(held) == 2 * 4  # every finished shard, in four layers
    rest = Watched()
    assert same(Encoder(bert, cache=cache, pool=rest).encode(TEXTS), expected)
    assert rest.ran == whole.ran[2:]
    nothing = Watched()
    assert same(Encoder(bert, cache=cache, pool=nothing).encode(TEXTS), expected)
    assert nothing.ran == []


def test_a_shard_is_computed_whole_and_what_is_held_stays(bert: Model, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    marked = np.full((1, 32), 7.0, np.float32)
    encoder = Encoder(bert, cache=cache, pool=(pool := Watched()))
    cache.put(encoder.space("block 1"), text_keys([TEXTS[8]]), marked)
    layers = ["block 1", "block 2"]
    found = encoder.encode(TEXTS, layers)
    assert pool.ran == SHARDS[::-1]
    expected = Encoder(bert, cache=False, pool=Here()).encode(TEXTS, layers)
    assert (found["block 1"][8] == 7.0).all()
    expected["block 1"][8] = 7.0
    assert same(found, expected)
    # One layer of one shard is lost: that shard runs again, whole, and keeps only what is lost.
    lost = cache.folder / encoder.space("block 2")
    key = text_keys([TEXTS[13]])
    path = next(path for path in lost.iterdir() if len(VectorFile(path).lookup(key)[0]))
    path.unlink()
    before = set(cache.folder.rglob(f"*{ENDING}"))
    assert same(encoder.encode(TEXTS, layers), expected)
    assert pool.ran[len(SHARDS) :] == [SHARDS[2]]
    assert set(cache.folder.rglob(f"*{ENDING}")) - before == {path}


def test_nothing_is_kept_without_a_cache(
    bert: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path))
    Encoder(bert, cache=False, pool=Here()).encode(TEXTS)
    assert list(tmp_path.iterdir()) == []
    pool = Watched()
    assert Encoder(bert, cache=False, pool=pool).encode([])["block 3"].shape == (0, 32)
    assert pool.ran == []


def test_progress_counts_texts_over_all_shards(bert: Model, tmp_path: Path) -> None:
    said: list[tuple[str, int, int | None]] = []
    encoder = Encoder(bert, cache=VectorCache(tmp_path), pool=Watched())

    def progress(name: str, done: int, total: int | None) -> None:
        said.append((name, done, total))

    encoder.encode(TEXTS, ["block 1"], progress=progress)
    assert {(name, total) for name, _, total in said} == {("texts", 20)}
    done = [count for _, count, _ in said]
    assert done == sorted(done)
    assert {0, 2, 8, 14, 20} <= set(done)  # the last shard, of two texts, is run first
    said.clear()
    encoder.encode([*TEXTS, "a new one"], ["block 1"], progress=progress)
    assert said[-1] == ("texts", 3, 3)


def test_somebody_who_watches_sees_tokens_in_this_process(bert: Model) -> None:
    pool = Watched()
    seen: list[int] = []
    found = Encoder(bert, cache=False, pool=pool).encode(
        TEXTS, ["block 1"], watch=lambda _, rows: seen.append(len(rows))
    )
    assert pool.ran == []
    assert sum(seen) == sum(map(len, bert.tokenizer(TEXTS)["input_ids"]))
    assert same(found, Encoder(bert, cache=False).encode(TEXTS, ["block 1"]))
    bert.settle("cuda:99", "float32")
    with pytest.raises(UsageError, match="in this process, not by workers: .*'cuda:99'"):
        Encoder(bert, cache=False, pool=pool).encode(TEXTS, watch=lambda _, __: None)


def test_a_shard_without_vectors_does_not_narrow_the_others(
    tiny_model: Callable[[str], Path],
) -> None:
    double = open_model(str(tiny_model("bert")), device="cpu", dtype="float64")
    texts = [*TEXTS[:6], "", " ", "  "]  # blank ones alone in a shard, which is run first
    found = Encoder(double, special_tokens=False, cache=False, pool=Watched()).encode(texts)
    for name, rows in pooled(double, TEXTS[:6], special_tokens=False).items():
        assert found[name].dtype == np.float64
        assert found[name][:6].tobytes() == rows.tobytes()
        assert np.isnan(found[name][6:]).all()


def test_what_a_worker_cannot_read_ends_the_run(
    bert: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise DataError("tiny-bert is not complete")

    monkeypatch.setattr(encoding_shards, "pooled_spaces", failing)
    with pytest.raises(DataError, match="tiny-bert is not complete"):
        Encoder(bert, cache=False, pool=Here()).encode(TEXTS)


def test_a_worker_computes_as_the_vectors_are_kept(
    bert: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = EncodingWork(bert, ("block 1",), "mean", True, None)
    (shard, *_) = cut_entries(Entries.of(TEXTS), np.ones(len(TEXTS), np.bool_))
    assert shard.name == "texts 1 to 6"
    sent = pickle.loads(pickle.dumps(work))
    done: list[int] = []
    here = work(shard, done.append)["block 1"]
    assert done == [6]
    assert sent(shard, no_tick)["block 1"].tobytes() == here.tobytes()
    another = pickle.loads(pickle.dumps(work))
    assert another.model is sent.model  # one copy of the weights
    # This machine computes in half precision, that of the worker cannot.
    bert.settle("cpu", "bfloat16")
    content = pickle.dumps(EncodingWork(bert, ("block 1",), "mean", True, None))
    monkeypatch.setattr(precision, "survives", lambda _: False)
    with (
        pytest.warns(UserWarning, match="cannot multiply matrices in bfloat16"),
        pytest.raises(UsageError, match="a worker cannot compute in bfloat16"),
    ):
        pickle.loads(content)(shard, no_tick)


def test_shards_are_cut_by_order_alone() -> None:
    wanted = Entries.of([*TEXTS, TEXTS[0]])
    missing = np.zeros(len(TEXTS), np.bool_)
    assert cut_entries(wanted, missing) == []
    missing[[7, 19]] = True
    found = cut_entries(wanted, missing)
    assert [shard.texts for shard in found] == [SHARDS[1], SHARDS[3]]
    assert [shard.places.tolist() for shard in found] == [list(range(6, 12)), [18, 19]]
    assert [shard.name for shard in found] == ["texts 7 to 12", "texts 19 to 20"]
    assert [shard.mentions for shard in found] == [None, None]
