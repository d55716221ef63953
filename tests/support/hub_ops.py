"""A small harness: one op built on block arguments, verified, executed by its kernel, and its inference checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.engine.quantized import quantized_kernel
from transload.errors import ShapeError
from transload.ir import NONE, Block, QuantType, TensorType, dtype_of, element_type_of, registry
from transload.ir.build import Builder
from transload.ir.verify import check
from transload_hub.kernels import KERNELS
from transload_hub.ops import TOP


@pytest.fixture(scope="session", autouse=True)
def top_dialect() -> None:
    registry.declare_dialect("top", lambda: TOP)


def build(name: str, types: list[Any], **attributes: Any) -> Any:
    """The op `name` on block arguments of these types (None: absent)."""
    block = Block([type_ for type_ in types if type_ is not None])
    arguments = iter(block.arguments)
    builder = Builder(block)
    builder.emit(name, *(None if type_ is None else next(arguments) for type_ in types), **attributes)
    return block.last


def compatible(inferred: Any, actual: tuple[int, ...]) -> bool:
    """Whether a shape with unknowns can be `actual`."""
    if inferred is None:
        return True
    return len(inferred) == len(actual) and all(a in (None, b) for a, b in zip(inferred, actual, strict=True))


def check_with_unknown_sizes(name: str, types: list[Any], outputs: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    """Inference must hold, with nothing it says being wrong, where sizes or even ranks are not known."""
    for forget in (lambda shape: None, lambda shape: (None,) * len(shape), lambda shape: (None, *shape[1:]) if shape else shape):
        vague = [None if t is None else t.with_shape(forget(t.shape)) for t in types]
        try:
            op = build(name, vague, **attributes)
        except ShapeError as error:
            assert "not known" in str(error), error
            continue
        for result, array in zip(op.results, outputs, strict=True):
            assert compatible(result.type.shape, array.shape), (vague, result.type, array.shape)


def evaluate(name: str, *operands: Any, **attributes: Any) -> Any:
    """Build, verify and execute `top.<name>`; the arrays it gives, as an engine would see them.

    An operand is an array, None, or a pair of stored integers and their `QuantType`.
    """
    name = f"top.{name}"
    elements = [o[1] if isinstance(o, tuple) else None if o is None else element_type_of(o.dtype) for o in operands]
    arrays = [o[0] if isinstance(o, tuple) else o for o in operands]
    types = [None if a is None else TensorType(a.shape, e) for a, e in zip(arrays, elements, strict=True)]
    op = build(name, types, **attributes)
    findings = check(op)
    assert not findings, findings
    inputs = [None if value.type is NONE else array for value, array in zip(op.operands, arrays, strict=False)]
    for array in inputs:
        if array is not None:
            array.setflags(write=False)
    computed = quantized_kernel(op, *KERNELS.kernels[name])(op, *inputs)
    outputs = computed if isinstance(computed, tuple | list) else (computed,)
    assert len(outputs) == len(op.results)
    for result, array in zip(op.results, outputs, strict=True):
        assert isinstance(array, np.ndarray), type(array)
        assert compatible(result.type.shape, array.shape), (result.type, array.shape)
        element = result.type.element
        assert array.dtype == dtype_of(element.storage if isinstance(element, QuantType) else element), (array.dtype, element)
    check_with_unknown_sizes(name, types, tuple(outputs), attributes)
    return outputs[0] if len(op.results) == 1 and not isinstance(computed, tuple | list) else tuple(outputs)


@pytest.fixture(scope="session")
def run_op() -> Callable[..., Any]:
    return evaluate


@pytest.fixture(scope="session")
def make_op() -> Callable[..., Any]:
    return build


def run_onnx(
    op_type: str, *inputs: Any, outputs: int = 1, opset: int = 21, judge: str = "onnxruntime", **attributes: Any,
) -> Any:
    """What one ONNX node gives for arrays (None: absent), by onnxruntime or by ONNX's own reference."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    names = ["" if x is None else f"i{n}" for n, x in enumerate(inputs)]
    results = [f"o{n}" for n in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for n, x in zip(names, inputs, strict=True) if x is not None],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    feeds = {n: np.array(x) for n, x in zip(names, inputs, strict=True) if x is not None}
    if judge == "reference":
        from onnx.reference import ReferenceEvaluator

        computed = ReferenceEvaluator(model).run(None, feeds)
    else:
        onnxruntime = pytest.importorskip("onnxruntime")
        del graph.output[:]
        model = onnx.shape_inference.infer_shapes(model)
        del model.graph.output[:]
        model.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in results)
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        computed = session.run(None, feeds)
    return computed[0] if outputs == 1 else tuple(computed)


@pytest.fixture(scope="session")
def onnx_op() -> Callable[..., Any]:
    return run_onnx


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20250101)


def assert_near(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Same shape, and as near as floats of single precision come."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), np.asarray(expected, np.float64), rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="session")
def near() -> Callable[..., None]:
    return assert_near
