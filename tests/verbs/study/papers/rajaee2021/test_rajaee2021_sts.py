"""Sentence similarity after removing directions of tokens, against the definition."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import outcomes, surely
from scipy import stats
from sts_for_tests import both_correlations, hidden_states, scored_pairs, write_sts_sets

from isoscope.corrections import ClusterRemoval
from isoscope.data.sampling import lowest_indices
from isoscope.errors import UsageError
from isoscope.models.model import open_model
from isoscope.models.token_table import LAST, read_last_layer
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.judge import judge_claims
from isoscope.verbs.study.judgement.scope import FACTS, Facts
from isoscope.verbs.study.papers.rajaee2021 import (
    CLUSTER,
    GLOBAL,
    MEAN,
    SPEARMAN,
    Settings,
    over_seeds,
    settings_of,
)
from isoscope.verbs.study.registry import find_study

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")
Folder = Callable[[str], Path]


def without_top(tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and what projects the top components out."""
    mean = tokens.mean(axis=0)
    _, _, rows = np.linalg.svd(tokens - mean, full_matrices=False)
    return mean, np.eye(tokens.shape[1]) - rows[:count].T @ rows[:count]


def test_pooled_tokens_are_corrected_before_the_mean(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "isoscope.verbs.study.papers.rajaee2021.SIMILARITY_SETS", ("sts-13", "sts-b")
    )
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    folder, data = tiny_model("bert"), write_sts_sets(tmp_path / "data")
    run = run_study("R-T2", [f"BERT={folder}"], data=data)
    first, second, _, _ = scored_pairs("sts-13", data)
    distinct = list(
        dict.fromkeys(text for pair in zip(first, second, strict=True) for text in pair)
    )
    states = {
        text: layers[-1] for text, layers in hidden_states(folder, distinct, special=False).items()
    }
    mean, project = without_top(np.concatenate(list(states.values())), 15)
    spaces = {
        "none": {text: tokens.mean(axis=0) for text, tokens in states.items()},
        GLOBAL: {text: ((tokens - mean) @ project).mean(axis=0) for text, tokens in states.items()},
    }
    for correction, vectors in spaces.items():
        together, mean_of_subsets = both_correlations(vectors, "sts-13", data)
        row = run.result.row(f"sts-13/{SPEARMAN}", correction, part=LAST)
        assert row.value == pytest.approx(together, abs=1e-6)
        assert row.low is not None
        assert run.result.value(f"sts-13/{MEAN}", correction) == pytest.approx(mean_of_subsets)
    tokens = read_last_layer(open_model(str(folder)), distinct, "").tokens
    each = []
    for seed in range(5):
        fitted = ClusterRemoval(27, 12, random_state=seed).fit(tokens)
        vectors = {text: fitted.transform(rows).mean(axis=0) for text, rows in states.items()}
        each.append(both_correlations(vectors, "sts-13", data))
    row = run.result.row(f"sts-13/{SPEARMAN}", CLUSTER)
    assert row.value == pytest.approx(np.mean([score for score, _ in each]), abs=1e-6)
    assert row.low < row.value < row.high
    assert "no_interval" not in row.extra
    expected = np.mean([score for _, score in each])
    assert run.result.value(f"sts-13/{MEAN}", CLUSTER) == pytest.approx(expected, abs=1e-6)
    change = run.result.value(f"sts-13/{SPEARMAN}/difference", CLUSTER)
    assert change == pytest.approx(row.value - run.result.value(f"sts-13/{SPEARMAN}"))
    tables = {
        table.measure: [entry["value"] for entry in table.rows] for table in run.result.tables
    }
    assert set(tables) == {f"sts-13/{SPEARMAN}", f"sts-13/{MEAN}", f"sts-b/{SPEARMAN}"}
    assert np.mean(tables[f"sts-13/{SPEARMAN}"]) == pytest.approx(row.value)
    assert len(tables[f"sts-b/{SPEARMAN}"]) == 5
    assert row.extra["printed"] == pytest.approx(0.7565)
    for words in (
        "special tokens out", "transductive", "last layer: block 3", "first tokens in",
        "cluster-pc-removal on at most 50,000", "12 of each of 27 clusters", "seeds 0 to 4",
    ):  # fmt: skip
        assert words in row.protocol
    assert "random_state" not in row.protocol
    assert row.protocol.startswith("sts-13: mean pooling")
    found = {verdict.outcome for verdict in run.verdicts}
    assert found <= {"holds", "fails", "reversed", "undecided"}


