"""f16 and bf16: the lowerings keep to their types, and to what these can tell apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload.ir import F32

Same = Callable[..., Any]

CASES: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "LayerNorm": ([(2, 3, 8), (8,), (8,)], {}),
    "BatchNorm": ([(1, 3, 3, 4), (4,), (4,), (4,), (4,)], {"layout": "NHWC", "constants": (1, 2, 3, 4)}),
    "LRN": ([(1, 2, 2, 5)], {"size": 3, "layout": "NHWC"}),
    "Pow": ([(3, 4), (4,)], {}),
    "FloorDiv": ([(3, 4), (4,)], {}),
    "Atan2": ([(3, 4), (4,)], {}),
    "Scale": ([(2, 3), (3,), (3,)], {"do_relu": True}),
    "Pad": ([(4, 3)], {"paddings": (1, 0, 0, 1), "val": 0.5}),
    "Slice": ([(5, 6)], {"offset": (0, 5), "ends": (5, -1), "steps": (2, -1)}),
    "Upsample": ([(1, 2, 2, 2)], {"scale_h": 2, "scale_w": 2, "layout": "NHWC"}),
    "CumSum": ([(3, 4)], {"axis": 1}),
    "Trilu": ([(3, 3)], {}),
    "Einsum": ([(2, 3), (3, 4)], {"equation": "ij,jk->ik"}),
    "LSTM": ([(2, 1, 3), (1, 8, 3), (1, 8, 2)], {"hidden_size": 2, "constants": (1, 2)}),
    "GRU": ([(2, 1, 3), (1, 6, 3), (1, 6, 2), (1, 12)], {"hidden_size": 2, "constants": (1, 2, 3)}),
}


@pytest.fixture(params=[np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def half(request: Any, same_op: Same) -> Same:
    """`half(name, shapes, **attributes)` with positive numbers, which no formula here makes NaN of."""
    rng = np.random.default_rng(0)

    def check(name: str, shapes: Any, **attributes: Any) -> None:
        arrays = [np.abs(rng.normal(size=shape)).astype(request.param) for shape in shapes]
        same_op(name, *arrays, tolerance=5e-2, **attributes)

    return check


@pytest.mark.parametrize("name", list(CASES))
def test_operators(half: Same, name: str) -> None:
    shapes, attributes = CASES[name]
    half(name, shapes, **attributes)


def test_functions(half: Same) -> None:
    for name in ("Abs", "Neg", "Exp", "Sqrt", "Round", "Floor", "Sign", "Atan", "Sinh", "Asinh", "Erf", "Sin"):
        half(name, [(3, 4)])


def test_reductions(half: Same) -> None:
    for mode in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
        half("Reduce", [(3, 8)], axes=(1,), mode=mode)


def test_resizing(half: Same) -> None:
    for mode in ("nearest", "linear", "cubic"):
        half("Interp", [(1, 4, 4, 2)], sizes=(7, 8), mode=mode, layout="NHWC")


@pytest.mark.parametrize(("name", "parameters", "attributes"), [
    ("Reduce", 0, {"axes": (1,), "mode": "ReduceMean"}), ("Reduce", 0, {"axes": (1,), "mode": "ReduceL2"}), ("LayerNorm", 2, {}),
    ("RMSNorm", 1, {}), ("Normalize", 0, {"axes": (1,)}), ("LRN", 0, {"size": 3, "layout": "NHWC"})])
def test_sums_beyond_the_range_of_f16(same_op: Same, name: str, parameters: int, attributes: dict[str, Any]) -> None:
    x = np.linspace(200, 900, 600).reshape(2, 300).astype(np.float16)
    same_op(name, x, *[np.ones(300, np.float16)] * parameters, tolerance=2e-3, **attributes)


@pytest.mark.parametrize("name", ["HardSwish", "Mish", "Softplus", "SiLU", "GELU", "Erf", "Tanh", "Atan", "Asinh", "Round"])
def test_functions_of_every_f16(same_op: Same, name: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    same_op(name, every[np.isfinite(every)], tolerance=1e-3, official=False)


def test_softmax_of_more_than_f16_can_count(same_op: Same) -> None:
    same_op("Softmax", np.zeros((1, 70_000), np.float16), axis=1, tolerance=2e-3)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(("name", "shapes", "attributes"), [
    ("Conv", [(1, 5, 6, 4), (3, 2, 2, 4), (3,)], {"kernel_shape": (2, 2), "do_relu": True}),
    ("Conv", [(1, 6, 4), (3, 2, 4)], {"kernel_shape": (2,)}),
    ("Conv", [(1, 3, 6, 4, 4), (3, 2, 2, 2, 4)], {"kernel_shape": (2, 2, 2)}),
    ("Conv", [(1, 5, 6, 4), (4, 2, 2, 2)], {"kernel_shape": (2, 2), "group": 2}),
    ("Conv", [(1, 5, 6, 4), (4, 2, 2, 1)], {"kernel_shape": (2, 2), "group": 4}),
    ("Deconv", [(1, 5, 6, 4), (3, 2, 2, 4)], {"kernel_shape": (2, 2)}),
    ("Deconv", [(1, 3, 6, 4, 4), (3, 2, 2, 2, 4)], {"kernel_shape": (2, 2, 2), "constants": [1]}),
    ("MatMul", [(3, 8), (8, 5)], {}), ("MatMul", [(3, 8), (8, 5)], {"constants": [1]})])
def test_sums_in_f32_of_products_of_halves(same_op: Same, dtype: Any, name: str, shapes: Any, attributes: dict[str, Any]) -> None:
    """Sums beyond the range of f16, and of more bits than bf16 has, are whole numbers in f32."""
    numbers = [200 + np.arange(np.prod(shape)).reshape(shape) % 7 for shape in shapes]
    same_op(name, *[array.astype(dtype) for array in numbers], result=F32, tolerance=0, **attributes,
            **({} if name == "MatMul" else {"layout": "NHWC"}))


BEYOND = [
    ("Add", [[60000], [60000], [-60000]], {}), ("Mul", [[1000], [1000], [1e-3]], {}),
    ("Scale", [[1000], [100], [-60000]], {}), ("Add", [[30000], [30000]], {"coeff": (3.0, -1.5)}),
    ("AddConst", [[-10000, -60000]], {"const_val": 70000.0}), ("MulConst", [[1e-3, 0.5]], {"const_val": 1e5}),
    ("MulConst", [[60000, 100]], {"const_val": 1e-6}), ("HardSigmoid", [[1.0005, 0.5]], {"alpha": 1e5, "beta": -1e5}),
]


@pytest.mark.parametrize(("name", "numbers", "attributes"), BEYOND)
def test_what_is_beyond_the_range_on_the_way_only(same_op: Same, name: str, numbers: Any, attributes: dict[str, Any]) -> None:
    same_op(name, *(np.array(each, np.float16) for each in numbers), tolerance=1e-3, **attributes)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("number", [0.1, 0.3, 0.7])
def test_thresholds_are_not_rounded(same_op: Same, number: float, dtype: Any) -> None:
    """What is nearest to the threshold among the numbers of the type lies above or below it, and is not equal to it."""
    x = np.array([number, -number, 1, -1, 0], dtype)
    same_op("ThresholdedRelu", x, alpha=number, tolerance=0)
    same_op("Shrink", x, lambd=number, tolerance=0)
    same_op("Shrink", x, lambd=number, bias=0.25, tolerance=0)
