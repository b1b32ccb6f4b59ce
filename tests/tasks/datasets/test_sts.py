"""SemEval's yearly files and the STS benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.sts import SUBSETS
from isoscope.tasks.registry import TextPair


def year(folder: Path, short: int = 16, texts: str = "a b\tc\n", gold: str = "1\n") -> None:
    prefix = "STS2016" if short == 16 else "STS"
    for subset in SUBSETS[2000 + short]:
        put(folder / f"STS{short}-en-test" / f"{prefix}.input.{subset}.txt", texts)
        put(folder / f"STS{short}-en-test" / f"{prefix}.gs.{subset}.txt", gold)


@OTHER_SIZE
@pytest.mark.parametrize("short", [12, 13, 14, 15, 16])
def test_subsets_are_kept_apart_and_files_of_all_are_not_read(tmp_path: Path, short: int) -> None:
    year(tmp_path / "STS", short)
    prefix = "STS2016" if short == 16 else "STS"
    for kind in ("gs", "input"):
        put(tmp_path / "STS" / f"STS{short}-en-test" / f"{prefix}.{kind}.ALL.txt", "x\ty\n")
    expected = [TextPair("a b", "c", 1, subset) for subset in SUBSETS[2000 + short]]
    assert load(f"sts-{short}", tmp_path) == expected
    assert load(f"sts-{short}", tmp_path / "STS") == expected
    assert load(f"sts-{short}", tmp_path / "STS" / f"STS{short}-en-test") == expected


@OTHER_SIZE
def test_blank_gold_lines_are_pairs_without_a_score(tmp_path: Path) -> None:
    texts = 'one\ttwo\tfrom\tfrom\n"three\tfour"\nfive\tsix\x85\r\nseven \teight\n'
    year(tmp_path, texts=texts, gold="\n4.50\n0\r\n\n")
    pairs = load("sts-16", tmp_path, ["headlines"])
    assert pairs == [
        TextPair('"three', 'four"', 4.5, "headlines"),
        TextPair("five", "six\x85", 0, "headlines"),
    ]


@OTHER_SIZE
def test_a_blank_last_line_of_scores_counts(tmp_path: Path) -> None:
    year(tmp_path, texts="a\tb\nc\td\n", gold="1\n\n")
    assert len(load("sts-16", tmp_path, ["headlines"])) == 1


@pytest.mark.parametrize(
    ("texts", "gold", "message"),
    [
        ("a\tb\nc\n", "1\n2\n", "input.headlines.txt: line 2 has 1 columns .*expected 2 to 4"),
        ("a\tb\n\nc\td\n", "1\n2\n3\n", "input.headlines.txt: line 2 has"),
        ("a\tb\nc\t \n", "1\n2\n", "line 2 has an empty text"),
        ("a\tb\nc\td\n", "1\nx\n", "gs.headlines.txt: line 2: the score .* not 'x'"),
        ("a\tb\nc\td\n", "1\n5.5\n", "line 2: the score .* 0 to 5"),
        ("a\tb\nc\td\n", "1\nnan\n", "line 2: the score"),
        ("a\tb\nc\td\n", "1\n2\n3\n", "input.headlines.txt has 2 lines, but .* has 3"),
        ("a\tb\n", "\n", "holds no pairs"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(
    tmp_path: Path, texts: str, gold: str, message: str
) -> None:
    year(tmp_path, texts=texts, gold=gold)
    with pytest.raises(DataError, match=message):
        load("sts-16", tmp_path, ["headlines"])


def test_what_is_missing_is_named_with_its_layout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no STS12-en-test/STS.input.MSRpar.txt in .*blank where"):
        load("sts-12", tmp_path)
    year(tmp_path, 16)
    (tmp_path / "STS16-en-test" / "STS2016.gs.headlines.txt").unlink()
    with pytest.raises(UsageError, match="no STS2016.gs.headlines.txt in .*STS2016"):
        load("sts-16", tmp_path)
    with pytest.raises(UsageError, match="no part of sts-16 is called 'SMT'.*plagiarism"):
        load("sts-16", tmp_path, ["SMT"])


def test_another_number_of_pairs_is_a_warning(tmp_path: Path) -> None:
    year(tmp_path)
    with pytest.warns(UserWarning, match="headlines.txt holds 1 pairs; .* of sts-16 it holds 249"):
        assert len(load("sts-16", tmp_path, ["headlines"])) == 1


ROW = 'main-news\tMSRpar\t2012test\t0001\t3.800\tHe said "yes.\t"So" it was'


@OTHER_SIZE
def test_the_benchmark_quotes_nothing(tmp_path: Path) -> None:
    rows = f"{ROW}\n{ROW}\tsource\tsource\n"
    for split in ("train", "dev", "test"):
        put(tmp_path / "STS" / "STSBenchmark" / f"sts-{split}.csv", rows)
    pair = TextPair('He said "yes.', '"So" it was', 3.8, "test")
    assert load("sts-b", tmp_path) == [pair, pair]
    assert [pair.subset for pair in load("sts-b", tmp_path, ["dev"])] == ["dev", "dev"]


def test_a_wrong_row_of_the_benchmark(tmp_path: Path) -> None:
    put(tmp_path / "STSBenchmark" / "sts-test.csv", f"{ROW}\na\tb\tc\n")
    with pytest.raises(DataError, match="sts-test.csv: line 2 has 3 columns .*7 to 9: genre"):
        load("sts-b", tmp_path)


@WITH_DATA
@pytest.mark.parametrize("short", [12, 13, 14, 15, 16])
def test_the_real_years(short: int) -> None:
    subsets = counted(f"sts-{short}", by=lambda pair: pair.subset)
    assert subsets == SUBSETS[2000 + short]
    assert sum(subsets.values()) == {12: 3108, 13: 1500, 14: 3750, 15: 3000, 16: 1186}[short]


@WITH_DATA
def test_the_real_benchmark() -> None:
    assert counted("sts-b") == {"": 1379}
    everything = counted("sts-b", ["train", "dev", "test"], lambda pair: pair.subset)
    assert everything == {"train": 5749, "dev": 1500, "test": 1379}
