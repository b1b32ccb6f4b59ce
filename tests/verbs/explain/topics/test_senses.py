"""Tense and sense of verbs: planted, absent, removed, and against the definition."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import put
from scipy import stats
from sts_for_tests import log10_i1

from isoscope.compute.stats.estimates import Score
from isoscope.corrections import AllButTheTop
from isoscope.errors import MissingError
from isoscope.models.model import open_model
from isoscope.verbs.explain.names import ALL, CONTRAST, OTHER_SENSE, OTHER_TENSE, RELATIVE, SAME
from isoscope.verbs.explain.topics.base import Question
from isoscope.verbs.explain.topics.senses import (
    MARGIN,
    SENSES,
    contrasted,
    further,
    partner_distances,
    ratio_over_verbs,
    rows_of,
    sentence_of,
)
from isoscope.verbs.explain.topics.verb_occurrences import (
    FEW_SENSES,
    NOT_DRAWN,
    SEVERAL,
    UNTOLD,
    Occurrence,
    Verbs,
    read_verbs,
)

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
WIDTH = 24
SEEDS = range(4)


def made(seed: int, tense: float, sense: float, verbs: int = 30, spread: float = 3) -> Arrays:
    """Vectors of a verb's centre, its sense, its tense (along the first axis) and noise."""
    rng = np.random.default_rng(seed)
    n = 40 * verbs
    verb = np.repeat(np.arange(verbs), 40)
    senses, tenses = verb * 2 + rng.integers(0, 2, n), rng.integers(0, 3, n)
    centres, offsets = rng.normal(0, spread, (verbs, WIDTH)), rng.normal(0, 1, (2 * verbs, WIDTH))
    offsets[:, 0] = 0
    offsets *= sense / np.linalg.norm(offsets, axis=1, keepdims=True)
    along = np.zeros((3, WIDTH))
    along[:, 0] = tense * np.arange(3)
    vectors = centres[verb] + offsets[senses] + along[tenses] + rng.normal(0, 0.3, (n, WIDTH))
    return vectors, verb, senses, tenses


def brute_force(vectors: np.ndarray, *labels: np.ndarray) -> dict[str, list[float]]:
    """The mean distance of each occurrence to its partners, one pair after the other."""
    found: dict[str, list[float]] = {SAME: [], OTHER_SENSE: [], OTHER_TENSE: [], ALL: []}
    rows = list(zip(vectors, *labels, strict=True))
    for i, (x, verb, sense, tense) in enumerate(rows):
        own: dict[str, list[float]] = {name: [] for name in found}
        for j, (y, other_verb, other_sense, other_tense) in enumerate(rows):
            if i == j or verb != other_verb:
                continue
            apart = math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
            own[ALL].append(apart)
            if tense == other_tense:
                own[SAME if sense == other_sense else OTHER_SENSE].append(apart)
            elif sense == other_sense:
                own[OTHER_TENSE].append(apart)
        for name, distances in own.items():
            found[name].append(sum(distances) / len(distances) if distances else math.nan)
    return found


def few(seed: int = 0) -> Arrays:
    """Verbs of different size, one of which stands alone."""
    rng = np.random.default_rng(seed)
    verb = np.repeat(np.arange(7), (9, 4, 12, 7, 1, 6, 8))
    n = len(verb)
    return (
        rng.normal(0, 1, (n, 5)) * (1 + verb[:, None]),
        verb,
        rng.integers(0, 2, n),
        (rng.integers(0, 2, n)),
    )


def test_distances_to_partners_are_those_of_the_definition() -> None:
    vectors, *labels = few()
    order = np.random.default_rng(1).permutation(len(vectors))
    vectors, labels = vectors[order], [values[order] for values in labels]
    found, expected = partner_distances(vectors, *labels), brute_force(vectors, *labels)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name] == pytest.approx(np.array(values), rel=1e-12, nan_ok=True)
        assert np.isnan(values).any()


