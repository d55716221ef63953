"""Numbers of f64 on their way to Core ML, which has none. It needs no coremltools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F64
from transload_targets.coreml.doubles import narrow_doubles

from tests.support.onnx_models import make_model, node, read_model

FLOATS, INTEGERS = np.array([0.5, 2, 3], np.float32), np.array([2, 3, 1], np.int32)


def hub_of(base: np.ndarray, exponent: np.ndarray, known: bool) -> tuple[transload.Module, dict[str, Any]]:
    given = {"a": base} if known else {"a": base, "b": exponent}
    model = make_model([node("Pow", ["a", "b"], ["y"])], given, ["y"], {"b": exponent} if known else {}, opset=15)
    return transload.lower(read_model(model), to="top"), given


@pytest.mark.parametrize(("base", "exponent", "known"), [
    (FLOATS, INTEGERS, False), (FLOATS, INTEGERS.astype(np.int64), False), (INTEGERS, FLOATS, False),
    (INTEGERS.astype(np.int64), np.array(0.5, np.float32), True), (FLOATS, np.array(0.1), True),
])
def test_powers_that_are_computed_in_doubles_are_so_in_floats(base: np.ndarray, exponent: np.ndarray, known: bool) -> None:
    hub, given = hub_of(base, exponent, known)
    wanted = transload.run(hub, given)["y"]
    assert narrow_doubles(hub) and not any(value.element_or_none == F64 for op in hub.walk() for value in op.results)
    assert any("f64 in the model, and f32 here" in note for note in hub.notes)
    np.testing.assert_allclose(transload.run(hub, given)["y"], wanted, rtol=1e-6)
    assert not narrow_doubles(hub)


def test_they_are_refused_where_that_is_asked_for() -> None:
    hub, _ = hub_of(FLOATS, INTEGERS, known=False)
    with pytest.raises(ConversionError) as caught:
        narrow_doubles(hub, "refused")
    assert any("computes in f64, and Core ML has f32" in finding.why for finding in caught.value.findings)
