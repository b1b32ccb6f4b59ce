"""No screen goes by the words of sentences: whatever they are worded like, each has its place.

Every sentence of a real result is replaced by a word of its own. The screen must have all of these
words, apart from the few roles whose sentences it says anew from the rows: these are checked by
their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from screens_for_tests import screen_lines, words_of

import isoscope
from isoscope.results.kinds import grids
from isoscope.results.result import Result, Row
from isoscope.results.screen.diagnoses import without_limits
from isoscope.results.sentences import Sentence, as_remarks, as_verdict, remarks_of
from isoscope.verbs.diff import text as diff_text
from isoscope.verbs.profile import names as profile_names
from isoscope.verbs.threshold import text as threshold_text

RANDOM = np.random.default_rng(12)
DIFF_ROLES = ("COMPARED", "SOURCE", "ALIKE", "DIFFER", "SUPPORT", "KEPT")
THRESHOLD_ROLES = ("EXCLUDED", "WARNING", "CHANGE", "RATE", "RANDOM_PAIRS", "HIGH", "NORMS")
PROFILE_ROLES = (
    "COSINES", "OUTLIERS", "MASSIVE_TOKENS", "CONTEXT", "LAST_LAYER", "OTHER_OUTLIERS",
)  # fmt: skip


def reworded(roles: Sequence[str]) -> list[Sentence]:
    """Return a sentence of every role that says nothing but a word of its own."""
    return [Sentence(role, f"quux{number}x.") for number, role in enumerate(roles)]


def roles_of(module: Any, names: Sequence[str]) -> list[str]:
    return [getattr(module, name) for name in names]


def missing(result: Result, sentences: Sequence[Sentence]) -> list[str]:
    text = words_of(screen_lines(result))
    return [one.role for one in sentences if one.text not in text]


@pytest.fixture(scope="module")
def compared() -> Result:
    a, b = RANDOM.normal(size=(600, 10)) + 1, RANDOM.normal(size=(500, 10)) * 0.5 + 3
    return isoscope.diff(a, b, same_rows=False)


def test_every_role_of_a_comparison_has_its_place(compared: Result) -> None:
    assert {one.role for one in remarks_of(compared)} <= set(roles_of(diff_text, DIFF_ROLES))
    said = reworded(roles_of(diff_text, DIFF_ROLES))
    changed = replace(compared, extra={**compared.extra, **as_remarks(said)})
    assert missing(changed, said) == [diff_text.KEPT]


def test_decisions_about_reuse_are_a_line_each(compared: Result) -> None:
    details = [one.text for one in remarks_of(compared) if one.role == diff_text.KEPT]
    lines = screen_lines(compared)
    for space in ("none", "center", "whiten"):
        own = [row for row in compared.rows if row.part == "keeping" and row.correction == space]
        (line,) = [
            one for one in lines if one.startswith(f"  {'as is' if space == 'none' else space}  ")
        ]
        for row in own:
            if "keep" in row.extra:
                word = {True: "keep", False: "replace", None: "no statement"}[row.extra["keep"]]
                assert word in line
    # A sentence for the threshold of each of three spaces, and for each of two corrections.
    assert len(details) == 5


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("labelled")
    first = RANDOM.normal(size=(150, 16)) + 1.5
    vectors = np.concatenate([first, first + 0.5 * RANDOM.normal(size=(150, 16))])
    rows = [f"{i}\t{150 + i}\t1\n{i}\t{150 + (i + 7) % 150}\t0\n" for i in range(150)]
    (folder / "pairs.tsv").write_text("row1\trow2\tscore\n" + "".join(rows))
    how = {"pairs": folder / "pairs.tsv", "precision": 0.8, "corrections": "none,center,whiten"}
    return isoscope.threshold(vectors, **how).result


def test_every_role_of_thresholds_has_its_place(labelled: Result) -> None:
    roles = roles_of(threshold_text, THRESHOLD_ROLES)
    assert {one.role for one in remarks_of(labelled)} <= set(roles)
    said = reworded(roles)
    changed = replace(labelled, extra={**labelled.extra, **as_remarks(said)})
    # What the 99th percentile is stands in the table of random pairs.
    assert missing(changed, said) == [threshold_text.RANDOM_PAIRS]
    plain = isoscope.threshold(RANDOM.normal(size=(300, 8)) + 1).result
    said = reworded([threshold_text.RANDOM_PAIRS, threshold_text.HIGH, threshold_text.NORMS])
    assert missing(replace(plain, extra={**plain.extra, **as_remarks(said)}), said) == []
    percentile = plain.value("random-pairs/99%")
    assert f"{percentile:.3f}" in words_of(screen_lines(plain))


def test_every_correction_has_its_change_on_the_screen(labelled: Result) -> None:
    text = words_of(screen_lines(labelled))
    told = [one for one in remarks_of(labelled) if one.role == threshold_text.CHANGE]
    *changes, single = told
    assert [one.text.split(":")[0] for one in changes] == ["center", "whiten"]
    assert single.text == threshold_text.SINGLE_CHANGES
    assert all(one.short in text for one in told)


def test_every_role_of_a_profile_has_its_place() -> None:
    how = "900 tokens of 9 texts"
    rows = [Row("m", f"block {k}", "none", "mean_cosine", 0.1 * k, protocol=how) for k in range(4)]
    said = reworded(roles_of(profile_names, PROFILE_ROLES))
    layer = {"subject": "m", "part": "block 3", "cause": "none", "sentence": "A.", "also": ["B9."]}
    verdicts = [layer, {"subject": "m", "part": "", **as_verdict(said)}]
    result = Result(rows, verdicts=verdicts, extra={"kind": "profile"})
    assert missing(result, said) == []
    assert "B9." in words_of(screen_lines(result))
    old = {**verdicts[1], "sentences": []}
    assert missing(replace(result, verdicts=[layer, old]), said) == []


def test_every_finding_of_a_diagnosis_has_its_place() -> None:
    vectors = RANDOM.normal(size=(900, 32)) + 1
    vectors[:, 3] *= 9
    vectors[:, 5] = 2
    result = isoscope.measure(vectors)
    (verdict,) = result.verdicts
    assert len(verdict["also"]) >= 2
    text = words_of(screen_lines(result))
    for sentence in (verdict["sentence"], *verdict["also"]):
        assert without_limits(sentence) in text
    changed = {**verdict, "sentence": "quux0x.", "also": ["quux1x.", "quux2x."]}
    text = words_of(screen_lines(replace(result, verdicts=[changed])))
    assert all(f"quux{k}x." in text for k in range(3))
    details = " ".join(line for grid in grids(result) for line in grid.verdict)
    assert verdict["sentence"] in details