def test_figures_and_intervals_are_those_of_the_formula() -> None:
    vectors, verbs, senses, tenses = few()
    each = brute_force(vectors, verbs, senses, tenses)
    scores = contrasted(vectors, verbs, senses, tenses)
    apart = [a - b for a, b in zip(each[OTHER_TENSE], each[OTHER_SENSE], strict=True)]
    ones = [1.0] * len(vectors)
    wanted = {name: (values, ones) for name, values in each.items()}
    wanted |= {CONTRAST: (apart, ones), RELATIVE: (apart, each[ALL])}
    assert scores.keys() == wanted.keys()
    for name, (top, bottom) in wanted.items():
        both = [(y, x, v) for y, x, v in zip(top, bottom, verbs, strict=True) if not math.isnan(y)]
        total = sum(x for _, x, _ in both)
        ratio = sum(y for y, _, _ in both) / total
        units = sorted({v for *_, v in both})
        errors = [sum(y - ratio * x for y, x, w in both if w == v) for v in units]
        count = len(units)
        variance = count / (count - 1) * sum(e**2 for e in errors) / total**2
        half = stats.t.ppf(0.975, count - 2) * math.sqrt(variance)
        score = scores[name]
        assert score.value == pytest.approx(ratio, rel=1e-12)
        assert (score.low, score.high) == pytest.approx((ratio - half, ratio + half), rel=1e-9)
        assert (score.n, score.extra["occurrences"]) == (count, len(both))


def test_intervals_over_verbs_hold_as_often_as_they_say() -> None:
    # Means of verbs vary more than occurrences: intervals over these would hold far too seldom.
    rng = np.random.default_rng(0)
    inside, tries, verbs = 0, 400, 40
    for _ in range(tries):
        sizes = rng.integers(5, 40, verbs)
        labels = np.repeat(np.arange(verbs), sizes)
        values = 2 + np.repeat(rng.normal(0, 1, verbs), sizes) + rng.normal(0, 1, len(labels))
        score = ratio_over_verbs(values, np.ones(len(values)), labels)
        assert score.low is not None
        assert score.high is not None
        inside += score.low <= 2 <= score.high
    # 95 % of 400 have a standard error of 1.1 %; linearisation with 40 verbs may cost 2 %
    assert 0.91 <= inside / tries <= 0.985


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_tense_is_found_and_gone_when_removed(seed: int) -> None:
    vectors, *labels = made(seed, tense=2, sense=0.5)
    before = contrasted(vectors, *labels)
    assert further(before) == 1
    relative = before[RELATIVE].value
    assert relative is not None
    assert relative > 10 * MARGIN
    clean = vectors.copy()
    clean[:, 0] = 0
    after = contrasted(clean, *labels)
    assert further(after) <= 0
    said = sentence_of({"none": before, "clean": after}, "block 3")
    first, second = said.split(" After clean ")
    assert first.startswith("In block 3 tense moves a verb further than its sense: ")
    assert f"{before[OTHER_TENSE].value:.4g} away" in first
    assert f"another sense {before[OTHER_SENSE].value:.4g}" in first
    assert f"further by {100 * relative:+.1f} %" in first
    assert "30 verbs" in first
    assert "tense moves a verb further" not in second


@pytest.mark.parametrize("seed", SEEDS)
def test_a_correction_takes_the_tense_out(seed: int) -> None:
    # Verbs are near each other, so that the first component is the tense and nothing else.
    vectors, *labels = made(seed, tense=9, sense=1, spread=0.5)
    assert further(contrasted(vectors, *labels)) == 1
    corrected = AllButTheTop(n_components=1).fit(vectors).transform(vectors)
    after = contrasted(corrected, *labels)
    assert further(after) == -1
    assert "After x sense moves a verb further than its tense" in sentence_of({"x": after}, "l")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("tense", "sense", "expected"), [(0.2, 2, -1), (0, 0, 0)])
def test_without_tense_nothing_is_found(
    seed: int, tense: float, sense: float, expected: int
) -> None:
    vectors, *labels = made(seed, tense, sense)
    scores = contrasted(vectors, *labels)
    assert further(scores) == expected
    if not expected:
        said = sentence_of({"none": scores}, "block 3")
        assert said.startswith("In block 3 tense moves a verb no further than its sense: ")


