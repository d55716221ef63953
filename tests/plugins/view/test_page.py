"""The page in a real browser: graph, op, error colours, histogram, rewrite trace, stages side by side, search, a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from .test_document import HOSTILE

Open = Callable[..., Any]
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def look(cli: Cli, tmp_path: Path) -> Callable[..., Path]:
    """Writes the page of a model."""
    def write(*arguments: object) -> Path:
        page = tmp_path / "page.html"
        code, _, err = cli("view", *map(str, arguments), "--html", str(page))
        assert code == 0, err
        return page

    return write


def named(block: int, part: str) -> str:
    return f"net/block{block}/{part}"


def narrowed(line: str) -> str:
    """A line of a calibration table with a tenth of its range."""
    name, *numbers = line.split()
    return " ".join([name, *(str(float(number) / 10) for number in numbers)])


def test_the_graph_and_an_op(look: Callable[..., Path], opened: Open, network: Callable[..., Path]) -> None:
    page = opened(look(network(named)))
    assert page.locator("#stages button").count() == 4
    assert page.locator(".graph .op").count() == 6
    page.locator(".graph .op", has_text="Conv").first.click()
    panel = page.locator("#content")
    assert panel.locator("h2").inner_text() == "onnx.Conv"
    assert panel.locator(".histogram .bars").get_attribute("d").count("M") > 10
    assert "1×8×6×6 f32" in panel.inner_text()
    panel.locator("summary", has_text="Declaration").click()
    assert "Operands" in panel.inner_text()


def test_the_rewrite_trace(look: Callable[..., Path], opened: Open, network: Callable[..., Path]) -> None:
    """From an op to what it became, by way of the rules, and back."""
    page = opened(look(network(named)))
    page.locator(".graph .op", has_text="Conv").first.click()
    trace = page.locator(".lineage")
    assert trace.locator("li").count() == 4
    assert "conv" in trace.locator(".rule").first.inner_text()
    trace.locator(".chip", has_text="tosa.conv2d").click()
    assert page.locator("#stages [aria-current=true]").inner_text().startswith("tosa")
    assert page.locator("#content h2").inner_text() == "tosa.conv2d"
    assert page.locator(".graph .selected").count() == 1
    page.locator(".lineage .chip", has_text="onnx.Conv").click()
    assert page.locator("#content h2").inner_text() == "onnx.Conv"


def test_a_new_user_finds_the_worst_layer(
    look: Callable[..., Path], opened: Open, network: Callable[..., Path], samples: Path, tmp_path: Path,
) -> None:
    """Of a network of twelve blocks the ninth has a range that is too narrow: one click leads there, and the numbers show it."""
    model, table = network(named, blocks=12), tmp_path / "model.table"
    transload.calibrate(transload.load(model), [{"net/block0/image": each[None]} for each in np.load(samples)]).save(table)
    lines = [narrowed(line) if line.startswith("net/block8/conv ") else line for line in table.read_text().splitlines()]
    table.write_text("\n".join(lines) + "\n")
    page = opened(look(model, "--quantize", "int8", "--data", samples, "--table", table))
    assert "net/block8/" in page.locator("#content .worst").inner_text()
    page.locator("#to-worst").click()
    panel = page.locator("#content")
    assert "net/block8/conv" in panel.locator(".tensor").inner_text()
    assert "range is too narrow" in panel.locator(".advice").inner_text()
    assert panel.locator(".scatter .dots").get_attribute("d").count("M") > 100
    for picture in ("along the tensor", "distributions"):
        panel.locator(".choices button", has_text=picture).click()
        assert panel.locator("path.found").first.get_attribute("d")
    worst = page.locator(".graph .selected .colour").get_attribute("fill")
    fills = page.locator(".graph .op .colour").evaluate_all("all => all.map((each) => each.getAttribute('fill'))")
    hues = [int(fill[4:].split()[0]) for fill in fills]
    assert int(worst[4:].split()[0]) == min(hues) < max(hues)


def test_layers_lead_to_ops(look: Callable[..., Path], opened: Open, network: Callable[..., Path], samples: Path) -> None:
    page = opened(look(network(named), "--quantize", "int8", "--data", samples))
    rows = page.locator(".rows tr")
    assert rows.count() > 4
    rows.nth(1).locator(".link").click()
    assert page.locator(".errors .error").count() == 2
    page.locator("#strip .point .hit").nth(2).click(force=True)
    assert page.locator("#content .compared").count() == 1
    page.locator("[data-tab=layers]").click()
    page.locator(".rows th button", has_text="layer").click()
    names = page.locator(".rows td.name .link").evaluate_all("all => all.map((each) => each.title)")
    assert names == sorted(names)


def test_two_stages_side_by_side(look: Callable[..., Path], opened: Open, network: Callable[..., Path], samples: Path) -> None:
    """What is chosen in one is chosen in the other."""
    page = opened(look(network(named), "--quantize", "int8", "--data", samples))
    page.select_option("#beside", label="onnx, as it was read")
    assert page.locator(".pane").count() == 2
    page.locator(".pane").first.locator(".op", has_text="Conv").first.click()
    assert page.locator(".pane .selected").count() == 2
    page.locator(".pane").last.locator("button[title='show all']").click()
    page.locator(".pane").last.locator(".op", has_text="Add").last.click()
    assert page.locator("#content h2").inner_text() == "onnx.Add"
    assert page.locator(".pane .selected").count() == 2


def test_searching_and_groups(look: Callable[..., Path], opened: Open, network: Callable[..., Path]) -> None:
    page = opened(look(network(named, blocks=80)))
    assert page.locator(".graph .op").count() < 240
    page.keyboard.press("/")
    page.keyboard.type("block71 sigm")
    page.keyboard.press("Enter")
    assert "net/block71/sigmoid" in page.locator("#content .tensor").inner_text()
    assert page.locator(".graph .selected").count() == 1
    before = page.locator(".graph .op").count()
    page.locator(".zoom button[title='close all groups']").click()
    page.wait_for_function(f"document.querySelectorAll('.graph .op').length < {before}")
    page.locator(".graph .group").first.click()
    page.wait_for_selector(".graph .group.open")
    page.locator(".zoom button[title='open all groups']").click()
    page.wait_for_function("document.querySelectorAll('.graph .op').length > 60")


def test_hostile_names_do_nothing(look: Callable[..., Path], opened: Open, network: Callable[..., Path], samples: Path) -> None:
    """They are there to be read, in every part of the page."""
    model = network(lambda block, part: f"{HOSTILE}{block}/{part}")
    page = opened(look(model, "--quantize", "int8", "--data", samples))
    page.locator("#to-worst").click()
    assert "<script>" in page.locator("#content").inner_text()
    page.fill("#search", "img")
    assert page.locator("#found button").count() > 2
    for tab in page.locator("#tabs [data-tab]").all():
        tab.click()
    for stage in page.locator("#stages button").all():
        stage.click()
    assert page.title() != "owned"
    assert page.locator("img").count() == 0


def test_a_phone(look: Callable[..., Path], opened: Open, network: Callable[..., Path]) -> None:
    """Nothing is wider than the screen; details open over the graph, and close."""
    page = opened(look(network(named)), width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not page.locator("#content").is_visible()
    page.locator(".graph .op").first.click()
    assert page.locator("#content").is_visible()
    page.locator(".tabs .close").click()
    assert not page.locator("#content").is_visible()
