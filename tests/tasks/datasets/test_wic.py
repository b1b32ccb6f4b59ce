"""WiC: sentences with a word's place in each."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError

ROWS = ["run\tV\t1-0\tShe runs .\tRan\xa0 a mile .", "été\tN\t2-3\tun  bel été\tL' an , été ."]


def split(folder: Path, name: str, rows: list[str] = ROWS, labels: str = "T\nF\n") -> Path:
    put(folder / "WiC" / name / f"{name}.data.txt", "\n".join(rows) + "\n")
    put(folder / "WiC" / name / f"{name}.gold.txt", labels)
    return folder


@OTHER_SIZE
@pytest.mark.parametrize("inside", ["", "WiC"])
def test_indices_count_tokens_and_spans_count_characters(tmp_path: Path, inside: str) -> None:
    for name in ("train", "dev", "test"):
        split(tmp_path, name)
    examples = load("wic", tmp_path / inside)
    assert [one.split for one in examples] == ["train"] * 2 + ["dev"] * 2 + ["test"] * 2
    run, summer = examples[:2]
    assert (run.word, run.part_of_speech, run.same) == ("run", "V", True)
    assert (run.first_index, run.second_index) == (1, 0)
    assert (run.first_span, run.second_span) == ((4, 8), (0, 3))
    assert (summer.word, summer.part_of_speech, summer.same) == ("été", "N", False)
    for one, words in ((run, ("runs", "Ran")), (summer, ("été", "été"))):
        assert one.first[slice(*one.first_span)] == words[0]
        assert one.second[slice(*one.second_span)] == words[1]
    assert run.second == "Ran\xa0 a mile ."


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([ROWS[0], "a\tN\t0-0\tb"], "T\nF\n", "dev.data.txt: line 2 has 4 columns"),
        ([ROWS[0], "a\tN\t0\ta\ta"], "T\nF\n", "line 2: column 3 .*not '0'"),
        ([ROWS[0], "a\tN\t0-1\ta\ta"], "T\nF\n", "line 2: there is no token 1 in 'a'"),
        (ROWS, "T\n1\n", "dev.gold.txt: line 2: the label '1' is unknown; expected T or F"),
        (ROWS, "T\n", "dev.data.txt has 2 lines, but .*dev.gold.txt has 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rows: list[str], labels: str, message: str) -> None:
    split(tmp_path, "dev", rows, labels)
    with pytest.raises(DataError, match=message):
        load("wic", tmp_path, ["dev"])


@OTHER_SIZE
def test_a_split_without_labels_is_named_when_it_is_read(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        split(tmp_path, name)
    (tmp_path / "WiC" / "test" / "test.gold.txt").unlink()
    assert len(load("wic", tmp_path, ["train", "dev"])) == 4
    with pytest.raises(UsageError, match="no test.gold.txt in .*labels T or F"):
        load("wic", tmp_path)


@WITH_DATA
def test_the_real_files() -> None:
    sizes = {"train": 5428, "dev": 638, "test": 1400}
    assert counted("wic", by=lambda one: one.split) == sizes
    assert counted("wic", ["test"], lambda one: one.same) == {True: 700, False: 700}
    alike = counted(
        "wic",
        by=lambda one: one.word[0] == one.first[slice(*one.first_span)][0].lower(),
    )
    assert alike[True] > 0.98 * sum(sizes.values())
