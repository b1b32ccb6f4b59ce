"""Networks against what transformers computes, and against formulas written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from isoscope.models.structure.rms_variants import final_norm_path  # noqa: E402
from isoscope.verbs.train.pretrain.learner import Learner  # noqa: E402
from isoscope.verbs.train.pretrain.networks import (  # noqa: E402
    INITIAL,
    Reader,
    make_network,
    position_table,
    sinusoids,
)
from isoscope.verbs.train.pretrain.plan import Plan  # noqa: E402

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.learner import Corpus

Plans = Callable[..., Plan]

OBJECTIVES = ("mlm", "clm")
POSITIONS = ("learned", "sinusoidal", "rotary", "none")
NORMS = ("layernorm", "layernorm-no-bias", "rmsnorm")
STOCK = {
    ("mlm", False): transformers.BertForMaskedLM,
    ("mlm", True): transformers.RoFormerForMaskedLM,
    ("clm", False): transformers.GPT2LMHeadModel,
    ("clm", True): transformers.GPTNeoXForCausalLM,
}


def lively(network: Any) -> Any:
    """Return a network ready to read, with weights at which tokens differ and attention chooses.

    With deviations of 0.02 all tokens attend to all alike, and a wrong place would not be seen.
    """
    network.eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad and parameter.ndim > 1:
                parameter *= 15
    return network


def some_tokens(corpus: Corpus, count: int = 2) -> Any:
    return torch.from_numpy(corpus.train[:count].astype(np.int64))


@pytest.mark.parametrize("final_norm", NORMS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_reader_comes_to_the_logits_of_a_stock_forward_pass(
    objective: str, positions: str, final_norm: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    tokens = some_tokens(toy_corpus)
    for tie in (True, False):
        plan = small_plan(objective, positions=positions, final_norm=final_norm, tie=tie)
        network = lively(make_network(plan, toy_corpus.tokenizer))
        assert isinstance(network, STOCK[objective, positions == "rotary"])
        reader = Reader(network)
        with torch.no_grad():
            hidden = reader.hidden(tokens)
            found = reader.logits(reader.read(hidden))
            wanted = network(input_ids=tokens).logits
            # Where only some positions predict, the others are not read at all.
            some = reader.logits(reader.read(hidden[:, 3]))
        assert hidden.shape == (2, plan.shape.context, plan.shape.width)
        assert found.shape == (2, plan.shape.context, len(toy_corpus.tokenizer))
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(some, wanted[:, 3], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_network_has_the_shape_that_was_asked_for(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    shape = {"layers": 3, "width": 24, "heads": 3, "feed_forward": 40, "dropout": 0.25}
    plan = small_plan(objective, positions=positions, changed=shape)
    tokenizer = toy_corpus.tokenizer
    network = make_network(plan, tokenizer)
    base, config = network.base_model, network.config
    blocks = next(one for one in base.modules() if isinstance(one, torch.nn.ModuleList))
    assert len(blocks) == 3
    assert network.get_input_embeddings().weight.shape == (len(tokenizer), 24)
    assert config.num_attention_heads == 3
    sides = {tuple(sorted(one.shape)) for one in blocks[0].parameters() if one.ndim == 2}
    assert (24, 40) in sides
    dropped = [one.p for one in network.modules() if isinstance(one, torch.nn.Dropout)]
    assert dropped
    assert set(dropped) == {0.25}
    assert config.max_position_embeddings == plan.shape.context
    assert (config.bos_token_id, config.eos_token_id) == (0, 2)
    assert config.pad_token_id == tokenizer.pad_token_id
    if positions == "learned":
        assert position_table(network).shape == (plan.shape.context, 24)


def test_gpt_neox_has_sequential_blocks_and_turns_whole_heads(
    small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(positions="rotary")
    network = make_network(plan, toy_corpus.tokenizer)
    assert not network.config.use_parallel_residual
    head = plan.shape.width // plan.shape.heads
    wanted = [10_000 ** (-2 * k / head) for k in range(head // 2)]
    assert network.base_model.rotary_emb.inv_freq.tolist() == pytest.approx(wanted)


def test_with_rotary_positions_an_encoder_is_bert_but_for_these(
    small_plan: Plans, toy_corpus: Corpus
) -> None:
    """The first place is not turned: there BERT without positions computes the same."""
    tokenizer = toy_corpus.tokenizer
    plain = lively(make_network(small_plan("mlm", positions="none"), tokenizer))
    turned = make_network(small_plan("mlm", positions="rotary", seed=1), tokenizer).eval()
    weights = {
        name.replace("bert.", "roformer."): values
        for name, values in plain.state_dict().items()
        if "position" not in name
    }
    missing, unexpected = turned.load_state_dict(weights, strict=False)
    assert unexpected == []
    assert [name for name in missing if "embed_positions" not in name] == []
    assert_same_at_the_first_place(plain, turned)


def test_with_rotary_positions_a_decoder_is_gpt2_but_for_these(
    small_plan: Plans, toy_corpus: Corpus
) -> None:
    tokenizer = toy_corpus.tokenizer
    plan = small_plan("clm", positions="none", tie=False)
    plain = lively(make_network(plan, tokenizer))
    turned = make_network(small_plan("clm", positions="rotary", tie=False), tokenizer).eval()
    heads, width = plan.shape.heads, plan.shape.width

    def by_head(values: Any) -> Any:
        """Put queries, keys and values of a head together, as GPT-NeoX has them."""
        apart = values.reshape(*values.shape[:-1], 3, heads, width // heads)
        return apart.transpose(-3, -2).reshape(values.shape)

    (source,), (target,) = plain.transformer.h, turned.gpt_neox.layers
    pairs = [
        (plain.transformer.wte.weight, turned.gpt_neox.embed_in.weight),
        (plain.transformer.ln_f.weight, turned.gpt_neox.final_layer_norm.weight),
        (plain.transformer.ln_f.bias, turned.gpt_neox.final_layer_norm.bias),
        (plain.lm_head.weight, turned.get_output_embeddings().weight),
        (source.ln_1.weight, target.input_layernorm.weight),
        (source.ln_1.bias, target.input_layernorm.bias),
        (source.ln_2.weight, target.post_attention_layernorm.weight),
        (source.ln_2.bias, target.post_attention_layernorm.bias),
        (by_head(source.attn.c_attn.weight).T, target.attention.query_key_value.weight),
        (by_head(source.attn.c_attn.bias), target.attention.query_key_value.bias),
        (source.attn.c_proj.weight.T, target.attention.dense.weight),
        (source.attn.c_proj.bias, target.attention.dense.bias),
        (source.mlp.c_fc.weight.T, target.mlp.dense_h_to_4h.weight),
        (source.mlp.c_fc.bias, target.mlp.dense_h_to_4h.bias),
        (source.mlp.c_proj.weight.T, target.mlp.dense_4h_to_h.weight),
        (source.mlp.c_proj.bias, target.mlp.dense_4h_to_h.bias),
    ]
    assert len(pairs) == len(list(turned.parameters()))
    with torch.no_grad():
        for values, place in pairs:
            place.copy_(values)
    assert_same_at_the_first_place(plain, turned)


def assert_same_at_the_first_place(plain: Any, turned: Any) -> None:
    one, several = torch.tensor([[77]]), torch.tensor([[77, 78, 90, 79]])
    with torch.no_grad():
        torch.testing.assert_close(
            turned(input_ids=one).logits, plain(input_ids=one).logits, atol=1e-5, rtol=1e-5
        )
        found, wanted = (network(input_ids=several).logits for network in (turned, plain))
    assert (found - wanted)[:, -1].abs().max() > 1e-3


@pytest.mark.parametrize("positions", POSITIONS)
def test_an_encoder_without_positions_does_not_see_the_order_of_tokens(
    positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan("mlm", positions=positions, changed={"layers": 2})
    reader = Reader(lively(make_network(plan, toy_corpus.tokenizer)))
    tokens = torch.arange(60, 60 + plan.shape.context)[None]
    order = torch.tensor([7, 3, 11, 0, 5, 1, 10, 2, 8, 4, 9, 6])
    with torch.no_grad():
        found, wanted = reader.hidden(tokens[:, order]), reader.hidden(tokens)[:, order]
    difference = float((found - wanted).abs().max())
    assert difference < 1e-4 if positions == "none" else difference > 1e-2


@pytest.mark.parametrize("positions", POSITIONS)
def test_one_causal_block_without_positions_sees_the_past_as_a_bag_of_words(
    positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    reader = Reader(
        lively(make_network(small_plan("clm", positions=positions), toy_corpus.tokenizer))
    )
    tokens = torch.arange(60, 72)[None]
    order = torch.tensor([7, 3, 10, 0, 5, 1, 9, 2, 8, 4, 6, 11])
    with torch.no_grad():
        found, wanted = (reader.hidden(one)[:, -1] for one in (tokens[:, order], tokens))
    difference = float((found - wanted).abs().max())
    assert difference < 1e-4 if positions == "none" else difference > 1e-3


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_only_causal_networks_see_no_later_token(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, positions=positions, changed={"layers": 2})
    reader = Reader(lively(make_network(plan, toy_corpus.tokenizer)))
    tokens = some_tokens(toy_corpus, 1)
    other = tokens.clone()
    other[:, 7:] = torch.arange(100, 105)
    with torch.no_grad():
        difference = (reader.hidden(tokens) - reader.hidden(other)).abs().amax(dim=(0, 2))
    assert difference[7:].min() > 1e-2
    if objective == "clm":
        assert difference[:7].max() < 1e-5
    else:
        assert difference[:7].min() > 1e-4


@pytest.mark.parametrize("final_norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_tied_embeddings_are_one_tensor_with_one_gradient(
    objective: str, positions: str, final_norm: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    kind = {"positions": positions, "final_norm": final_norm}
    tied, untied = (
        make_network(small_plan(objective, tie=tie, **kind), toy_corpus.tokenizer)
        for tie in (True, False)
    )
    weights = tied.state_dict()
    untied.load_state_dict(weights)
    tokens = some_tokens(toy_corpus)
    for network in (tied, untied):
        network(input_ids=tokens, labels=tokens).loss.backward()
    entry, out = tied.get_input_embeddings().weight, tied.get_output_embeddings().weight
    assert entry is out
    assert entry.data_ptr() == out.data_ptr()
    two = untied.get_input_embeddings().weight, untied.get_output_embeddings().weight
    assert two[0].data_ptr() != two[1].data_ptr()
    # What a tied matrix learns is what an input and an output matrix would learn together.
    assert two[0].grad.abs().max() > 0
    torch.testing.assert_close(entry.grad, two[0].grad + two[1].grad, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_untied_embeddings_start_apart(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, positions=positions, tie=False)
    network = make_network(plan, toy_corpus.tokenizer)
    entry, out = network.get_input_embeddings().weight, network.get_output_embeddings().weight
    assert not torch.equal(entry, out)
    assert float(out.detach().std()) == pytest.approx(INITIAL, rel=0.1)
    assert float(entry.detach().std()) == pytest.approx(INITIAL, rel=0.1)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_norm_without_bias(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, positions=positions, final_norm="layernorm-no-bias")
    network = make_network(plan, toy_corpus.tokenizer)
    fixed = [name for name, one in network.named_parameters() if not one.requires_grad]
    path = f"{final_norm_path(network)}.bias"
    assert [name for name in fixed if "embed_positions" not in name] == [path]
    assert not network.get_parameter(path).any()
    reader, tokens = Reader(lively(network)), some_tokens(toy_corpus)
    with torch.no_grad():
        network.get_parameter(path).fill_(0.5)
        moved = reader.read(reader.hidden(tokens))
        network.get_parameter(path).fill_(0.0)
        plain = reader.read(reader.hidden(tokens))
    # It is the last thing before the output matrix: nothing is between.
    torch.testing.assert_close(moved - plain, torch.full_like(plain, 0.5), atol=1e-5, rtol=0)


@pytest.mark.parametrize("final_norm", ["layernorm", "layernorm-no-bias"])
@pytest.mark.parametrize("positions", ["sinusoidal", "none", "learned"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_is_frozen_stays_bit_for_bit(
    objective: str, positions: str, final_norm: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, positions=positions, final_norm=final_norm)
    learner = Learner(plan, toy_corpus)
    table = position_table(learner.network)
    bias = learner.network.get_submodule(final_norm_path(learner.network)).bias
    entry = learner.network.get_input_embeddings().weight
    before = [one.detach().clone() for one in (table, bias, entry)]
    for _ in range(3):
        learner.learn()
    stays = [torch.equal(one, was) for one, was in zip((table, bias, entry), before, strict=True)]
    assert stays == [positions != "learned", final_norm == "layernorm-no-bias", False]
    if positions == "none":
        assert not table.any()
    if positions == "sinusoidal":
        assert torch.equal(table, sinusoids(plan.shape.context, plan.shape.width))


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_seed_decides_the_weights_and_nothing_else_does(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    def weights(seed: int) -> dict[str, Any]:
        plan = small_plan(objective, positions=positions, seed=seed)
        found: dict[str, Any] = make_network(plan, toy_corpus.tokenizer).state_dict()
        return found

    torch.manual_seed(1)
    state = torch.get_rng_state()
    one = weights(3)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    again, other = weights(3), weights(4)
    assert all(torch.equal(one[name], again[name]) for name in one)
    matrices = [name for name, values in one.items() if values.ndim > 1 and "embed_pos" not in name]
    assert not any(torch.equal(one[name], other[name]) for name in matrices)


@pytest.mark.parametrize(("count", "width"), [(5, 6), (12, 16), (3, 7)])
def test_sinusoids_by_their_formula(count: int, width: int) -> None:
    wanted = np.zeros((count, width))
    for place in range(count):
        for k in range(width):
            angle = place / 10_000 ** ((k - k % 2) / width)
            wave = math.sin(angle) if k % 2 == 0 else math.cos(angle)
            wanted[place, k] = 0.02 * math.sqrt(2) * wave
    found = sinusoids(count, width)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-8)
    if width % 2 == 0:  # as long as a learned row is on average
        np.testing.assert_allclose(
            np.linalg.norm(found, axis=1), 0.02 * math.sqrt(width), rtol=1e-6
        )
