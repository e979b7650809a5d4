"""Pictures of every kind of report and docs/reports.md, from the made-up runs of the browser tests.

Run by `make screenshots`, in the root of the tree, with Debian's chromium.
"""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import pages

PICTURES = Path("docs/pictures/reports")
PAGE = Path("docs/reports.md")
WIDE, TELEPHONE = (1280, 700), (390, 844)
QUALITY = 62  # of WebP: text is sharp, and a picture has 15 to 40 kB
MADE_BY = {
    "loop": "tauto study loop",
    "mapreduce": "tauto study mapreduce",
    "collective": "tauto study collective",
    "nbody": "tauto study nbody",
    "power": "tauto study power",
    "tune": "tauto tune -- ./solver case.in",
    "compare": "tauto compare --report -- ./old : ./new",
    "trace": "tauto trace -- ./solver case.in",
    "simulate": "tauto simulate power --machine i9-14900k",
    "claims": "tauto claims --report",
}
ALSO_ON_A_TELEPHONE = ("loop", "tune")
HEAD = """# What a report looks like

Every report is one file that opens without a network. Its first screen is one sentence, one picture with its
interval, three facts, and the lines to paste; all else folds. `tauto report FOLDER --format svg` writes the
picture alone, and `--format markdown` prints the first screen for a pull request.

The runs below are made up: they show the pages, not any machine. `make screenshots` makes them and this page.
"""


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser = _browser()
    parts = [HEAD]
    kinds = {page.name: page for page in pages.KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in MADE_BY.items():
            place = Path(folder) / name
            place.mkdir()
            path = kinds[name].write(place)
            _take(browser, path, WIDE, "light", PICTURES / f"{name}.webp")
            sentence = browser.find_element("css selector", "h1").text
            parts.append(
                f"## {name}\n\n`{command}`\n\n> {sentence}\n\n![{name}](pictures/reports/{name}.webp)\n"
            )
            if name in ALSO_ON_A_TELEPHONE:
                _take(browser, path, TELEPHONE, "dark", PICTURES / f"{name}-telephone.webp")
                parts.append(
                    f"In the dark, on a telephone:\n\n![{name}](pictures/reports/{name}-telephone.webp)\n"
                )
    browser.quit()
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    for picture in sorted(PICTURES.iterdir()):
        print(f"{picture}: {picture.stat().st_size} bytes")


def _browser() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(switch)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def _take(browser: Any, path: Path, size: tuple[int, int], scheme: str, picture: Path) -> None:
    """A picture of the first screen, once all charts stand."""
    width, height = size
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    dressed = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dressed)
    browser.get(path.as_uri())
    drawn = "return !document.scripts.length || document.documentElement.dataset.ready === 'true'"
    while not browser.execute_script(drawn):
        time.sleep(0.05)
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    picture.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main()
