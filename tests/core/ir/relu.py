"""The smallest module: one ReLU of a vector."""

from __future__ import annotations

from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder

__all__ = ["VECTOR", "relu_module"]

VECTOR = TensorType((4,), F32)


def relu_module() -> Module:
    made = new_module()
    main = made.add_function("main", [VECTOR], ["x"])
    block = main.regions[0].block
    set_results(main, [Builder(block, location="y").emit("top.Relu", block.arguments[0])], ["y"])
    return made
