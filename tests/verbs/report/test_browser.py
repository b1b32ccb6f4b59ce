"""The page in a real browser: it draws, sorts, copies, fits a phone, and asks nobody anything."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_for_tests import NARROW, WIDE, as_new, console_errors, requests, resize

import isoscope
from isoscope.errors import IsoscopeError

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from isoscope.results.result import Result, Row
from isoscope.verbs.report.pictures import save_page

EVIL = "<b>bold</b><script>document.title = 'broken'</script>"
DIMENSIONS = 12
PATIENCE = 30.0


@pytest.fixture(scope="module")
def driver(chromium: Any) -> Any:
    as_new(chromium)
    return chromium


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    cloud = np.random.default_rng(0).normal(0.5, 1, (400, DIMENSIONS))
    result = isoscope.measure(cloud, corrections="none,center")
    rows = [Row(EVIL, "", "none", "mean_cosine", value) for value in (0.5, 12.0, 3.0)]
    path = tmp_path_factory.mktemp("page") / "page.html"
    save_page([result, Result(rows)], path, "Two results")
    return path.as_uri()


def opened(driver: Any, address: str, width: int = WIDE, *, dark: bool = False) -> None:
    """Open a page and wait until all charts are drawn."""
    resize(driver, width, dark=dark)
    driver.get(address)
    wanted = "dark" if dark else "light"
    ends = time.monotonic() + PATIENCE
    script = "return [...document.querySelectorAll('[data-chart]')].map((e) => e.dataset.drawn)"
    while time.monotonic() < ends:
        drawn = driver.execute_script(script)
        if drawn and all(one == wanted for one in drawn):
            return
        time.sleep(0.1)
    raise AssertionError(f"charts are not drawn: {drawn}; {console_errors(driver)}")


def test_it_draws_without_an_error_and_without_a_request(driver: Any, address: str) -> None:
    requests(driver)
    console_errors(driver)
    opened(driver, address)
    assert console_errors(driver) == []
    assert [one for one in requests(driver) if not one.startswith(("file:", "data:"))] == []
    assert driver.title == "Two results"


def test_the_policy_stops_scripts_and_styles_that_are_not_of_the_page(
    driver: Any, address: str
) -> None:
    opened(driver, address)
    console_errors(driver)
    driver.execute_script("""
        const script = document.createElement("script");
        script.textContent = "document.title = 'broken'";
        document.body.append(script);
        const style = document.createElement("style");
        style.textContent = "body { display: none }";
        document.head.append(style);
        const handler = document.createElement("p");
        handler.setAttribute("onclick", "document.title = 'broken'");
        document.body.append(handler);
        handler.click();
    """)
    assert driver.title == "Two results"
    assert driver.execute_script("return getComputedStyle(document.body).display") == "block"
    errors = console_errors(driver)
    assert sum("Content Security Policy" in one for one in errors) == 3, errors
    # A page cannot be made to evaluate text; the driver itself is not bound by the policy.
    driver.execute_script("""
        window.addEventListener("evaluate", () => {}, { once: true });
        setTimeout("document.title = 'broken'", 0);
    """)
    time.sleep(0.2)
    assert driver.title == "Two results"


STORED = Path(__file__).parents[2] / "guards" / "stored"


def test_charts_of_every_kind_are_drawn_under_the_policy(driver: Any, tmp_path: Path) -> None:
    """Their expressions are interpreted, in which not all of JavaScript is known."""
    found: dict[str, Result] = {}
    for path in sorted(STORED.rglob("*.json")):
        try:
            result = Result.load(path)
        except IsoscopeError:
            continue
        found.setdefault(path.parent.name, result)
    assert len(found) > 15
    save_page(list(found.values()), tmp_path / "page.html", "All kinds")
    console_errors(driver)
    opened(driver, (tmp_path / "page.html").as_uri())
    # Vega-Lite warns of charts whose size follows from their names; there must be no error.
    assert [one for one in console_errors(driver) if '"WARN"' not in one] == []
    assert len(driver.execute_script("return document.querySelectorAll('.chart svg.marks')")) > 30


def test_charts_can_be_saved_from_a_menu_that_is_closed(driver: Any, address: str) -> None:
    opened(driver, address)
    shown = (
        "return [...document.querySelectorAll('.vega-actions a')].map((a) => a.offsetHeight > 0)"
    )
    assert not any(driver.execute_script(shown))
    driver.execute_script("document.querySelector('.vega-embed summary').click()")
    assert sum(driver.execute_script(shown)) == 2  # as SVG and as PNG


def test_marks_are_counted(driver: Any, address: str) -> None:
    opened(driver, address)
    script = """
        const figure = document.querySelector("figure[id^=spectrum]");
        return [...figure.querySelectorAll(".mark-line.role-mark path")].map(
            (line) => line.getAttribute("d").split(/[ML]/).length - 1)
    """
    assert driver.execute_script(script) == [DIMENSIONS, DIMENSIONS]


def test_hovering_tells_a_number(driver: Any, address: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    opened(driver, address)
    points = driver.find_elements(By.CSS_SELECTOR, "figure[id^=spectrum] .mark-symbol path")
    point = points[3]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    place = driver.execute_script(
        "const r = arguments[0].getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]",
        point,
    )
    chain = ActionChains(driver)
    chain.w3c_actions.pointer_action.move_to_location(round(place[0]), round(place[1]))
    chain.perform()
    ends = time.monotonic() + PATIENCE
    said = ""
    while time.monotonic() < ends and "correction" not in said:
        time.sleep(0.1)
        said = driver.execute_script(
            "const e = document.querySelector('#vg-tooltip-element.visible');"
            "return e ? e.textContent : ''"
        )
    assert "correction" in said
    assert "ratio" in said


def test_columns_are_sorted(driver: Any, address: str) -> None:
    opened(driver, address)
    script = """
        const table = [...document.querySelectorAll("table")].at(-1);
        const heads = [...table.tHead.rows[0].cells];
        const column = heads.findIndex((head) => head.textContent.trim() === "value");
        const head = heads[column];
        head.querySelector("button").click();
        const up = [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
        const said = head.getAttribute("aria-sort");
        head.querySelector("button").click();
        const down = [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
        return [up, said, down, head.getAttribute("aria-sort")]
    """
    up, said, down, then = driver.execute_script(script)
    numbers = [float(text) for text in up if text]
    assert numbers == sorted(numbers)
    assert 12.0 in numbers
    assert [float(text) for text in down if text] == numbers[::-1]
    assert (said, then) == ("ascending", "descending")


def test_a_table_is_copied(driver: Any, address: str) -> None:
    opened(driver, address)
    for kind, beginning in (("csv", "subject,part"), ("markdown", "| subject | part")):
        driver.execute_script(
            f"[...document.querySelectorAll('[data-copy={kind}]')].at(-1).click()"
        )
        time.sleep(0.3)
        words = driver.execute_script(
            "return [...document.querySelectorAll('.table')].at(-1).dataset.copied"
        )
        assert words.startswith(beginning)
        assert EVIL.replace('"', '""') in words


def test_names_with_html_are_text(driver: Any, address: str) -> None:
    opened(driver, address)
    assert driver.title == "Two results"
    assert EVIL in driver.execute_script("return document.body.innerText")
    assert driver.execute_script("return document.querySelectorAll('main b').length") == 0


def test_dark_pages(driver: Any, address: str) -> None:
    opened(driver, address, dark=True)
    colour = "return getComputedStyle(document.body).backgroundColor"
    dark = driver.execute_script(colour)
    driver.execute_script("document.getElementById('mode').click()")
    time.sleep(0.5)
    light = driver.execute_script(colour)
    assert (dark, light) == ("rgb(21, 24, 28)", "rgb(255, 255, 255)")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_sticks_out(driver: Any, address: str, width: int) -> None:
    opened(driver, address, width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    widths = driver.execute_script(
        "return [...document.querySelectorAll('.chart svg')]"
        ".map((e) => e.getBoundingClientRect().width)"
    )
    assert widths
    assert max(widths) <= width


def test_it_is_read_aloud(driver: Any, address: str) -> None:
    opened(driver, address)
    script = """
        const named = [...document.querySelectorAll("button")].every(
            (b) => b.textContent.trim() || b.ariaLabel);
        const heads = [...document.querySelectorAll("h1, h2, h3")];
        const levels = heads.map((head) => Number(head.tagName[1]));
        const steps = levels.every((l, k) => k === 0 ? l === 1 : l - levels[k - 1] <= 1);
        const alts = [...document.querySelectorAll("[role=img]")].every((e) => e.ariaLabel);
        const captions = [...document.querySelectorAll("table")].every((t) => t.caption);
        return [named, steps, alts, captions, document.documentElement.lang]
    """
    assert driver.execute_script(script) == [True, True, True, True, "en"]
