"""Non-maximum suppression that wants more boxes than there are, or none, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload

from tests.support.litert import run_litert
from tests.support.tflite_models import read_bytes, write_operator

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("operator", ["NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"])
@pytest.mark.parametrize("wanted", [0, 3, 5, 9])
@pytest.mark.parametrize("options", [{}, {"postprocess": "custom"}])
def test_places_for_which_there_is_no_box_hold_zeros(operator: str, wanted: int, options: dict[str, Any]) -> None:
    """More boxes than there are were refused, and none."""
    generator = np.random.default_rng(3)
    corner = generator.uniform(0, 1, (5, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(0.1, 0.5, (5, 2))], 1).astype(np.float32)
    given = {"in0": boxes, "in1": generator.uniform(0, 1, 5).astype(np.float32)}
    thresholds = [0.5, 0.1, *([0.0] if operator.endswith("5") else [])]
    scores = [((wanted,), "float32")] if operator.endswith("5") else []
    content = write_operator(
        operator, [((5, 4), "float32"), ((5,), "float32"), ((), "int32", np.array(wanted, np.int32)), *(
            ((), "float32", np.array(each, np.float32)) for each in thresholds)],
        [((wanted,), "int32"), *scores, ((), "int32")])
    ours = transload.run(transload.lower(read_bytes(content), "top", **options), given).values()
    for mine, theirs in zip(ours, run_litert(content, given, True), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
