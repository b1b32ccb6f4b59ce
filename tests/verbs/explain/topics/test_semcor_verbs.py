"""Verbs of a small SemCor made by hand, and their vectors."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import WITH_DATA, put

from isoscope.errors import DataError, UsageError
from isoscope.models.model import open_model
from isoscope.models.sentences.pooling import pooled_spaces
from isoscope.models.tokens import Mention
from isoscope.tasks.registry import find_task
from isoscope.verbs.explain.topics.verb_occurrences import (
    CUT_OFF,
    FEW_SENSES,
    NOT_DRAWN,
    SEMCOR,
    SEVERAL,
    UNTOLD,
    Occurrence,
    Verbs,
    drawn,
    means,
    read_verbs,
    semcor_verbs,
    verb_spaces,
    with_several_senses,
)

HEADER = "document\tsentence\tposition\tform\tlemma\tpos\tsense"
TOKENS = [
    "a\t1\t0\tThe_cat\tcat\tNN\tcat%1:05:00::",
    "a\t1\t1\tsat_down\tsit_down\tVB\tsit_down%2:35:00::",
    "a\t1\t2\tand\tand\tCC\t",
    "a\t1\t3\truns\trun\tVB\trun%2:38:00::",
    "a\t2\t0\tHe\the\tPRP\t",
    "a\t2\t1\t's\tbe\tVB\tbe%2:42:03::",
    "a\t2\t2\tRunning\trun\tVB\trun%2:38:00::",
    "a\t2\t3\thad\thave\tVBD\t",
    "b\t2\t0\tran\trun\tVB\trun%2:38:00::;run%2:38:04::",
]  # fmt: skip


def written(folder: Path, lines: list[str]) -> Path:
    content = gzip.compress(("\n".join(lines) + "\n").encode())
    return put(folder / "semcor" / "semcor3.tsv.gz", content)


def many(counts: dict[tuple[str, str], int]) -> Verbs:
    """Occurrences of senses, each in a text of its own."""
    keys = [key for key, count in counts.items() for _ in range(count)]
    found = tuple(
        Occurrence(lemma, sense, "base", k, 0, 1) for k, (lemma, sense) in enumerate(keys)
    )
    return Verbs(tuple(f"{lemma} {k}" for k, (lemma, _) in enumerate(keys)), found, {UNTOLD: 2})


@pytest.mark.parametrize("header", [True, False])
def test_verbs_stand_where_they_are_said_to(tmp_path: Path, header: bool) -> None:
    path = written(tmp_path, [HEADER] * header + TOKENS)
    assert find_task(SEMCOR).find(tmp_path) == path
    verbs = read_verbs(path)
    assert verbs.texts == ("The cat sat down and runs", "He 's Running had", "ran")
    sit, run = "sit_down%2:35:00::", "run%2:38:00::"
    assert verbs.occurrences == (
        Occurrence("sit_down", sit, "past", 0, 8, 16),
        Occurrence("run", run, "s", 0, 21, 25),
        Occurrence("run", run, "ing", 1, 6, 13),
    )
    spans = [verbs.texts[one.text][one.start : one.end] for one in verbs.occurrences]
    assert spans == ["sat down", "runs", "Running"]
    assert verbs.left_out == {SEVERAL: 1, UNTOLD: 1}


def test_files_that_are_not_semcor(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2 has 2 columns .* expected 7"):
        read_verbs(written(tmp_path, [HEADER, "a\tb"]))
    with pytest.raises(UsageError, match=r"semcor3\.tsv\.gz"):
        semcor_verbs(None, None, 0)
    with pytest.raises(DataError, match="no verb of SemCor has 2 senses of 10"):
        with_several_senses(many({("go", "a"): 30, ("go", "b"): 9}))


def test_only_frequent_senses_of_verbs_with_two_count() -> None:
    counts = {("go", "a"): 10, ("say", "x"): 40, ("go", "b"): 11, ("go", "c"): 9, ("say", "y"): 9}
    verbs = with_several_senses(many(counts))
    assert Counter((one.lemma, one.sense) for one in verbs.occurrences) == {
        ("go", "a"): 10,
        ("go", "b"): 11,
    }
    assert verbs.lemmas == 1
    assert verbs.left_out == {UNTOLD: 2, FEW_SENSES: 58}
    # texts without a verb that counts are gone, and the others have new numbers
    assert len(verbs.texts) == 21
    assert [verbs.texts[one.text] for one in verbs.occurrences][10] == "go 50"


def test_draws() -> None:
    verbs = many({(lemma, sense): 40 for lemma in "abcdef" for sense in "xy"})
    some = drawn(verbs, None, seed=1, each=30)
    assert Counter(one.lemma for one in some.occurrences) == dict.fromkeys("abcdef", 30)
    assert some.left_out == {UNTOLD: 2, NOT_DRAWN: 6 * 50}
    assert some == drawn(verbs, None, seed=1, each=30)
    assert {drawn(verbs, None, seed, each=30).texts for seed in range(5)} != {some.texts}
    numbers = [int(text.split()[1]) for text in some.texts]
    assert numbers == sorted(numbers)  # as they stand in SemCor, whatever the order of the draw
    assert [one.text for one in some.occurrences] == list(range(180))
    senses = Counter(one.sense for one in some.occurrences)
    assert abs(senses["x"] - 90) < 40  # both senses have the same chance
    few = drawn(verbs, 70, seed=1, each=30)
    counts = Counter(one.lemma for one in few.occurrences)
    assert list(counts.values()) == [30, 30]
    assert drawn(verbs, 1, seed=1, each=30).lemmas == 1
    chosen = {
        lemma
        for seed in range(20)
        for lemma in {one.lemma for one in drawn(verbs, 70, seed, each=30).occurrences}
    }
    assert chosen == set("abcdef")
    assert Counter(one.lemma for one in drawn(verbs, None, 0).occurrences)["a"] == 80


def test_labels_number_what_is_alike() -> None:
    verbs = many({("go", "a"): 2, ("say", "b"): 1, ("go", "c"): 1})
    assert verbs.labels("lemma").tolist() == [0, 0, 1, 0]
    assert verbs.labels("sense").tolist() == [0, 0, 1, 2]
    assert verbs.labels("tense").tolist() == [0, 0, 0, 0]


def test_means_of_tokens() -> None:
    tokens = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])
    assert means(tokens, np.array([1, 3])).tolist() == [[1, 2], [5, 6]]


def test_vectors_are_means_of_corrected_tokens(tiny_model: Callable[[str], Path]) -> None:
    texts = [
        "the cat sat on that tree", "it was " + "the old river " * 20 + "and ran",
        "a bird saw it and flew looked up", "is", "running dog ran",
    ]  # fmt: skip
    words = [(0, "sat"), (1, "ran"), (2, "flew"), (2, "looked up"), (2, "saw"), (4, "running")]
    occurrences = tuple(
        Occurrence(
            word, "x", "past", text, texts[text].index(word), texts[text].index(word) + len(word)
        )
        for text, word in words
    )
    verbs = Verbs((*texts,), occurrences, {})
    model = open_model(str(tiny_model("bert")))
    layer = model.stacks[0].layers[-1]
    name = "all-but-the-top:n_components=2"
    kept, spaces = verb_spaces(model, verbs, layer, [name])
    assert [one.lemma for one in kept.occurrences] == [word for _, word in words if word != "ran"]
    assert kept.left_out == {CUT_OFF: 1}
    assert list(spaces) == ["none", name]

    mentions = [Mention(one.text, one.start, one.end) for one in occurrences]
    seen: list[np.ndarray] = []
    raw = pooled_spaces(
        model, texts, [layer], "mean", False, {}, mentions=mentions,
        watch=lambda _, tokens: seen.append(tokens.double().numpy()),
    )[layer][""]  # fmt: skip
    present = np.array([0, 2, 3, 4, 5])
    assert spaces["none"] == pytest.approx(raw[present].astype(float), abs=1e-5)
    tokens = np.concatenate(seen)
    centred = tokens - tokens.mean(axis=0)
    top = np.linalg.svd(centred, full_matrices=False)[2][:2]
    expected = raw[present] - tokens.mean(axis=0)
    expected = expected - expected @ top.T @ top
    assert spaces[name] == pytest.approx(expected, abs=1e-4)  # the network is single precision


@WITH_DATA
def test_the_release() -> None:
    verbs = read_verbs(find_task(SEMCOR).find(Path(os.environ["ISOSCOPE_DATA"])))
    assert len(verbs.texts) == 37_176
    assert verbs.left_out[UNTOLD] < 0.01 * len(verbs.occurrences)
    assert with_several_senses(verbs).lemmas == 316
