"""Probes of positions in Luo's recipes, on tiny models with and without positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged_for_tests import PAPERS_SIZE, outcomes, sure
from tiny_models import HIDDEN, POSITIONS, SHAPE, WORDS, word_pieces

from isoscope.models.token_table import read_tokens
from isoscope.results.result import Row
from isoscope.verbs.explain.api import PositionProbes
from isoscope.verbs.explain.names import ACCURACY, BY_TOKEN, MAJORITY, NO_OUTLIER, RANK
from isoscope.verbs.explain.topics import position_probe
from isoscope.verbs.explain.topics.position_probe import position_task, probe_positions, rank_of
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.luo2021 import positions as probe_study
from isoscope.verbs.study.papers.luo2021.positions import CHANGE, HIGH, LEAD

LAYERS = 4
PLANTED = (5, 20)


@pytest.fixture(autouse=True, scope="module")
def short_training() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position_probe, "FEWEST_STEPS", 250)
        yield


def made_texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = [word for word in WORDS.split() if not word.startswith("##")]
    return [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(200)]


def saved(folder: Path, table: np.ndarray) -> Path:
    """Save a BERT of four blocks with these positional embeddings."""
    import torch
    import transformers

    tokenizer = word_pieces("bert")
    shape = {**SHAPE, "num_hidden_layers": LAYERS, "max_position_embeddings": POSITIONS}
    config = transformers.BertConfig(vocab_size=len(tokenizer), pad_token_id=0, **shape)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.BertModel(config)
    with torch.no_grad():
        network.embeddings.position_embeddings.weight.copy_(torch.from_numpy(table))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Positions are angles in two dimensions."""
    table = np.zeros((POSITIONS, HIDDEN), np.float32)
    angles = 2 * np.pi * np.arange(POSITIONS) / 11
    table[:, PLANTED] = 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return saved(tmp_path_factory.mktemp("planted") / "bert", table)


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Positions are not told."""
    table = np.zeros((POSITIONS, HIDDEN), np.float32)
    return saved(tmp_path_factory.mktemp("control") / "bert", table)


def test_accuracy_of_every_layer(planted: Path, control: Path) -> None:
    run = run_study("L-F3.7", [f"RoBERTa={planted}", f"BERT={control}"], text=made_texts())
    lowest = {
        verdict.subject: verdict for verdict in run.verdicts if "layers 1 to 3" in verdict.text
    }
    # It is not told positions: where not even the input has them, layers cannot fail to keep them.
    assert lowest["BERT"].outcome == "undecided"
    assert lowest["RoBERTa"].outcome in ("holds", "undecided")
    assert all(case.true for case in lowest["RoBERTa"].cases)
    assert not any(case.true for case in lowest["BERT"].cases)
    assert run.verdicts[-1].outcome == "holds"
    rows = {(row.subject, row.part, row.measure): row for row in run.result}
    parts = [part for subject, part, measure in rows if (subject, measure) == ("BERT", ACCURACY)]
    assert parts == [f"layer {k}" for k in range(LAYERS + 1)]
    third, last = (rows["RoBERTa", f"layer {k}", ACCURACY] for k in (3, 4))
    change = rows["RoBERTa", "", CHANGE]
    assert change.value == pytest.approx(last.value - third.value)
    assert change.protocol == "layer 4 less layer 3, on the same tokens"
    high = rows["RoBERTa", "", HIGH]
    assert high.value == last.value  # a third of four layers is one
    assert "the last 1 of 4 layers" in high.protocol
    assert rows["BERT", "", MAJORITY].value == rows["RoBERTa", "", MAJORITY].value
    assert rows["BERT", "layer 2", ACCURACY].value < rows["BERT", "", BY_TOKEN].value + 0.1
    assert "special tokens in, at most 60,000 tokens" in last.protocol
    assert "RoBERTa layer 0 to layer 4, BERT layer 0 to layer 4: " in run.to_markdown()


def test_the_mean_of_high_layers() -> None:
    """Of layers on the same texts influences are averaged."""
    rng = np.random.default_rng(0)
    texts = np.repeat(np.arange(50), 6)
    scores = [
        position_probe.text_accuracy(rng.random(300) < share, texts)
        for share in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    ]
    none = np.zeros(3)
    probes = {
        f"layer {k}": position_probe.PositionProbe(score, none, none, none)
        for k, score in enumerate(scores)
    }
    rows = np.arange(400)
    task = position_task(rows % 4, rows // 4, rows)
    model = PositionProbes(probes, task, "")
    row = probe_study.high_row(model)
    assert row.value == pytest.approx((scores[5].value + scores[6].value) / 2)
    assert row.protocol == "mean of the last 2 of 6 layers"
    alone = scores[6].high - scores[6].low
    assert row.high - row.low == pytest.approx(alone / 2**0.5, rel=0.15)  # they are independent
    change = probe_study.change_row(model)
    assert change.value == pytest.approx(scores[6].value - scores[3].value)
    assert change.low < change.value < change.high < 0
    short = PositionProbes(dict(list(probes.items())[:4]), task, "")
    assert probe_study.change_row(short).value is None
    assert probe_study.change_row(short).note == "there is no layer above layer 3"
    assert probe_study.high_row(short).value == scores[3].value


def test_ranks_of_outliers(planted: Path) -> None:
    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    run = run_study("L-F3.8", [f"mine={planted}"], text=made_texts())
    sample = read_tokens(open_model(str(planted)), open_texts(made_texts()), 60_000, special=True)
    task = position_task(sample.positions, sample.sentences, sample.ids)
    probe = probe_positions(sample.layers["block 2"], task)
    each = [
        row for row in run.result if row.part == "layer 2" and row.measure.startswith(f"{RANK}/")
    ]
    texts = probe.contributions_of_texts
    assert texts[:, :-1].sum(axis=0) / texts[:, -1].sum() == pytest.approx(probe.contributions)
    assert set(PLANTED) <= {row.extra["dimension"] for row in each}
    for row in each:
        assert row.value == rank_of(row.extra["dimension"], probe.contributions)
    best = run.result.row(RANK, part="layer 2")
    assert best.value == min(row.value for row in each)
    assert best.extra["dimension"] in PLANTED
    assert "in at least 10 % of the vectors of all non-input layers" in best.protocol
    first, second = run.verdicts
    assert (first.outcome, second.outcome) == ("holds", "not applicable")
    ahead = run.result.row(LEAD, part="layer 2")
    own, rest = np.sort(probe.contributions)[::-1][:2]
    if best.extra["dimension"] == probe.contributions.argmax():
        assert ahead.value > 0
        assert ahead.value >= (own - rest) / own - 1e-9
    assert len(ahead.extra["replicates"]) == 10
    assert run.verdicts[0].other_models == ("mine",)
    assert {case.left for case in run.verdicts[0].cases} == {
        f"layer {k} {LEAD} (none)" for k in range(1, LAYERS + 1)
    }
    assert len(run.result.table("position_contributions").rows) == 10 * (LAYERS + 1)
    assert f" (dimension {best.extra['dimension']})" in run.to_markdown()


def test_dimensions_that_the_paper_names_come_first(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_study.luo2021, "printed_dimensions", lambda *_: [3, 7])
    monkeypatch.setattr(position_probe, "FEWEST_STEPS", 20)
    run = run_study("L-F3.8", [f"BERT={planted}"], text=made_texts())
    names = {RANK, f"{RANK}/3", f"{RANK}/7", LEAD, f"{LEAD}/3", f"{LEAD}/7"}
    assert {row.measure for row in run.result} == names
    assert "those that the paper names" in run.result.rows[0].protocol
    assert run.verdicts[0].outcome == "reversed"  # others contribute more in every layer


def test_a_model_without_outliers(control: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def none(layers: Iterable[np.ndarray]) -> list[int]:
        looked_at.append(len(list(layers)))
        return []

    monkeypatch.setattr(probe_study.explain, "often_extreme", none)
    monkeypatch.setattr(position_probe, "FEWEST_STEPS", 20)
    run = run_study("L-F3.8", [f"BERT={control}"], text=made_texts())
    assert [row.value for row in run.result] == [None] * 2 * (LAYERS + 1)
    assert {row.note for row in run.result} == {NO_OUTLIER}
    assert looked_at == [LAYERS]  # without the input
    assert run.verdicts[0].outcome == "not run"
    assert run.verdicts[0].reason == NO_OUTLIER


def accuracies(subject: str, values: list[float], high: float) -> list[Row]:
    rows = [Row(subject, f"layer {k}", "none", ACCURACY, v) for k, v in enumerate(values)]
    change = values[-1] - values[3]
    rows += [Row(subject, "", "none", CHANGE, change), Row(subject, "", "none", HIGH, high)]
    return [sure(row) for row in rows]


def test_claims_about_accuracy_hold_and_fail() -> None:
    bert = accuracies("bert-base-cased", [0.99, 0.99, 0.97, 0.96, 0.4], 0.4)
    roberta = accuracies("RoBERTa", [0.99, 0.99, 0.99, 0.96, 0.7], 0.7)
    assert outcomes("L-F3.7", [*bert, *roberta]) == ["holds"] * 3
    assert outcomes("L-F3.7", bert) == ["holds", "holds", "not run"]
    worse = accuracies("RoBERTa-base", [0.99, 0.99, 0.99, 0.94, 0.95], 0.3)
    assert outcomes("L-F3.7", worse)[:2] == ["fails", "reversed"]
    assert outcomes("L-F3.7", [*bert, *worse])[2] == "reversed"
    close = accuracies("mine", [0.99, 0.99, 0.99, 0.9501, 0.95], 0.3)
    assert outcomes("L-F3.7", close)[:2] == ["undecided"] * 2
    # A probe of a few hundred texts reads positions not even from the input, which holds them.
    few = accuracies("mine", [0.59, 0.30, 0.27, 0.28, 0.25], 0.3)
    assert outcomes("L-F3.7", few)[:2] == ["undecided", "holds"]
    rotary = replace(PAPERS_SIZE, positions=("rotary",))
    assert outcomes("L-F3.7", close, rotary)[:2] == ["not applicable"] * 2


def test_claims_about_contributions_hold_and_fail() -> None:
    def rows(subject: str, leads: list[float], dimension: int) -> list[Row]:
        return [
            sure(Row(subject, f"layer {k}", "none", measure, lead))
            for k, lead in enumerate(leads)
            for measure in (LEAD, f"{LEAD}/{dimension}")
        ]

    good = [*rows("BERT-base", [-0.5, 0.5, 0.4], 557), *rows("RoBERTa-base", [-1, 0.1, 0.2], 588)]
    assert outcomes("L-F3.8", good) == ["holds", "holds"]
    bert = rows("BERT-base", [0.1, 0.1, -0.1], 557)
    assert outcomes("L-F3.8", bert) == ["fails", "not applicable"]
    assert outcomes("L-F3.8", rows("RoBERTa", [1, -0.1, -0.2], 588)) == ["reversed", "reversed"]
    assert outcomes("L-F3.8", rows("mine", [1, 0.5, 1e-4], 3))[0] == "undecided"
