"""Pictures of calibrations."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from transload.errors import UsageError
from transload_plugins.quantize.calibration import Calibration
from transload_plugins.quantize.histogram import Histogram

SVG = "{http://www.w3.org/2000/svg}"


def test_each_tensor_has_its_bars_and_the_ends_of_its_range(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).standard_normal(1000)
    histograms = {"a<b&\"c\"": Histogram([numbers]), "zeros": Histogram([np.zeros(4)]), "empty": Histogram()}
    ranges = dict.fromkeys(histograms, (-1.0, 2.0))
    path = Calibration(ranges, histograms=histograms, thresholds={"a<b&\"c\"": 1.5}).plot(tmp_path / "x.svg")
    groups = ElementTree.parse(path).getroot().findall(f"{SVG}g")
    assert [group.findtext(f"{SVG}title") for group in groups] == [
        "a<b&\"c\": -1 to 2, threshold 1.5", "zeros: -1 to 2, threshold 2", "empty: -1 to 2, threshold 2"]
    lines = [[line.get("class") for line in group.findall(f"{SVG}line")] for group in groups]
    assert sorted(map(str, lines[0])) == ["axis", "end", "end", "threshold", "threshold"]
    assert len(groups[0].findall(f"{SVG}rect")) > 50 and lines[1] == lines[2] == ["axis"]


def test_without_histograms_there_is_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no histograms"):
        Calibration({"x": (0.0, 1.0)}).plot(tmp_path / "x.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.png", "x.html"])
def test_a_picture_is_called_svg(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is to be an SVG picture"):
        Calibration({"x": (0.0, 1.0)}).plot(tmp_path / name)
