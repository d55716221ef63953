"""The pass `recognize`: what exporters take apart, put together as the one op of `top` that it is.

JAX, TensorFlow, PyTorch and ONNX each write softmax, layer normalization, GELU and their like as sums, roots and
products, each in its own way. As one op they are calibrated, quantized, fused and reported as what the user wrote.
The tables it applies: broadcasts and means (`recognize_broadcast`), activations (`recognize_activation`,
`recognize_sign`), error functions (`recognize_erf`), softmax (`recognize_softmax`),
normalizations (`recognize_normalization`, `recognize_affine_norm`), biases and
pooling (`recognize_layer`), moved numbers (`recognize_movement`), casts (`recognize_cast`); changes of shape that cancel
go, too.

A pattern fires only where axes, shapes and constants are those of the formula, and where the parts serve nobody
else. Results keep their meaning up to the rounding of floats; quantized and integer tensors are left alone, but for
broadcasts, which move numbers and compute none, casts, and biases of sums in i32.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from ...engine import fold
from ...ir import Module, update_function_type
from ...passes.cse import eliminate_common_subexpressions
from ...passes.dce import eliminate_dead_code
from ...rewrite import RewriteTable, apply_greedily
from . import (
    canonicalize,
    recognize_activation,
    recognize_affine_norm,
    recognize_broadcast,
    recognize_cast,
    recognize_erf,
    recognize_layer,
    recognize_movement,
    recognize_normalization,
    recognize_sign,
    recognize_softmax,
)

__all__ = ["TABLE", "recognize"]

_SHAPES = RewriteTable()
_SHAPES("top.Reshape", "top.Squeeze", "top.Unsqueeze")(canonicalize.reshape_of_reshape)
_SHAPES("top.Reshape", "top.Squeeze", "top.Unsqueeze", "top.Expand", "top.Permute", "top.Cast")(canonicalize.identity)
_SHAPES("top.Permute")(canonicalize.permute_of_permute)

TABLE = reduce(add, (_SHAPES, *(family.TABLE for family in (
    recognize_broadcast, recognize_movement, recognize_erf, recognize_activation, recognize_sign, recognize_softmax,
    recognize_normalization, recognize_affine_norm, recognize_layer, recognize_cast))))


def recognize(module: Module) -> bool:
    """Find composites in a module of `top` ops, and replace each by its op. Returns whether anything changed."""
    fold.install()
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
