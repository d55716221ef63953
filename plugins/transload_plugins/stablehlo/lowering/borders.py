"""What a function takes and gives stays what it was where its body has come to compute in TOSA's types."""

from __future__ import annotations

from transload.ir import IntegerType, Module, TensorType, Type, Value
from transload.ir.build import Builder
from transload.passes.borders import restore_element_types

from .. import build
from .types import WIDTHS

__all__ = ["restore_borders"]


def restore_borders(module: Module) -> bool:
    """Let the functions take and give again what they did before the lowering to TOSA, as it is noted of them."""
    return restore_element_types(module, _converted, _holds)


def _holds(element: Type) -> bool:
    """Whether StableHLO has an element type: not `i48`."""
    return not isinstance(element, IntegerType) or element.width in WIDTHS


def _converted(rw: Builder, x: Value, wanted: TensorType) -> Value:
    """The same bits where the width is the same, the same number where it is not."""
    source, target = x.element, wanted.element
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and source.width == target.width:
        return build.bitcast(rw, x, target)
    return build.convert(rw, x, target)
