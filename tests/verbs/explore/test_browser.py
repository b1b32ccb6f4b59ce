"""The page in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from browser_for_tests import as_new
from explored_for_tests import LONG, MARKUP, small_spaces

from isoscope.verbs.explore import server as running

pytest.importorskip("starlette", reason="the package starlette is not installed")
pytest.importorskip("uvicorn", reason="the package uvicorn is not installed")
pytest.importorskip("selenium", reason="the package selenium is not installed")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SHOWN, TOKEN = 400, "the-token"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    sock = running.listen()
    port = sock.getsockname()[1]
    server = running.make_server(small_spaces(SHOWN), port, TOKEN)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    yield f"http://127.0.0.1:{port}/{TOKEN}/"
    server.should_exit = True
    thread.join(10)
    sock.close()


@pytest.fixture(scope="module")
def browser(chromium: Any) -> Any:
    as_new(chromium)
    return chromium


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page when it has drawn its first picture; nothing may have gone to the console."""
    browser.get(address)
    wait_for(browser, "last|none")
    yield browser
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def wait_for(browser: Any, space: str) -> None:
    def there(_: Any) -> bool:
        return (
            attribute(browser, "scatter", "data-settled") == space
            and attribute(browser, "measures", "data-shown") == space
        )

    WebDriverWait(browser, 15, poll_frequency=0.05).until(there)


def attribute(browser: Any, name: str, which: str) -> str | None:
    found: str | None = browser.find_element(By.ID, name).get_attribute(which)
    return found


def choose(browser: Any, correction: str, layer: str = "last") -> None:
    browser.find_element(By.CSS_SELECTOR, f"#corrections input[value='{correction}']").click()
    wait_for(browser, f"{layer}|{correction}")


def search(browser: Any, word: str, shown: str) -> None:
    field = browser.find_element(By.ID, "search")
    field.clear()
    field.send_keys(word, Keys.ENTER)
    wait_for_list(browser, shown)


def wait_for_list(browser: Any, shown: str) -> None:
    WebDriverWait(browser, 15, poll_frequency=0.05).until(
        lambda _: attribute(browser, "lists", "data-shown") == shown
    )


def picture(browser: Any) -> str:
    return str(browser.execute_script("return document.getElementById('scatter').toDataURL()"))


def texts(browser: Any, selector: str) -> list[str]:
    return [one.text for one in browser.find_elements(By.CSS_SELECTOR, selector)]


def test_points_are_drawn(page: Any) -> None:
    assert page.title == "small · isoscope explore"
    assert attribute(page, "scatter", "data-points") == str(SHOWN)
    coloured = page.execute_script(
        "const c = document.getElementById('scatter');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n;"
    )
    # Dots of 2 pixels' radius have 12 pixels each; some cover others.
    assert coloured > 3 * SHOWN
    assert texts(page, "#measures tbody th")[0].startswith("mean_cosine")


def test_a_correction_changes_points_and_measures(page: Any) -> None:
    before = picture(page), texts(page, "#measures tbody td:nth-child(2)")
    choose(page, "center")
    centred = texts(page, "#measures tbody td:nth-child(3)")
    assert picture(page) != before[0]
    assert texts(page, "#measures tbody td:nth-child(2)") == before[1]
    assert centred[0] != before[1][0]
    choose(page, "whiten")
    assert texts(page, "#measures tbody td:nth-child(3)") != centred
    choose(page, "none")
    assert picture(page) == before[0]


def test_a_layer_changes_them_too(page: Any) -> None:
    before = picture(page), texts(page, "#measures tbody td:nth-child(2)")
    page.find_element(By.CSS_SELECTOR, "#layer option[value='first']").click()
    wait_for(page, "first|none")
    assert picture(page) != before[0]
    assert texts(page, "#measures tbody td:nth-child(2)") != before[1]


