"""The page of what quantizing cost: it needs nothing else, and names from a file do nothing to it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import transload
from transload.errors import UsageError
from transload.report import LayerReport, LayersReport, Nearness, SizeReport

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)>\'"&{{ 7 * 7 }}\x00\ud800' + "long/" * 400


def made(count: int, name: str = "layer", **changed: object) -> LayersReport:
    near = Nearness(0.999, 0.95, 31.25)
    layers = [
        replace(LayerReport(
            name=f"{name}{place}", op="top.Conv", place=place, type="i8", scale=0.1, zero_point=3, low=-13.1, high=12.4,
            threshold=13.1, seen_low=-13.2, seen_high=12.0, saturated=0.001, own=Nearness(0.99, 0.9, 20.0 + place % 30),
            accumulated=near, weight_bytes=[400, 100], counts=[1, 5, 90, 7], counts_from=-13.2, counts_to=12.4),
            **changed)  # type: ignore[arg-type]
        for place in range(count)]
    return LayersReport(4, {"out": near}, layers, SizeReport([4000, 1000], [800, 200]))


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_of_300_layers(tmp_path: Path) -> None:
    path = transload.quantization_page(
        made(300), tmp_path / "page.html", "model.onnx", {"quantized": "int8"}, {"kept": "because"})
    assert path.stat().st_size < 1_000_000
    page = Page(path)
    anchors = {value for key, value in page.attributes if key == "id"}
    links = [value for key, value in page.attributes if key == "href"]
    assert len(anchors) == 300 and {str(link).lstrip("#") for link in links} == anchors
    assert page.tags.count("svg") == 301 and "because" in page.text and "31.2" in page.text
    order = re.findall(r"layer(\d+)", page.text.split("Layers, worst first")[1].split("Ranges")[0])
    assert [int(each) % 30 for each in order] == sorted(int(each) % 30 for each in order)


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\x07", "\u202e", "\u2066", "\u200b", "\u2028"])
def test_what_drives_a_terminal_or_turns_text_is_spelt_out(character: str, tmp_path: Path) -> None:
    report = replace(made(2, f"a{character}b"), outputs={f"y{character}": Nearness(0.9, 0.9, 9.0)})
    page = transload.quantization_page(report, tmp_path / "page.html", title=f"t{character}", about={"model": f"m{character}"})
    assert character not in page.read_text(encoding="utf-8")


def test_names_are_text_and_nothing_is_fetched(tmp_path: Path) -> None:
    report = made(3, HOSTILE, why=HOSTILE)
    report.outputs = {HOSTILE: Nearness(1.0, 1.0, math.inf)}
    page = Page(transload.quantization_page(report, tmp_path / "page.html", HOSTILE, {HOSTILE: HOSTILE}, {HOSTILE: HOSTILE}))
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not any(key.startswith("on") or key == "src" for key, _ in page.attributes)
    assert all(str(value).startswith("#") for key, value in page.attributes if key == "href")
    assert "<script>" in page.text and "{{ 7 * 7 }}" in page.text
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "://" not in text and "prefers-color-scheme: dark" in text


FLOAT = {
    "own": None, "scale": None, "zero_point": None, "low": None, "high": None, "threshold": None, "type": "f32", "why": "no form"}


@pytest.mark.parametrize("changed", [
    FLOAT,
    {"own": Nearness(1.0, 1.0, math.inf), "accumulated": Nearness(math.nan, math.nan, math.nan)},
    {"counts": [0] * 32, "counts_from": 0.0, "counts_to": 0.0, "seen_low": 0.0, "seen_high": 0.0},
    {"counts_from": -math.inf, "counts_to": math.inf, "accumulated": Nearness(0.0, -math.inf, -math.inf)},
])
def test_numbers_at_the_edge(tmp_path: Path, changed: dict[str, object]) -> None:
    text = transload.quantization_page(made(2, **changed), tmp_path / "page.html").read_text(encoding="utf-8")
    pictures = " ".join(re.findall(r'(?:points|d|cx|cy|x1)="([^"]*)"', text))
    assert "nan" not in pictures and "inf" not in pictures
    transload.quantization_page(made(0), tmp_path / "empty.html")


def test_without_jinja(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match="jinja2"):
        transload.quantization_page(made(1), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(transload.TransloadError, match="cannot be written"):
        transload.quantization_page(made(1), tmp_path / "file" / "page.html")
