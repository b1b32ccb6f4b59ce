"""Moves of output embeddings against (p − y) h by hand, and against steps that really happen."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain.common_enemies import (  # noqa: E402
    EVERY,
    GRADIENT,
    NEVER,
    OPTIMISER,
    OUTPUT_PATH,
    CommonEnemies,
    along,
    cosine,
    frequency_bands,
    pair_cosine,
    single_position,
)
from isoscope.verbs.train.pretrain.learner import (  # noqa: E402
    MASKS,
    Learner,
    ask,
)
from isoscope.verbs.train.pretrain.networks import Reader, make_network  # noqa: E402
from isoscope.verbs.train.pretrain.plan import Plan  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.verbs.train.pretrain.learner import Corpus

Plans = Callable[..., Plan]
WORDS, WIDTH = 30, 8


def gradient_by_hand(
    h: NDArray[np.float64], rows: NDArray[np.float64], answer: int, bias: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(p_k − [k = y]) h in row k."""
    scores = rows @ h + bias
    p = np.exp(scores - scores.max())
    p /= p.sum()
    p[answer] -= 1
    return np.outer(p, h)


def cosine_by_hand(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(first @ second / math.sqrt(float(first @ first) * float(second @ second)))


def pairs_by_hand(rows: NDArray[np.float64]) -> float:
    moved = rows[rows.any(axis=1)]
    units = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return float((units @ units.T)[np.triu_indices(len(units), 1)].mean())


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("answer", [0, 11, WORDS - 1])
@pytest.mark.parametrize("scale", [0.02, 1.0])
def test_one_position_moves_all_rows_but_one_against_h(
    scale: float, answer: int, with_bias: bool
) -> None:
    rng = np.random.default_rng(answer)
    h, rows = rng.normal(size=WIDTH), rng.normal(scale=scale, size=(WORDS, WIDTH))
    bias = rng.normal(size=WORDS) * with_bias
    given = {"bias": torch.from_numpy(bias)} if with_bias else {}
    weight = torch.from_numpy(rows.copy())
    found = single_position(torch.from_numpy(h), weight, answer, rate=0.1, **given)
    update = -0.1 * gradient_by_hand(h, rows, answer, bias)
    wanted = np.array([cosine_by_hand(row, -h) for row in update])
    others = np.arange(WORDS) != answer
    # What is exactly 1 and −1 differs by a rounding of a row of about 1, more for tiny updates.
    np.testing.assert_allclose(found.others, wanted[others], atol=1e-6)
    np.testing.assert_allclose(found.others, np.ones(WORDS - 1), atol=1e-6)
    assert found.true == pytest.approx(-1, abs=1e-6)
    assert wanted[answer] == pytest.approx(-1, abs=1e-12)
    assert (weight.numpy() == rows).all()


def test_single_precision_comes_in_and_double_comes_out() -> None:
    rng = torch.Generator().manual_seed(0)
    h, rows = torch.randn(WIDTH, generator=rng), torch.randn(WORDS, WIDTH, generator=rng)
    before = rows.clone()
    found = single_position(h.requires_grad_(), rows.requires_grad_(), 4)
    assert found.others.dtype == np.float64
    np.testing.assert_allclose(found.others, 1, atol=1e-12)
    assert torch.equal(rows, before)
    assert rows.grad is None
    assert h.grad is None


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_a_step_of_a_real_network_that_predicts_one_token(
    objective: str, positions: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, positions=positions, tie=False)
    network = make_network(plan, toy_corpus.tokenizer).double()
    tokens = torch.from_numpy(toy_corpus.train[:1].astype(np.int64))
    place, answer = 6, int(tokens[0, 7])
    layer = network.get_output_embeddings()
    heard: list[Any] = []
    hook = layer.register_forward_hook(lambda _, entry, out: heard.extend([entry[0], out]))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.5)
    before = layer.weight.detach().clone()
    logits = network(input_ids=tokens).logits[0, place]
    torch.nn.functional.cross_entropy(logits[None], torch.tensor([answer])).backward()
    optimiser.step()
    hook.remove()
    update = (layer.weight.detach() - before).numpy()
    h = heard[0][0, place].detach()
    bias = None if layer.bias is None else heard[1][0, place].detach() - before @ h
    by_hand = gradient_by_hand(
        h.numpy(), before.numpy(), answer, np.zeros(len(before)) if bias is None else bias.numpy()
    )
    np.testing.assert_allclose(update, -0.5 * by_hand, atol=1e-14)
    cosines = np.array([cosine_by_hand(row, -h.numpy()) for row in update])
    found = single_position(h, before, answer, bias, 0.5)
    others = np.arange(len(before)) != answer
    np.testing.assert_allclose(cosines[others], 1, atol=1e-9)
    assert cosines[answer] == pytest.approx(-1, abs=1e-9)
    np.testing.assert_allclose(found.others, cosines[others], atol=1e-9)
    assert found.true == pytest.approx(float(cosines[answer]), abs=1e-9)


