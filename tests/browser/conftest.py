"""A real browser, headless, for the report: Debian's chromium driven by its chromedriver."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import ALL, Page

_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Page by page, and width by width: the tests that only look then find it open."""
    places = [place for place, item in enumerate(items) if _page_of(item)]
    ordered = sorted((items[place] for place in places), key=_page_of)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _page_of(item: pytest.Item) -> tuple[int, int] | None:
    """Which page a test is given, and minus its width."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return (ALL.index(given["page"]), -given.get("width", 1280)) if "page" in given else None


def _program(names: tuple[str, ...], package: str) -> str:
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        pytest.fail(
            f"{names[0]} is not installed: the report cannot be opened in a browser. "
            f"Install the package {package}, or set TAUTO_NO_BROWSER=1 to go without these tests",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests, with its console and its network watched."""
    if os.environ.get("TAUTO_NO_BROWSER") == "1":
        pytest.skip("TAUTO_NO_BROWSER=1")
    chromium = _program(("chromium", "chromium-browser", "google-chrome"), "chromium")
    chromedriver = _program(("chromedriver", "chromium.chromedriver"), "chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in (*_SWITCHES, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(chromedriver))
    browser.execute_cdp_cmd("Network.enable", {})
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def show(driver: Any) -> Callable[..., Any]:
    """Opens a file as a reader would, at a width, in a colour scheme, and waits until all charts stand.

    A test that changes nothing of the page says `keep`: the next such test has the page as it stands. What
    folds is open, unless a test says `folded`.
    """
    standing: list[tuple[Path, int, str]] = []

    def opened(path: Path, *, folded: bool = False, **how: Any) -> Any:
        loaded(path, **how)
        driver.execute_script(
            "for (const fold of document.querySelectorAll('.fold')) fold.open = !arguments[0]", folded
        )
        return driver

    def loaded(path: Path, *, width: int = 1280, scheme: str = "light", keep: bool = False) -> None:
        # the pointer goes to the corner, lest the last test's place opens a tooltip here
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 0, "y": 0})
        if keep and standing == [(path, width, scheme)]:
            driver.execute_script("scrollTo({top: 0, left: 0, behavior: 'instant'})")
            return
        standing[:] = [(path, width, scheme)] if keep else []
        driver.get_log("browser")
        driver.get_log("performance")
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        driver.get(path.as_uri())
        deadline = time.monotonic() + 60
        drawn = "return !document.scripts.length || document.documentElement.dataset.ready === 'true'"
        while not driver.execute_script(drawn):
            assert time.monotonic() < deadline, "the charts were not drawn within 60 s"
            time.sleep(0.05)  # the page cannot call us; this is no measurement

    return opened


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Page], Path]:
    """Writes a page when the first test asks for it, and keeps it for the others."""
    files: dict[str, Path] = {}

    def file_of(page: Page) -> Path:
        if page.name not in files:
            files[page.name] = page.write(tmp_path_factory.mktemp("report"))
        return files[page.name]

    return file_of