@pytest.mark.parametrize(
    ("low", "high", "relative", "expected"),
    [
        (0.1, 0.3, 0.02, 1), (0.1, 0.3, 0.009, 0), (-0.1, 0.3, 0.02, 0), (-0.3, -0.1, -0.02, -1),
        (-0.3, -0.1, -0.009, 0), (-0.3, 0.1, -0.02, 0), (None, None, 0.5, 0),
    ],
)  # fmt: skip
def test_the_rule(low: float | None, high: float | None, relative: float, expected: int) -> None:
    scores = {CONTRAST: Score(0, low, high, 9), RELATIVE: Score(relative, None, None, 9)}
    assert further(scores) == expected


def test_figures_that_are_undefined() -> None:
    vectors, *labels = made(0, 2, 0.5, verbs=3)
    scores = contrasted(vectors, *labels)
    assert scores[CONTRAST].value is not None
    assert scores[CONTRAST].note == "no interval from fewer than 4 verbs"
    assert further(scores) == 0
    said = sentence_of({"none": scores}, "l")
    assert "it is not known" in said
    assert "no interval from fewer than 4 verbs; 3 verbs" in said
    vectors, verbs, senses, tenses = made(0, 2, 0.5)
    alone = contrasted(vectors, verbs, verbs, tenses)
    assert alone[OTHER_SENSE].value is None
    assert alone[OTHER_SENSE].note == "undefined: no occurrence has such partners"
    assert sentence_of({"none": alone}, "l").endswith("no occurrence has such partners.")
    same = contrasted(np.ones_like(vectors), verbs, senses, tenses)
    assert (same[CONTRAST].value, same[RELATIVE].value) == (0, None)
    assert same[RELATIVE].note == "undefined: all vectors of a verb are the same"


def verbs_of(labels: list[np.ndarray]) -> Verbs:
    tenses = ("base", "ing", "past")
    found = tuple(
        Occurrence(f"v{verb}", f"s{sense}", tenses[tense], 0, 0, 1)  # type: ignore[arg-type]
        for verb, sense, tense in zip(*labels, strict=True)
    )
    return Verbs(("text",), found, {})


def test_rows_before_and_after() -> None:
    vectors, *labels = made(0, 2, 0.5)
    clean = vectors.copy()
    clean[:, 0] = 0
    rows, scores = rows_of({"none": vectors, "clean": clean}, verbs_of(labels), "block 3", "how")
    by_name = {(row.correction, row.measure): row for row in rows}
    assert len(by_name) == len(rows) == 7 + 7 + 2
    assert {(row.subject, row.part, row.protocol) for row in rows} == {("", "block 3", "how")}
    direct = contrasted(vectors, *labels)[CONTRAST]
    row = by_name["none", CONTRAST]
    assert (row.value, row.low, row.high) == pytest.approx((direct.value, direct.low, direct.high))
    assert row.extra["verbs"] == 30
    for item in (CONTRAST, RELATIVE):
        after, before = scores["clean"][item], scores["none"][item]
        change = by_name["clean", f"{item}/difference"]
        assert after.value is not None
        assert before.value is not None
        assert change.value == pytest.approx(after.value - before.value)
        assert after.influences is not None
        assert before.influences is not None
        moved = after.influences - before.influences
        half = stats.t.ppf(0.975, 28) * np.std(moved, ddof=1) / math.sqrt(30)
        assert change.high == pytest.approx(change.value + half)
    for name, space in (("none", vectors), ("clean", clean)):
        assert by_name[name, "i1"].log10 == pytest.approx(log10_i1(space), abs=1e-6)


VERBS = {
    "run": ("run", "runs", "running", "ran"),
    "sit": ("sit", "sits", "sitting", "sat"),
    "see": ("see", "sees", "seeing", "saw"),
    "fly": ("fly", "flies", "flying", "flew"),
    "look_up": ("look_up", "looks_up", "looking_up", "looked_up"),
}


