"""Operators that move elements, of every kind of element, quantized ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.errors import ConversionError
from transload.ir import F32, I8, QuantType, TensorType

Same = Callable[..., Any]

QUANTIZED = QuantType(I8, F32, (0.1,), (3,))
KINDS = {"f32": (np.float32, None), "i32": (np.int32, None), "i8": (np.int8, QUANTIZED), "i1": (bool, None)}


class Case:
    """One kind of element: `case("Reshape", (2, 3), shape=(6,))`."""

    def __init__(self, same_op: Same, sample: Any, kind: str) -> None:
        self.same_op, self.sample, self.kind = same_op, sample, kind
        self.dtype, self.element = KINDS[kind]

    def __call__(self, name: str, *shapes: tuple[int, ...], more: Any = (), **attributes: Any) -> Any:
        arrays = [self.sample(self.dtype, *shape) for shape in shapes]
        quantized = {"element": self.element, "result": self.element} if self.element is not None else {}
        return self.same_op(name, *arrays, *more, **quantized, **attributes)


@pytest.fixture(params=list(KINDS))
def case(request: Any, same_op: Same, sample: Any) -> Case:
    return Case(same_op, sample, request.param)


def test_shapes(case: Case) -> None:
    case("Reshape", (2, 3, 4), shape=(6, -1))
    case("Squeeze", (1, 3, 1, 4), axes=(0, -2))
    case("Unsqueeze", (3, 4), axes=(0, 2))
    case("Expand", (3, 1), shape=(5, 2, 1, 4))
    case("Tile", (2, 3, 4), tile=(2, 1, 3))


def test_order(case: Case) -> None:
    case("Permute", (2, 3, 4), order=(2, 0, 1))
    case("Reverse", (2, 3, 4), axes=(0, -1))
    case("Roll", (2, 3, 5), shifts=(1, -2), axes=(0, 2))


def test_a_permute_of_dimensions_of_size_one_is_a_reshape(case: Case) -> None:
    module = case("Permute", (2, 1, 4), order=(1, 0, 2))
    assert not any(op.name == "tosa.transpose" for op in module.ops())


def test_reverse_sequence(case: Case) -> None:
    lengths = np.array([1, 5, 3], np.int32)
    for constants in ((), (1,)):
        case("ReverseSequence", (5, 3, 2), more=[lengths], seq_axis=0, batch_axis=1, constants=constants)


def test_joining_and_cutting(case: Case) -> None:
    case("Concat", (2, 3, 4), (2, 1, 4), (2, 5, 4), axis=-2)
    case("Pack", (2, 3), (2, 3), (2, 3), axis=-1)
    case("Pack", (), (), axis=0)
    case("Unpack", (2, 3, 4), axis=1)
    case("Split", (2, 6, 3), axis=1, split_size=(1, 3, 2))


@pytest.mark.parametrize(("offset", "ends", "steps"), [
    ((0, 1, 0), (2, 5, 7), (1, 1, 1)), ((0, 0, 1), (2, 9, 11), (1, 2, 3)), ((1, 8, 10), (-1, 0, -1), (-1, -3, -2)),
    ((1, 5, 10), (2, 9, 11), (4, 2, 7)), ((0, 2, 0), (2, 9, 11), (1, 3, 4)), ((0, 0, 0), (2, 9, 99), (1, 8, 10)),
    ((0, 7, 99), (2, -1, -1), (2, -1, -11)),
])
def test_slices(case: Case, offset: Any, ends: Any, steps: Any) -> None:
    case("Slice", (2, 9, 11), offset=offset, ends=ends, steps=steps)


def test_padding(case: Case) -> None:
    case("Pad", (3, 4), paddings=(0, 2, 1, 0))
    case("Pad", (3, 4), paddings=(0, 2, 1, -1), val=2.0 if case.kind != "i1" else 1.0)
    case("Pad", (5, 4), paddings=(-1, 0, 1, -2))
    for mode in ("reflect", "symmetric", "edge"):
        case("Pad", (3, 4), paddings=(0, 2, 1, 3), mode=mode)


def test_padding_with_an_operand(case: Case) -> None:
    value = np.array(1, case.dtype)
    for constants in ((), (1,)):
        case("Pad", (3, 4), more=[value], paddings=(0, 2, 1, 0), constants=constants)


@pytest.mark.parametrize("crd", [False, True])
def test_depth_and_space(case: Case, crd: bool) -> None:
    case("Depth2Space", (1, 2, 3, 12), block_h=2, block_w=3, layout="NHWC", is_CRD=crd)
    case("Depth2Space", (2, 4, 6, 5), block_h=2, block_w=3, layout="NHWC", is_CRD=crd, is_inversed=True)
    case("Depth2Space", (2, 8, 3, 4), block_h=2, block_w=2, layout="NCHW", is_CRD=crd)


def test_batch_and_space(case: Case) -> None:
    case("SpaceToBatch", (2, 3, 4, 5), block_shape=(2, 3), pads=(1, 0, 0, 2))
    case("SpaceToBatch", (2, 3, 4, 5, 2), block_shape=(2, 2, 2), pads=(1, 0, 0, 0, 0, 1))
    case("BatchToSpace", (12, 2, 2, 5), block_shape=(2, 3), crops=(1, 0, 0, 2))
    case("BatchToSpace", (8, 4, 3), block_shape=(4,), crops=(3, 1))


def test_high_ranks(case: Case) -> None:
    case("Permute", (2, 2, 3, 2, 2, 2, 3, 2), order=(7, 5, 3, 1, 0, 2, 4, 6))
    case("Tile", (2, 3, 1, 1, 2, 2, 1), tile=(2, 1, 3, 1, 1, 1, 2))
    case("Concat", (2, 1, 2, 1, 2, 2, 2), (2, 1, 2, 3, 2, 2, 2), axis=3)
    case("Pad", (1, 2, 1, 2, 1, 2, 3), paddings=(0,) * 5 + (1, 0) + (0,) * 6 + (2,))
    case("Slice", (2, 1, 2, 5, 2, 2, 7), offset=(0, 0, 1, 0, 0, 0, 6), ends=(2, 1, 2, 5, 2, 1, -1), steps=(1, 1, 1, 2, 1, 1, -2))


def test_between_reshapes_a_high_rank_leaves_no_trace(same: Same, normal: Any) -> None:
    def shuffle(builder: Any, x: Any) -> Any:
        x = builder.emit("top.Reshape", x, shape=(2, 2, 2, 3, 2, 2, 2))
        x = builder.emit("top.Permute", x, order=(6, 1, 0, 3, 5, 4, 2))
        return builder.emit("top.Reshape", builder.emit("top.Relu", x), shape=(8, 24))

    module = same(shuffle, normal(8, 24))
    ranks = [value.type.rank for op in module.ops() for value in op.results if isinstance(value.type, TensorType)]
    assert max(ranks) <= 6


def test_operands_of_other_quantized_types_are_rescaled(same: Same, sample: Any) -> None:
    other = QuantType(I8, F32, (0.05,), (-4,))
    types = [TensorType((2, 3), QUANTIZED), TensorType((2, 3), other)]
    arrays = [sample(np.int8, 2, 3), sample(np.int8, 2, 3)]
    same(lambda b, x, y: b.emit("top.Concat", x, y, axis=0, element=QUANTIZED), *arrays, types=types)
    same(lambda b, x, y: b.emit("top.Pack", x, y, axis=0, element=other), *arrays, types=types)
    clamped = {"do_relu": True, "relu_limit": 2.0}
    same(lambda b, x, y: b.emit("top.Concat", x, y, axis=0, element=QUANTIZED, **clamped), *arrays, types=types)


def test_more_tensors_than_an_operator_takes(same: Same, normal: Any) -> None:
    def shuffled(builder: Any, x: Any) -> Any:
        parts = builder.emit("top.Unpack", x, axis=0)
        return builder.emit("top.Concat", *parts[::-1], axis=0)

    module = same(shuffled, normal(130, 2))
    assert max(len(op.operands) for op in module.ops()) <= 64


def test_what_is_not_known_is_refused(same: Same) -> None:
    from transload.api import lower
    from transload.ir import new_module, set_results
    from transload.ir.build import Builder

    module = new_module()
    module.add_function("main", [TensorType((None, 3), F32)], ["x"])
    block = module.body_of_main
    set_results(module.main, [Builder(block).emit("top.Roll", block.arguments[0], shifts=(1,), axes=(0,))], ["y"])
    with pytest.raises(ConversionError, match="sizes that are known"):
        lower(module)
