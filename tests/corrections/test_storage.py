"""Round trips, and every way in which a file can be wrong."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save, save_file
from sklearn.pipeline import make_pipeline

import isoscope
from isoscope.corrections import (
    AllButTheTop,
    Center,
    Clip,
    ClusterRemoval,
    Correction,
    Standardize,
    Whiten,
    all_corrections,
    load_correction,
)
from isoscope.corrections import registry as naming
from isoscope.corrections.affine import AffineCorrection
from isoscope.corrections.storage import (
    METADATA_NAME,
    Header,
    canonical,
    checksum,
    fingerprint_of,
    header_of,
    read_header,
)
from isoscope.errors import DataError, UsageError

WIDTH = 8
RANDOM = np.random.default_rng(11)
CLOUD = RANDOM.standard_normal((200, WIDTH)) @ RANDOM.standard_normal((WIDTH, WIDTH)) + 3
SMALL = {"n_clusters": 3, "n_components": 2, "n_steps": 2, "max_iter": 2}

Arrays = dict[str, np.ndarray]


def made(name: str, **options: Any) -> Correction:
    """Return a correction that is quick to fit."""
    if name == "flow":
        for package in ("torch", "zuko"):
            pytest.importorskip(package, reason=f"the correction flow needs {package}")
    kind = all_corrections()[name]
    known = kind().get_params()
    return kind(**{key: value for key, value in SMALL.items() if key in known}, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "correction.safetensors"


def saved(correction: Correction, path: Path) -> Correction:
    correction.save(path)
    return load_correction(path)


def bits(array: Any) -> bytes:
    return np.asarray(array).tobytes()


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", list(all_corrections()))
def test_a_round_trip_changes_no_bit(name: str, dtype: str, renormalize: bool, path: Path) -> None:
    vectors = CLOUD.astype(dtype)
    fitted = made(name, renormalize=renormalize).fit(vectors)
    loaded = saved(fitted, path)
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    for kind in ("float16", "float32", "float64"):
        new = CLOUD[::3].astype(kind)
        assert bits(loaded.transform(new)) == bits(fitted.transform(new))
    assert loaded.fingerprint == fitted.fingerprint
    assert loaded.fitted_on_ == fitted.fitted_on_
    once = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == once


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", list(all_corrections()))
def test_a_round_trip_changes_no_tensor(
    name: str, dtype: str, renormalize: bool, path: Path
) -> None:
    torch = pytest.importorskip("torch")
    vectors = CLOUD.astype(dtype)
    fitted = made(name, renormalize=renormalize).fit(vectors)
    tensors = torch.from_numpy(vectors)
    assert bits(saved(fitted, path).transform(tensors)) == bits(fitted.transform(tensors))


@pytest.mark.parametrize(
    "correction",
    [
        AllButTheTop(0),
        AllButTheTop(3, project="original"),
        Whiten(3),
        Whiten(3, kind="zca"),
        Whiten(kind="zca"),
        Clip((1, 5)),
        Clip(np.array([2])),
        Clip([]),
        ClusterRemoval(1, 0),
    ],
    ids=repr,
)
def test_options_survive(correction: Correction, path: Path) -> None:
    vectors = CLOUD.astype(np.float32)
    loaded = saved(correction.fit(vectors), path)
    assert bits(loaded.transform(vectors)) == bits(correction.transform(vectors))
    assert loaded.fingerprint == correction.fingerprint


def test_a_wide_cloud_far_from_the_origin(path: Path) -> None:
    """Products of several hundred numbers show a change of memory layout, short ones may not."""
    vectors = RANDOM.standard_normal((700, 300)).astype(np.float32) + 50
    for correction in (AllButTheTop(20), Whiten(), Whiten(kind="zca"), ClusterRemoval(2, 5)):
        fitted = correction.fit(vectors)
        loaded = saved(fitted, path)
        assert bits(loaded.transform(vectors)) == bits(fitted.transform(vectors))
        if isinstance(fitted, AffineCorrection):
            assert bits(loaded.matrix_) == bits(fitted.matrix_)
            assert bits(loaded.offset_) == bits(fitted.offset_)


def test_a_chain_of_loaded_corrections(tmp_path: Path) -> None:
    chain = make_pipeline(Clip([1]), Whiten(4), Center(renormalize=True)).fit(CLOUD)
    loaded = make_pipeline(
        *(saved(step, tmp_path / f"{name}.safetensors") for name, step in chain.steps)
    )
    assert bits(loaded.transform(CLOUD)) == bits(chain.transform(CLOUD))


def test_the_inverse_and_more_vectors_work_after_loading(path: Path) -> None:
    fitted = Whiten().fit(CLOUD[:100])
    loaded = saved(fitted, path)
    np.testing.assert_allclose(loaded.inverse_transform(loaded.transform(CLOUD)), CLOUD, atol=1e-9)
    loaded.partial_fit(CLOUD[100:])
    fitted.partial_fit(CLOUD[100:])
    assert bits(loaded.transform(CLOUD)) == bits(fitted.transform(CLOUD))


def test_names_of_features_survive(path: Path) -> None:
    frame = pd.DataFrame(CLOUD, columns=[f"x{i}" for i in range(WIDTH)])
    loaded = saved(Center().fit(frame), path)
    loaded.transform(frame)  # scikit-learn would warn of names that it had not seen
    assert list(loaded.get_feature_names_out()) == list(frame.columns)


def test_weights_and_zero_vectors(path: Path) -> None:
    vectors = np.vstack([CLOUD, np.zeros((2, WIDTH))])
    fitted = Standardize().fit(vectors, sample_weight=np.arange(1.0, 203.0))
    assert bits(saved(fitted, path).transform(vectors)) == bits(fitted.transform(vectors))


def test_what_the_header_says(path: Path) -> None:
    Whiten(3, renormalize=True).fit(CLOUD.astype(np.float32)).save(path)
    header = read_header(path)
    assert (header.name, header.width_in, header.width_out) == ("whiten", WIDTH, 3)
    assert header.parameters == {"n_components": 3, "kind": "pca", "renormalize": True}
    assert (header.rows, header.dtype, header.renormalize) == (200, "float32", True)
    assert header.isoscope_version == isoscope.__version__
    assert header.fingerprint == load_correction(path).fingerprint


def test_the_fingerprint_tells_corrections_apart() -> None:
    fitted = [
        Center().fit(CLOUD),
        Center(renormalize=True).fit(CLOUD),
        Center().fit(CLOUD[1:]),
        Standardize().fit(CLOUD),
    ]
    assert len({correction.fingerprint for correction in fitted}) == 4
    assert Center().fit(CLOUD).fingerprint == fitted[0].fingerprint
    assert Clip((1, 2)).fit(CLOUD).fingerprint == Clip([1, 2]).fit(CLOUD).fingerprint


def test_an_old_file_is_replaced_and_a_folder_is_not(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"old")
    Center().fit(CLOUD).save(str(path))
    assert list(tmp_path.iterdir()) == [path]
    load_correction(str(path))
    for target in (tmp_path, tmp_path / "absent" / "c.safetensors"):
        with pytest.raises(UsageError, match="cannot be written"):
            Center().fit(CLOUD).save(target)


WIDTHS = r"X has 5 features, but Center is expecting 8 feat"


def test_another_width_names_both(path: Path) -> None:
    loaded = saved(Center().fit(CLOUD), path)
    for vectors in (CLOUD[:, :5], pd.DataFrame(CLOUD[:, :5])):
        with pytest.raises(DataError, match=WIDTHS):
            loaded.transform(vectors)


def test_another_width_of_tensors_names_both(path: Path) -> None:
    torch = pytest.importorskip("torch")
    loaded = saved(Center().fit(CLOUD), path)
    with pytest.raises(DataError, match=WIDTHS):
        loaded.transform(torch.zeros(2, 5))


class Doubling(Correction):
    """A correction that storage has never heard of, without declared shapes."""

    name = "doubling"
    records = frozenset({"history"})

    def __init__(self, widths: tuple[int, ...] = (1, 2), *, renormalize: bool = False) -> None:
        self.widths = widths
        self.renormalize = renormalize

    def _learn(self, group: Any, progress: Any) -> None:
        del progress
        self.factor_, self.history_ = np.full(group.widths[0], 2.0), np.array([np.nan, 1.0])

    def _correct(self, rows: Any) -> Any:
        return rows * self.factor_.astype(rows.dtype)

    def _fitted_arrays(self) -> Arrays:
        return {"factor": self.factor_, "history": self.history_}

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.factor_, self.history_ = arrays["factor"], arrays["history"]


def test_a_class_that_is_registered_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Doubling().fit(CLOUD).save(path)
    with pytest.raises(DataError, match=r"'doubling', written by isoscope .* does not know"):
        load_correction(path)
    monkeypatch.setitem(naming.CLASSES, "doubling", f"{__name__}:Doubling")
    loaded = load_correction(path)
    assert loaded.get_params() == Doubling().get_params()
    np.testing.assert_array_equal(loaded.transform(CLOUD), 2 * CLOUD)
    forge(path, Doubling().fit(CLOUD), arrays=lambda a: {**a, "factor": a["factor"][:5]})
    with pytest.raises(DataError, match="do not fit together"):
        load_correction(path)
    forge(path, Doubling().fit(CLOUD), arrays=lambda a: without(a, "factor"))
    with pytest.raises(DataError, match="do not fit together: it lacks 'factor'"):
        load_correction(path)


def test_what_a_file_cannot_hold(path: Path) -> None:
    state = np.random.RandomState(0)
    fitted = ClusterRemoval(2, 1, random_state=state).fit(CLOUD)
    with pytest.raises(UsageError, match="random_state is a RandomState, which cannot be stored"):
        fitted.save(path)
    fitted.set_params(random_state=None).save(path)
    assert load_correction(path).random_state is None
    broken = Doubling().fit(CLOUD)
    broken.factor_[1] = np.nan
    with pytest.raises(DataError, match="the tensor factor holds NaN"):
        broken.save(path)


def without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in names}


def forge(
    path: Path,
    correction: Correction,
    *,
    arrays: Callable[[Arrays], Arrays] = dict,
    header: Mapping[str, Any] | None = None,
    seal: bool = True,
) -> None:
    """Write a file with other tensors or another header; with a seal that fits unless not."""
    tensors = arrays(correction.state_arrays())
    described = header_of(correction, correction.state_arrays())
    values = {**dataclasses.asdict(described), **(header or {})}
    if seal:
        if "fingerprint" not in (header or {}):
            values["fingerprint"] = fingerprint_of(values["name"], values["parameters"], tensors)
        text = canonical({**values, "checksum": checksum(values)})
    else:
        text = json.dumps({**json.loads(described.to_text()), **(header or {})})
    contiguous = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    path.write_bytes(save(contiguous, metadata={METADATA_NAME: text}))


def with_nan(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flat[-1] = np.nan
    return array


WRONG_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "newer": ({"format_version": 2}, "format 2, written by isoscope .* upgrade isoscope"),
    "no version": ({"format_version": "1"}, "names no format version"),
    "unknown name": ({"name": "bleach"}, "holds the correction 'bleach'"),
    "unknown parameter": ({"parameters": {"speed": 1}}, "whiten has no parameter 'speed'"),
    "parameter of another type": (
        {"parameters": {"renormalize": "yes"}},
        "renormalize is 'yes', not like False",
    ),
    "parameter out of range": ({"parameters": {"n_components": -1}}, "n_components must be a"),
    "parameter that is no choice": ({"parameters": {"kind": "cca"}}, "kind must be pca or zca"),
    "parameters that are a list": ({"parameters": []}, "parameters in its header is"),
    "other parameters than tensors": ({"parameters": {"n_components": 3}}, "the tensor shift is"),
    "rows": ({"rows": -3}, "rows in its header is -3"),
    "other rows than its sums": ({"rows": 7}, "fitted on 7 vectors, its sums 200"),
    "unknown type": ({"dtype": "float31"}, "unknown type of vectors, 'float31'"),
    "another width": ({"width_in": 5}, "header says 5 dimensions, its tensors 8"),
    "a width beyond memory": ({"width_in": 2**40}, "header says 1099511627776 dimensions"),
    "another width after it": ({"width_out": 5}, "header says 5 dimensions after"),
    "renormalize": ({"renormalize": True}, "renormalize differs"),
    "names": ({"feature_names": ["a"]}, "the number of feature names"),
    "unknown field": ({"colour": "red"}, "unknown ones: colour"),
    "another fingerprint": ({"fingerprint": "0" * 64}, "do not match their fingerprint"),
}


@pytest.mark.parametrize("case", WRONG_HEADERS)
def test_a_wrong_header(case: str, path: Path) -> None:
    values, message = WRONG_HEADERS[case]
    forge(path, Whiten().fit(CLOUD), header=values)
    refused(path, message)


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(Header) if field.name != "format_version"]
)
def test_a_header_that_was_changed(field: str, path: Path) -> None:
    forge(path, Whiten().fit(CLOUD), header={field: "something else"}, seal=False)
    refused(path, "the checksum does not match")


WRONG_TENSORS: dict[str, tuple[Callable[[Arrays], Arrays], str]] = {
    "missing": (lambda a: without(a, "gains"), "the tensor gains is missing"),
    "missing sum": (lambda a: without(a, "moments.scatter"), "moments.scatter is missing"),
    "missing width": (lambda a: without(a, "n_features_in"), "n_features_in is missing"),
    "too many": (lambda a: {**a, "scale": np.ones(8)}, "scale does not belong there"),
    "shape": (
        lambda a: {**a, "gains": np.ones(7)},
        r"gains is float64 \(7,\); float64 \(8\) belongs there",
    ),
    "that would be repeated": (lambda a: {**a, "center": np.ones(1)}, "center is float64"),
    "type": (lambda a: {**a, "gains": np.ones(8, np.float32)}, "gains is float32"),
    "NaN": (lambda a: {**a, "gains": with_nan(a["gains"])}, "gains holds NaN"),
    "NaN in sums": (
        lambda a: {**a, "moments.mean": with_nan(a["moments.mean"])},
        "moments.mean holds NaN",
    ),
    "width": (lambda a: {**a, "n_features_in": np.asarray(0)}, "is 0, which is not a number"),
    "width beyond memory": (
        lambda a: {**a, "n_features_in": np.asarray(2**40)},
        "more than any other tensor holds",
    ),
    "stored": (
        lambda a: {**a, "stored": np.frombuffer(b"float31", np.uint8)},
        "'float31', which is not a known type",
    ),
    "forged rows": (lambda a: {**a, "moments.rows": np.asarray(10**12)}, "its sums 1,000,000,000"),
    "type of a sum": (
        lambda a: {**a, "moments.rows": np.asarray(200.0)},
        "moments.rows is float64|tensors that isoscope did not write",
    ),
    "no weight": (lambda a: {**a, "moments.weight": np.asarray(0.0)}, "sum to zero"),
}


@pytest.mark.parametrize("case", WRONG_TENSORS)
def test_wrong_tensors(case: str, path: Path) -> None:
    change, message = WRONG_TENSORS[case]
    forge(path, Whiten().fit(CLOUD), arrays=change)
    refused(path, message)


def test_clusters_that_do_not_add_up(path: Path) -> None:
    fitted = ClusterRemoval(3, 2).fit(CLOUD)
    for removed in ([2, 2, 1], [7, -3, 2]):
        forge(path, fitted, arrays=lambda a, r=removed: {**a, "removed": np.array(r)})
        refused(path, "does not assign all components")
    forge(path, fitted, arrays=lambda a: {**a, "means": a["means"][:2]})
    refused(path, r"means is float64 \(2, 8\); float64 \(3, 8\) belongs there")


def test_tensors_that_were_changed(path: Path) -> None:
    Whiten().fit(CLOUD).save(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    refused(path, "do not match their fingerprint")


def refused(path: Path, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_correction(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_corrections(path: Path) -> None:
    save_file({"weight": np.ones((3, 4))}, path)
    refused(path, "is a .safetensors file, but not a correction saved by isoscope")
    save_file({"weight": np.ones((3, 4))}, path, metadata={"format": "pt"})
    refused(path, "not a correction saved by isoscope")
    np.save(path.with_suffix(".npy"), CLOUD)
    refused(path.with_suffix(".npy"), "not a whole .safetensors file")
    for content in (b"", b"\x00" * 7, b"{}", b"PK\x03\x04" + b"\x00" * 500):
        path.write_bytes(content)
        refused(path, "not a (whole )?.safetensors file")
    for text in ("no JSON", "[]", "[" * 100_000):
        path.write_bytes(save({}, metadata={METADATA_NAME: text}))
        refused(path, "its header is not")


def test_files_that_are_not_there(path: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        load_correction(path)
    refused(tmp_path, "cannot be read")


def test_every_way_to_cut_a_file_short(path: Path) -> None:
    Center().fit(CLOUD).save(path)
    content = path.read_bytes()
    for length in [*range(0, len(content) - 1, 97), len(content) - 1]:
        path.write_bytes(content[:length])
        refused(path, "truncated|not a whole|not a .safetensors")


def loaded_or_refused(path: Path) -> Correction | None:
    """Load, or return None after one clear line; any other exception fails the test."""
    message = ""
    try:
        return load_correction(path)
    except DataError as error:
        message = str(error)
    assert message.startswith(str(path))
    assert "\n" not in message
    return None


def mutated(content: bytes, random: np.random.Generator) -> bytes:
    """Change, drop, repeat or insert a few bytes; most often in the header, which is parsed."""
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(random.integers(1, 4)):
        end = header if random.random() < 0.7 else len(content)
        start, length = int(random.integers(end)), int(random.integers(1, 6))
        new = random.bytes(length)
        match random.integers(4):
            case 0:
                content = content[:start] + new + content[start + length :]
            case 1:
                content = content[:start] + content[start + length :]
            case 2:
                content = content[:start] + content[start : start + length] + content[start:]
            case _:
                content = content[:start] + new + content[start:]
    return content


@pytest.mark.parametrize("name", ["center", "whiten", "cluster-pc-removal"])
def test_damaged_files_are_refused_or_equal(name: str, path: Path) -> None:
    fitted = made(name).fit(CLOUD)
    fitted.save(path)
    content, random = path.read_bytes(), np.random.default_rng(3)
    for _ in range(250):
        path.write_bytes(mutated(content, random))
        loaded = loaded_or_refused(path)
        if loaded is not None:
            assert bits(loaded.transform(CLOUD)) == bits(fitted.transform(CLOUD))


STRANGE = [None, True, -1, 0, 3, 2.5, 1e308, 10**30, "", "λ\n", [], [1, 2], {}, {"a": [None]}]


@pytest.mark.parametrize("name", list(all_corrections()))
def test_sealed_nonsense_raises_nothing_else(name: str, path: Path) -> None:
    """Somebody may write a file with a checksum that fits, and anything in it."""
    fitted, random = made(name).fit(CLOUD), np.random.default_rng(4)
    arrays = fitted.state_arrays()
    described = dataclasses.asdict(header_of(fitted, arrays))
    fields, parameters = list(described), described["parameters"]
    for _ in range(25):
        chosen = str(random.choice(list(arrays)))
        array = arrays[chosen]
        changes = (
            array.ravel()[: max(array.size - 1, 0)],
            array.reshape(-1, 1),
            np.zeros_like(array),
            array.astype(np.float16 if array.dtype.kind == "f" else np.uint8),
            np.asarray(-7),
        )
        new = changes[random.integers(len(changes))]
        value = STRANGE[random.integers(len(STRANGE))]
        parameter = str(random.choice(list(parameters)))
        for header, tensors in (
            ({str(random.choice(fields)): value}, arrays),
            ({"parameters": {**parameters, parameter: value}}, arrays),
            ({}, {**arrays, chosen: new}),
            ({}, without(arrays, chosen)),
        ):
            forge(path, fitted, arrays=lambda _, t=tensors: t, header=header)
            loaded_or_refused(path)
