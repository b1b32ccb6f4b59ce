"""The page: all inside one file, everything that is filled in is text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import isoscope
from isoscope.errors import UsageError
from isoscope.results.result import Result, Row, Table

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from isoscope.verbs.report.page import MOST_ROWS, as_script, page

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """Counts tags, and keeps headings and what attributes point to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.links: list[str] = []
        self.ids: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for key, value in attrs:
            if key in ("src", "href", "action"):
                self.links.append(value or "")
            if key == "id":
                self.ids.append(value or "")
            if key.startswith("on"):
                self.handlers.append(key)


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    return parser


@pytest.fixture(scope="module")
def measured() -> Result:
    cloud = np.random.default_rng(0).normal(0.5, 1, (400, 12))
    return isoscope.measure(cloud, corrections="none,center", command="isoscope measure x.npy")


def test_it_opens_with_the_verdict_then_pictures_then_tables(measured: Result) -> None:
    text = page([measured])
    places = [
        text.index(words)
        for words in (
            'class="verdict"', 'class="numbers"', "<h2 id=\"pictures\"", "<h2 id=\"tables\"",
            "<h2 id=\"made\"",
        )
    ]  # fmt: skip
    assert places == sorted(places)
    assert measured.verdicts[0]["sentence"] in text
    assert "isoscope measure x.npy" in text
    assert "numpy" in text[text.index('id="made"') :]
    found = seen(text)
    assert found.tags["dt"] == 3
    assert len(set(found.ids)) == len(found.ids)


def test_nothing_comes_from_elsewhere(measured: Result) -> None:
    text = page([measured])
    assert len(text.encode()) < 6_000_000
    assert [link for link in seen(text).links if not link.startswith("#")] == []
    assert "default-src 'none'" in text
    assert "unsafe" not in text[: text.index("</head>")].split("<style id=")[0]
    style = text[text.index("<style id=") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_figures_have_words_and_a_table(measured: Result) -> None:
    text = page([measured])
    found = seen(text)
    assert found.tags["figure"] >= 1
    charts = re.findall(r'data-chart="\d+" role="img" aria-label="([^"]+)"', text)
    assert len(charts) == found.tags["figure"]
    assert all(len(alt) > 20 for alt in charts)
    stored = text.split('id="charts">')[1].split("</script>")[0]
    values = json.loads(stored)
    assert len(values["specs"]) == len(charts)
    assert set(values["config"]) == {"light", "dark"}


def test_names_with_html_are_text() -> None:
    rows = [Row(EVIL, EVIL, EVIL, "mean_cosine", 0.5, protocol=EVIL, note=EVIL)]
    tables = [Table(EVIL, "", EVIL, "spectrum", [{"singular_value": 2.0}, {"singular_value": 1.0}])]
    verdicts = [{"subject": EVIL, "part": "", "sentence": EVIL}]
    result = Result(rows, tables, verdicts, command=EVIL, seeds={EVIL: 1}, versions={EVIL: EVIL})
    plain = page([Result([Row("a", "", "none", "mean_cosine", 0.5)], tables)])
    text = page([result], title=EVIL)
    found, usual = seen(text), seen(plain)
    assert found.tags["script"] == usual.tags["script"]
    assert "img" not in found.tags
    assert found.handlers == []
    assert text.count("alert(") > 5  # it is there, as text
    stored = text.split('id="charts">')[1].split("</script>")[0]
    assert EVIL in json.dumps(json.loads(stored), ensure_ascii=False)


def test_json_cannot_end_its_script() -> None:
    text = as_script({"a": "</script><!--\u2028"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_script(float("nan"))


@pytest.mark.slow
def test_all_numbers_are_there_up_to_a_limit(measured: Result) -> None:
    text = page([measured])
    assert f"All {len(measured.rows)} numbers" in text
    many = Result([Row("a", str(k), "none", "mean_cosine", 0.5) for k in range(MOST_ROWS + 7)])
    assert f"The first {MOST_ROWS} numbers" in page([many])
    assert "And 7 more rows" in page([many])


def test_figures_of_several_results_have_ids_of_their_own(measured: Result) -> None:
    ids = seen(page([measured, measured])).ids
    assert len(set(ids)) == len(ids)


def test_a_result_without_pictures_needs_no_script_for_them() -> None:
    text = page([Result([Row("a", "", "none", "accuracy", 0.5)])])
    assert "vegaEmbed" not in text.split("<script>")[0]
    assert len(text) < 100_000


def test_a_page_about_nothing() -> None:
    with pytest.raises(UsageError, match="at least one result"):
        page([])