def test_some_pairs_of_every_set(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "isoscope.verbs.study.papers.rajaee2021.SIMILARITY_SETS", ("sts-13", "sts-b")
    )
    monkeypatch.setattr("isoscope.verbs.study.papers.rajaee2021.sets.FEWEST", 0.1)
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    folder, data = tiny_model("bert"), write_sts_sets(tmp_path / "data")
    run = run_study("R-T2", [f"BERT={folder}"], data=data, sample=20, seed=4)
    first, second, human, _ = scored_pairs("sts-13", data)
    drawn = lowest_indices(len(human), 20, 4)
    states = hidden_states(folder, [*first, *second], special=False)
    pooled = {text: layers[-1].mean(axis=0) for text, layers in states.items()}
    cosines = [
        pooled[first[k]] @ pooled[second[k]]
        / np.linalg.norm(pooled[first[k]]) / np.linalg.norm(pooled[second[k]])
        for k in drawn
    ]  # fmt: skip
    row = run.result.row(f"sts-13/{SPEARMAN}", "none")
    assert row.n == 20
    assert row.value == pytest.approx(stats.spearmanr(cosines, human[drawn]).statistic, abs=1e-6)
    assert "at most 20 pairs of every set, drawn at random (seed 4)" in row.protocol


def test_a_sample_that_is_too_small_for_the_clusters_is_refused(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Directions of a few tokens are noise, and removing them makes any cloud even."""
    monkeypatch.setattr("isoscope.verbs.study.papers.rajaee2021.SIMILARITY_SETS", ("sts-b",))
    folder, data = tiny_model("bert"), write_sts_sets(tmp_path / "data")
    for study in ("R-T2", "R-T6"):
        with pytest.raises(
            UsageError, match="directions of 27 clusters in 32 dimensions take 288"
        ) as refused:
            run_study(study, [f"BERT={folder}"], data=data, sample=5)
        tokens, enough = (int(re.findall(pattern, str(refused.value))[0]) for pattern in (
            r"gives (\d+) tokens", r"try --sample (\d+)"))  # fmt: skip
        assert enough % 50 == 0
        assert enough / 5 * tokens >= 288


def test_settings_are_those_of_the_paper() -> None:
    assert settings_of("gpt2") == Settings(30, 10, 30)
    assert settings_of("BERT") == Settings(15, 27, 12)
    assert settings_of("roberta-base") == Settings(25, 27, 12)
    settings = settings_of("mine")
    assert settings == Settings(15, 27, 12, settings.whose)
    assert "none for this model" in settings.whose


def test_means_of_tiny_figures_and_of_undefined_ones() -> None:
    signs = {"sign_low": -402.0, "unit": "tokens"}
    tiny = [Row("", "", "c", "i1", 0.0, log10=log, extra=signs) for log in (-400.0, -401.0)]
    assert set(over_seeds(tiny).extra) == {"unit", "no_interval", "seed_values"}
    assert over_seeds(tiny).extra["seed_values"] == [-400.0, -401.0]
    assert over_seeds(tiny).log10 == pytest.approx(np.log10(1.1 / 2) - 400)
    gone = [*tiny, Row("", "", "c", "i1", None, note="why")]
    assert over_seeds(gone).value is None
    assert over_seeds(gone).note == "why"


def test_an_interval_of_a_mean_over_seeds_holds_what_seeds_add() -> None:
    values = [0.5, 0.6, 0.55]
    seeds = [Row("", "", "c", "x", value, low=value - 0.1, high=value + 0.2) for value in values]
    row = over_seeds(seeds)
    reach = stats.sem(values) * stats.t.ppf(0.975, 2)
    assert row.low == pytest.approx(0.55 - np.hypot(0.1, reach))
    assert row.high == pytest.approx(0.55 + np.hypot(0.2, reach))
    alike = [replace(one, value=0.5, low=0.4, high=0.7) for one in seeds]
    assert (over_seeds(alike).low, over_seeds(alike).high) == pytest.approx((0.4, 0.7))


def test_a_lucky_seed_of_k_means_does_not_decide_a_claim() -> None:
    """Texts hardly move I1 here, and seeds of k-means move it by as much as it changes."""
    blocks = {"blocks": "texts", "replicates": [-0.30 - k / 1e4 for k in range(10)]}
    plain = Row("mine", LAST, GLOBAL, "sts-12/i1", 10**-0.30, log10=-0.30, extra=blocks)
    logs = [-0.10, -0.45, -0.15, -0.40, -0.15]
    seeds = [
        Row("mine", LAST, "c", "sts-12/i1", 10**log, log10=log,
            extra={**blocks, "replicates": [log + k / 1e4 for k in range(10)]})
        for log in logs
    ]  # fmt: skip
    mean = over_seeds(seeds)
    begins = "removing dominant directions per cluster leaves"
    claim = next(one for one in find_study("R-T6").claims if one.text.startswith(begins))
    facts = {FACTS: {"mine": Facts("transformer").to_dict()}}
    (verdict,) = judge_claims([claim], Result([plain, mean], extra=facts))
    assert (verdict.cases[0].true, verdict.outcome) == (True, "undecided")
    certain = replace(mean, extra={k: v for k, v in mean.extra.items() if k != "seed_values"})
    (found,) = judge_claims([claim], Result([plain, certain], extra=facts))
    assert found.outcome == "holds"


def scores(subject: str, measure: str, *values: float) -> list[Row]:
    return [
        Row(subject, LAST, correction, measure, value)
        for correction, value in zip(("none", GLOBAL, CLUSTER), values, strict=True)
    ]


def test_claims_hold_and_fail() -> None:
    measure = f"sts-15/{SPEARMAN}"
    rows = scores("mine", measure, 0.1, 0.2, 0.3)
    assert outcomes("R-T2", surely(rows)) == ["holds", "holds"]
    assert outcomes("R-T2", surely(rows, 0.2)) == ["undecided", "undecided"]
    assert outcomes("R-T2", rows) == ["undecided", "undecided"]
    assert outcomes("R-T2", surely(scores("mine", measure, 0.3, 0.2, 0.1))) == ["reversed"] * 2
    other = surely(scores("roberta-base", f"sts-16/{SPEARMAN}", 0.1, 0.3, 0.2))
    assert outcomes("R-T2", other) == ["holds", "not run"]
    both = [*other, *surely(scores("roberta-base", measure, 0.1, 0.2, 0.3))]
    assert outcomes("R-T2", both) == ["holds", "holds"]
    # the mean over subsets stands beside, and is not judged
    assert outcomes("R-T2", scores("mine", f"sts-15/{MEAN}", 3, 2, 1)) == ["not run"] * 2


def test_two_methods_are_compared_pair_by_pair() -> None:
    """Both scores vary with the pairs by far more than they differ."""
    noise = np.random.default_rng(0).normal(0, 0.05, 20)
    rows = [
        Row("mine", LAST, correction, f"sts-15/{SPEARMAN}", value, low=value - 0.4,
            high=value + 0.4, extra={"blocks": "pairs", "replicates": list(value + noise * size)})
        for correction, value, size in (
            ("none", 0.1, 1.0), (GLOBAL, 0.2, 1.01), (CLUSTER, 0.3, 1.02),
        )
    ]  # fmt: skip
    assert outcomes("R-T2", rows) == ["holds", "holds"]
    seeds = [replace(rows[0], value=k, extra=rows[k].extra) for k in range(3)]
    found = over_seeds(seeds).extra["replicates"]
    assert found == pytest.approx(np.mean([row.extra["replicates"] for row in rows], axis=0))


def test_printed_numbers() -> None:
    printed = find_study("R-T2").printed()
    assert len(printed) == 2 * 63
    assert printed["GPT-2", LAST, "none", f"sts-12/{SPEARMAN}"] == pytest.approx(0.2649)
    assert printed["RoBERTa", LAST, CLUSTER, f"sts-b/{SPEARMAN}"] == pytest.approx(0.714)
