"""Models of one operator, lowered to TOSA and compared with LiteRT's reference kernels and with TOSA's reference model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import Module, dtype_of, input_names, new_module
from transload.ir.build import Builder
from transload.ir.module import set_results
from transload.plugin import Source

Tensor = tuple[Any, ...]
"""Shape, dtype, and where given quantization (scales, zero points, axis) and data: a tensor without data is an input."""


def write_operator(
    operator: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], options: Mapping[str, Any] | None, version: int,
) -> bytes:
    """A TFLite model of one operator."""
    from transload_converters.tflite.writer import ModelWriter

    model = ModelWriter()

    def add(name: str, tensor: Tensor) -> int:
        shape, dtype, quantization, data = (*tensor, None, None)[:4]
        return model.add_tensor(name, shape, dtype, data, quantization)

    operands = [None if tensor is None else add(f"in{i}", tensor) for i, tensor in enumerate(inputs)]
    results = [add(f"out{i}", tensor) for i, tensor in enumerate(outputs)]
    model.add_operator(operator, operands, results, options, version=version)
    model.inputs = [number for number, tensor in zip(operands, inputs, strict=True) if tensor is not None and len(tensor) < 4]
    model.outputs = results
    return bytes(model.finish())


def run_litert(content: bytes, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of LiteRT's reference kernels; of the usual ones where an operator has no other."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    kinds = litert.OpResolverType
    try:
        interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=kinds.BUILTIN_REF)
    except ValueError as error:
        if "Didn't find op" not in str(error):
            raise
        usual = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=usual)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run_reference_model(module: Module, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of Arm's reference model, which also checks what the specification requires of the values."""
    arm = pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    from transload_plugins.tosa.flatbuffer.writer import serialize

    block = module.body_of_main
    given = []
    for argument, array in zip(block.arguments, arrays, strict=True):
        wanted = dtype_of(argument.element)
        same_bits = array.dtype.itemsize == wanted.itemsize
        given.append(np.ascontiguousarray(array.view(wanted) if same_bits else array.astype(wanted)))
    outputs, status = arm.run(bytes(serialize(module)), given, tosa_level="EIGHTK")
    assert str(status).endswith("TOSA_VALID"), status
    return [
        np.asarray(output).view(dtype_of(value.element)).reshape(value.shape)
        for output, value in zip(outputs, block.terminator.operands, strict=True)]


def random_array(shape: Sequence[int], dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers of the whole range of an integer type, normal ones of a float type."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.normal(size=tuple(shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, tuple(shape), dtype, endpoint=True)


def differences(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Absolute differences; signed numbers that carry unsigned ones are read as such."""
    assert ours.shape == theirs.shape
    if ours.dtype != theirs.dtype and {ours.dtype.kind, theirs.dtype.kind} == {"i", "u"} and ours.itemsize == theirs.itemsize:
        ours = ours.view(theirs.dtype)
    return np.abs(ours.astype(np.float64) - theirs.astype(np.float64))


@pytest.fixture
def judge() -> Callable[..., Module]:
    """`judge(operator, inputs, outputs, options, version=, arrays=, steps=0, tolerance=1e-5)`: TOSA's result is LiteRT's.

    Integers may differ by `steps`, floats by `tolerance`. Our kernels and Arm's reference model must agree
    (integers bit by bit). Returns the TOSA module.
    """

    def compare(
        operator: str, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], options: Mapping[str, Any] | None = None, *,
        version: int = 1, arrays: Sequence[np.ndarray] | None = None, steps: int = 0, tolerance: float = 1e-5,
        official: bool = True,
    ) -> Module:
        from transload_converters.tflite.reader import read

        content = write_operator(operator, inputs, outputs, options, version)
        open_inputs = [tensor for tensor in inputs if tensor is not None and len(tensor) < 4]
        given = list(arrays) if arrays is not None else [
            random_array(tensor[0], tensor[1], seed) for seed, tensor in enumerate(open_inputs)]
        module = lower(read(Source(_data=content, name="<test>"), {}))
        ours = list(run(module, dict(zip(input_names(module.main), given, strict=True))).values())
        for mine, theirs in zip(ours, run_litert(content, given), strict=True):
            worst = differences(mine, theirs).max(initial=0)
            limit = steps if theirs.dtype.kind in "iub" else tolerance * max(1.0, np.abs(theirs).max(initial=0))
            assert worst <= limit, f"differs by {worst}"
        if official:
            agree(module, given, ours)
        return module

    return compare


def agree(module: Module, given: Sequence[np.ndarray], ours: Sequence[np.ndarray]) -> None:
    """Arm's reference model gives what our kernels give."""
    for mine, arms in zip(ours, run_reference_model(module, given), strict=True):
        if mine.dtype.kind in "iub":
            np.testing.assert_array_equal(mine, arms)
        else:
            tolerance = 1e-2 if mine.dtype.itemsize == 2 else 1e-4
            np.testing.assert_allclose(mine.astype(np.float32), arms.astype(np.float32), rtol=tolerance, atol=tolerance)


@pytest.fixture
def lowered() -> Callable[..., Module]:
    """`lowered(make, *arrays, types=None)`: `make(rw, *arguments)` in `top` and lowered compute the same; the TOSA module.

    `types` are those of the arguments where the arrays do not say them (quantized ones).
    """

    def compare(
        make: Callable[..., Any], *arrays: np.ndarray, types: Sequence[Any] | None = None, steps: int = 0,
        tolerance: float = 2e-5, official: bool = True, int64: str = "proved",
    ) -> Module:
        from transload.ir import TensorType, element_type_of

        types = types or [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
        module = new_module()
        names = [f"x{i}" for i in range(len(types))]
        module.add_function("main", types, names)
        block = module.body_of_main
        set_results(module.main, [make(Builder(block, None, "y"), *block.arguments)], ["y"])
        given = dict(zip(names, arrays, strict=True))
        expected = list(run(module, given).values())
        module = lower(module, int64=int64)
        ours = list(run(module, given).values())
        for mine, wanted in zip(ours, expected, strict=True):
            limit = steps if wanted.dtype.kind in "iub" else tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
            assert differences(mine, wanted).max(initial=0) <= limit
        if official:
            agree(module, arrays, ours)
        return module

    return compare
