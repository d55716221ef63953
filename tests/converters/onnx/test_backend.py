"""ONNX's own tests of single operators: every one passes, but for operators that are listed here with the reason.

Run through `transload_converters.onnx.backend`, the interface by which ONNX tests backends.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from transload.errors import TransloadError
from transload_converters.onnx import backend

from tests.support.onnx_ops.measure import defined

REFUSED = {
    r"string|strnorm|regex|label_encoder": "text is no tensor of numbers",
    r"bernoulli": "random numbers are no function of the inputs",
}
"""Tests that may be refused, by a pattern of their names, and why."""


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return list(map(defined, collect_testcases(None)))


PARTS = 3
"""Into which the tests are dealt: a part reaches nearly all operators, each of which has several."""


@pytest.mark.one_in(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_operator_as_onnx_tests_it(part: int, cases: list[Any]) -> None:
    wrong: list[str] = []
    passed = refused = 0
    for case in cases[part::PARTS]:
        prepared = backend.prepare(case.model)
        try:
            found = (backend.difference(wanted, prepared.run(given), case.rtol, case.atol) for given, wanted in case.data_sets)
            why = next(filter(None, found), None)
        except TransloadError as error:
            refused += 1
            if not any(re.search(pattern, case.name) for pattern in REFUSED):
                wrong.append(f"{case.name}: refused: {error}")
            continue
        if why:
            wrong.append(f"{case.name}: {why}")
        else:
            passed += 1
    assert not wrong, "\n".join(wrong)
    assert passed >= 610 and refused <= 16


def test_the_backend_interface() -> None:
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
    from onnx import helper

    from tests.support.onnx_models import make_model, node

    x = np.array([[-1, 2]], np.float32)
    model = make_model([node("Relu", ["x"], ["y"])], {"x": x}, ["y"])
    np.testing.assert_array_equal(backend.run_model(model, [x])[0], [[0, 2]])
    np.testing.assert_array_equal(backend.prepare(model).run({"x": x})[0], [[0, 2]])
    reshape = helper.make_model(model.graph, opset_imports=model.opset_import, ir_version=10)
    reshape.graph.ClearField("node")
    reshape.graph.node.append(node("Reshape", ["x", "s"], ["y"]))
    reshape.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, [1]))
    prepared = backend.prepare(reshape)
    assert prepared.run([x, np.array([2])])[0].shape == (2,) and prepared.made_constant == ("s",)
