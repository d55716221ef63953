"""Builds the model of a case, runs it with LiteRT's reference kernels and through our conversion to TOSA, and judges.

The route that is judged: the `.tflite` file is loaded, legalized to the hub, lowered to TOSA and run by our reference
engine; the same TOSA is written to a `.tosa` file and run by the TOSA reference model, where that is installed.
"""

from __future__ import annotations

import math
import tempfile
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import load, lower, run, save
from transload.ir import Module
from transload_converters.tflite.writer import ModelWriter

from .spec import FORMATS, STATE, Case, Format, Tensor
from .tolerances import float_tolerance, integer_steps, needs_usual_kernels

__all__ = ["Built", "Refused", "build", "judge", "run_litert"]


class Refused(Exception):
    """LiteRT does not take the model: the case is no case."""


@dataclass
class Built:
    """A model's bytes and what it is fed, by input name."""

    content: bytes
    feeds: dict[str, np.ndarray] = field(default_factory=dict)


# --- building

Quantization = tuple[list[float], list[int], int] | None


def build(case: Case, result_shapes: list[tuple[int, ...]] | None = None) -> Built:
    """The model of a case. Results have the given shapes in the file (LiteRT finds the right ones whatever it says)."""
    writer = ModelWriter(description=str(case))
    generator = np.random.default_rng(zlib.crc32(str(case).encode()))
    form = FORMATS[case.format]
    assembly = _Assembly(writer, form, generator)
    if case.model is not None:
        case.model(assembly, *case.inputs, **case.options)
        return Built(writer.finish(), assembly.feeds)
    given = [assembly.add(f"in{index}", tensor) for index, tensor in enumerate(case.inputs)]
    shapes = result_shapes or [tensor.shape for tensor in case.results]
    made = [assembly.add_result(f"out{index}", tensor, shape)
            for index, (tensor, shape) in enumerate(zip(case.results, shapes, strict=True))]
    if case.custom is not None:
        writer.add_custom_operator(case.op, given, made, case.custom)
    else:
        writer.add_operator(case.op, given, made, case.options, version=case.version)
    writer.outputs = made
    return Built(writer.finish(), assembly.feeds)


