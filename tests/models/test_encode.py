"""Workers that encode the texts of tasks: when they are there, and where they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.compute.pool import Here, Pool, no_tick
from isoscope.errors import UsageError
from isoscope.models import encode as encoding_shards
from isoscope.models import encode as module
from isoscope.models import runtime as precision
from isoscope.models.encode import EncodingPool, encoding_pool
from isoscope.models.model import open_model
from isoscope.results.result import Row
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.evaluate.api import evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What becomes of the workers, which are this process."""
    said: list[str] = []

    @contextmanager
    def open_here(engine: str, workers: int | None, *, accelerators: bool) -> Iterator[Pool]:
        said.append(f"{engine} {workers} {accelerators}")
        try:
            yield Here()
        except BaseException as error:
            said.append(type(error).__name__)
            raise
        said.append("closed")

    monkeypatch.setattr(module, "open_pool", open_here)
    return said


def double(shard: int, tick: Any) -> int:
    tick(1)
    return 2 * shard


def test_workers_are_started_once_and_when_they_are_needed(opened: list[str]) -> None:
    with encoding_pool("ray", 3) as pool:
        assert pool is not None
        assert opened == []
        for _ in range(2):
            assert list(pool.run(double, [(4, 10), (5, 11)], no_tick)) == [(4, 20), (5, 22)]
        for engine in ("local", "ray"):
            with encoding_pool(engine, None, None, pool) as shared:
                assert shared is pool
        assert opened == ["ray 3 False"]
    assert opened == ["ray 3 False", "closed"]
    with encoding_pool("ray", 3):
        pass
    assert len(opened) == 2  # nothing to do, nobody started


def test_workers_end_on_errors_too(opened: list[str]) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), EncodingPool("local", 2) as pool:
        list(pool.run(interrupted, [(0, 1)], no_tick))
    assert opened == ["local 2 False", "KeyboardInterrupt"]


def test_without_workers_it_is_this_process() -> None:
    with encoding_pool() as pool:
        assert pool is None


@pytest.mark.parametrize(
    ("engine", "device", "where", "accelerators"),
    [
        ("ray", "cuda", "cuda", True),
        ("ray", None, "cpu", False),
        ("ray", "cpu", "cpu", False),
        ("local", "cpu:0", "cpu:0", False),
    ],
)
def test_where_models_compute(
    opened: list[str],
    tiny_model: Callable[[str], Path],
    engine: str,
    device: str | None,
    where: str,
    accelerators: bool,
) -> None:
    with EncodingPool(engine, 2, device) as pool:
        assert pool.device == where
        list(pool.run(double, [(0, 1)], no_tick))
        assert opened == [f"{engine} 2 {accelerators}"]
        model = open_model(str(tiny_model("bert")), device=pool.device)
        pool.settle(model, "float16" if accelerators else None)
        assert model.device == where
        assert model.dtype == ("float16" if accelerators else "float32")


def test_workers_of_this_machine_have_its_devices(tiny_model: Callable[[str], Path]) -> None:
    pool = EncodingPool("local", 2, "cuda:99")
    model = open_model(str(tiny_model("bert")), device=pool.device)
    pool.settle(model, None)
    with pytest.raises(UsageError, match="torch cannot use the device 'cuda:99'"):
        model.device  # noqa: B018


def test_processors_are_asked_what_they_can_compute_in(
    tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "survives", lambda _: False)
    pool = EncodingPool("ray", 2)
    model = open_model(str(tiny_model("bert")), device=pool.device, dtype="bfloat16")
    pool.settle(model, "bfloat16")
    with pytest.warns(UserWarning, match="cannot multiply matrices in bfloat16"):
        assert model.dtype == "float32"


