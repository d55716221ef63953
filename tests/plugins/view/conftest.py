"""Models to look at, and a browser to look with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window; where it is not installed, or what drives it is not, the test is skipped."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'transload[browser]'")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium is installed here (apt-get install chromium)")
    with driver.sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=program, args=arguments)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address or a file in a page of its own, waits until it is drawn, and sees to it that no script failed."""
    pages, failures = [], list[str]()

    def open_page(address: str | Path, width: int = 1400, height: int = 900) -> Any:
        page = browser.new_page(viewport={"width": width, "height": height})
        pages.append(page)
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("console", lambda message: failures.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (failures.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address.as_uri() if isinstance(address, Path) else address)
        page.wait_for_selector("body[data-ready=true]", timeout=120_000)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not failures, failures


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes an ONNX network of residual blocks: `name(block, part)` is what a tensor is called."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")

    def write(name: Callable[[int, str], str], blocks: int = 2) -> Path:
        from onnx import TensorProto, helper, numpy_helper

        generator = np.random.default_rng(0)
        nodes, weights, x = [], [], name(0, "image")
        inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 8, 6, 6])]
        for block in range(blocks):
            kernel = (0.2 * generator.standard_normal((8, 8, 3, 3))).astype(np.float32)
            weights.append(numpy_helper.from_array(kernel, name(block, "weights")))
            nodes += [
                helper.make_node("Conv", [x, name(block, "weights")], [name(block, "conv")], pads=[1] * 4),
                helper.make_node("Sigmoid", [name(block, "conv")], [name(block, "sigmoid")]),
                helper.make_node("Add", [x, name(block, "sigmoid")], [name(block, "add")])]
            x = name(block, "add")
        outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 8, 6, 6])]
        model = helper.make_model(
            helper.make_graph(nodes, "network", inputs, outputs, weights), opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        path = tmp_path_factory.mktemp("network") / "network.onnx"
        onnx.save(model, path)
        return path

    return write


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight samples for `network`."""
    path = tmp_path_factory.mktemp("samples") / "samples.npy"
    np.save(path, np.random.default_rng(1).standard_normal((8, 8, 6, 6)).astype(np.float32))
    return path
