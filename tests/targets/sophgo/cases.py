"""Networks of an operator or two, in the forms that frontends make of them: what Top's grammar and TPU-MLIR's simulator judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from transload.ir import BOOL, F32, I8, Module, QuantType, TensorType, Value, new_module, set_results
from transload.ir.build import Builder

__all__ = ["CASES", "RNG", "SHAPE", "made", "weight"]

RNG = np.random.default_rng(5)


def made(shape: tuple[int, ...], build: Callable[[Builder, Value], Value], element: Any = F32) -> Module:
    module = new_module()
    main = module.add_function("main", [TensorType(shape, element)], ["x"])
    block = main.regions[0].block
    set_results(main, [build(Builder(block, location="y"), block.arguments[0])], ["y"])
    return module


def weight(build: Builder, *shape: int) -> Value:
    return build.constant(RNG.normal(size=shape).astype(np.float32))


Case = Callable[[Builder, Value], Value]
SHAPE = (1, 4, 9, 8)


def one(name: str, *weights: tuple[int, ...], of: tuple[int, ...] = (), turned: bool = False, **attributes: Any) -> Case:
    """An op of the input, in the shape `of` where one is given, and of weights; of these first where `turned`."""

    def build(to: Builder, x: Value) -> Value:
        x = to.emit("top.Reshape", x, shape=of) if of else x
        constants = [weight(to, *shape) for shape in weights]
        made: Value = to.emit(f"top.{name}", *([*constants, x] if turned else [x, *constants]), **attributes)
        return made

    return build


def copied(case: Case) -> Case:
    """A case that only moves numbers, with an op that computes: TPU-MLIR's compiler takes no network without one."""
    return lambda to, x: to.emit("top.Abs", case(to, x))


def greatest(to: Builder, x: Value, mode: str = "ReduceMax") -> Value:
    """One number of all."""
    made: Value = to.emit("top.Reduce", x, axes=(0, 1, 2, 3), keepdims=False, mode=mode)
    return made


def above_zero(name: str) -> Case:
    return lambda to, x: to.emit(f"top.{name}", to.emit("top.AddConst", to.emit("top.Abs", x), const_val=0.3))


def compared(mode: str) -> Case:
    return lambda to, x: to.emit("top.Cast", to.emit("top.Compare", x, weight(to, 4, 1, 1), mode=mode), element=F32)


def number(to: Builder, value: float) -> Value:
    return to.constant(np.array(value, np.float32))


