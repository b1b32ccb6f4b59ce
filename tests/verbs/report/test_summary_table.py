from __future__ import annotations

import csv
import io
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.corrections import all_corrections
from isoscope.errors import DataError, UsageError
from isoscope.measures.registry import all_measures
from isoscope.results.result import Result, Row
from isoscope.verbs.report.api import report
from isoscope.verbs.report.references import CORRECTIONS, OWN, bibliography, cited, entries
from isoscope.verbs.report.summary_table import latex


def row(
    subject: str = "glove",
    measure: str = "mean_cosine",
    value: float | None = 0.5,
    part: str = "",
    correction: str = "none",
    log10: float | None = None,
    protocol: str = "",
) -> Row:
    return Row(subject, part, correction, measure, value, log10, protocol=protocol)


TWO = [
    Result(
        [
            row(value=0.123456),
            row(value=-0.01, correction="center"),
            row(measure="i1_scaled", value=0.0, log10=-400.26),
            row(measure="i1_scaled", value=0.9, log10=-0.0457, correction="center"),
        ]
    ),
    Result(
        [
            row("mini_lm", value=None),
            row("mini_lm", "i1_scaled", 2e-7, log10=-6.69897),
            row("mini_lm", "mean_norm", 1234.56),
        ]
    ),
]


def body(text: str) -> list[list[str]]:
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_markdown_table_of_two_results() -> None:
    table = body(report(TWO, columns=["mean_cosine", "i1_scaled", "mean_norm"]))
    assert table == [
        ["model", "mean_cosine", "i1_scaled", "mean_norm"],
        ["---", "---:", "---:", "---:"],
        ["glove", "0.1235", "10^-400.3", ""],
        ["mini_lm", "–", "10^-6.6990", "1234.6"],
    ]


def test_digits() -> None:
    table = body(report(TWO, columns=["mean_*", "i1_scaled"], digits=1))
    assert table[2:] == [["glove", "0.1", "", "10^-400"], ["mini_lm", "–", "1235", "10^-6.7"]]


def test_several_corrections_have_columns_each() -> None:
    table = body(report(TWO, columns=["mean_cosine", "i1*"], corrections=["none", "center"]))
    assert table[0] == [
        "model",
        "mean_cosine (none)",
        "mean_cosine (center)",
        "i1_scaled (none)",
        "i1_scaled (center)",
    ]
    assert table[2] == ["glove", "0.1235", "-0.0100", "10^-400.3", "0.9000"]
    assert table[3] == ["mini_lm", "–", "", "10^-6.6990", ""]
    assert body(report(TWO, corrections=["center"]))[0][1] == "mean_cosine (center)"


def test_corrections_as_rows() -> None:
    table = body(
        report(TWO, rows=["model", "correction"], columns=["mean_cosine"], corrections=["*"])
    )
    assert table[0] == ["model", "correction", "mean_cosine"]
    assert table[2:] == [
        ["glove", "none", "0.1235"],
        ["glove", "center", "-0.0100"],
        ["mini_lm", "none", "–"],
    ]


def test_parts_and_protocols() -> None:
    result = Result(
        [
            row(part="block 1", value=0.25, protocol="all tokens"),
            row(part="block 2", value=0.75, protocol="all tokens"),
            row(part="block 2", value=0.5, protocol="without the first"),
        ]
    )
    with pytest.raises(UsageError, match="two values of mean_cosine for glove block 2; .*protocol"):
        report([result])
    table = body(report([result], rows=["part", "protocol"]))
    assert table[2:] == [
        ["block 1", "all tokens", "0.2500"],
        ["block 2", "all tokens", "0.7500"],
        ["block 2", "without the first", "0.5000"],
    ]
    with pytest.raises(UsageError, match="differ in part; tell them apart with --rows model,part"):
        report([Result(result.rows[:2])], rows=["model"])
    with pytest.raises(UsageError, match="from two results; name one of them"):
        report([Result([row(value=1.0)]), Result([row(value=2.0)])])
    assert len(body(report([TWO[0], TWO[0]]))) == 3
    assert "glove: all tokens" in report([Result(result.rows[:2])])


def test_names_that_are_not_there() -> None:
    with pytest.raises(UsageError, match=r"'i7'; .*known: i1_scaled, mean_cosine, mean_norm"):
        report(TWO, columns=["i7"])
    with pytest.raises(UsageError, match="no correction in these results is called 'whiten'"):
        report(TWO, corrections=["whiten"])
    with pytest.raises(UsageError, match="no kind of row is called 'layer'"):
        report(TWO, rows=["layer"])
    with pytest.raises(UsageError, match="name at least one measure"):
        report(TWO, columns=[])
    with pytest.raises(UsageError, match="mean_norm with the correction center"):
        report(TWO, columns=["mean_norm"], corrections=["center"])
    with pytest.raises(DataError, match="hold no numbers"):
        report([Result([])])
    with pytest.raises(UsageError, match="there is no format 'html'"):
        report(TWO, format="html")  # type: ignore[arg-type]


