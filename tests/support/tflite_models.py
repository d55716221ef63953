"""TFLite models of one operator, as bytes, and what our reader makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transload.ir import Module
from transload.plugin import Source
from transload_converters.tflite.reader import read
from transload_converters.tflite.writer import ModelWriter

__all__ = ["Tensor", "read_bytes", "write_operator"]

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
