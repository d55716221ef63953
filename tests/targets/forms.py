"""Every op of the hub in one or a few forms, on operands of any element type: what targets write of them is run and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["ELEMENTS", "FORMS", "Form", "Make"]

ELEMENTS: Mapping[str, Any] = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
    "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
}

Make = Callable[[Any], Sequence[np.ndarray | None]]


@dataclass
class Form:
    """An op, what makes its operands of an element type (None for one that is left out), and its attributes."""

    name: str
    make: Make
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constant: Sequence[int] = ()


def numbers(dtype: Any, *shape: int, least: int = -9) -> np.ndarray:
    """Small numbers of both signs, or from `least` on; truth values."""
    random = np.random.default_rng([*shape, 7])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(max(least, 0) if kind == "u" else least, 10, shape).astype(dtype)
    made = random.normal(size=shape) * 2
    return (np.abs(made) + least if least > 0 else made).astype(dtype)


def _of(*shapes: tuple[int, ...], least: int = -9) -> Make:
    """Operands of these shapes, all of the element type; of the last no number is below `least`."""
    return lambda dtype: [
        numbers(dtype, *shape, least=least if place == len(shapes) - 1 else -9) for place, shape in enumerate(shapes)]


def _beside(shape: tuple[int, ...], *others: np.ndarray | None) -> Make:
    """An operand of the element type, and others that are what they are."""
    return lambda dtype: [numbers(dtype, *shape), *others]


_PLACES = np.array([1, 0, 2], np.int32)
_UNARY = (
    "Abs", "Neg", "Sign", "Square", "Relu", "BitwiseNot", "LogicalNot", "Floor", "Ceil", "Round", "Exp", "Log", "Sqrt", "Rsqrt",
    "Reciprocal", "Sigmoid", "Tanh", "Erf", "GELU", "HardSwish", "HardSigmoid", "Elu", "Selu", "Celu", "Softplus", "Softsign",
    "Mish", "SiLU", "LeakyRelu", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Log1p",
    "IsNaN", "IsInf", "Shrink", "ThresholdedRelu", "NonZero", "EyeLike", "Trilu")
_BINARY = ("Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LogicalAnd", "LogicalOr", "LogicalXor",
           "SquaredDifference", "PRelu")
_DIVIDING = ("Div", "FloorDiv", "FloorMod", "TruncMod", "Pow", "Atan2", "ShiftLeft", "ShiftRight")
_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp", "Any", "All")


def _elementwise() -> Iterator[tuple[str, Form]]:
    for name in _UNARY:
        yield name, Form(name, _of((3, 4), least=1 if name in ("Log", "Sqrt", "Rsqrt", "Reciprocal", "Acosh") else -9))
    for name in _BINARY:
        yield name, Form(name, _of((3, 4), (3, 4)))
        yield f"{name} broadcast", Form(name, _of((3, 4), (4,)))
    for name in _DIVIDING:
        yield name, Form(name, _of((3, 4), (3, 4), least=1))
        yield f"{name} by a constant", Form(name, _of((3, 4), (4,), least=1), constant=(1,))
    yield "three maxima", Form("Max", _of((3, 4), (3, 4), (3, 4)))
    yield "Relu6", Form("Relu", _of((3, 4)), {"relu_limit": 6.0})
    yield "Clip", Form("Clip", _of((3, 4)), {"min": 1.0, "max": 5.0})
    yield "sum and ReLU", Form("Add", _of((3, 4), (3, 4)), {"do_relu": True})
    yield "AddConst", Form("AddConst", _of((3, 4)), {"const_val": 2.0})
    yield "MulConst", Form("MulConst", _of((3, 4)), {"const_val": 2.0})
    yield "Where", Form("Where", lambda dtype: [numbers(np.bool_, 3, 4), numbers(dtype, 3, 4), numbers(dtype, 3, 4)])
    for mode in ("Equal", "NotEqual", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        yield mode, Form("Compare", _of((3, 4), (3, 4)), {"mode": mode})


def _moving() -> Iterator[tuple[str, Form]]:
    for axis in (0, -1):
        yield f"Concat {axis}", Form("Concat", _of((3, 4), (3, 4)), {"axis": axis})
    for mode in ("constant", "reflect", "edge", "symmetric"):
        yield f"Pad {mode}", Form("Pad", _beside((3, 4), None), {"paddings": (1, 0, 0, 2), "mode": mode})
    yield "Permute", Form("Permute", _of((2, 3, 4)), {"order": (2, 0, 1)})
    yield "Reshape", Form("Reshape", _of((2, 6)), {"shape": (3, 4)})
    yield "Reverse", Form("Reverse", _of((2, 6)), {"axes": (1,)})
    yield "ReverseSequence", Form("ReverseSequence", _beside((2, 6), np.array([2, 5], np.int64)), {"seq_axis": 1})
    yield "Roll", Form("Roll", _of((2, 6)), {"shifts": (2,), "axes": (1,)})
    yield "Slice", Form("Slice", _of((4, 6)), {"offset": (1, 0), "ends": (4, 6), "steps": (1, 2)})
    yield "Slice back", Form("Slice", _of((4, 6)), {"offset": (3, 5), "ends": (-5, -7), "steps": (-1, -2)})
    yield "Split", Form("Split", _of((4, 6)), {"axis": 1, "split_size": (2, 4)})
    yield "Squeeze", Form("Squeeze", _of((4, 1)), {"axes": (1,)})
    yield "Unsqueeze", Form("Unsqueeze", _of((4, 2)), {"axes": (1,)})
    yield "Tile", Form("Tile", _of((2, 3)), {"tile": (2, 3)})
    yield "Expand", Form("Expand", _of((1, 3)), {"shape": (4, 3)})
    yield "Pack", Form("Pack", _of((2, 3), (2, 3)))
    yield "Unpack", Form("Unpack", _of((2, 3)))
    yield "Fill", Form("Fill", _of(()), {"shape": (2, 3)})
    yield "Depth2Space", Form("Depth2Space", _of((1, 4, 2, 2)), {"block_h": 2, "block_w": 2})
    yield "SpaceToBatch", Form("SpaceToBatch", _of((1, 4, 4, 2)), {"block_shape": (2, 2), "pads": (0, 0, 0, 0)})
    yield "BatchToSpace", Form("BatchToSpace", _of((4, 2, 2, 2)), {"block_shape": (2, 2), "crops": (0, 0, 0, 0)})


def _indexing() -> Iterator[tuple[str, Form]]:
    yield "Gather", Form("Gather", _beside((3, 4), _PLACES))
    yield "Gather 1", Form("Gather", _beside((3, 4), _PLACES), {"axis": 1})
    yield "GatherElements", Form("GatherElements", _beside((3, 4), np.zeros((2, 4), np.int64)))
    yield "GatherND", Form("GatherND", _beside((3, 4), np.array([[0, 1], [2, 3]], np.int64)))
    for reduction in ("none", "add", "mul", "max", "min"):
        yield f"ScatterElements {reduction}", Form(
            "ScatterElements", lambda dtype: [numbers(dtype, 3, 4), np.array([[0, 1, 2, 1]], np.int64), numbers(dtype, 1, 4)],
            {"reduction": reduction})
        yield f"ScatterND {reduction}", Form(
            "ScatterND", lambda dtype: [numbers(dtype, 3, 4), np.array([[0], [2]], np.int64), numbers(dtype, 2, 4)],
            {"reduction": reduction})
    yield "OneHot", Form(
        "OneHot", lambda dtype: [np.array([0, 2, 1], np.int64), np.ones((), dtype), np.zeros((), dtype)], {"depth": 3})
    yield "TopK", Form("TopK", _of((3, 7)), {"k": 3})
    yield "TopK least", Form("TopK", _of((3, 7)), {"k": 3, "largest": False})
    yield "CumSum", Form("CumSum", _of((3, 7)), {"axis": 1})
    yield "CumSum back", Form("CumSum", _of((3, 7)), {"axis": 1, "exclusive": True, "reverse": True})
    for mode in ("ArgMax", "ArgMin"):
        for last in (False, True):
            yield f"{mode} {last}", Form("Arg", _of((3, 7)), {"axis": 1, "mode": mode, "select_last_index": last})
    for name in _REDUCTIONS:
        least = 1 if name.startswith("Log") else -9
        yield f"Reduce{name}", Form("Reduce", _of((3, 4, 2), least=least), {"axes": (1,), "mode": f"Reduce{name}"})
        yield f"Reduce{name} away", Form(
            "Reduce", _of((3, 4, 2), least=least), {"axes": (0, 2), "mode": f"Reduce{name}", "keepdims": False})


def _networks() -> Iterator[tuple[str, Form]]:
    square = {"kernel_shape": (3, 3)}
    yield "MatMul", Form("MatMul", lambda dtype: [numbers(dtype, 2, 3), numbers(dtype, 3, 4), None])
    yield "MatMul turned", Form("MatMul", _of((2, 3), (4, 3), (4,)), {"right_transpose": True})
    yield "MatMul batched", Form("MatMul", lambda dtype: [numbers(dtype, 2, 2, 3), numbers(dtype, 2, 3, 4), None])
    yield "Conv", Form("Conv", _of((1, 3, 6, 6), (4, 3, 3, 3), (4,)), square)
    yield "Conv by channels", Form(
        "Conv", lambda dtype: [numbers(dtype, 1, 4, 6, 6), numbers(dtype, 4, 1, 3, 3), None],
        {**square, "group": 4, "pads": (1, 1, 1, 1)})
    yield "Conv 1", Form("Conv", _of((1, 3, 6), (4, 3, 3), (4,)), {"kernel_shape": (3,)})
    yield "Deconv", Form("Deconv", lambda dtype: [numbers(dtype, 1, 3, 6, 6), numbers(dtype, 3, 4, 3, 3), None],
                         {**square, "strides": (2, 2)})
    yield "AvgPool", Form("AvgPool", _of((1, 3, 6, 6)), {"kernel_shape": (2, 2), "strides": (2, 2)})
    yield "MaxPool", Form("MaxPool", _of((1, 3, 6, 6)), {**square, "strides": (2, 2), "pads": (1, 1, 1, 1)})
    yield "MaxPool 1", Form("MaxPool", _of((1, 3, 6)), {"kernel_shape": (3,)})
    yield "Softmax", Form("Softmax", _of((3, 4)), {"axis": -1})
    yield "LogSoftmax", Form("Softmax", _of((3, 4)), {"axis": 1, "log": True})
    yield "Interp", Form("Interp", _of((1, 3, 4, 4)), {"sizes": (8, 8)})
    yield "Interp linear", Form("Interp", _of((1, 3, 4, 4)), {"sizes": (7, 9), "mode": "linear"})
    yield "Upsample", Form("Upsample", _of((1, 3, 4, 4)), {"scale_h": 2, "scale_w": 2})
    yield "LayerNorm", Form("LayerNorm", _of((3, 4), (4,), (4,)))
    yield "RMSNorm", Form("RMSNorm", _of((3, 4), (4,)))
    yield "GroupNorm", Form("GroupNorm", _of((1, 4, 3), (4,), (4,)), {"num_groups": 2})
    yield "InstanceNorm", Form("InstanceNorm", _of((1, 4, 3), (4,), (4,)))
    yield "LRN", Form("LRN", _of((1, 4, 3, 3)), {"size": 3})
    yield "Normalize", Form("Normalize", _of((3, 4)), {"axes": (1,)})
    yield "Scale", Form("Scale", _of((1, 4, 3), (4, 1), (4, 1)))
    yield "Einsum", Form("Einsum", _of((2, 3), (3, 4)), {"equation": "ij,jk->ik"})


FORMS: Mapping[str, Form] = dict([*_elementwise(), *_moving(), *_indexing(), *_networks()])
