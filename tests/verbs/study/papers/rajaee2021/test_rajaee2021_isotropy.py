"""Isotropy of the tokens of sentence sets, against its definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import hardly, outcomes, surely
from sts_for_tests import hidden_states, log10_i1, scored_pairs, write_sts_sets

from isoscope.corrections import ClusterRemoval
from isoscope.data.sampling import lowest_indices
from isoscope.models.model import open_model
from isoscope.models.token_table import LAST, read_last_layer
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.scope import Facts
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, GLOBAL
from isoscope.verbs.study.papers.rajaee2021 import isotropy as recipe
from isoscope.verbs.study.registry import find_study

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")
Folder = Callable[[str], Path]


def test_i1_of_the_tokens_of_every_set(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe.paper, "SIMILARITY_SETS", ("sts-16", "sick-r"))
    folder, data = tiny_model("gpt2"), write_sts_sets(tmp_path)
    run = run_study("R-T6", [f"mine={folder}"], data=data)
    for name in recipe.paper.SIMILARITY_SETS:
        first, second, _, _ = scored_pairs(name, data)
        found = hidden_states(folder, [*first, *second], special=False)
        tokens = np.concatenate([layers[-1] for layers in found.values()])
        row = run.result.row(f"{name}/i1", part=LAST)
        assert row.n == len(tokens)
        assert row.log10 == pytest.approx(log10_i1(tokens), abs=1e-3)
        lengths = np.linalg.norm(tokens, axis=1)
        assert run.result.value(f"{name}/mean_norm") == pytest.approx(lengths.mean(), rel=1e-5)
        centred = tokens - tokens.mean(axis=0)
        _, _, rows = np.linalg.svd(centred, full_matrices=False)
        removed = centred - centred @ rows[:15].T @ rows[:15]
        found_global = run.result.row(f"{name}/i1", GLOBAL).log10
        assert found_global == pytest.approx(log10_i1(removed), abs=1e-3)
    assert "last layer: final norm" in row.protocol
    assert "on at most 50,000 of them" in row.protocol
    assert "BERT, as it has none for this model" in row.protocol
    distinct = list(
        dict.fromkeys(text for pair in zip(first, second, strict=True) for text in pair)
    )
    read = read_last_layer(open_model(str(folder)), distinct, "").tokens
    each = [
        log10_i1(ClusterRemoval(27, 12, random_state=seed).fit_transform(read).astype(np.float64))
        for seed in range(5)
    ]
    row = run.result.row("sick-r/i1", CLUSTER)
    assert row.log10 == pytest.approx(np.log10(np.mean(10 ** np.array(each))), abs=1e-3)
    assert row.value == pytest.approx(10**row.log10)
    assert [entry["log10"] for entry in run.result.tables[-1].rows] == pytest.approx(each, abs=1e-3)
    assert "models" in run.result.extra


def test_i1_of_the_tokens_of_some_pairs(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe.paper, "SIMILARITY_SETS", ("sick-r",))
    folder, data = tiny_model("gpt2"), write_sts_sets(tmp_path)
    run = run_study("R-T6", [f"mine={folder}"], data=data, sample=20)
    first, second, _, _ = scored_pairs("sick-r", data)
    texts = [text for k in lowest_indices(len(first), 20, 0) for text in (first[k], second[k])]
    tokens = np.concatenate(
        [layers[-1] for layers in hidden_states(folder, texts, special=False).values()]
    )
    row = run.result.row("sick-r/i1", part=LAST)
    assert row.n == len(tokens)
    assert row.log10 == pytest.approx(log10_i1(tokens), abs=1e-3)
    assert "both texts of at most 20 pairs of sick-r, drawn at random (seed 0)" in row.protocol


def values(subject: str, *i1: float) -> list[Row]:
    return [
        Row(subject, LAST, correction, "sts-12/i1", value, log10=float(np.log10(value)))
        for correction, value in zip(("none", GLOBAL, CLUSTER), i1, strict=True)
    ]


def test_claims_hold_and_fail() -> None:
    good, bad = values("mine", 1e-170, 0.1, 0.48), values("mine", 0.5, 0.4, 0.3)
    assert outcomes("R-T6", surely(good)) == ["holds"] * 3
    assert outcomes("R-T6", surely(bad)) == ["reversed", "reversed", "fails"]
    assert outcomes("R-T6", hardly(bad)) == ["undecided"] * 3
    assert outcomes("R-T6", surely(good), Facts()) == ["not applicable"] * 3


def test_printed_numbers() -> None:
    printed = find_study("R-T6").printed()
    assert len(printed) == 63
    assert printed["GPT-2", LAST, "none", "sts-12/i1"] == 1.4e-178
    assert printed["BERT", LAST, GLOBAL, "sick-r/i1"] == 0.63