CASES: dict[str, Case] = {
    "Conv": lambda to, x: to.emit(
        "top.Conv", x, weight(to, 6, 4, 3, 2), kernel_shape=(3, 2), pads=(1, 0, 1, 1), do_relu=True),
    "Conv of a line": lambda to, x: to.emit(
        "top.Conv", to.emit("top.Reshape", x, shape=(1, 4, 72)), weight(to, 6, 4, 3), kernel_shape=(3,), strides=(2,)),
    "MaxPool with an end": lambda to, x: to.emit("top.MaxPool", x, kernel_shape=(3, 2), do_relu=True, relu_limit=0.6),
    "Upsample with an end": one("Upsample", scale_h=2, scale_w=2, do_relu=True, relu_limit=0.6),
    "Interp by weights": one("Interp", sizes=(4, 5), mode="linear", antialias=True),
    "Interp of cubes": one("Interp", sizes=(11, 17), mode="cubic", exclude_outside=True),
    "Cast to even numbers": lambda to, x: to.emit("top.Cast", to.emit("top.Cast", to.emit(
        "top.MulConst", x, const_val=3.0), element=I8, round_mode="HalfToEven", saturate=True), element=F32),
    "MaxPool": lambda to, x: to.emit("top.MaxPool", x, kernel_shape=(3, 2), strides=(2, 1)),
    "AvgPool": lambda to, x: to.emit("top.AvgPool", x, kernel_shape=(3, 2), pads=(1, 0, 0, 1), count_include_pad=True),
    "MatMul": lambda to, x: to.emit("top.MatMul", x, weight(to, 8, 5)),
    "Add": lambda to, x: to.emit("top.Add", x, weight(to, 4, 1, 1), coeff=(1.0, -2.0)),
    "Softmax": lambda to, x: to.emit("top.Softmax", x, axis=-1),
    "Clip": lambda to, x: to.emit("top.Clip", x, min=-np.inf, max=0.5),
    "Slice": lambda to, x: to.emit("top.Slice", x, offset=(0, 1, 5, 0), ends=(1, 4, 9, 8), steps=(1, 2, 1, 3)),
    "Cast to integers": lambda to, x: to.emit("top.Cast", to.emit("top.Cast", to.emit(
        "top.MulConst", x, const_val=3.0), element=I8), element=F32),
    "Cast to truth": lambda to, x: to.emit("top.Cast", to.emit("top.Cast", to.emit(
        "top.Relu", x), element=BOOL), element=F32),
    "Cast to steps": lambda to, x: to.emit("top.Abs", to.emit("top.Cast", to.emit(
        "top.Cast", x, element=QuantType(I8, F32, (0.01,), (3,))), element=F32)),
    "Pack": lambda to, x: to.emit("top.Pack", x, x, axis=2),
    "Pack of one": lambda to, x: to.emit("top.Pack", x, axis=2),
    "Concat of one": lambda to, x: to.emit("top.Abs", to.emit("top.Concat", x, axis=1)),
    "Max of three": lambda to, x: to.emit("top.Max", x, weight(to, 4, 1, 1), weight(to, 9, 8)),
    "Mul of three": lambda to, x: to.emit("top.Mul", x, weight(to, 4, 1, 1), weight(to, 9, 8)),
    "Add of three": lambda to, x: to.emit("top.Add", x, weight(to, 4, 1, 1), weight(to, 9, 8)),
    "MatMul of a matrix and several": lambda to, x: to.emit("top.MatMul", weight(to, 3, 9), x),
    "Deconv": lambda to, x: to.emit(
        "top.Deconv", x, weight(to, 4, 5, 3, 3), weight(to, 5), kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    "Deconv in groups": lambda to, x: to.emit(
        "top.Deconv", x, weight(to, 4, 3, 3, 2), kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 0, 1), group=2,
        output_padding=(1, 0)),
    "BatchNorm": lambda to, x: to.emit(
        "top.BatchNorm", x, weight(to, 4), to.constant(np.array([0.5, 1, 2, 3], np.float32)), weight(to, 4),
        weight(to, 4)),
    "Scale of channels": lambda to, x: to.emit("top.Scale", x, weight(to, 1, 4, 1, 1), weight(to, 1, 4, 1, 1)),
    "Scale of columns": lambda to, x: to.emit("top.Scale", x, weight(to, 8), weight(to, 8)),
    "Where": lambda to, x: to.emit(
        "top.Where", to.emit("top.Compare", x, weight(to, 4, 1, 1), mode="Less"), weight(to), to.emit("top.Abs", x)),
    "Interp by corners": lambda to, x: to.emit("top.Interp", x, sizes=(18, 24), mode="linear", coord_mode="align_corners"),
    "Interp to the nearest": lambda to, x: to.emit(
        "top.Abs", to.emit("top.Interp", x, sizes=(7, 17), nearest_mode="ceil")),
    "Gather": lambda to, x: to.emit("top.Gather", x, to.constant(np.array([[0, -1]], np.int64)), axis=1),
    "Normalize": lambda to, x: to.emit("top.Normalize", x, axes=(1,)),
    "Reduce": lambda to, x: to.emit("top.Reduce", x, axes=(-1,), mode="ReduceMean", keepdims=False),
    "Interp": lambda to, x: to.emit("top.Interp", x, sizes=(18, 16), mode="linear", coord_mode="half_pixel"),
    "Pad": lambda to, x: to.emit("top.Pad", x, paddings=(0, 0, 1, 0, 0, 0, 0, 2), val=0.5),
    "Pow": lambda to, x: to.emit("top.Pow", x, to.constant(np.array(2.0, np.float32))),
    # --- functions of each number
    **{name: one(name) for name in (
        "Abs", "Ceil", "Floor", "Round", "Sign", "Exp", "Erf", "Cos", "Sin", "Tanh", "Sigmoid", "SiLU", "Softplus", "HardSwish",
        "HardSigmoid", "Elu", "Mish", "GELU", "Neg", "Square", "Relu")},
    **{name: above_zero(name) for name in ("Log", "Sqrt", "Rsqrt", "Reciprocal")},
    "LeakyRelu": one("LeakyRelu", alpha=0.2),
    "PRelu": one("PRelu", (4, 1, 1)),
    "Relu with an end": one("Relu", relu_limit=0.6),
    "MulConst": one("MulConst", const_val=-1.5, do_relu=True),
    "Pow of a fraction": lambda to, x: to.emit("top.Pow", to.emit("top.Abs", x), number(to, 1.7)),
    # --- of several
    **{f"Compare by {mode}": compared(mode)
       for mode in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "NotEqual")},
    **{f"{name} of a row": one(name, (8,)) for name in ("Add", "Mul", "Min", "Max", "SquaredDifference")},
    **{f"{name} of a column": one(name, (9, 1), turned=name == "Sub") for name in ("Mul", "Sub")},
    "Sub from channels": one("Sub", (4, 1, 1), turned=True),
    "Div of channels": lambda to, x: to.emit("top.Div", weight(to, 4, 1, 1), above_zero("Sqrt")(to, x)),
    "Div by a number": lambda to, x: to.emit("top.Div", x, number(to, 3.0)),
    "Div by one of all": lambda to, x: to.emit("top.Div", x, greatest(to, to.emit("top.Abs", x))),
    "Sub of one of all": lambda to, x: to.emit("top.Sub", x, greatest(to, x, "ReduceMin")),
    "Add to one of all": lambda to, x: to.emit("top.Add", greatest(to, x), x),
    "Max with a number": lambda to, x: to.emit("top.Max", x, number(to, 0.1)),
    "Where of one number": lambda to, x: to.emit("top.Mul", x, to.emit(
        "top.Where", to.emit("top.Compare", greatest(to, x), number(to, 0.0), mode="Equal"), number(to, 1.0), greatest(to, x))),
    "Scale of one number": one("Scale", (1,), (1, 4, 1, 1)),
    # --- reductions
    **{f"{mode} over {axes}": one("Reduce", axes=axes, keepdims=keeps, mode=mode)
       for mode in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceProd")
       for axes, keeps in (((2, 3), True), ((1,), True), ((0, 1, 2, 3), False), ((3,), False))},
    # --- convolutions and windows
    "Conv in groups": one("Conv", (4, 1, 3, 3), kernel_shape=(3, 3), pads=(1, 1, 1, 1), group=4),
    "Conv with gaps": one("Conv", (6, 4, 3, 3), (6,), kernel_shape=(3, 3), pads=(2, 2, 2, 2), dilations=(2, 2)),
    "Conv with an end": one("Conv", (6, 4, 3, 2), (6,), kernel_shape=(3, 2), strides=(2, 1), pads=(0, 1, 2, 0), do_relu=True,
                            relu_limit=0.5),
    "Conv of a volume": one("Conv", (5, 2, 2, 3, 3), (5,), of=(1, 2, 4, 6, 6), kernel_shape=(2, 3, 3), pads=(0, 1, 1, 0, 1, 1)),
    "Conv with a computed filter": lambda to, x: to.emit("top.Conv", x, to.emit("top.Reshape", to.emit(
        "top.Slice", x, offset=(0, 0, 0, 0), ends=(1, 4, 9, 1), steps=(1, 1, 1, 1)), shape=(1, 4, 3, 3)), kernel_shape=(3, 3)),
    "Deconv of each channel": one("Deconv", (4, 1, 3, 2), (4,), kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 0, 1), group=4),
    "Deconv of a line": one("Deconv", (4, 5, 3), of=(1, 4, 72), kernel_shape=(3,), strides=(2,)),
    "MaxPool of a line": one("MaxPool", of=(1, 4, 72), kernel_shape=(3,), strides=(2,)),
    "MaxPool of a volume": one("MaxPool", of=(1, 2, 4, 6, 6), kernel_shape=(2, 3, 3)),
    "MaxPool with a border": lambda to, x: to.emit("top.MaxPool", to.emit("top.AddConst", x, const_val=-5.0), kernel_shape=(3, 3),
                                                   strides=(2, 2), pads=(1, 1, 1, 1)),
    "AvgPool of a line": one("AvgPool", of=(1, 4, 72), kernel_shape=(3,), strides=(2,), pads=(1, 1)),
    "AvgPool with a border": one("AvgPool", kernel_shape=(3, 2), strides=(2, 2), pads=(1, 0, 0, 1)),
    "BatchNorm of rows": lambda to, x: to.emit("top.BatchNorm", to.emit("top.Reshape", x, shape=(9, 32)), weight(to, 32),
                                               to.constant(np.linspace(0.1, 2, 32, dtype=np.float32))),
    # --- products
    "MatMul with itself": lambda to, x: to.emit("top.MatMul", x, x, right_transpose=True),
    "MatMul with a bias": one("MatMul", (72, 5), (5,), of=(4, 72), do_relu=True),
    "MatMul of several": one("MatMul", (1, 4, 8, 5)),
    "MatMul with a vector": one("MatMul", (8,)),
    "Softmax of channels": one("Softmax", axis=1),
    "Softmax of rows": one("Softmax", of=(36, 8), axis=-1),
    "Softmax in logarithms": one("Softmax", axis=-1, log=True),
    # --- moves
    "Pad of channels": one("Pad", paddings=(0, 1, 1, 2, 0, 1, 0, 1), val=0.5),
    "Pad by reflection": one("Pad", paddings=(0, 0, 1, 2, 0, 0, 0, 1), mode="reflect"),
    "Pad by the edge": one("Pad", paddings=(0, 0, 1, 2, 0, 0, 0, 1), mode="edge"),
    "Permute": copied(one("Permute", order=(0, 3, 1, 2))),
    "Permute of five": copied(one("Permute", of=(1, 2, 4, 6, 6), order=(0, 2, 4, 1, 3))),
    "Squeeze": copied(one("Squeeze", axes=(0,))),
    "Split": lambda to, x: to.emit("top.Mul", *to.emit("top.Split", x, axis=1, split_size=(2, 2))),
    "Unpack": lambda to, x: to.emit("top.Add", *to.emit("top.Unpack", x, axis=1)),
    "Concat": lambda to, x: to.emit("top.Concat", x, to.emit("top.Abs", x), weight(to, 1, 4, 9, 8), axis=1),
    "Concat of columns": one("Concat", (1, 4, 9, 3), axis=-1),
    "Depth2Space": one("Depth2Space", block_h=2, block_w=2),
    "Upsample": one("Upsample", scale_h=2, scale_w=2),
    "Interp of the nearest": one("Interp", sizes=(18, 16), mode="nearest", coord_mode="asymmetric"),
    "Gather of rows": lambda to, x: to.emit("top.Gather", x, to.constant(np.array([2, 0, 2], np.int64)), axis=2),
}
