"""Squared differences of 16 bits as a difference and a product: no runtime has them at once, of 8 bits alone."""

from __future__ import annotations

import math

from transload.ir import F32, I16, Module, QuantType, TensorType
from transload.ir.build import Builder

__all__ = ["write_out_squared_differences"]


def write_out_squared_differences(module: Module) -> None:
    """Have each `top.SquaredDifference` of integers of 16 bits be a `top.Sub` and a `top.Mul` of what that gives by itself.

    The difference reaches as far as the root of the farthest that its square does.
    """
    for op in list(module.body_of_main):
        if op.name != "top.SquaredDifference":
            continue
        made = op.results[0]
        types = [value.quant for value in (*op.operands, made)]
        if any(type_ is None or type_.storage != I16 or not type_.per_tensor or any(type_.zero_points) for type_ in types):
            continue
        farthest = made.quant.scale * I16.range[1]  # type: ignore[union-attr]
        between = QuantType(I16, F32, (math.sqrt(farthest) / I16.range[1],), (0,))
        build = Builder(op.parent, before=op, location=f"{made.name}/difference" if made.name else op.location)  # type: ignore[arg-type]
        difference = build.emit("top.Sub", *op.operands, types=[TensorType(made.tensor_type.shape, between)])
        build.location = made.name or op.location
        op.replace_with([build.emit("top.Mul", difference, difference, types=[made.type])])