def test_pair_cosine_against_all_pairs() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(0.4, 1, (25, 6)) * rng.lognormal(0, 3, (25, 1))
    rows[[4, 9]] = 0  # which have no direction
    found = pair_cosine(torch.from_numpy(rows))
    assert found == pytest.approx(pairs_by_hand(rows), abs=1e-12)
    single = pair_cosine(torch.from_numpy(rows).float())
    assert single == pytest.approx(found, abs=1e-5)


def test_pair_cosine_without_a_pair() -> None:
    rows = torch.zeros(4, 3)
    assert pair_cosine(rows) is None
    rows[2] = 1
    assert pair_cosine(rows) is None
    assert pair_cosine(rows[:0]) is None
    rows[0] = -2
    assert pair_cosine(rows) == pytest.approx(-1)


def test_cosines_of_what_does_not_move() -> None:
    rows = torch.tensor([[0.0, 0.0], [3.0, 4.0], [-3.0, 0.0]])
    found = along(rows, torch.tensor([1.0, 0.0]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == pytest.approx([0.6, -1.0])
    assert cosine(rows[0], rows[1]) is None
    assert cosine(rows[1], rows[2]) == pytest.approx(-0.6)


@pytest.mark.parametrize("seen", [0, 1, 2, 3, 7, 50, 200, 1_000])
def test_bands_part_the_vocabulary_by_frequency(seen: int) -> None:
    rng = np.random.default_rng(seen)
    counts = np.zeros(seen + 40, np.int64)
    counts[rng.permutation(len(counts))[:seen]] = rng.zipf(1.5, seen)
    found = frequency_bands(counts)
    assert found.pop(EVERY).all()
    assert all(band.any() for band in found.values())
    assert (np.sum(list(found.values()), axis=0) == 1).all()
    assert (found.pop(NEVER) == (counts == 0)).all()
    bands = list(found.values())
    for more, fewer in pairwise(bands):
        assert counts[more].min() >= counts[fewer].max()
    if seen >= 200:
        shares = [band.sum() / seen for band in bands]
        assert list(found) == [
            "most frequent 1 %", "next 9 %", "next 40 %", "rarest 50 %",
        ]  # fmt: skip
        assert shares == pytest.approx([0.01, 0.09, 0.4, 0.5])


def test_a_vocabulary_that_is_all_seen_has_no_band_for_the_rest() -> None:
    assert NEVER not in frequency_bands(np.arange(1, 20))


def rows_by_hand(
    updates: dict[str, NDArray[np.float64]],
    enemy: NDArray[np.float64],
    answers: NDArray[np.int64],
    counts: NDArray[np.int64],
    step: int,
) -> list[dict[str, Any]]:
    """Say the same as the recorder, row by row."""
    found = []
    targets = set(answers.tolist())
    for update, moves in updates.items():
        for band, chosen in frequency_bands(counts).items():
            here = [k for k in np.flatnonzero(chosen) if moves[k].any()]
            cosines = {k: cosine_by_hand(moves[k], enemy) for k in here}
            others = [k for k in here if k not in targets]
            found.append(
                {
                    "step": step, "update": update, "band": band, "rows": len(here),
                    "share_against_h": np.mean([cosines[k] > 0 for k in here]),
                    "mean_cosine_against_h": np.mean([cosines[k] for k in here]),
                    "non_targets": len(others),
                    "share_of_non_targets": (
                        np.mean([cosines[k] > 0 for k in others]) if others else None
                    ),
                    "pair_cosine_of_non_targets": (
                        pairs_by_hand(moves[others]) if len(others) > 1 else None
                    ),
                }
            )  # fmt: skip
    return found


def doubled(plan: Plan, corpus: Corpus) -> Learner:
    """Return a learner in double precision, in which signs of tiny cosines are no chance."""
    learner = Learner(plan, corpus)
    learner.network.double()
    return learner


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_a_recorded_step_says_what_autograd_and_the_optimiser_did(
    objective: Any, tie: bool, small_plan: Plans, toy_corpus: Corpus
) -> None:
    plan = small_plan(objective, tie=tie)
    learner, twin = doubled(plan, toy_corpus), doubled(plan, toy_corpus)
    # The same network with an output matrix of its own: its gradient is that of the output path.
    apart = doubled(small_plan(objective, tie=False), toy_corpus).network
    apart.load_state_dict(twin.network.state_dict())
    enemies = CommonEnemies(learner.reader.output, toy_corpus.counts)
    before = learner.reader.output.weight.detach().clone()
    learner.learn(enemies)

    batch = toy_corpus.batch(0, plan.shape.batch_size, plan.seed)
    question = ask(objective, batch, toy_corpus.tokenizer, (plan.seed, MASKS, 0))
    gradients, read = [], None
    for network in (apart, twin.network):
        reader = Reader(network)
        read = reader.read(reader.hidden(question.tokens)[question.where])
        logits = reader.logits(read)
        torch.nn.functional.cross_entropy(logits, question.answers).backward()
        gradients.append(reader.output.weight.grad.numpy())
    assert read is not None
    after = learner.reader.output.weight.detach()
    updates = {
        OUTPUT_PATH: -gradients[0],
        GRADIENT: -gradients[1],
        OPTIMISER: (after - before).numpy(),
    }
    assert (np.abs(gradients[0] - gradients[1]).max() > 1e-6) == tie
    enemy = -read.detach().numpy().mean(axis=0)
    wanted = rows_by_hand(updates, enemy, question.answers.numpy(), toy_corpus.counts, 1)
    assert len(enemies.updates) == len(wanted)
    for found, row in zip(enemies.updates, wanted, strict=True):
        assert found == pytest.approx(row, abs=1e-7), (row["update"], row["band"])


def test_an_untied_matrix_learns_through_its_output_alone(
    small_plan: Plans, toy_corpus: Corpus
) -> None:
    def steps(tie: bool) -> list[dict[str, Any]]:
        learner = doubled(small_plan(tie=tie), toy_corpus)
        enemies = CommonEnemies(learner.reader.output, toy_corpus.counts)
        for _ in range(2):
            learner.learn(enemies)
        return enemies.updates

    for tie in (True, False):
        rows = steps(tie)
        by_update = {
            update: [
                {name: value for name, value in row.items() if name != "update"}
                for row in rows
                if row["update"] == update
            ]
            for update in (OUTPUT_PATH, GRADIENT, OPTIMISER)
        }
        assert len(by_update[GRADIENT]) == 2 * len(frequency_bands(toy_corpus.counts))
        same = [
            path == pytest.approx(whole, abs=1e-9)
            for path, whole in zip(by_update[OUTPUT_PATH], by_update[GRADIENT], strict=True)
        ]
        assert all(same) != tie
        assert by_update[OPTIMISER] != by_update[GRADIENT]


def test_watching_changes_nothing(small_plan: Plans, toy_corpus: Corpus) -> None:
    plan = small_plan("mlm", changed={"dropout": 0.1})
    watched, plain = Learner(plan, toy_corpus), Learner(plan, toy_corpus)
    enemies = CommonEnemies(watched.reader.output, toy_corpus.counts)
    for _ in range(3):
        assert watched.learn(enemies) == plain.learn()
    state, wanted = watched.state(), plain.state()
    assert all((state[name] == values).all() for name, values in wanted.items())
    assert [row["step"] for row in enemies.drift] == [1, 2, 3]


@pytest.mark.parametrize("objective", ["mlm", "clm"])
def test_a_batch_of_one_position_has_one_enemy(
    objective: str, small_plan: Plans, toy_corpus: Corpus
) -> None:
    network = make_network(small_plan(objective, tie=False), toy_corpus.tokenizer)
    reader = Reader(network)
    enemies = CommonEnemies(reader.output, toy_corpus.counts)
    tokens = torch.from_numpy(toy_corpus.train[:1].astype(np.int64))
    read = reader.read(reader.hidden(tokens)[:, 6])
    logits, answers = reader.logits(read), tokens[:, 7]
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    loss = torch.nn.functional.cross_entropy(logits, answers)
    enemies.begin(read, logits, answers)
    loss.backward()
    enemies.see_gradient()
    optimiser.step()
    enemies.finish(1)
    words = len(toy_corpus.tokenizer)
    for row in enemies.updates:
        if row["update"] == OPTIMISER and row["band"] != EVERY:
            continue  # a difference of two weights in single precision
        assert row["share_of_non_targets"] == 1
        if row["non_targets"] > 1:
            assert row["pair_cosine_of_non_targets"] == pytest.approx(1, abs=1e-3)
        if row["band"] == EVERY:
            assert (row["rows"], row["non_targets"]) == (words, words - 1)
            assert row["share_against_h"] == pytest.approx((words - 1) / words)
            assert row["mean_cosine_against_h"] == pytest.approx((words - 2) / words, abs=1e-3)


def test_how_the_mean_row_drifts(small_plan: Plans, toy_corpus: Corpus) -> None:
    learner = doubled(small_plan(tie=False), toy_corpus)
    weight = learner.reader.output.weight
    enemies = CommonEnemies(learner.reader.output, toy_corpus.counts)
    start = weight.detach().numpy().copy()
    heard: list[Any] = []
    learner.reader.output.register_forward_hook(lambda _, entry, __: heard.append(entry[0]))
    learner.learn()  # which nobody watches, and which counts all the same
    for step in (2, 3, 4):
        before = weight.detach().numpy().copy()
        learner.learn(enemies)
        after = weight.detach().numpy()
        move, away = after - before, after.mean(axis=0) - start.mean(axis=0)
        typical = math.sqrt(np.mean([float(row @ row) for row in move]))
        enemy = -heard[-1].detach().numpy().mean(axis=0)
        assert enemies.drift[-1] == pytest.approx(
            {
                "step": step,
                "length_of_mean": np.linalg.norm(after.mean(axis=0)),
                "drift_of_mean": np.linalg.norm(away),
                "cosine_with_enemy": cosine_by_hand(away, enemy),
                "common_share_of_step": np.linalg.norm(move.mean(axis=0)) / typical,
            },
            abs=1e-7,
        )
    assert len(enemies.drift) == 3


def test_the_common_share_of_moves_that_are_one_and_that_are_none() -> None:
    """1 where all rows make the same move; 0 where they cancel out."""
    shares = []
    for signs in (torch.ones(10, 1), torch.tensor([[1.0], [-1.0]] * 5)):
        layer = torch.nn.Linear(4, 10, bias=False)
        enemies = CommonEnemies(layer, np.arange(10))
        read = torch.ones(1, 4)
        logits, answers = layer(read), torch.tensor([3])
        enemies.begin(read, logits, answers)
        torch.nn.functional.cross_entropy(logits, answers).backward()
        enemies.see_gradient()
        with torch.no_grad():
            layer.weight += signs * torch.tensor([0.25, -0.5, 0.125, 1.0])
        enemies.finish(1)
        shares.append(enemies.drift[0]["common_share_of_step"])
    assert shares == pytest.approx([1, 0], abs=1e-5)


def test_a_step_that_moves_nothing() -> None:
    layer = torch.nn.Linear(4, 10, bias=False)
    enemies = CommonEnemies(layer, np.arange(10))
    read = torch.ones(1, 4)
    logits, answers = layer(read), torch.tensor([3])
    enemies.begin(read, logits, answers)
    torch.nn.functional.cross_entropy(logits, answers).backward()
    enemies.see_gradient()
    enemies.finish(1)
    still = [row for row in enemies.updates if row["update"] == OPTIMISER]
    assert {row["rows"] for row in still} == {row["non_targets"] for row in still} == {0}
    assert {row["share_against_h"] for row in still} == {None}
    assert {row["pair_cosine_of_non_targets"] for row in still} == {None}
    assert enemies.drift == [
        {
            "step": 1,
            "length_of_mean": enemies.drift[0]["length_of_mean"],
            "drift_of_mean": 0,
            "cosine_with_enemy": None,
            "common_share_of_step": 0,
        }
    ]
