"""The shapes of a model's inputs, made static: see `transload.input_shapes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transload.errors import UsageError
from transload.input_shapes import Size, anonymous, static_shapes
from transload.ir import NONE, TensorType

from .types import element_of

__all__ = ["fix_input_shapes", "write_sizes"]


def fix_input_shapes(
    inputs: list[Any], wanted: Mapping[str, TensorType], where: str,
    fits: Callable[[Mapping[str, tuple[int, ...]]], bool] | None = None,
) -> tuple[bool, tuple[str, ...]]:
    """Write static sizes into the `ValueInfoProto`s of a graph's inputs.

    Returns whether any size was unknown, and what was chosen that nobody said. Raises `UsageError` where `wanted` does not
    fit the model, and `ReadError` that lists every input whose shape must be given, with an example that `fits`.
    """
    tensors = {value.name: value.type.tensor_type for value in inputs if value.type.WhichOneof("value") == "tensor_type"}
    for name, type_ in wanted.items():
        if name in tensors and type_.element != NONE and type_.element != element_of(tensors[name].elem_type):
            raise UsageError(
                f"{where}: input {name!r} has elements {element_of(tensors[name].elem_type)}, not {type_.element}")
    declared = {name: _sizes(tensor) for name, tensor in tensors.items()}
    others = [value.name for value in inputs if value.name not in tensors]
    given = {name: type_.shape for name, type_ in wanted.items() if type_.shape is not None and name not in others}
    found = static_shapes(declared, given, where, fits=fits)
    changed = False
    for name, shape in found.shapes.items():
        if declared[name] != list(shape):
            write_sizes(tensors[name], shape)
            changed = True
    return changed, found.notes


def _sizes(tensor: Any) -> list[Size] | None:
    """The sizes that the file gives, None where it gives no shape at all."""
    if not tensor.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0
        else None if anonymous(dim.dim_param) else dim.dim_param for dim in tensor.shape.dim]


def write_sizes(tensor: Any, shape: tuple[int, ...]) -> None:
    """Make a shape a tensor's, in the file's form."""
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for size in shape:
        tensor.shape.dim.add().dim_value = size
