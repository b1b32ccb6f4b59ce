"""Line-aligned files in the layouts of Multi30k and WMT16, and what may be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_pairs_for_tests import save_aligned, toy_pairs

from isoscope.errors import DataError, UsageError
from isoscope.verbs.train.finetune.parallel_data import PairData, WrittenPair, translation_data

TASK = "translate:xx-yy"


def test_the_layout_of_multi30k(tmp_path: Path) -> None:
    train, val, test = toy_pairs(20, 0), toy_pairs(5, 1), toy_pairs(6, 2)
    for stem, pairs in (("train", train), ("val", val), ("test_2016_flickr", test)):
        save_aligned(tmp_path / "multi30k", stem, pairs, packed=True)
    found = translation_data(TASK, tmp_path)
    assert (list(found.train), list(found.dev), list(found.scored)) == (train, val, test)
    assert found.notes == ()
    assert found.languages == ("xx", "yy")
    turned = translation_data("translate:yy-xx", tmp_path / "multi30k")
    assert turned.train[3] == WrittenPair(*train[3][::-1])


def test_one_part_is_cut_at_its_end(tmp_path: Path) -> None:
    pairs = toy_pairs(25)
    save_aligned(tmp_path, "newsdev2016", pairs)
    found = translation_data(TASK, tmp_path)
    assert list(found.train) == pairs[:23]
    assert list(found.scored) == pairs[23:]
    (note,) = found.notes
    assert "newsdev2016.xx is the only part" in note
    assert "last 2 pairs" in note


def test_the_last_part_is_scored(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(8))
    save_aligned(tmp_path, "dev", toy_pairs(3, 1))
    found = translation_data(TASK, tmp_path)
    assert (len(found.train), len(found.scored), found.dev) == (8, 3, ())
    assert found.notes == ("trained on train.xx, scored on dev.xx",)


def test_pairs_with_an_empty_side_are_left_out(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", [("a", "A"), ("", "B"), ("c", " "), ("d", "D")])
    save_aligned(tmp_path, "test", [("e", "E")])
    found = translation_data(TASK, tmp_path)
    assert found.train == (("a", "A"), ("d", "D"))
    assert found.notes == ("2 pairs that have an empty side left out of train.xx",)


def test_a_limit_shuffles_once() -> None:
    pairs = tuple(WrittenPair(*pair) for pair in toy_pairs(30))
    data = PairData(pairs, pairs[:1])
    assert data.first(None) == data.first(30) == pairs
    assert data.first(10) == data.first(20)[:10]
    assert len(data.first(10)) == 10
    assert data.first(10) != pairs[:10]


def test_files_that_are_not_aligned(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(4))
    (tmp_path / "train.yy").write_text("A\nB\n")
    with pytest.raises(DataError, match=r"train\.xx has 4 lines, but .*train\.yy has 2"):
        translation_data(TASK, tmp_path)


def test_empty_files(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(4))
    (tmp_path / "train.yy").write_text("")
    with pytest.raises(DataError, match=r"train\.yy is empty"):
        translation_data(TASK, tmp_path)


def test_a_side_that_is_missing(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(4))
    (tmp_path / "test.xx").write_text("cat\n")
    with pytest.raises(UsageError, match=r"test\.xx has no test\.yy beside it"):
        translation_data(TASK, tmp_path)
    (tmp_path / "train.yy").unlink()
    with pytest.raises(UsageError, match=r"needs line-aligned files.*train\.xx has no train\.yy"):
        translation_data(TASK, tmp_path)


def test_another_test_set_of_one_language_is_no_matter(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(4))
    save_aligned(tmp_path, "test_2017", toy_pairs(3, 1))
    (tmp_path / "test_2016.xx").write_text("cat\n")
    assert len(translation_data(TASK, tmp_path).scored) == 3


def test_two_folders_with_the_same_languages(tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_aligned(tmp_path / name, "train", toy_pairs(20))
    with pytest.raises(UsageError, match="more than once: .*one, .*other"):
        translation_data(TASK, tmp_path)
    assert len(translation_data(TASK, tmp_path / "one").train) == 18


def test_too_few_pairs_to_hold_any_out(tmp_path: Path) -> None:
    save_aligned(tmp_path, "dev", toy_pairs(9))
    with pytest.raises(DataError, match="9 pairs: too few"):
        translation_data(TASK, tmp_path)


@pytest.mark.parametrize("task", ["translate", "translate:de", "translate:de-de", "translate:-en"])
def test_languages_must_be_named(task: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="translate:de-en"):
        translation_data(task, tmp_path)


def test_no_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    with pytest.raises(UsageError, match="name the folder that holds them with --data"):
        translation_data(TASK)
