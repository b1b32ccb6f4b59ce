"""Steps against the same by hand, and runs that go on from a state bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.errors import DataError  # noqa: E402
from isoscope.verbs.train.pretrain import learner as learning  # noqa: E402
from isoscope.verbs.train.pretrain.learner import (  # noqa: E402
    Learner,
    ask,
    make_optimiser,
)
from isoscope.verbs.train.pretrain.plan import Plan  # noqa: E402

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.learner import Corpus

Plans = Callable[..., Plan]


def weights(learner: Learner) -> dict[str, Any]:
    return {name: one.clone() for name, one in learner.network.state_dict().items()}


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def losses_by_hand(network: Any, question: Any) -> list[float]:
    """Return the loss of every prediction, each by itself and in double precision."""
    with torch.no_grad():
        logits = network(input_ids=question.tokens).logits.double()
    found = []
    places = question.where.nonzero().tolist()
    for (text, place), answer in zip(places, question.answers.tolist(), strict=True):
        scores = logits[text, place].tolist()
        most = max(scores)
        total = sum(math.exp(score - most) for score in scores)
        found.append(most + math.log(total) - scores[answer])
    return found


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize(
    ("objective", "positions", "final_norm"),
    [
        ("clm", "learned", "layernorm"),
        ("mlm", "learned", "layernorm"),
        ("clm", "rotary", "rmsnorm"),
        ("mlm", "rotary", "rmsnorm"),
        ("mlm", "none", "layernorm-no-bias"),
        ("clm", "sinusoidal", "layernorm-no-bias"),
    ],
)
def test_a_state_goes_on_bit_for_bit(
    objective: str, positions: str, final_norm: str, tie: bool, dropout: float,
    small_plan: Plans, toy_corpus: Corpus,
) -> None:  # fmt: skip
    plan = small_plan(
        objective, positions=positions, final_norm=final_norm, tie=tie,
        changed={"dropout": dropout},
    )  # fmt: skip
    whole = Learner(plan, toy_corpus)
    losses = [whole.learn() for _ in range(3)]
    state = whole.state()
    kept = {name: values.copy() for name, values in state.items()}
    losses += [whole.learn() for _ in range(3)]
    # A state is a copy, which later steps leave alone.
    assert all((state[name] == values).all() for name, values in kept.items())
    torch.manual_seed(12_345)  # nothing depends on random numbers of others
    resumed = Learner(plan, toy_corpus)
    resumed.load_state(state, 3)
    assert resumed.step == 3
    assert [resumed.learn() for _ in range(3)] == losses[3:]
    assert_same(weights(resumed), weights(whole))
    assert resumed.perplexity() == whole.perplexity()
    end, wanted = resumed.state(), whole.state()
    assert end.keys() == wanted.keys()
    assert all((end[name] == values).all() for name, values in wanted.items())


def test_without_its_moments_a_run_would_not_go_on_as_it_was(
    small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan()
    whole, resumed = Learner(plan, toy_corpus), Learner(plan, toy_corpus)
    for _ in range(3):
        whole.learn()
    state = whole.state()
    moments = {name: values for name, values in state.items() if not name.startswith("weight ")}
    assert any(values.any() for values in moments.values())
    resumed.load_state({**state, **{name: 0 * values for name, values in moments.items()}}, 3)
    assert whole.learn() == resumed.learn()
    assert whole.learn() != resumed.learn()


def test_a_state_before_the_first_step(small_plan: Plans, toy_corpus: Corpus) -> None:
    plan = small_plan("mlm", tie=False)
    one, other = Learner(plan, toy_corpus), Learner(plan, toy_corpus)
    other.load_state(one.state(), 0)
    assert [one.learn() for _ in range(2)] == [other.learn() for _ in range(2)]


@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_the_seed_decides_a_run(objective: str, small_plan: Plans, toy_corpus: Corpus) -> None:
    def run(seed: int) -> list[float]:
        learner = Learner(small_plan(objective, seed=seed), toy_corpus)
        return [learner.learn() for _ in range(2)]

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_one_step_by_hand(objective: str, tie: bool, small_plan: Plans, toy_corpus: Corpus) -> None:
    """The mean loss over what is predicted, its gradient cut, and AdamW's first step."""
    plan = small_plan(objective, tie=tie, changed={"weight_decay": 0.5, "clipping": 0.05})
    learner, twin = Learner(plan, toy_corpus), Learner(plan, toy_corpus)
    seen: list[Any] = []

    class Watch:
        """Stands where the recorder of common enemies does, and notes what is asked."""

        def begin(self, read: Any, logits: Any, answers: Any) -> None:
            seen.extend([read.detach().clone(), logits.detach().clone(), answers])

        def see_gradient(self) -> None:
            seen.append({name: one.grad for name, one in learner.learned.items()})

        def finish(self, step: int) -> None:
            seen.append(step)

    before = weights(learner)
    found = learner.learn(Watch())  # type: ignore[arg-type]
    read, logits, answers, _, step = seen
    assert step == learner.step == 1
    assert len(read) == len(logits) == len(answers)

    labels = torch.full((plan.shape.batch_size, plan.shape.context), -100)
    batch = toy_corpus.batch(0, plan.shape.batch_size, plan.seed)
    if objective == "clm":
        tokens = labels = torch.from_numpy(batch)
    else:
        question = ask("mlm", batch, toy_corpus.tokenizer, (plan.seed, learning.MASKS, 0))
        tokens, labels[question.where] = question.tokens, question.answers
        assert torch.equal(answers, question.answers)
    loss = twin.network(input_ids=tokens, labels=labels).loss
    assert found == pytest.approx(float(loss.detach()), abs=1e-6)
    loss.backward()
    gradients = {name: one.grad for name, one in twin.learned.items() if one.grad is not None}
    length = math.sqrt(sum(float(one.double().square().sum()) for one in gradients.values()))
    assert length > 0.05  # or nothing is cut
    rate = plan.rate(0)
    for name, gradient in gradients.items():
        decay = 0.5 if gradient.ndim > 1 else 0.0
        cut = gradient.double() * 0.05 / (length + 1e-6)
        old = before[name].double()
        # Corrected for their start, the moments of a first step are g and g².
        wanted = old * (1 - rate * decay) - rate * cut / (cut.abs() + plan.shape.epsilon)
        moved = learner.learned[name].detach().double()
        # Where a gradient is about ε, a rounding error of it is one of the step.
        clear = cut.abs() > 1e-4
        torch.testing.assert_close(moved[clear], wanted[clear], atol=2e-5, rtol=1e-5)


