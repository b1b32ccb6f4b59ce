"""Architectures with one RMSNorm: what it computes, and who opens them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import randomise_norms  # noqa: E402

import isoscope  # noqa: E402
from isoscope.models.structure.norm_layers import RMS_NORM  # noqa: E402
from isoscope.models.structure.rms_variants import (  # noqa: E402
    FAMILIES,
    final_norm_path,
    know_own,
    own_class,
    rms_classes,
)

WORDS, WIDTH, LAYERS = 40, 16, 2
SHAPE = {
    "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 12,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "bert": SHAPE,
    "roformer": {**SHAPE, "embedding_size": WIDTH},
    "gpt2": {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 2, "n_inner": 24, "n_positions": 12},
    "gpt_neox": SHAPE,
}
LAST_NORMS = {
    "bert": "cls.predictions.transform.LayerNorm",
    "roformer": "cls.predictions.transform.LayerNorm",
    "gpt2": "transformer.ln_f",
    "gpt_neox": "gpt_neox.final_layer_norm",
}
TOKENS = torch.arange(5, 25).reshape(2, 10)


def made(family: str, *, rms: bool = True) -> Any:
    """Return a network with random weights and norms, ready to read."""
    stock = [getattr(transformers, name) for name in FAMILIES[family]]
    config, _, head = rms_classes(family) if rms else stock
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = head(config(vocab_size=WORDS, **SHAPES[family], **special))
        randomise_norms(network)
    return network.eval()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    """A network of every family, and the folder that it is saved in."""
    found = {}
    for family in FAMILIES:
        folder = tmp_path_factory.mktemp("rms") / family
        network = made(family)
        network.save_pretrained(folder)
        found[family] = network, folder
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_one_module_is_another_and_all_else_is_the_same(family: str) -> None:
    plain, swapped = made(family, rms=False), made(family)
    path = LAST_NORMS[family]
    assert final_norm_path(plain) == final_norm_path(swapped) == path
    kinds = [
        {name: type(module).__name__ for name, module in network.named_modules() if name}
        for network in (plain, swapped)
    ]
    assert kinds[0].keys() == kinds[1].keys()
    different = {name for name in kinds[0] if kinds[0][name] != kinds[1][name]}
    # The network without a head is a stock one, whose last norm is swapped inside of it.
    assert different == {path}
    assert (kinds[0][path], kinds[1][path]) == ("LayerNorm", "RMSNorm")
    names = [set(network.state_dict()) for network in (plain, swapped)]
    assert names[0] - names[1] == {f"{path}.bias"}
    assert names[1] <= names[0]
    assert plain.get_submodule(path).eps == swapped.get_submodule(path).eps


@pytest.mark.parametrize("family", FAMILIES)
def test_it_divides_by_the_root_mean_square(family: str) -> None:
    network = made(family)
    norm = network.get_submodule(LAST_NORMS[family])
    heard: list[Any] = []
    norm.register_forward_hook(lambda _, entry, out: heard.extend([entry[0], out]))
    with torch.no_grad():
        logits = network(input_ids=TOKENS).logits
    x, found = (one.detach().double().numpy() for one in heard)
    gain = norm.weight.detach().double().numpy()
    assert gain.std() > 0.1
    rms = np.sqrt((x**2).mean(axis=-1, keepdims=True) + norm.eps)
    wanted = x / rms * gain
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    # A LayerNorm would take the mean off first.
    centred = x - x.mean(axis=-1, keepdims=True)
    assert np.abs(centred / centred.std(axis=-1, keepdims=True) * gain - found).max() > 0.05
    # Nothing else is between it and the logits than the output matrix.
    out = network.get_output_embeddings()
    scores = wanted @ out.weight.detach().double().numpy().T
    if out.bias is not None:
        scores += out.bias.detach().double().numpy()
    np.testing.assert_allclose(logits.numpy(), scores, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_one_opens_with_the_same_outputs(
    family: str, saved: dict[str, tuple[Any, Path]], capfd: pytest.CaptureFixture[str]
) -> None:
    network, folder = saved[family]
    about = json.loads((folder / "config.json").read_text())
    assert about["model_type"] == f"{family}-rms"
    assert about["architectures"] == [f"Rms{FAMILIES[family][2]}"]
    model = isoscope.open_model(str(folder), device="cpu")
    with torch.no_grad():
        wanted = network.base_model(input_ids=TOKENS)[0]
        assert torch.equal(model.network(input_ids=TOKENS)[0], wanted)
    masked = family in ("bert", "roformer")
    norm = model.parts.norms[-1]
    assert norm.where == ("head" if masked else "final norm")
    assert (norm.kind, norm.width, norm.bias) == (RMS_NORM, WIDTH, None)
    assert [one.kind for one in model.parts.norms].count(RMS_NORM) == 1
    assert norm.gain is not None
    gain = network.get_submodule(LAST_NORMS[family]).weight
    assert (model.tensor(norm.gain) == gain.detach().numpy()).all()
    assert len(model.stacks[0].blocks) == LAYERS
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("family", FAMILIES)
def test_its_head_opens_with_the_same_logits(
    family: str, saved: dict[str, tuple[Any, Path]]
) -> None:
    network, folder = saved[family]
    masked = family in ("bert", "roformer")
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    again, loading = auto.from_pretrained(folder, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    with torch.no_grad():
        found, wanted = (one.eval()(input_ids=TOKENS).logits for one in (again, network))
    assert torch.equal(found, wanted)


SCRIPT = """
import json, sys
from transformers import AutoConfig

