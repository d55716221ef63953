"""What notebooks show: tables that close what they open, with names of models as text."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.report import ErrorReport, FindingReport, LayersReport, Nearness, Report, SizeReport
from transload.verification.compare import Comparison, compare
from transload.verification.differences import TensorDifference

HOSTILE = "<script>alert(1)</script>"


def checked(html: str) -> str:
    """The HTML, whose elements are closed in order, and none of which is a script."""
    opened: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            assert tag != "script"
            if tag != "img":
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Checker().feed(html)
    assert not opened
    return html


@pytest.fixture
def float_model(examples: Path) -> Path:
    return examples / "digits" / "digits_float.onnx"


@pytest.fixture
def samples(examples: Path) -> list[dict[str, np.ndarray]]:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:8] / np.float32(16)
    return [{"image": image.reshape(1, 1, 8, 8)} for image in images]


def test_a_conversion_shows_itself(float_model: Path, samples: Any, tmp_path: Path) -> None:
    made = transload.convert(float_model, "tosa", tmp_path / "build", quantize="int8", data=samples)
    html = checked(made._repr_html_())
    assert html == made.report._repr_html_()
    for said in ("digits_float.onnx", "converted", "passed", "probabilities", "int8", "depthwise", "bytes"):
        assert said in html, said


def test_a_refusal_shows_itself(tmp_path: Path, float_model: Path) -> None:
    error = ErrorReport("ConversionError", HOSTILE, [FindingReport(HOSTILE, "because", ["a"], "", 3)])
    report = Report(model=HOSTILE, target="x", tolerance={}, seed=0, status="refused", error=error)
    assert "because" in checked(report._repr_html_())
    with pytest.raises(ConversionError) as raised:
        transload.convert(float_model, "ethos-u85-256", tmp_path / "build")
    assert "refused" in checked(raised.value.report._repr_html_())


def test_layers_show_themselves() -> None:
    near = {HOSTILE: Nearness(1.0, 1.0, float("inf")), "odd": Nearness(float("nan"), 0.0, float("nan"))}
    html = checked(LayersReport(1, near, [], SizeReport([8, 2], [4, 1]))._repr_html_())
    assert "exact" in html
    assert "nan" in html


def test_a_calibration_shows_itself(float_model: Path, samples: Any) -> None:
    table = transload.calibrate(transload.load(float_model), samples, "minmax")
    table.ranges[HOSTILE] = (0.0, 1.0)
    html = checked(table._repr_html_())
    assert "depthwise" in html
    assert "data:image/svg+xml;base64," in html
    table.histograms.clear()
    assert "<img" not in table._repr_html_()


def test_a_comparison_shows_itself(examples: Path, tmp_path: Path) -> None:
    model = examples / "digits" / "digits_int8.tflite"
    transload.convert(model, "tosa", tmp_path / "build", verify="no")
    html = checked(compare(model, tmp_path / "build", per_layer=True)._repr_html_())
    assert "probabilities" in html or "cosine" in html


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 0.0])
def test_comparisons_of_any_numbers_are_shown(number: float) -> None:
    tensors = [TensorDifference(f"{HOSTILE}{place}", (), "float32", {"cos": number, "sqnr": number}) for place in range(20)]
    tensors.append(TensorDifference("other", (1, 2), "int8", {}, "shape (2, 1)"))
    html = checked(Comparison("one", HOSTILE, tensors)._repr_html_())
    assert "and 9 more" in html


def test_nothing_is_fetched(float_model: Path, samples: Any) -> None:
    shown: list[Callable[[], str]] = [transload.load(float_model)._repr_html_,
                                      transload.calibrate(transload.load(float_model), samples, "minmax")._repr_html_]
    assert not any("http" in show() for show in shown)
