"""The pictures of `view.md`, taken of the page itself: `python docs/view_pictures.py`, with playwright, Pillow and Chromium.

They are `view-quantized.png`, `view-trace.png` and `view-phone.png`, beside this file, in few colours, so that they are small.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.cli import run

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "examples" / "digits"
COLOURS = 128
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("no Chromium is installed here")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        samples = folder / "samples.npy"
        np.save(samples, np.load(DIGITS / "test_images.npz")["images"][:40] / np.float32(16))
        quantized, chip = folder / "quantized.html", folder / "chip.html"
        table = too_narrow(samples, folder / "digits.table")
        look("digits_float.onnx", quantized, "--quantize", "int8", "--table", str(table), "--data", str(samples),
             "--quantizer-option", "islands=none")
        look("digits_int8.tflite", chip, "--target", "ethos-u85-256")
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        page = opened(browser, quantized, 1200, 760)
        page.locator("#to-worst").click()
        page.select_option("#beside", label="top, simplified")
        take(page, "view-quantized.png")
        page = opened(browser, chip, 1200, 760)
        page.locator("#stages button").last.click()
        page.locator(".graph .op", has_text="depthwise").first.click()
        take(page, "view-trace.png")
        page = opened(browser, quantized, 390, 780)
        page.locator("#to-worst").click()
        take(page, "view-phone.png")
        browser.close()


def too_narrow(samples: Path, table: Path) -> Path:
    """A calibration table in which one layer has a tenth of its range."""
    images = [{"image": image.reshape(1, 1, 8, 8)} for image in np.load(samples)]
    made = transload.calibrate(transload.load(DIGITS / "digits_float.onnx"), images)
    low, high = made.ranges["pointwise"]
    made.ranges["pointwise"] = low / 10, high / 10
    return Path(made.save(table))


def look(model: str, page: Path, *arguments: str) -> None:
    """Write the page of an example."""
    code = run(["view", str(DIGITS / model), "--html", str(page), "--quiet", *arguments])
    if code:
        sys.exit(code)


def opened(browser: Any, file: Path, width: int, height: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready=true]")
    return page


def take(page: Any, name: str) -> None:
    """Take a picture of a page when it has come to rest, and close it."""
    from PIL import Image

    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(HERE / name, optimize=True)
    page.close()


if __name__ == "__main__":
    main()
