"""Texts of studies: the user's, the papers' own, and draws from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError
from isoscope.verbs.study.inputs import find_text, some_texts, sst_2_train, sts_b_dev
from isoscope.verbs.study.registry import find_study


def strings(source: object) -> list[str]:
    return [text.text for text in source.texts()]  # type: ignore[attr-defined]


def sts_line(first: str, second: str, *more: str) -> str:
    return "\t".join(["main-news", "MSRpar", "2012", "0001", "5.000", first, second, *more])


def test_sts_b_quotes_nothing_and_may_have_licences(tmp_path: Path) -> None:
    folder = tmp_path / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    lines = [sts_line('"A plane', "An air\u0085plane"), sts_line("b", "c", "licence", "other")]
    (folder / "sts-dev.csv").write_text("\n".join(lines) + "\n", "utf-8")
    source = sts_b_dev(tmp_path)
    assert source is not None
    assert strings(source) == ['"A plane', "An air\u0085plane", "b", "c"]
    assert source.name == "STS-B dev"
    (folder / "sts-dev.csv").write_text("only\tthree\tfields\n")
    with pytest.raises(DataError, match="line 1 has 3 fields"):
        sts_b_dev(tmp_path)


def test_sst_2_has_a_header(tmp_path: Path) -> None:
    folder = tmp_path / "glue" / "SST-2"
    folder.mkdir(parents=True)
    (folder / "train.tsv").write_text('sentence\tlabel\nit is "good \t1\nbad \t0\n')
    source = sst_2_train(tmp_path)
    assert source is not None
    assert strings(source) == ['it is "good ', "bad "]
    assert sst_2_train(folder) is None


def test_which_text_is_read(tmp_path: Path) -> None:
    study = find_study("L-F3.2")
    with pytest.raises(UsageError, match="L-F3.2 reads a text .* --text or have it"):
        find_text(study, None, None, tmp_path)
    given = find_text(study, ["a", "b"], None, tmp_path)
    assert strings(given) == ["a", "b"]
    (tmp_path / "SST-2").mkdir()
    (tmp_path / "SST-2" / "train.tsv").write_text("sentence\tlabel\nfine\t1\n")
    assert strings(find_text(study, None, None, tmp_path)) == ["fine"]
    assert strings(find_text(study, ["mine"], None, tmp_path)) == ["mine"]
    with pytest.raises(UsageError, match="B-T1 reads no text"):
        find_text(find_study("B-T1"), ["a"], None, None)
    with pytest.raises(UsageError, match="text-column"):
        find_text(study, None, "sentence", tmp_path)
    assert find_text(find_study("L-LN"), None, None, tmp_path) is None


def test_a_draw_keeps_the_order_and_follows_the_seed() -> None:
    texts = [f"text {k}" for k in range(50)]
    source = open_texts(texts)
    drawn = strings(some_texts(source, 20, 0))
    assert len(drawn) == 20
    assert drawn == sorted(drawn, key=texts.index)
    assert drawn == strings(some_texts(source, 20, 0))
    assert drawn != strings(some_texts(source, 20, 1))
    assert "20 of 50" in some_texts(source, 20, 0).name
    assert some_texts(source, 50, 0) is source
