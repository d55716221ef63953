"""jaxlib's bindings as the judge of our own reader of bytecode: what they print is what the file says."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from transload.ir import Module, dtype_of
from transload.ir.attributes import DenseArray, FloatAttr
from transload.ir.types import FloatType
from transload.text import parse_module
from transload_converters.stablehlo import bindings

VERSIONS = ("0.9.0", "0.12.0", "0.15.0", "0.19.0", "1.0.0", "1.5.0", "1.8.0", "1.10.0", "1.13.0", None)


def forms(text: str, versions: tuple[str | None, ...] = VERSIONS, formats: range = range(7)) -> Iterator[tuple[str, bytes]]:
    """A program in all binary forms: MLIR's bytecode in its versions, and portable artifacts of those versions that have it."""
    ir, _, stablehlo, _ = bindings._modules()
    context = bindings._context()
    handler = context.attach_diagnostic_handler(lambda diagnostic: True)  # says what a version has not
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        for number in formats:
            out = io.BytesIO()
            module.operation.write_bytecode(out, desired_version=number)
            yield f"bytecode {number}", out.getvalue()
        for version in versions:
            module = ir.Module.parse(text)  # anew: writing turns it into VHLO
            try:
                yield f"artifact {version}", stablehlo.serialize_portable_artifact(module, version or bindings.version())
            except ValueError:
                continue
    handler.detach()


def judged(data: bytes) -> Module:
    """What the bindings read, through their text."""
    module, context = bindings._parse(data, "judge")
    with context:
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True, assume_verified=True)
    return rounded(parse_module(text, name="judge"))


def rounded(module: Module) -> Module:
    """The module with its floats as their types hold them: decimal text has more digits, or fewer."""
    for op in module.walk():
        op.attributes = {
            key: float(np.float32(value)) if key == "epsilon" else _rounded(value) for key, value in op.attributes.items()}
    return module


def _rounded(value: Any) -> Any:
    if isinstance(value, FloatAttr):
        return FloatAttr(float(np.asarray(float(value)).astype(dtype_of(value.type))), value.type)
    if isinstance(value, DenseArray) and isinstance(value.element, FloatType):
        return DenseArray([float(np.asarray(x).astype(dtype_of(value.element))) for x in value], value.element)
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