class _Assembly:
    """Adds the tensors of a case to a model and draws the numbers of constants and inputs."""

    def __init__(self, writer: ModelWriter, form: Format, generator: np.random.Generator) -> None:
        self.writer = writer
        self.form = form
        self.generator = generator
        self.feeds: dict[str, np.ndarray] = {}
        self.operands: dict[str, tuple[tuple[int, ...], Quantization]] = {}
        """Shape and quantization of the operands so far, by role."""

    def add(self, name: str, tensor: Tensor | None) -> int | None:
        """Add an operand; one without data becomes an input of the model, fed with random numbers."""
        if tensor is None:
            return None
        dtype = self.form.dtype(tensor.role)
        quantization = self._quantization(tensor, dtype)
        self.operands.setdefault(tensor.role, (tensor.shape, quantization))
        if isinstance(tensor.data, str) and tensor.data == STATE:
            return self.writer.add_tensor(name, tensor.shape, dtype, quantization=quantization, is_variable=True)
        values = tensor.data if tensor.data is not None and not isinstance(tensor.data, str) else self._random(tensor, dtype, quantization)
        if tensor.data is None:
            index = self.writer.add_tensor(name, tensor.shape, dtype, quantization=quantization, shape_signature=_signature(tensor))
            self.writer.inputs.append(index)
            self.feeds[name] = values
            return index
        index = self.writer.add_tensor(name, tensor.shape, dtype, values, quantization)
        if dtype == "float16" and self.form.weights_through_float:
            half, index = index, self.writer.add_tensor(f"{name}_f32", tensor.shape, "float32")
            self.writer.add_operator("DEQUANTIZE", [half], [index])
        return index

    def add_result(self, name: str, tensor: Tensor, shape: tuple[int, ...]) -> int:
        dtype = self.form.dtype(tensor.role)
        return self.writer.add_tensor(name, shape, dtype, quantization=self._quantization(tensor, dtype))

    def _quantization(self, tensor: Tensor, dtype: str) -> Quantization:
        if tensor.role == "w" and dtype in ("int8", "uint8", "int4"):
            return self._weight_quantization(tensor, dtype)
        if tensor.role == "b" and dtype in ("int32", "int64") and self.form.quantization:
            scales = [self._scales("x")[0] * scale for scale in self._scales("w")]
            return scales, [0] * len(scales), 0
        if tensor.scale is not None:
            return [tensor.scale * tensor.by], [tensor.zero or 0], 0
        if tensor.role not in self.form.quantization:
            return None
        scale, zero = self.form.quantization[tensor.role]
        if tensor.role == "y" and "w" in self.operands:
            scale = self._sum_scale()
        return [scale * tensor.by], [zero if tensor.zero is None else tensor.zero], 0

    def _weight_quantization(self, tensor: Tensor, dtype: str) -> Quantization:
        step = 0.11 if dtype == "int4" else 0.007
        if not self.form.per_axis or tensor.axis is None:
            return [tensor.scale or step], [self.form.weight_zero], 0
        axis = tensor.axis % len(tensor.shape)
        count = tensor.shape[axis]
        return list(self.generator.uniform(step / 2, step * 2, count).astype(np.float32)), [0] * count, axis

    def _scales(self, role: str) -> list[float]:
        return self.operands[role][1][0]  # type: ignore[index]

    def _sum_scale(self) -> float:
        """A scale for sums of products with the weights, so that most of them are in range."""
        shape = self.operands["w"][0]
        terms = math.prod(shape) / max(shape)
        return self._scales("x")[0] * 127 * float(np.mean(self._scales("w"))) * math.sqrt(terms)

    def _random(self, tensor: Tensor, dtype: str, quantization: Quantization) -> np.ndarray:
        shape = tensor.fed or tensor.shape
        if dtype.startswith("float"):
            return self.generator.uniform(tensor.low, tensor.high, shape).astype(dtype)
        if dtype == "bool":
            return self.generator.integers(0, 2, shape).astype(bool)
        if dtype == "int4":
            return self.generator.integers(-7, 8, shape).astype(np.int8)
        if tensor.role == "b" and quantization is not None:
            real = self.generator.uniform(tensor.low, tensor.high, shape)
            return np.round(real / np.asarray(quantization[0])).astype(dtype)
        if quantization is not None and len(tensor.role) == 1:
            info = np.iinfo(dtype)
            low, high = int(info.min) + (tensor.role == "w" and info.min < 0), int(info.max)
            if tensor.role == "w":
                return self.generator.integers(low, high, shape, endpoint=True).astype(dtype)
            # Evenly over the whole range, in any order: 256 numbers are all numbers of 8 bits.
            count = math.prod(shape)
            return self.generator.permutation(np.linspace(low, high, count)).round().astype(dtype).reshape(shape)
        low, high = max(math.ceil(tensor.low), int(np.iinfo(dtype).min)), int(tensor.high)
        return self.generator.integers(low, high, shape, endpoint=True).astype(dtype)


def _signature(tensor: Tensor) -> tuple[int, ...] | None:
    """-1 for the sizes that the file leaves open."""
    if tensor.fed is None:
        return None
    return tuple(size if size == fed else -1 for size, fed in zip(tensor.shape, tensor.fed, strict=True))


# --- running

def run_litert(built: Built, usual: bool = False) -> list[np.ndarray]:
    """What LiteRT's reference kernels compute; with `usual`, and for operators that have no others, its usual ones."""
    try:
        interpreter = _open(built, usual)
        details = interpreter.get_input_details()
        for detail in details:
            array = built.feeds[detail["name"]]
            if tuple(detail["shape"]) != array.shape:
                interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
        for detail in details:
            interpreter.set_tensor(detail["index"], built.feeds[detail["name"]])
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    except (RuntimeError, ValueError) as error:
        raise Refused(" ".join(str(error).split())) from None


def _open(built: Built, usual: bool) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if usual else OpResolverType.BUILTIN_REF
    try:
        return Interpreter(model_content=built.content, experimental_op_resolver_type=resolver)
    except ValueError as error:
        if usual or "Didn't find op" not in str(error):
            raise
        return _open(built, usual=True)


