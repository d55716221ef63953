"""The shapes of a model's inputs, made static: what the user gives, what the file says, and 1 for a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transload.errors import Finding, ReadError, UsageError
from transload.ir import NONE, TensorType
from transload.suggest import nearest

from .types import element_of

__all__ = ["fix_input_shapes"]


def fix_input_shapes(inputs: list[Any], wanted: Mapping[str, TensorType], where: str) -> bool:
    """Write static sizes into the `ValueInfoProto`s of a graph's inputs; returns whether any size was unknown.

    A size of the same name is the same everywhere. An unknown first size of a tensor is taken for the
    batch and becomes 1 where nothing says otherwise. Raises `UsageError` where `wanted` does not fit the
    model, and `ReadError` that lists every input whose shape must be given.
    """
    tensors = {value.name: value.type.tensor_type for value in inputs if value.type.WhichOneof("value") == "tensor_type"}
    _check_names(wanted, [value.name for value in inputs], where)
    sizes: dict[str, int] = {}  # by symbolic name
    shapes: dict[str, list[int | None]] = {}
    missing: list[Finding] = []
    changed = False
    for name, type_ in wanted.items():
        if name in tensors:
            changed |= _apply(name, type_, tensors[name], sizes, where)
    for name, tensor in tensors.items():
        if not tensor.HasField("shape"):
            missing.append(Finding(f"input {name!r}", "has no shape, not even a rank", hint=_flag(name, [None])))
            continue
        dims = tensor.shape.dim
        first = dims[0] if dims else None
        if first is not None and _size(first, sizes) is None:
            _set(first, 1, sizes)
            changed = True
    for name, tensor in tensors.items():
        if not tensor.HasField("shape"):
            continue
        for dim in tensor.shape.dim:
            size = _size(dim, sizes)
            if size is not None and not dim.HasField("dim_value"):
                _set(dim, size, sizes)
                changed = True
        shapes[name] = [_size(dim, sizes) for dim in tensor.shape.dim]
        if None in shapes[name]:
            shown = "x".join(dim.dim_param or "?" if size is None else str(size)
                             for dim, size in zip(tensor.shape.dim, shapes[name], strict=True))
            why = f"has sizes that only the user knows: {shown}"
            missing.append(Finding(f"input {name!r}", why, hint=_flag(name, shapes[name])))
    if missing:
        raise ReadError(f"{where}: the model's inputs have no static shape", missing)
    return changed


def _check_names(wanted: Mapping[str, TensorType], names: list[str], where: str) -> None:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        guess = nearest(unknown[0], names)
        raise UsageError(
            f"{where} has no input {unknown[0]!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + f"inputs: {', '.join(names) or 'none'}")


def _apply(name: str, wanted: TensorType, tensor: Any, sizes: dict[str, int], where: str) -> bool:
    """Enter the shape that the user gives for an input."""
    if wanted.element != NONE and wanted.element != element_of(tensor.elem_type):
        raise UsageError(f"{where}: input {name!r} has elements {element_of(tensor.elem_type)}, not {wanted.element}")
    shape = wanted.shape
    if shape is None:
        return False
    if not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        for size in shape:
            dim = tensor.shape.dim.add()
            if size is not None:
                dim.dim_value = size
        return True
    dims = tensor.shape.dim
    if len(dims) != len(shape):
        raise UsageError(f"{where}: input {name!r} has {len(dims)} dimensions, and {len(shape)} sizes were given for it")
    changed = False
    for place, (dim, size) in enumerate(zip(dims, shape, strict=True)):
        if size is None:
            continue
        known = _size(dim, sizes)
        if known is not None and known != size:
            reason = f"size {dim.dim_param!r}, given before, is" if dim.dim_param else "the model fixes it to"
            raise UsageError(f"{where}: dimension {place} of input {name!r} cannot be {size}: {reason} {known}")
        if known is None:
            _set(dim, size, sizes)
            changed = True
    return changed


def _size(dim: Any, sizes: Mapping[str, int]) -> int | None:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return sizes.get(dim.dim_param) if dim.dim_param else None


def _set(dim: Any, size: int, sizes: dict[str, int]) -> None:
    if dim.dim_param:
        sizes[dim.dim_param] = size
    dim.dim_value = size  # the two are one of a kind: this clears dim_param


def _flag(name: str, sizes: list[int | None]) -> str:
    example = "x".join("?" if size is None else str(size) for size in sizes)
    if None in sizes:
        example = "1x3x224x224" if sizes == [None] else "x".join("N" if size is None else str(size) for size in sizes)
        return f"say it with --input {name}:{example}" + (" (N: a number)" if "N" in example else "")
    return f"say it with --input {name}:{example}"