def test_aliases_and_names_without_options() -> None:
    assert body(report(TWO, columns=["inter_sim"]))[0] == ["model", "mean_cosine"]
    rows = [row(measure="local_i1:clusters=5"), row(measure="cosine_quantiles/50%")]
    assert body(report([Result(rows)], columns=["local_i1", "cosine_quantiles"]))[0][1:] == [
        "local_i1:clusters=5",
        "cosine_quantiles/50%",
    ]


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1),
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 0)),
        min_size=1,
    )
)
def test_csv_parses_back_to_the_same_numbers(values: dict[str, tuple[float, float]]) -> None:
    rows = [row(name, "i1", value, log10=log10) for name, (value, log10) in values.items()]
    found = parsed(report([Result(rows)], format="csv"))
    assert [line["model"] for line in found] == list(values)
    for line, (value, log10) in zip(found, values.values(), strict=True):
        assert (float(line["i1"]), float(line["i1 log10"])) == (value, log10)
        assert math.copysign(1, float(line["i1"])) == math.copysign(1, value)


def test_csv_of_real_numbers() -> None:
    cloud = np.random.default_rng(0).normal(1, 1, (60, 5))
    result = isoscope.measure(cloud, corrections=["none", "center"])
    (line,) = parsed(report([result], corrections=["none", "center"], format="csv"))
    assert line["part"] == ""
    for one in result.rows:
        name = one.measure if one.correction == "none" else f"{one.measure}@{one.correction}"
        assert line[name] == ("" if one.value is None else repr(one.value))
        if one.log10 is not None:
            assert float(line[f"{name} log10"]) == one.log10


def latex_rows(text: str) -> tuple[str, list[list[str]]]:
    (kinds,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)
    lines = [line for line in text.split("\n") if line.endswith(r" \\")]
    cells = [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]
    return kinds, [[cell.strip() for cell in line] for line in cells]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
def test_latex_has_as_many_cells_as_columns(names: list[str]) -> None:
    rows = [row(name, value=-1e-9, part=name[::-1]) for name in names]
    text = report([Result(rows)], format="latex")
    kinds, lines = latex_rows(text)
    assert len(lines) == len(names) + 1
    assert {len(line) for line in lines} == {len(kinds)}
    depth = [len(re.findall(r"(?<!\\)\{", line)) - len(re.findall(r"(?<!\\)\}", line))
             for line in text.split("\n")]  # fmt: skip
    assert set(depth) == {0}


def test_a_latex_table() -> None:
    text = report(TWO, columns=["mean_cosine", "i1_scaled", "mean_norm"], format="latex")
    assert text.split("\n")[1:] == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"model & mean\_cosine & i1\_scaled & mean\_norm \\",
        r"\midrule",
        r"glove & $0.1235$ & $10^{-400.3}$ &  \\",
        r"mini\_lm & -- & $10^{-6.6990}$ & $1234.6$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert text.startswith("% depending on the length of the vectors")
    assert text.split("\n")[0].endswith(": mean_norm")
    small = report([Result([row(value=-1.5e-9)])], format="latex")
    assert r"$-1.50 \cdot 10^{-9}$" in small


def test_latex_signs_are_escaped() -> None:
    assert latex("a_b & 50% {x} $1 #2 ~ ^ \\ <|>") == (
        r"a\_b \& 50\% \{x\} \$1 \#2 \textasciitilde{} \textasciicircum{} \textbackslash{} "
        r"\textless{}\textbar{}\textgreater{}"
    )


def test_markdown_signs_and_lines_in_names() -> None:
    text = report([Result([row("a|b\nc*")])])
    assert r"| a\|b c\* |" in text


def test_every_measure_and_correction_has_something_to_cite() -> None:
    known = entries()
    assert OWN in known
    for item in all_measures():
        assert set(cited(item.reference)) <= known.keys(), item.name
        if re.search(r"\b(19|20)\d\d\b", item.reference):
            assert cited(item.reference) != [OWN], item.name
    assert CORRECTIONS.keys() == all_corrections().keys()
    for reference in CORRECTIONS.values():
        assert set(cited(reference)) <= known.keys() - {OWN}


@pytest.mark.parametrize(
    ("reference", "keys"),
    [
        ("Luo et al. 2021, definition 3; Ethayarajh 2019", ["luo2021", "ethayarajh2019"]),
        ("Timkey & van Schijndel 2021", ["timkey2021"]),
        ("after Roy & Vetterli 2007, who take singular values", ["roy2007"]),
        ("Radovanović et al. 2010, section 3", ["radovanovic2010"]),
        ("ours; about i1²", [OWN]),
    ],
)
def test_papers_are_found_in_references(reference: str, keys: list[str]) -> None:
    assert cited(reference) == keys


def test_entries_are_whole() -> None:
    for key, entry in entries().items():
        assert entry.count("{") == entry.count("}"), key
        if key != OWN:
            year = re.search(r"year = \{(\d+)\}", entry)
            assert year is not None
            assert key.endswith(year[1])
            assert "author = {" in entry
            assert "title = {" in entry


def test_references_below_a_table() -> None:
    text = report(TWO, columns=["mean_cosine"], corrections=["*"], references=True)
    assert text.endswith("\n}\n```")
    found = re.findall(r"@\w+\{(\w+),", text)
    assert found == ["bis2021", "ethayarajh2019", "machina2024", "mu2018"]
    latex_text = report(TWO, columns=["mean_cosine"], format="latex", references=True)
    behind = latex_text.split("\\end{tabular}\n")[1]
    assert all(line.startswith("%") for line in behind.split("\n"))
    assert "% @inproceedings{ethayarajh2019," in behind
    with pytest.raises(UsageError, match="no place for references"):
        report(TWO, format="csv", references=True)
    assert bibliography(["men/cosine/spearman"], ["none"]) == ""