def convert(built: Built) -> Module:
    """The model in TOSA, by the route that is judged."""
    shapes = {name: array.shape for name, array in built.feeds.items()}
    return lower(load(text=built.content, format="tflite", inputs=shapes), "tosa")


@cache
def reference_model() -> Any:
    """The TOSA reference model, or None where it is not installed."""
    try:
        import tosa_reference_model
    except ImportError:
        return None
    return tosa_reference_model


def run_reference_model(module: Module, feeds: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """What the TOSA reference model computes on the module written as a `.tosa` file.

    None where it is not installed, or a tensor is empty: TOSA has no such tensors, and the model aborts.
    """
    model = reference_model()
    if model is None or any(0 in (getattr(result.type, "shape", None) or ()) for op in module.ops() for result in op.results):
        return None
    with tempfile.TemporaryDirectory() as folder:
        content = save(module, Path(folder) / "case.tosa").read_bytes()
    arguments = module.body_of_main.arguments
    arrays = [_stored(array, argument.type.element) for array, argument in zip(feeds.values(), arguments, strict=True)]
    outputs, status = model.run(content, arrays)
    if str(status) != "GraphStatus.TOSA_VALID":
        pytest.fail(f"the TOSA reference model finds the file {status}")
    return list(outputs)


def _stored(array: np.ndarray, element: Any) -> np.ndarray:
    """An input as TOSA holds it: unsigned numbers by their bits, 64-bit ones in 32."""
    from transload.ir import dtype_of

    dtype = dtype_of(element)
    return array.view(dtype) if array.dtype.itemsize == dtype.itemsize else array.astype(dtype)


# --- judging

def expected_results(case: Case) -> list[np.ndarray]:
    """What LiteRT computes, or the case's own function where LiteRT has no kernel."""
    built = build(case)
    if case.expect is not None:
        return [np.asarray(case.expect(*built.feeds.values()))]
    try:
        return run_litert(built, needs_usual_kernels(case))
    except Refused as error:
        pytest.fail(f"LiteRT refuses the case: {error}")


def judge(case: Case) -> None:
    """Fail where our result differs from LiteRT's, or the TOSA reference model's from ours."""
    expected = expected_results(case)
    built = build(case, [array.shape for array in expected])
    module = convert(built)
    actual = list(run(module, built.feeds).values())
    for index, (mine, theirs) in enumerate(zip(actual, expected, strict=True)):
        compare(case, mine, theirs, f"result {index}, LiteRT")
    judged = run_reference_model(module, built.feeds)
    for index, (mine, theirs) in enumerate(zip(judged if judged is not None else actual, actual, strict=True)):
        compare(case, mine, theirs, f"result {index}, TOSA reference model")


def compare(case: Case, actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Integers equal but for the steps allowed to the operator, floats near, bools and shapes equal."""
    assert actual.shape == expected.shape, f"{what}: the shape is {actual.shape} and must be {expected.shape}"
    if expected.dtype.kind in "iu":
        if actual.dtype.kind in "iu" and actual.dtype.itemsize == expected.dtype.itemsize:
            actual = actual.view(expected.dtype)
        steps = integer_steps(case)
        off = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
        assert off.max(initial=0) <= steps, (
            f"{what}: {np.count_nonzero(off > steps)} of {off.size} differ, by up to {off.max()}; first {_first(actual, expected, off > steps)}")
    elif expected.dtype.kind == "b":
        assert np.array_equal(actual.astype(bool), expected), f"{what}: bools differ"
    else:
        tolerance = float_tolerance(case)
        finite = np.abs(expected[np.isfinite(expected)])
        close = np.isclose(actual, expected, rtol=tolerance, atol=tolerance / 10 * finite.max(initial=0), equal_nan=True)
        assert close.all(), f"{what}: {np.count_nonzero(~close)} of {close.size} differ; first {_first(actual, expected, ~close)}"


def _first(actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> str:
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{actual[place]} for {expected[place]} at {place}"