def test_a_word_has_neighbours_before_and_after(page: Any) -> None:
    search(page, "word9", "last|none|9")
    assert len(texts(page, "#before li")) == 10
    plain = texts(page, "#before li")
    assert not page.find_element(By.ID, "after").is_displayed()
    choose(page, "whiten")
    wait_for_list(page, "last|whiten|9")
    assert texts(page, "#before li .cosine") == [one.splitlines()[1] for one in plain]
    assert len(texts(page, "#after li")) == 10
    lost, new = (len(texts(page, f"#{side} .only")) for side in ("before", "after"))
    assert lost == new > 0
    assert f"{10 - lost} of 10 neighbours stay." in page.find_element(By.ID, "found").text
    page.find_element(By.CSS_SELECTOR, "#after li button").click()
    WebDriverWait(page, 15).until(
        lambda _: attribute(page, "lists", "data-shown") != "last|whiten|9"
    )


def test_an_answer_that_comes_too_late_is_dropped(page: Any) -> None:
    page.execute_script(
        "const real = window.fetch; window.late = 0;"
        "window.fetch = async (url) => { const answer = await real(url);"
        "if (url.includes('points') && url.includes('correction=center')) {"
        "await new Promise((go) => setTimeout(go, 700)); window.late += 1; } return answer; };"
    )
    page.find_element(By.CSS_SELECTOR, "#corrections input[value='center']").click()
    choose(page, "whiten")
    drawn = picture(page)
    WebDriverWait(page, 15).until(lambda _: page.execute_script("return window.late") == 1)
    page.execute_async_script("setTimeout(arguments[0], 500)")  # longer than dots take to move
    assert attribute(page, "scatter", "data-settled") == "last|whiten"
    assert picture(page) == drawn


def test_occurrences_are_gone_through(page: Any) -> None:
    search(page, "twice", "last|none|1")
    _, following = page.find_elements(By.CSS_SELECTOR, "#found button")
    following.click()
    wait_for_list(page, "last|none|2")
    assert "2 of 2" in page.find_element(By.ID, "found").text


def test_markup_in_a_word_is_shown_as_it_is(page: Any) -> None:
    search(page, MARKUP, "last|none|0")
    assert page.find_element(By.CSS_SELECTOR, "#found strong").text == MARKUP
    assert page.find_elements(By.TAG_NAME, "img") == []
    assert "row 0 <b>" in page.find_element(By.ID, "found").text
    assert page.title == "small · isoscope explore"


def test_an_unknown_word(browser: Any, address: str) -> None:
    browser.get(address)
    wait_for(browser, "last|none")
    browser.find_element(By.ID, "search").send_keys("twicx", Keys.ENTER)
    near = (By.CSS_SELECTOR, "#near button")
    WebDriverWait(browser, 15).until(lambda _: browser.find_elements(*near))
    assert "no row has the word 'twicx'" in browser.find_element(By.ID, "found").text
    browser.find_element(*near).click()
    wait_for_list(browser, "last|none|1")
    browser.get_log("browser")  # a browser notes every 404; later tests must not see this one


def test_it_works_with_the_keyboard(page: Any) -> None:
    canvas = page.find_element(By.ID, "scatter")
    canvas.send_keys(Keys.ARROW_RIGHT)
    first = page.find_element(By.ID, "spoken").get_attribute("textContent")
    canvas.send_keys(Keys.ARROW_RIGHT)
    second = page.find_element(By.ID, "spoken").get_attribute("textContent")
    assert first
    assert second
    assert first != second
    assert page.find_element(By.ID, "tip").text == second
    canvas.send_keys(Keys.ENTER)
    WebDriverWait(page, 15).until(lambda _: texts(page, "#before li"))
    assert page.find_element(By.CSS_SELECTOR, "#found strong").text == second
    page.find_element(By.CSS_SELECTOR, "#corrections input[value='none']").send_keys(
        Keys.ARROW_RIGHT
    )
    wait_for(page, "last|center")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_in_light_and_dark(page: Any, scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        choose(page, "cluster-pc-removal")
        search(page, LONG, "last|cluster-pc-removal|4")
        assert page.execute_script("return document.documentElement.scrollWidth") <= 360
        paper = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
