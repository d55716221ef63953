"""StableHLO operations as operators of TFLite. LiteRT has kernels for a few; NumPy judges the others."""

from __future__ import annotations

import numpy as np

from .spec import axes, bools, cases, i32, number, x


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floats divided; integers with the fraction cut off."""
    return a / b if a.dtype.kind == "f" else np.trunc(a / b).astype(a.dtype)


BINARY = {"SUBTRACT": np.subtract, "DIVIDE": divided, "REMAINDER": np.fmod}
UNARY = {
    "ABS": np.abs, "NEGATE": np.negative, "FLOOR": np.floor, "COSINE": np.cos, "EXPONENTIAL": np.exp, "TANH": np.tanh,
    "CBRT": np.cbrt, "LOGISTIC": lambda a: 1 / (1 + np.exp(-a)),
}
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less}
BITS = x(2, 3, low=0, high=90)

ELEMENTWISE = [
    *cases("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", x(2, 3), x(2, 3), formats="f32 i32 i64"),
    *(case for name, expect in BINARY.items() for case in cases(
        f"STABLEHLO_{name}", x(2, 3, low=-9, high=9), x(2, 3, low=1, high=4), formats="f32 i32", expect=expect)),
    *(case for name, expect in UNARY.items() for case in cases(f"STABLEHLO_{name}", x(2, 3), expect=expect)),
    *(case for name, expect in COMPARISONS.items() for case in cases(
        "STABLEHLO_COMPARE", x(2, 3, low=0), x(2, 3, low=0), formats="f32 i32", result=bools(), expect=expect,
        comparison_direction=f"STABLEHLO_COMPARISON_DIRECTION_{name}")),
    *cases("STABLEHLO_POWER", x(2, 3, low=0.1), x(2, 3), expect=np.power),
    *cases("STABLEHLO_LOG", x(2, 3, low=0.1), expect=np.log),
    *cases("STABLEHLO_RSQRT", x(2, 3, low=0.1), expect=lambda a: 1 / np.sqrt(a)),
    *cases("STABLEHLO_AND", BITS, BITS, formats="i32 bool", expect=np.bitwise_and),
    *cases("STABLEHLO_OR", BITS, BITS, formats="i32 bool", expect=np.bitwise_or),
    *cases("STABLEHLO_SHIFT_LEFT", BITS, x(2, 3, low=0, high=4), formats="i32"),
    *cases("STABLEHLO_SELECT", bools(2, 3), x(2, 3), x(2, 3), expect=np.where),
    *cases("STABLEHLO_CLAMP", number(-0.5, "float32"), x(2, 3), number(1.0, "float32"), expect=lambda a: np.clip(a, -0.5, 1)),
    *cases("STABLEHLO_CONVERT", x(2, 3, low=-9, high=9), result=i32(), expect=lambda a: a.astype(np.int32)),
]

MOVEMENT = [
    *cases("STABLEHLO_PAD", x(2, 3), number(7.0, "float32"), edge_padding_low=(1, 0), edge_padding_high=(0, 2),
           interior_padding=(0, 0)),
    *cases("STABLEHLO_CONCATENATE", x(2, 3), x(2, 3), dimension=1, expect=lambda a, b: np.concatenate([a, b], 1)),
    *cases("STABLEHLO_TRANSPOSE", x(2, 3, 4), permutation=(2, 0, 1), expect=lambda a: a.transpose(2, 0, 1)),
    *cases("STABLEHLO_SLICE", x(4, 5), start_indices=(1, 0), limit_indices=(4, 5), strides=(2, 1), expect=lambda a: a[1:4:2]),
    *cases("STABLEHLO_RESHAPE", x(2, 3), expect=lambda a: a.reshape(3, 2)),
    *cases("STABLEHLO_BROADCAST_IN_DIM", x(3), axes(2, 3), broadcast_dimensions=(1,),
           expect=lambda a: np.broadcast_to(a, (2, 3))),
    *cases("STABLEHLO_BROADCAST_IN_DIM", x(2, 1), axes(2, 4, 3), broadcast_dimensions=(0, 2),
           expect=lambda a: np.broadcast_to(a[:, None], (2, 4, 3))),
    *cases("STABLEHLO_IOTA", x(2, 3), iota_dimension=1, expect=lambda a: np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3))),
    *cases("STABLEHLO_DOT_GENERAL", x(2, 3, 4), x(2, 4, 5), lhs_batching_dimensions=(0,), rhs_batching_dimensions=(0,),
           lhs_contracting_dimensions=(2,), rhs_contracting_dimensions=(1,), expect=np.matmul),
]

CASES = ELEMENTWISE + MOVEMENT
