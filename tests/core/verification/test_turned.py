"""What little varies of an output is judged where one input is given, in `compare`, and where a model stays in its format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.verification.turned import turned_inputs
from transload.verification.verify import verify_conversion

from tests.core.verification.test_steady import scores, verdict_on

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

OFFSETS = np.arange(6, dtype=np.float32) * 32 + 16
GIVEN = {"x": np.random.default_rng(8).standard_normal((1, 8)).astype(np.float32)}


def _files(folder: Path) -> tuple[Path, Path]:
    """Places of boxes beside their grid, and the grid alone."""
    return scores(folder / "right.onnx", "scores", 0.2, OFFSETS), scores(folder / "wrong.onnx", "scores", 0.0, OFFSETS)


def test_one_input_that_is_given_is_judged_in_the_other_order_too(tmp_path: Path) -> None:
    right, wrong = _files(tmp_path)
    assert verdict_on(right, right, inputs=GIVEN).status == "passed"
    assert verdict_on(right, wrong, inputs=GIVEN).status == "failed"


def test_compare_judges_what_varies(tmp_path: Path) -> None:
    right, wrong = _files(tmp_path)
    for given in (None, GIVEN):
        said = [transload.compare(right, transload.lower(transload.load(path), "tosa"), given).broken for path in (right, wrong)]
        assert not said[0]
        assert "what varies" in said[1][0], said


def test_the_hubs_form_is_the_sources_where_none_is_given(tmp_path: Path) -> None:
    right, wrong = _files(tmp_path)
    for path, status in ((right, "passed"), (wrong, "failed")):
        result = transload.lower(transload.load(path), "tosa")
        assert verify_conversion(transload.load(right), result).status == status


def test_what_reads_the_same_in_the_other_order_is_no_other_input(tmp_path: Path) -> None:
    result = transload.lower(transload.load(_files(tmp_path)[0]), "tosa")
    assert not turned_inputs({"x": np.ones((1, 8), np.float32)}, result)
    assert (turned_inputs(GIVEN, result)[0]["x"] == GIVEN["x"][:, ::-1]).all()
