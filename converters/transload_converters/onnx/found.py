"""Outputs whose number of rows is found in the data: the option `found=padded` gives as many as there can be."""

from __future__ import annotations

from transload.ir import Module, TensorType, Value, output_names

__all__ = ["padded"]

_FINDS = frozenset({"onnx.NonZero", "onnx.NonMaxSuppression"})
_NOTHING = -1
"""What stands where nothing was found."""


def padded(source: Module) -> dict[str, int | None]:
    """The outputs that may have fewer rows in onnxruntime, and what stands in the others; None: what is computed of that."""
    behind = set[Value]()
    for op in source.body_of_main:
        if op.name in _FINDS or any(value in behind for value in op.operands):
            behind.update(op.results)
    outputs = zip(output_names(source.main), source.body_of_main.terminator.operands, strict=True)
    return {name: _NOTHING if value.op is not None and value.op.name in _FINDS else None
            for name, value in outputs if value in behind and not _is_static(value)}


def _is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static