def test_the_optimiser_has_the_numbers_of_the_paper(small_plan: Plans, toy_corpus: Corpus) -> None:
    plan = Plan(size="paper")
    network = Learner(small_plan(), toy_corpus).network
    learned = {name: one for name, one in network.named_parameters() if one.requires_grad}
    optimiser = make_optimiser(plan, learned)
    decaying, others = optimiser.param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.01, 0.0)
    assert {one.ndim for one in decaying["params"]} == {2}
    assert {one.ndim for one in others["params"]} == {1}
    assert len(decaying["params"]) + len(others["params"]) == len(learned)
    for group in optimiser.param_groups:
        assert (group["betas"], group["eps"], group["lr"]) == ((0.9, 0.98), 1e-6, 1e-4)


def test_the_rate_is_that_of_the_plan(small_plan: Plans, toy_corpus: Corpus) -> None:
    plan = small_plan(steps=20, changed={"warm_up": 10})
    learner = Learner(plan, toy_corpus)
    for step in range(4):
        learner.learn()
        assert {group["lr"] for group in learner.optimiser.param_groups} == {plan.rate(step)}
    assert plan.rate(0) < plan.rate(1) < plan.rate(2) > plan.rate(3)


@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_perplexity_by_hand(
    objective: str, small_plan: Plans, toy_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = replace(toy_corpus, validation=toy_corpus.validation[:11])
    learner = Learner(small_plan(objective, changed={"dropout": 0.2}), corpus)
    for _ in range(3):
        learner.learn()
    blocks, size = corpus.validation, learner.plan.shape.batch_size
    assert len(blocks) % size  # the last batch is a shorter one
    for most in (256, 5):
        monkeypatch.setattr(learning, "JUDGED_BLOCKS", most)
        count = min(most, len(blocks))
        # At even distances, the first and the last among them.
        chosen = [round(k * (len(blocks) - 1) / (count - 1)) for k in range(count)]
        learner.network.eval()
        losses: list[float] = []
        for first in range(0, count, size):
            some = blocks[chosen[first : first + size]].astype(np.int64)
            question = ask(objective, some, toy_corpus.tokenizer, (first,))  # type: ignore[arg-type]
            losses += losses_by_hand(learner.network, question)
        learner.network.train()
        wanted = math.exp(sum(losses) / len(losses))
        assert learner.perplexity() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_perplexity_begins_at_the_size_of_the_vocabulary(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    learner = Learner(small_plan(objective, positions=positions), toy_corpus)
    assert learner.perplexity() == pytest.approx(len(toy_corpus.tokenizer), rel=0.05)


def test_perplexity_leaves_a_run_as_it_is(small_plan: Plans, toy_corpus: Corpus) -> None:
    plan = small_plan("mlm", changed={"dropout": 0.3})
    judged, plain = Learner(plan, toy_corpus), Learner(plan, toy_corpus)
    for _ in range(2):
        assert judged.perplexity() == judged.perplexity()
        assert judged.network.training
        assert judged.learn() == plain.learn()
    assert_same(weights(judged), weights(plain))


def test_dropout_falls_on_other_numbers_every_step(small_plan: Plans, toy_corpus: Corpus) -> None:
    """Where all blocks are one, and hardly anything is learned, steps differ by dropout alone."""
    same = replace(toy_corpus, train=np.repeat(toy_corpus.train[:1], 8, axis=0))

    def losses(dropout: float) -> list[float]:
        plan = small_plan(changed={"dropout": dropout, "learning_rate": 1e-30})
        learner = Learner(plan, same)
        return [learner.learn() for _ in range(3)]

    assert len(set(losses(0.0))) == 1
    assert len(set(losses(0.5))) == 3
    assert losses(0.5) == losses(0.5)


@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_it_learns_a_toy_language(objective: str, small_plan: Plans, toy_corpus: Corpus) -> None:
    """Of a word's two or so tokens the next is one of two: far less than 280."""
    plan = small_plan(objective, steps=60, checkpoints=1)
    learner = Learner(plan, toy_corpus)
    before = learner.perplexity()
    losses = [learner.learn() for _ in range(60)]
    assert sum(losses[-5:]) / 5 < sum(losses[:5]) / 5 - 1
    assert learner.perplexity() < before / 4


@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_a_loss_that_is_not_finite_stops_the_run(
    objective: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    learner = Learner(small_plan(objective, changed={"learning_rate": 1e30}), toy_corpus)
    learner.learn()
    with pytest.raises(
        DataError, match="the loss is (nan|inf) at step 2: .*--learning-rate"
    ) as told:
        learner.learn()
    assert len(str(told.value).splitlines()) == 1


def test_a_perplexity_that_is_not_finite_is_an_error(small_plan: Plans, toy_corpus: Corpus) -> None:
    """The last step has no loss behind it that would tell."""
    learner = Learner(
        small_plan(steps=1, checkpoints=1, changed={"learning_rate": 1e30}), toy_corpus
    )
    learner.learn()
    with pytest.raises(DataError, match="step 1"):
        learner.perplexity()
