"""States of the layers: they merge, and come back bit by bit from a journal or another process."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.compute.journal import Journal
from isoscope.compute.pool import no_tick
from isoscope.data.texts import open_texts
from isoscope.data.texts.shards import cut_texts, survey_file
from isoscope.errors import DataError
from isoscope.measures.reads.passes import SecondState
from isoscope.measures.reads.projections import ProjectionPlan
from isoscope.measures.views import ViewShape
from isoscope.models.layer_names import EVERYTHING, ORDINARY
from isoscope.models.layers import ReadSoFar
from isoscope.models.model import Model, open_model
from isoscope.verbs.profile.layer_passes import (
    MASSIVE,
    ORDINARY_SUMS,
    TOKENS_PER_SHARD,
    FirstWork,
    LayerSums,
    MassiveRule,
    SecondWork,
    layer_clouds,
    median_norms,
    pilot_texts,
)
from isoscope.verbs.profile.profile_options import ProfileOptions

State = LayerSums | SecondState
RANDOM = np.random.default_rng(2)
WORDS = ("the", "a", "of", "cat", "dog", "bird", "river", "bank", "money", "boat", "sat", "old")
TEXTS = [" ".join(RANDOM.choice(WORDS, RANDOM.integers(2, 12))) for _ in range(40)]
LAYERS = ("embedding", "block 2")


@pytest.fixture(scope="module")
def model(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("gpt2")), device="cpu")


@pytest.fixture(scope="module")
def rule(model: Model) -> MassiveRule:
    """By which half the tokens of one layer are massive, and none of the other."""
    medians = median_norms(layer_clouds(model, open_texts(TEXTS), options()))
    return MassiveRule({"embedding": 1e9, "block 2": medians["block 2"]})


@pytest.fixture(scope="module")
def sums(model: Model, rule: MassiveRule) -> list[LayerSums]:
    """The first read of three shards."""
    return read(FirstWork(model, open_texts(TEXTS), options(), rule))


@pytest.fixture(scope="module")
def projections(model: Model, rule: MassiveRule) -> list[SecondState]:
    """The second read of three shards."""
    width = 32
    plan = ProjectionPlan(
        mean=np.zeros(width), raw_basis=None, basis=np.eye(width), exponents=(),
        views=(ViewShape(np.ones(width), np.zeros(width), on_components=False),),
        dimensions=True, double=False,
    )  # fmt: skip
    keys = [("embedding", EVERYTHING), ("block 2", EVERYTHING), ("block 2", ORDINARY)]
    plans = dict.fromkeys(keys, plan)
    return read(SecondWork(model, open_texts(TEXTS), options(), rule, plans=plans))


def options(**more: Any) -> ProfileOptions:
    return ProfileOptions(layers=LAYERS, longest=9, **more)


def read(work: Any) -> list[Any]:
    shards = cut_texts(work.texts, [survey_file(work.texts, size=16)], 16)
    assert [shard.stop - shard.start for shard in shards] == [16, 16, 8]
    return [work(shard, no_tick) for shard in shards]


def bits(state: State) -> Any:
    arrays, facts = state.to_entry()
    kept = {key: (str(a.dtype), a.shape, a.tobytes()) for key, a in arrays.items()}
    return kept, json.dumps(facts, sort_keys=True)


def states(request: pytest.FixtureRequest, name: str) -> list[Any]:
    found: list[Any] = request.getfixturevalue(name)
    return found


def test_a_pilot_reads_no_more_than_it_needs(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    group = layer_clouds(model, open_texts(TEXTS), options())
    everything = pilot_texts(group)
    assert len(everything) == len(TEXTS)  # which have fewer tokens than are wanted
    monkeypatch.setattr("isoscope.verbs.profile.layer_passes.PILOT_TOKENS", 20)
    few = pilot_texts(group)
    assert few == everything[: len(few)]
    counts = [int(group.rule.counts(text).sum()) for text in group.tokenizer(few)]
    assert sum(counts[:-1]) < 20 <= sum(counts)


@pytest.mark.parametrize("name", ["sums", "projections"])
def test_a_journal_gives_back_what_it_was_given(
    request: pytest.FixtureRequest, name: str, tmp_path: Path
) -> None:
    state = states(request, name)[0]
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", *state.to_entry())
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        entry = journal.load("s")
    assert entry is not None
    again = type(state).from_entry(entry.arrays, entry.facts)
    assert bits(again) == bits(state)
    assert bits(pickle.loads(pickle.dumps(state))) == bits(state)


@pytest.mark.parametrize("name", ["sums", "projections"])
def test_restored_states_merge_as_those_they_were(
    request: pytest.FixtureRequest, name: str
) -> None:
    one, other, third = (pickle.dumps(state) for state in states(request, name))

    def merged(*stored: bytes) -> State:
        first, *rest = map(pickle.loads, stored)
        for state in rest:
            first = type(first).from_entry(*first.merge(state).to_entry())
        return first

    straight = pickle.loads(one).merge(pickle.loads(other)).merge(pickle.loads(third))
    assert bits(merged(one, other, third)) == bits(straight)
    assert bits(straight) != bits(pickle.loads(one))


def test_merged_sums_are_those_of_all_texts(
    model: Model, rule: MassiveRule, sums: list[LayerSums]
) -> None:
    one, other, third = (pickle.loads(pickle.dumps(state)) for state in sums)
    found = one.merge(other).merge(third)
    source = open_texts(TEXTS)
    (whole,) = cut_texts(source, [survey_file(source)])
    expected = FirstWork(model, source, options(), rule)(whole, no_tick)
    assert found.met == expected.met
    assert found.met.texts == len(TEXTS)
    assert found.met.truncation.texts > 0
    ordinary = [(name, ORDINARY_SUMS) for name in LAYERS]
    assert set(found.moments) == set(expected.moments) == {*ordinary, ("block 2", MASSIVE)}
    for key, moments in expected.moments.items():
        mine = found.moments[key]
        assert mine.rows == moments.rows
        # One text goes through the network beside others here and there.
        np.testing.assert_allclose(mine.mean, moments.mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(mine.scatter, moments.scatter, rtol=1e-4, atol=1e-3)
    assert found.contextual is not None
    assert expected.contextual is not None
    cosines = dict.fromkeys(LAYERS, 0.25)
    mine, theirs = (state.contextual.result(cosines) for state in (found, expected))
    for name in LAYERS:
        for measure in ("intra_sim", "self_similarity"):
            one, other = mine[name].values[measure], theirs[name].values[measure]
            assert one.value == pytest.approx(other.value, abs=1e-5)
            assert (one.rows, one.extra) == (other.rows, other.extra)


def test_nothing_changes_nothing(sums: list[LayerSums], projections: list[SecondState]) -> None:
    nothing = LayerSums({}, {}, sums[0].sample_size, None, ReadSoFar())
    bare = replace(sums[0], contextual=None)
    assert bits(nothing.merge(bare)) == bits(bare) == bits(bare.merge(nothing))
    empty = SecondState({})
    state = projections[0]
    assert bits(empty.merge(state)) == bits(state) == bits(state.merge(empty))
    assert bits(pickle.loads(pickle.dumps(empty))) == bits(empty)
    assert bits(pickle.loads(pickle.dumps(nothing))) == bits(nothing)


def test_a_merged_sample_is_the_lowest_keys_of_both(sums: list[LayerSums]) -> None:
    left, right = (replace(part, sample_size=8, contextual=None) for part in sums[:2])
    found = left.merge(right)
    for name in LAYERS:
        keys = np.concatenate([left.samples[name].keys, right.samples[name].keys])
        assert sorted(found.samples[name].keys) == sorted(keys)[:8]


def test_a_merged_second_read_adds_the_rows_of_each_kind(
    projections: list[SecondState],
) -> None:
    one, other = projections[:2]
    found = one.merge(other).found
    assert set(found) == {*one.found, *other.found}
    for key, part in found.items():
        assert part.rows == sum(side.found[key].rows for side in (one, other) if key in side.found)
    everything, ordinary = found["block 2", EVERYTHING].rows, found["block 2", ORDINARY].rows
    assert 0 < ordinary < everything


def test_layers_are_told_with_and_without_their_massive_tokens(
    sums: list[LayerSums], rule: MassiveRule
) -> None:
    layers = sums[0].layers(rule)
    assert list(layers) == list(LAYERS)
    assert list(layers["embedding"]) == [EVERYTHING]
    both = layers["block 2"]
    assert list(both) == [EVERYTHING, ORDINARY]
    rows = [sums[0].moments["block 2", which].rows for which in (ORDINARY_SUMS, MASSIVE)]
    assert both[EVERYTHING].moments.rows == sum(rows)
    assert both[ORDINARY].moments.rows == rows[0]
    norms = np.linalg.norm(both[ORDINARY].sample.vectors, axis=1)
    assert norms.max() <= rule.limits["block 2"]
    assert np.linalg.norm(both[EVERYTHING].sample.vectors, axis=1).max() > rule.limits["block 2"]


def test_a_layer_without_tokens_is_an_error(sums: list[LayerSums], rule: MassiveRule) -> None:
    none = LayerSums({}, sums[0].samples, 8, None, ReadSoFar())
    single = {
        (name, which): replace(found, rows=1)
        for (name, which), found in sums[0].moments.items()
        if which == ORDINARY_SUMS
    }
    one = LayerSums(single, sums[0].samples, 8, None, ReadSoFar())
    for state in (none, one):
        with pytest.raises(DataError, match="embedding: fewer than two tokens are left"):
            state.layers(rule)


def test_no_two_tokens_of_a_text_share_a_number(sums: list[LayerSums]) -> None:
    for shard, state in enumerate(sums):
        for name in LAYERS:
            indices = state.samples[name].indices
            assert set(indices // TOKENS_PER_SHARD) == {shard}
            assert len(set(indices)) == len(indices)


def test_a_work_that_has_begun_can_be_sent(model: Model, rule: MassiveRule) -> None:
    """Without its reader, which has a file open."""
    work = FirstWork(model, open_texts(TEXTS), options(), rule)
    shards = cut_texts(work.texts, [survey_file(work.texts, size=16)], 16)
    begun = work.reader.read(shards[1])
    assert next(begun).index == 16
    again = pickle.loads(pickle.dumps(work))
    assert again(shards[0], no_tick).met.texts == 16
    work.reader.close()