def small_semcor(folder: Path) -> Path:
    """Five verbs with two senses of twelve occurrences, and some that do not count."""
    rng = np.random.default_rng(0)
    nouns = ("cat", "dog", "bird", "tree", "boat", "bank")
    said = [
        (str(rng.choice(forms)), lemma, f"{lemma}%2:30:0{sense}::")
        for lemma, forms in VERBS.items()
        for sense, count in ((0, 12), (1, 12), (2, 4))
        for _ in range(count)
    ]
    said += [("'s", "be", "be%2:42:00::")] * 3 + [("ran", "run", "run%2:30:00::;run%2:30:01::")] * 2
    said += [("was", "be", "be%2:42:00::")] * 12
    lines = ["document\tsentence\tposition\tform\tlemma\tpos\tsense"]
    for number, (form, lemma, key) in enumerate(said):
        first, second = rng.choice(nouns, 2)
        tokens = [("the",) * 2, (first,) * 2, (form, lemma, "VB", key), ("on",) * 2, (second,) * 2]
        for place, (word, base, *rest) in enumerate(tokens):
            tag, sense = rest or ("NN", "")
            lines.append(f"brown1/a\t{number}\t{place}\t{word}\t{base}\t{tag}\t{sense}")
    put(folder / "semcor3.tsv.gz", gzip.compress(("\n".join(lines) + "\n").encode()))
    return folder


def test_a_model_from_file_to_sentence(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = small_semcor(tmp_path)
    model = open_model(str(tiny_model("bert")))
    name = "cluster-pc-removal:n_clusters=3:n_components=2"
    found = SENSES.explain(Question(model, data=folder, correction=name, layer="block 2"))
    rows = {(row.correction, row.measure): row for row in found.rows}
    assert {row.part for row in found.rows} == {"block 2"}
    assert {correction for correction, _ in rows} == {"none", name}
    assert rows["none", ALL].n == 120
    assert rows["none", ALL].extra["verbs"] == 5
    assert "120 occurrences of 5 verbs" in rows["none", ALL].protocol
    for row in found.rows:
        assert row.value is not None
    left_out = {entry["reason"]: entry["occurrences"] for entry in found.tables[0].rows}
    assert {left_out[SEVERAL], left_out[NOT_DRAWN]} == {2, 0}
    assert (left_out[UNTOLD], left_out[FEW_SENSES]) == (3, 5 * 4 + 12)
    assert found.sentence.startswith("In block 2 ")
    assert f"After {name} " in found.sentence
    contrast, relative = rows["none", CONTRAST], rows["none", RELATIVE]
    assert contrast.low is not None
    assert relative.value is not None
    assert found.found == (contrast.low > 0 and relative.value > MARGIN)

    # the same by transformers itself, one sentence after the other
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(tiny_model("bert")).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_model("bert"))
    verbs = read_verbs(folder / "semcor3.tsv.gz")
    kept = [one for one in verbs.occurrences if one.lemma != "be" and "02::" not in one.sense]
    vectors = []
    for one in kept:
        inputs = tokenizer(verbs.texts[one.text], return_tensors="pt", return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping")[0]
        with torch.no_grad():
            states = network(**inputs, output_hidden_states=True).hidden_states[2][0]
        inside = (offsets[:, 0] < one.end) & (offsets[:, 1] > one.start)
        vectors.append(states[inside].double().numpy().mean(axis=0))
    labels = [np.array([getattr(one, w) for one in kept]) for w in ("lemma", "sense", "tense")]
    for item, values in brute_force(np.array(vectors), *labels).items():
        assert rows["none", item].value == pytest.approx(np.nanmean(values), rel=1e-5)
    assert rows["none", "i1"].log10 == pytest.approx(log10_i1(np.array(vectors)), abs=1e-3)


def test_layer_and_number_are_the_users(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = small_semcor(tmp_path)
    model = open_model(str(tiny_model("bert")))
    found = SENSES.explain(Question(model, data=folder, correction="none", tokens=50))
    assert {row.part for row in found.rows} == {"block 3"}
    assert {row.correction for row in found.rows} == {"none"}
    assert {row.n for row in found.rows if row.measure in (ALL, "i1")} == {48}
    assert "whole verbs up to 50 occurrences" in found.rows[0].protocol
    assert not found.found
    assert "it is not known" in found.sentence


@pytest.mark.parametrize("named", [True, False])
def test_semcor_is_missed(tiny_model: Callable[[str], Path], tmp_path: Path, named: bool) -> None:
    question = Question(open_model(str(tiny_model("bert"))), data=tmp_path if named else None)
    with pytest.raises(MissingError, match=r"needs SemCor \(semcor3.tsv.gz\).*--data"):
        SENSES.explain(question)
