"""How long `transload view` takes to open a network, beside Model Explorer in the same run.

    python benchmarks/view.py MODEL [MODEL...] [--model-explorer PROGRAM] [--rounds 3]

Each model, and a network of 2,000 ops that is made here, is opened in Chromium without a window: from the start of the program
to the graph on the page, the least of some rounds. Beside it: the processor's seconds of the program and of the page's own work,
bytes that the page loads, and other machines that it asks. Model Explorer (`pip install ai-edge-model-explorer`, in an
environment of its own) is given the file where it reads its format, and otherwise what `view` shows of the model as it was read,
as JSON. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPS = 2000
DRAWN = "body[data-ready=true] .graph .boxes > *"
DRAWN_BY_EXPLORER = "text=op node count"
READ_BY_EXPLORER = (".tflite", ".pb", ".mlir")
FLAGS = ["--enable-webgl", "--use-gl=swiftshader", "--ignore-gpu-blocklist", "--enable-unsafe-swiftshader"]
"""Without a graphics card Model Explorer's drawing needs a processor that stands in for one."""


@dataclass
class Opening:
    """One network opened once."""

    seconds: float
    program: float
    page: float
    bytes: int
    asks: set[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--model-explorer", metavar="PROGRAM", help="Its command, of an environment of its own.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("no Chromium is installed here")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        models = [*given.models, residual_network(Path(folder) / "2000_ops.onnx", OPS)]
        arguments = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        print(f"{'network':32} {'by':16} {'opens':>8} {'program':>8} {'page':>8} {'loaded':>9}  asks")
        for model in models:
            report(model.name, "transload view", [view(browser, model) for _ in range(given.rounds)])
            if given.model_explorer:
                shown = model if model.suffix in READ_BY_EXPLORER else as_graph(model, Path(folder) / "graph.json")
                report(model.name, "Model Explorer", [explore(browser, given.model_explorer, shown) for _ in range(given.rounds)])
        browser.close()


def report(name: str, by: str, openings: list[Opening]) -> None:
    best = min(openings, key=lambda each: each.seconds)
    asks = ", ".join(sorted(set().union(*(each.asks for each in openings)))) or "nobody"
    print(f"{name:32.32} {by:16} {best.seconds:7.2f}s {best.program:7.2f}s {best.page:7.2f}s {best.bytes / 1e6:6.2f} MB  {asks}")


def view(browser: Any, model: Path) -> Opening:
    """From `transload view` to the graph."""
    command = [sys.executable, "-m", "transload", "view", str(model), "--no-browser"]
    start = time.perf_counter()
    with running(command) as (process, spent):
        assert process.stdout is not None
        line = process.stdout.readline().split()
        url = next(word for word in line if word.startswith("http://"))
        return opened(browser, url, DRAWN, start, spent)


def explore(browser: Any, program: str, model: Path) -> Opening:
    """From `model-explorer` to the graph."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, str(model), "--host", "127.0.0.1", "--port", str(port), "--no_open_in_browser", "--skip_health_check"]
    start = time.perf_counter()
    with running(command) as (process, spent):
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.02)
        data = quote(json.dumps({"models": [{"url": str(model)}]}))
        return opened(browser, f"http://127.0.0.1:{port}/?data={data}", DRAWN_BY_EXPLORER, start, spent)


@contextmanager
def running(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], Callable[[], float]]]:
    """A program, which is ended; and what tells its processor's seconds so far."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def spent() -> float:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    try:
        yield process, spent
    finally:
        process.terminate()
        process.communicate()


def opened(browser: Any, url: str, drawn: str, start: float, spent: Callable[[], float]) -> Opening:
    """A page that is opened, up to the moment when something is drawn."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    sizes: list[int] = []
    asks: set[str] = set()

    def answered(response: Any) -> None:
        sizes.append(int(response.headers.get("content-length") or 0))

    def asked(request: Any) -> None:
        host = urlsplit(request.url).hostname
        if host not in (None, "127.0.0.1", "localhost"):
            asks.add(host)

    page.on("response", answered)
    page.on("request", asked)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(url, wait_until="commit")
    page.wait_for_selector(drawn, timeout=300_000)
    seconds = time.perf_counter() - start
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    opening = Opening(seconds, spent(), metrics["TaskDuration"], sum(sizes), asks)
    page.close()
    return opening


def as_graph(model: Path, file: Path) -> Path:
    """What `view` shows of a model as it was read, in Model Explorer's JSON."""
    from transload_plugins.view.looking import Looking

    looking = Looking()
    looking.add(model, None, options={})
    graph = looking.data("")["models"][0]["stages"][0]["graph"]
    nodes = [
        {"id": str(place), "label": op["op"], "namespace": "/".join(op["group"]),
         "attrs": [{"key": key, "value": text} for key, text in op["attributes"]],
         "incomingEdges": [
             {"sourceNodeId": str(graph["values"][value]["by"]), "sourceNodeOutputId": "0", "targetNodeInputId": str(index)}
             for index, value in enumerate(op["in"]) if "by" in graph["values"][value]]}
        for place, op in enumerate(graph["ops"])]
    file.write_text(json.dumps([{"id": "main", "nodes": nodes}]))
    return file


def residual_network(path: Path, ops: int) -> Path:
    """An ONNX network of residual blocks in stages, with about so many ops."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(0)
    x = "image"
    nodes, weights = [], []
    inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 8, 8, 8])]
    for block in range(-(-ops // 7)):
        start, place = x, f"stage{block // 20}/block{block}"
        for unit in range(3):
            name = f"{place}/unit{unit}"
            kernel = (0.1 * generator.standard_normal((8, 8, 3, 3))).astype(np.float32)
            weights.append(numpy_helper.from_array(kernel, f"{name}/weights"))
            nodes += [helper.make_node("Conv", [x, f"{name}/weights"], [f"{name}/conv"], pads=[1] * 4),
                      helper.make_node("Sigmoid" if unit == 2 else "Relu", [f"{name}/conv"], [f"{name}/out"])]
            x = f"{name}/out"
        nodes.append(helper.make_node("Add", [start, x], [f"{place}/add"]))
        x = f"{place}/add"
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 8, 8, 8])]
    graph = helper.make_graph(nodes, "network", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


if __name__ == "__main__":
    main()
