"""Fixtures for models of one operator: written, read, legalized and run, and compared with LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, run
from transload.ir import Module
from transload.plugin import Source
from transload_converters.tflite.reader import read
from transload_converters.tflite.writer import ModelWriter

Tensor = tuple[Any, ...]
"""The arguments of `add_tensor` but the name: shape, dtype, data or None, quantization or None."""


def write_operator(
    operator: str,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[Tensor],
    options: Mapping[str, Any] | None = None,
    *,
    version: int = 1,
    custom_options: bytes | None = None,
    **more: Any,
) -> bytes:
    """A model of one operator. Tensors without data, but variables, are inputs of the model; None is an absent input."""
    model = ModelWriter()
    given: list[int | None] = []
    for number, tensor in enumerate(inputs):
        if tensor is None:
            given.append(None)
            continue
        *parts, last = tensor
        variable = isinstance(last, str) and last == "variable"
        arguments = parts if variable else tensor
        given.append(model.add_tensor(f"in{number}", *arguments, is_variable=variable))
        if not variable and (len(arguments) < 3 or arguments[2] is None):
            model.inputs.append(given[-1])  # type: ignore[arg-type]
    made = [model.add_tensor(f"out{number}", *tensor) for number, tensor in enumerate(outputs)]
    if custom_options is not None:
        model.add_custom_operator(operator, given, made, custom_options)
    else:
        model.add_operator(operator, given, made, options, version=version, **more)
    model.outputs = made
    return model.finish()


def read_bytes(content: bytes, inputs: Mapping[str, Any] | None = None) -> Module:
    """The module of a model in memory."""
    return read(Source(_data=content, name="<test>"), inputs)


def run_litert(content: bytes, inputs: Mapping[str, np.ndarray], reference: bool = True) -> list[np.ndarray]:
    """The outputs of LiteRT's reference kernels; inputs by name, resized where they have other shapes.

    A few operators have no reference kernel: there, or with `reference=False`, the usual kernels run.
    """
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    usual = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    resolver = litert.OpResolverType.BUILTIN_REF if reference else usual
    try:
        interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    except ValueError as error:
        if "Didn't find op" not in str(error):
            raise
        interpreter = litert.Interpreter(model_content=content, experimental_op_resolver_type=usual)
    details = interpreter.get_input_details()
    for detail in details:
        if tuple(detail["shape"]) != inputs[detail["name"]].shape:
            interpreter.resize_tensor_input(detail["index"], inputs[detail["name"]].shape)
    interpreter.allocate_tensors()
    for detail in details:
        interpreter.set_tensor(detail["index"], inputs[detail["name"]])
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def random_like(type_: Any, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Random numbers of a tensor type: the whole range of quantized ones, small ones otherwise."""
    from transload.ir import BOOL, IntegerType, QuantType, dtype_of

    generator = np.random.default_rng(seed)
    element = type_.element
    dtype = dtype_of(element)
    if isinstance(element, QuantType):
        return generator.integers(element.storage_min, element.storage_max, type_.shape, dtype=np.int64, endpoint=True).astype(
            dtype
        )
    if element == BOOL:
        return generator.integers(0, 2, type_.shape).astype(dtype)
    if isinstance(element, IntegerType):
        return generator.integers(max(int(low), element.range[0]), int(high) + 1, type_.shape).astype(dtype)
    return generator.uniform(low, high, type_.shape).astype(dtype)


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Module]:
    """Returns `judge(content, inputs=None, steps=0, tolerance=1e-5)`: our result against LiteRT's.

    Integers may differ by `steps`, floats by `tolerance` relative to the greatest value. Returns the hub module.
    """

    def compare(
        content: bytes,
        inputs: Mapping[str, np.ndarray] | None = None,
        *,
        steps: int = 0,
        tolerance: float = 1e-5,
        low: float = -2.0,
        high: float = 2.0,
        reference: bool = True,
    ) -> Module:
        shapes = None
        if inputs is not None:
            from transload.ir import NONE, TensorType

            shapes = {name: TensorType(array.shape, NONE) for name, array in inputs.items()}
        source = read_bytes(content, shapes)
        arguments = source.main.regions[0].block.arguments
        given = (
            dict(inputs)
            if inputs is not None
            else {value.name: random_like(value.type, seed, low, high) for seed, value in enumerate(arguments)}
        )
        hub = legalize(source)
        ours = list(run(hub, given).values())
        theirs = run_litert(content, given, reference)
        assert len(ours) == len(theirs)
        for mine, reference in zip(ours, theirs, strict=True):
            assert mine.shape == reference.shape
            assert mine.dtype == reference.dtype
            if reference.dtype.kind in "iub":
                worst = np.abs(mine.astype(np.int64) - reference.astype(np.int64)).max(initial=0)
                assert worst <= steps, f"differs by {worst} steps"
            else:
                scale = max(np.abs(reference[np.isfinite(reference)]).max(initial=0), 1e-6)
                np.testing.assert_allclose(mine, reference, rtol=0, atol=tolerance * scale)
        return hub

    return compare


@pytest.fixture
def write() -> Callable[..., bytes]:
    """`write_operator`, for tests that are loaded without a package."""
    return write_operator


@pytest.fixture
def load() -> Callable[..., Module]:
    """`read_bytes`."""
    return read_bytes


@pytest.fixture
def litert() -> Callable[..., list[np.ndarray]]:
    """`run_litert`."""
    return run_litert