refused = {}
for folder in sys.argv[1:]:
    try:
        AutoConfig.from_pretrained(folder)
    except ValueError as error:
        refused[folder] = str(error)
assert "isoscope" not in sys.modules
import isoscope, torch

opened = {}
for folder in sys.argv[1:]:
    with torch.no_grad():
        network = isoscope.open_model(folder, device="cpu").network
        opened[folder] = float(network(input_ids=torch.arange(5, 25).reshape(2, 10))[0].sum())
print(json.dumps([refused, opened]))
"""


@pytest.mark.slow
def test_without_isoscope_it_is_an_unknown_architecture(
    saved: dict[str, tuple[Any, Path]],
) -> None:
    """In a process of its own: in this one, the classes are known by now."""
    folders = [str(folder) for _, folder in saved.values()]
    call = [sys.executable, "-c", SCRIPT, *folders]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, opened = json.loads(done.stdout)
    assert list(refused) == list(opened) == folders
    for family, (network, folder) in saved.items():
        assert f"`{family}-rms`" in refused[str(folder)]
        assert "does not recognize this architecture" in refused[str(folder)]
        with torch.no_grad():
            wanted = float(network.base_model(input_ids=TOKENS)[0].sum())
        assert opened[str(folder)] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_classes_are_found_by_their_names(family: str) -> None:
    config, base, head = rms_classes(family)
    assert own_class(head.__name__) is head
    assert own_class(base.__name__) is base
    assert rms_classes(family) is rms_classes(family)
    assert config.model_type == f"{family}-rms"
    assert issubclass(head, getattr(transformers, FAMILIES[family][2]))


def test_names_of_others() -> None:
    for name in ("BertForMaskedLM", "GPT2LMHeadModel", "RmsLlamaForCausalLM", ""):
        assert own_class(name) is None
    before = set(transformers.CONFIG_MAPPING)
    for kind in (None, "bert", "gpt2", "llama-rms", "-rms", 3):
        know_own(kind)
    assert {name for name in set(transformers.CONFIG_MAPPING) - before if "rms" in name} == set()


def test_stock_networks_stay_as_they_are() -> None:
    """The classes are others: transformers' own still have a LayerNorm."""
    made("gpt2")
    plain = made("gpt2", rms=False)
    assert isinstance(plain.transformer.ln_f, torch.nn.LayerNorm)
    assert plain.config.model_type == "gpt2"


def test_a_damaged_one_is_not_made_up(saved: dict[str, tuple[Any, Path]], tmp_path: Path) -> None:
    """A gain that is not in the file is not taken to be 1."""
    from safetensors.torch import load_file, save_file

    _, folder = saved["gpt2"]
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    del weights["transformer.ln_f.weight"]
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(isoscope.errors.DataError, match="its weights have no ln_f.weight"):
        isoscope.open_model(str(tmp_path)).network  # noqa: B018