@pytest.mark.parametrize(
    ("engine", "workers", "words"),
    [
        ("spark", None, "--engine must be local, ray"),
        ("local", 0, "workers must be at least 1, got 0"),
    ],
)
def test_wrong_workers_are_refused_before_any_work(
    engine: str, workers: int | None, words: str
) -> None:
    with pytest.raises(UsageError, match=words), encoding_pool(engine, workers):
        pytest.fail("they were given out")
    with pytest.raises(UsageError, match=words):
        evaluate("nowhere", "sts-b", engine=engine, workers=workers)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split, start in {"train": "the old", "dev": "the", "test": "a"}.items():
        nouns = rng.choice(["cat", "dog", "bird", "tree", "boat"], (20, 2))
        lines = [
            f"g\tf\t2012\t{k}\t{k % 6}\t{start} {a} sat on {b}\tthe {b} of {start} {a} is it"
            for k, (a, b) in enumerate(nouns)
        ]
        (folder / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "data"


def scores(rows: list[Row]) -> list[Row]:
    return [row for row in rows if "seconds" not in row.measure]


@pytest.mark.parametrize("correct_at", ["sentence", "token"])
def test_a_model_is_evaluated_by_workers(
    opened: list[str],
    tiny_model: Callable[[str], Path],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    correct_at: Any,
) -> None:
    monkeypatch.setattr(encoding_shards, "SHARD_TEXTS", 5)
    protocol = SentenceProtocol(pooling="max", correct_at=correct_at, cache=False, device="cpu")
    how: dict[str, Any] = {"data": data, "sentences": protocol}
    model = open_model(str(tiny_model("bert")), device="cpu")
    said: list[int] = []
    found = evaluate(
        model, "sts-b", "none,center", engine="ray:auto", workers=2,
        progress=lambda stage, done, _: said.append(done) if stage == "texts" else None, **how,
    )  # fmt: skip
    assert opened == ["ray:auto 2 False", "closed"]
    assert said
    alone = evaluate(model, "sts-b", "none,center", **how)
    for row, other in zip(scores(found.rows), scores(alone.rows), strict=True):
        assert (row.measure, row.correction, row.n) == (other.measure, other.correction, other.n)
        assert row.value == pytest.approx(other.value, abs=1e-4)
    with EncodingPool("local", 1) as pool:
        again = evaluate(str(tiny_model("bert")), "sts-b", "none,center", pool=pool, **how)
        assert scores(again.rows) == scores(found.rows)
        assert opened[2:] == ["local 1 False"]


def test_workers_may_have_devices_that_this_machine_has_not(
    tiny_model: Callable[[str], Path], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Here):
        """Has a device of that name, as far as anybody knows."""

        def run(self, work: Any, shards: Any, tick: Any) -> Iterator[Any]:
            model = open_model(str(tiny_model("bert")), device="cpu")
            return super().run(replace(work, model=model), shards, tick)

    monkeypatch.setattr(module, "open_pool", lambda *_, **__: Elsewhere())
    protocol = SentenceProtocol(cache=False, device="cuda:99")
    found = evaluate(
        str(tiny_model("bert")), "sts-b", "none", data=data, sentences=protocol, engine="ray"
    )
    assert found.extra["models"]["tiny-bert"]["device"] == "cuda:99"
    with pytest.raises(UsageError, match="fitted on in this process, not by workers"):
        evaluate(
            str(tiny_model("bert")), "sts-b", "center", data=data, engine="ray",
            sentences=replace(protocol, correct_at="token"),
        )  # fmt: skip


@pytest.mark.usefixtures("opened")
def test_workers_of_ray_leave_accelerators_that_nobody_asked_for(
    tiny_model: Callable[[str], Path], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    found = evaluate(
        str(tiny_model("bert")), "sts-b", "none", data=data, engine="ray",
        sentences=SentenceProtocol(cache=False),
    )  # fmt: skip
    assert found.extra["models"]["tiny-bert"]["device"] == "cpu"


def test_workers_end_where_an_evaluation_fails(
    opened: list[str],
    tiny_model: Callable[[str], Path],
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise UsageError("torch cannot use the device")

    monkeypatch.setattr(encoding_shards, "pooled_spaces", failing)
    protocol = SentenceProtocol(cache=False, device="cpu")
    with pytest.raises(UsageError, match="torch cannot use the device"):
        evaluate(str(tiny_model("bert")), "sts-b", "none", data=data, sentences=protocol, workers=1)
    assert opened == ["local 1 False", "UsageError"]


@pytest.mark.parametrize(
    "asked", [{"workers": 2}, {"engine": "ray"}, {"pool": EncodingPool("ray")}]
)
@pytest.mark.parametrize("task", ["pairs", "word-similarity"])
def test_vectors_need_no_workers(
    opened: list[str], tmp_path: Path, task: str, asked: dict[str, Any]
) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("row1\trow2\tscore\n" + "".join(f"{k}\t{k + 1}\t{k % 3}\n" for k in range(12)))
    vectors = np.random.default_rng(0).normal(size=(13, 4))
    with pytest.raises(UsageError, match="--workers are for encoding texts with a model, and "):
        evaluate(vectors, f"{task}:{path}", "none", **asked)
    assert opened == []
