"""The pass `recognize`: what exporters take apart, put together as the one op of `top` that it is.

JAX, TensorFlow, PyTorch and ONNX each write softmax, layer normalization, GELU and their like as sums, roots and
products, each in its own way. As one op they are calibrated, quantized, fused and reported as what the user wrote.
The tables it applies: broadcasts and means (`broadcast`), activations (`activation`,
`sign`), error functions (`erf`), softmax (`softmax`),
normalizations (`normalization`, `affine_norm`), biases and
pooling (`layer`), moved numbers (`movement`), casts (`cast`), shifts (`shifts`); changes of shape that cancel
go, too.

A pattern fires only where axes, shapes and constants are those of the formula, and where the parts serve nobody
else. Results keep their meaning up to the rounding of floats; quantized and integer tensors are left alone, but for
broadcasts, which move numbers and compute none, casts, shifts, and biases of sums in i32.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from transload.ir import Module, update_function_type
from transload.passes.cse import eliminate_common_subexpressions
from transload.passes.dce import eliminate_dead_code
from transload.rewrite import RewriteTable, apply_greedily

from ..simplify import structure
from . import activation, affine_norm, broadcast, cast, erf, layer, movement, normalization, shifts, sign, softmax

__all__ = ["TABLE", "recognize"]

_SHAPES = RewriteTable()
_SHAPES("top.Reshape", "top.Squeeze", "top.Unsqueeze")(structure.reshape_of_reshape)
_SHAPES("top.Reshape", "top.Squeeze", "top.Unsqueeze", "top.Expand", "top.Permute", "top.Cast")(structure.identity)
_SHAPES("top.Permute")(structure.permute_of_permute)

TABLE = reduce(add, (_SHAPES, *(family.TABLE for family in (
    broadcast, movement, erf, activation, sign, softmax, normalization, affine_norm, layer, cast, shifts))))


def recognize(module: Module) -> bool:
    """Find composites in a module of `top` ops, and replace each by its op. Returns whether anything changed."""
    modified = eliminate_dead_code(module)  # what is unused would look like a second user
    modified |= eliminate_common_subexpressions(module)  # so that the same number is the same value
    while apply_greedily(module, TABLE):
        eliminate_dead_code(module)
        modified = True
        if not eliminate_common_subexpressions(module):
            break
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    return modified
