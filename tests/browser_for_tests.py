"""A headless Chromium for tests of pages; tests skip, and say why, where there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WIDE, NARROW = 1100, 360


@contextmanager
def running_browser() -> Iterator[Any]:
    """Start Chromium, with its console and its requests on record.

    Skips where the browser, its driver or selenium is missing.
    """
    pytest.importorskip("selenium", reason="selenium is not installed")
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def as_new(driver: Any) -> None:
    """Undo what the tests before have set, and forget what they have recorded."""
    driver.get("about:blank")
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.set_window_size(1200, 900)
    console_errors(driver)
    requests(driver)


def resize(driver: Any, width: int, *, dark: bool = False) -> None:
    """Set the width of the screen, and whether it is dark."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    mode = "dark" if dark else "light"
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": mode}]},
    )


def console_errors(driver: Any) -> list[str]:
    """Return what the console said since the last time."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Any) -> list[str]:
    """Return the addresses that were asked for since the last time."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        str(message["params"]["request"]["url"])
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
