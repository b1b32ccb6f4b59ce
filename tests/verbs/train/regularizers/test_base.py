"""Which matrix of a model is calibrated."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from isoscope.verbs.train.regularizers.base import check_target, target_matrix  # noqa: E402

SMALL = {
    "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 20, "num_labels": 3,
}  # fmt: skip


def classifier(name: str):
    if name == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=24, num_labels=3
        )
    else:
        config = getattr(transformers, f"{name}Config")(**SMALL)
    return transformers.AutoModelForSequenceClassification.from_config(config)


@pytest.mark.parametrize("name", ["Bert", "Roberta", "distilbert"])
def test_heads_map_to_labels(name: str) -> None:
    model = classifier(name)
    found = target_matrix(model, "head")
    assert found.shape == (3, 16)
    last = [p for n, p in model.named_parameters() if n.endswith("weight") and p.shape[0] == 3]
    assert found is last[-1]


def test_vocabularies_and_models_without_one() -> None:
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2)
    )
    assert target_matrix(model, "vocabulary") is model.lm_head.weight
    with pytest.raises(UsageError, match="has no output matrix of a vocabulary to calibrate"):
        check_target(classifier("Bert"), "vocabulary")
    with pytest.raises(UsageError, match="GPT2LMHeadModel has no head with"):
        check_target(model, "head")
    with pytest.raises(UsageError, match="target must be head, vocabulary or hidden, got 'all'"):
        check_target(model, "all")


def test_hidden_states_leave_padding_out() -> None:
    model = classifier("Bert").eval()
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    ids = torch.arange(8).reshape(2, 4)
    outputs = model(ids, attention_mask=mask, output_hidden_states=True)
    found = target_matrix(model, "hidden", outputs, mask)
    assert found.shape == (5, 16)
    torch.testing.assert_close(found[3], outputs.hidden_states[-1][1, 0])
    assert target_matrix(model, "hidden", outputs).shape == (8, 16)
    with pytest.raises(UsageError, match="hold no hidden states"):
        target_matrix(model, "hidden", model(ids))
