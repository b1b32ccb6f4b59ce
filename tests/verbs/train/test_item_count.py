"""Which models divide their loss by a number of items."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import ARCHITECTURES  # noqa: E402

from isoscope.verbs.train.trainer import uses_item_count  # noqa: E402


def network(architecture: str, suffix: str) -> Any:
    prefix, own, shape = ARCHITECTURES[architecture]
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=60, num_labels=3, pad_token_id=1, bos_token_id=0, eos_token_id=2, **shape
    )
    torch.manual_seed(0)
    return getattr(transformers, prefix + (suffix or own))(config).train()


@pytest.mark.parametrize(
    ("architecture", "suffix", "wanted"),
    [
        ("bert", "ForSequenceClassification", False),
        ("bert", "ForMaskedLM", False),
        ("gpt2", "LMHeadModel", True),
        ("gpt2", "ForSequenceClassification", False),
    ],
)
def test_models_are_asked(architecture: str, suffix: str, wanted: bool) -> None:
    model = network(architecture, suffix)
    ids = torch.arange(3, 15).reshape(2, 6)
    labels = torch.tensor([0, 1]) if "Classification" in suffix else ids
    state = torch.random.get_rng_state()
    assert uses_item_count(model, {"input_ids": ids, "labels": labels}) is wanted
    assert model.training
    assert torch.equal(torch.random.get_rng_state(), state)
