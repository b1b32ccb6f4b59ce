"""Figures of a checkpoint against the arrays of its network, read by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isoscope
from isoscope.data.texts import open_texts

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.models.structure.rms_variants import final_norm_path  # noqa: E402
from isoscope.verbs.train.pretrain.ablation import (  # noqa: E402
    checkpoint_measures,
    layer_measures,
    matrix_measures,
    norm_measures,
)
from isoscope.verbs.train.pretrain.networks import make_network  # noqa: E402
from isoscope.verbs.train.pretrain.plan import Plan  # noqa: E402

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.learner import Corpus

Plans = Callable[..., Plan]
Layers = dict[str, NDArray[np.float64]]

TEXTS = ["cat dog", "big bird", "sat", "old tree ran", "red boat"]
"""Short enough for the context of a small plan, and of several lengths, so that some are padded."""

KINDS = {
    "gpt2": {"objective": "clm", "tie": False},
    "gpt2 tied": {"objective": "clm", "positions": "none", "final_norm": "layernorm-no-bias"},
    "bert": {"objective": "mlm", "tie": False},
    "bert tied": {"objective": "mlm", "final_norm": "rmsnorm"},
    "gpt-neox": {"objective": "clm", "positions": "rotary", "final_norm": "rmsnorm"},
    "roformer": {"objective": "mlm", "positions": "rotary", "final_norm": "layernorm-no-bias"},
}
BLOCKS = {"gpt2": "h", "gpt-neox": "layers", "bert": "encoder.layer", "roformer": "encoder.layer"}
LAST = {"gpt2": "ln_f", "gpt-neox": "final_layer_norm"}


@dataclass
class Saved:
    """A network, and the same as a model in a folder."""

    kind: str
    network: Any
    tokenizer: Any
    model: Any

    @property
    def family(self) -> str:
        return self.kind.split()[0]

    def layers(self) -> Layers:
        """Return the vectors of all tokens but the special ones, each text by itself."""
        base = self.network.base_model
        paths = {f"block {k + 1}": f"{BLOCKS[self.family]}.{k}" for k in range(2)}
        if self.family in LAST:
            paths["final norm"] = LAST[self.family]
        found: dict[str, list[Any]] = {"embedding": [], **{name: [] for name in paths}}

        def before(_: Any, args: Any, kwargs: Any) -> None:
            found["embedding"].append((args or [kwargs["hidden_states"]])[0])

        def behind(name: str) -> Callable[..., None]:
            def hook(_: Any, __: Any, output: Any) -> None:
                found[name].append(output[0] if isinstance(output, tuple) else output)

            return hook

        first = base.get_submodule(paths["block 1"])
        handles = [first.register_forward_pre_hook(before, with_kwargs=True)]
        handles += [
            base.get_submodule(path).register_forward_hook(behind(name))
            for name, path in paths.items()
        ]
        with torch.no_grad():
            for text in TEXTS:
                base(input_ids=torch.tensor([self.tokenizer(text)["input_ids"]]))
        for handle in handles:
            handle.remove()
        return {
            name: np.concatenate([one.double().numpy()[0, 1:-1] for one in several])
            for name, several in found.items()
        }


@pytest.fixture(scope="module")
def saved(
    small_plan: Plans, toy_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Saved]:
    """Makes a network with weights at which tokens differ, and saves it, when first asked for."""
    made: dict[str, Saved] = {}

    def make(kind: str) -> Saved:
        if kind not in made:
            plan = small_plan(**KINDS[kind], changed={"layers": 2})
            network = make_network(plan, toy_corpus.tokenizer).eval()
            enliven(network)
            folder = tmp_path_factory.mktemp("checkpoints") / "step3"
            network.save_pretrained(folder)
            toy_corpus.tokenizer.save_pretrained(folder)
            model = isoscope.open_model(str(folder), device="cpu")
            made[kind] = Saved(kind, network, toy_corpus.tokenizer, model)
        return made[kind]

    return make


def enliven(network: Any) -> None:
    """Make weights larger, and give gains and biases of all norms numbers of their own."""
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            if not parameter.requires_grad:
                continue
            if parameter.ndim > 1:
                parameter *= 10
            else:
                parameter += torch.randn(parameter.shape, generator=random) / 4


def array(parameter: Any) -> NDArray[np.float64]:
    return np.asarray(parameter.detach().numpy(), np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_have_the_figures_of_their_arrays(
    kind: str, saved: Callable[[str], Saved]
) -> None:
    one = saved(kind)
    found = matrix_measures(one.model)
    parts = {
        "embedding matrix": one.network.get_input_embeddings(),
        "unembedding matrix": one.network.get_output_embeddings(),
    }
    for part, layer in parts.items():
        matrix = array(layer.weight)
        wanted = isoscope.measure(matrix, "i1,i1_scaled,mean_cosine,mean_norm", intervals=False)
        for name in ("i1", "i1_scaled", "mean_cosine", "mean_norm"):
            assert found.pop((part, name)) == pytest.approx(wanted.value(name), rel=1e-5), name
        assert wanted.value("mean_norm") == pytest.approx(np.linalg.norm(matrix, axis=1).mean())
    assert found == {}


@pytest.mark.parametrize("kind", KINDS)
def test_tied_matrices_have_the_same_figures_and_others_do_not(
    kind: str, saved: Callable[[str], Saved]
) -> None:
    found = matrix_measures(saved(kind).model)
    tied = KINDS[kind].get("tie", True)
    for name in ("i1", "i1_scaled", "mean_cosine", "mean_norm"):
        same = found["embedding matrix", name] == found["unembedding matrix", name]
        assert same is tied


def mean_cosine(vectors: NDArray[np.float64]) -> float:
    """Return the mean over all pairs, one by one."""
    pairs = [
        vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j])
        for i in range(len(vectors))
        for j in range(i)
    ]
    return float(np.mean(pairs))


def share_as_extreme(layers: list[NDArray[np.float64]]) -> float:
    """Return how often the dimension is the minimum, or the maximum, that most often is."""
    lowest, highest = Counter[int](), Counter[int]()
    for vectors in layers:
        for vector in vectors:
            lowest[int(np.argmin(vector))] += 1
            highest[int(np.argmax(vector))] += 1
    return max(max(one.values()) / one.total() for one in (lowest, highest))


@pytest.mark.parametrize("kind", KINDS)
def test_layers_have_the_mean_cosine_of_all_pairs_of_tokens(
    kind: str, saved: Callable[[str], Saved]
) -> None:
    one = saved(kind)
    layers, found = one.layers(), layer_measures(one.model, open_texts(TEXTS))
    for name, vectors in layers.items():
        assert len(vectors) > len(TEXTS)
        assert found.pop((name, "mean_cosine")) == pytest.approx(mean_cosine(vectors), abs=1e-5)
    last = layers["final norm" if one.family in LAST else "block 2"]
    assert found.pop(("last layer", "mean_cosine")) == pytest.approx(mean_cosine(last), abs=1e-5)
    assert set(found) == {("non-input layers", "largest_share_as_extreme")}


@pytest.mark.parametrize("kind", KINDS)
def test_one_dimension_is_counted_as_extreme_in_all_layers_but_the_input(
    kind: str, saved: Callable[[str], Saved]
) -> None:
    one = saved(kind)
    layers, found = one.layers(), layer_measures(one.model, open_texts(TEXTS))
    behind = [vectors for name, vectors in layers.items() if name != "embedding"]
    share = found["non-input layers", "largest_share_as_extreme"]
    assert share == pytest.approx(share_as_extreme(behind))


def test_the_input_and_single_layers_have_other_shares(saved: Callable[[str], Saved]) -> None:
    """Otherwise the test above would not see which layers are counted."""
    layers = saved("gpt2").layers()
    behind = [vectors for name, vectors in layers.items() if name != "embedding"]
    others = {share_as_extreme(list(layers.values())), *(share_as_extreme([x]) for x in behind)}
    assert share_as_extreme(behind) not in others


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_norm_is_that_before_the_output_matrix(
    kind: str, saved: Callable[[str], Saved]
) -> None:
    one = saved(kind)
    norm = one.network.get_submodule(final_norm_path(one.network))
    found = norm_measures(one.model)
    gain = array(norm.weight)
    width = len(gain)
    assert found.pop(("last norm", "gain_avgnorm")) == pytest.approx(
        np.sqrt((gain**2).sum() / width)
    )
    bias = getattr(norm, "bias", None)
    if bias is None:
        assert KINDS[kind]["final_norm"] == "rmsnorm"
        expected = [None, None]
    else:
        numbers = array(bias)
        size = np.sqrt((numbers**2).sum())
        expected = [size / np.sqrt(width), size / np.linalg.norm(gain)]
        assert (size == 0) == (KINDS[kind].get("final_norm") == "layernorm-no-bias")
    for name, value in zip(("bias_avgnorm", "bias_over_gain"), expected, strict=True):
        assert found.pop(("last norm", name)) == (None if value is None else pytest.approx(value))
    assert found == {}


def test_a_checkpoint_has_all_of_these(saved: Callable[[str], Saved]) -> None:
    model, texts = saved("gpt2").model, open_texts(TEXTS)
    found = checkpoint_measures(model, texts)
    assert found == {
        **matrix_measures(model), **layer_measures(model, texts), **norm_measures(model),
    }  # fmt: skip
    assert len(found) == 2 * 4 + 4 + 1 + 1 + 3
    assert checkpoint_measures(isoscope.open_model(str(Path(model.source.folder))), texts) == found


def test_one_token_has_no_pairs(saved: Callable[[str], Saved]) -> None:
    one = saved("gpt2")
    pairs = [token for token in one.tokenizer.get_vocab() if token.startswith("Ġ")]
    text = next(token[1:] for token in sorted(pairs) if token[1:].isalpha())
    assert len(one.tokenizer(text)["input_ids"]) == 3
    found = layer_measures(one.model, open_texts([text]))
    share = found.pop(("non-input layers", "largest_share_as_extreme"))
    assert set(found.values()) == {None}
    assert share is not None
    assert share >= 1 / 3
