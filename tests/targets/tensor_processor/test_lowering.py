"""From the hub to dialect `tpu`: the same integers, bit for bit, where a chip has multipliers of 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.ir import (
    F32,
    I8,
    I16,
    I32,
    I64,
    UI8,
    FloatType,
    IntegerType,
    Module,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    new_module,
    set_results,
)
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.lowering.lower import lower_to_tpu
from transload_targets.tensor_processor.lowering.narrowing import narrow_floats
from transload_targets.tensor_processor.lowering.scaling import eight_bits

RNG = np.random.default_rng(11)


def q(storage: IntegerType, scale: float, zero: int = 0) -> QuantType:
    return QuantType(storage, F32, (scale,), (zero,))


A, B, C = q(I8, 0.021, 3), q(I8, 0.047, -9), q(I8, 0.05, -20)
U, V = q(UI8, 0.021, 120), q(UI8, 0.05, 130)
S, T = q(I16, 0.0003), q(I16, 0.0005)


def made(types: list[Type], build: Callable[..., Any]) -> Module:
    """A module whose function is what `build(builder, *arguments)` makes of arguments of these types."""
    module = new_module()
    main = module.add_function("main", types, [f"x{i}" for i in range(len(types))])
    block = main.regions[0].block
    outcome = build(Builder(block), *block.arguments)
    values = [outcome] if isinstance(outcome, Value) else list(outcome)
    set_results(main, values, [f"y{i}" for i in range(len(values))])
    return module


def inputs_of(module: Module) -> dict[str, np.ndarray]:
    found = {}
    for name, type_ in module.inputs.items():
        assert isinstance(type_, TensorType)
        element = type_.element
        if isinstance(element, QuantType):
            found[name] = RNG.integers(element.storage_min, element.storage_max + 1,
            type_.shape).astype(dtype_of(element.storage))
        elif isinstance(element, IntegerType):
            found[name] = RNG.integers(*INDICES, type_.shape).astype(dtype_of(element))
        else:
            found[name] = RNG.normal(size=type_.shape).astype(dtype_of(element))
    return found


def lowered(module: Module, chip: str = "tp-large") -> Module:
    again = module.clone()
    lower_to_tpu(again, chip)
    verify(again)
    return again


def left(module: Module) -> list[str]:
    return [op.name for op in module.ops() if op.dialect == "top" and op.name not in ("top.Weight", "top.None")]


def tensor(element: Type, *shape: int) -> TensorType:
    return TensorType(shape, element)


def emits(name: str, **attributes: Any) -> Callable[..., Any]:
    return lambda build, *values: build.emit(name, *values, **attributes)


CONV = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1), "dilations": (1, 2)}


def conv(element: QuantType, weights: QuantType, target: QuantType, bias: Type | None = I32, groups: int = 1, **more: Any) -> Any:
    def build(builder: Builder, x: Value) -> Value:
        w = builder.constant(RNG.integers(-127, 128, (8, 4 // groups, 3, 2)).astype(dtype_of(weights.storage)), element=weights)
        b = None
        if bias is not None:
            sums = QuantType(bias, F32, tuple(element.scale * s for s in weights.scales), (0,) * weights.count,
                             axis=0 if weights.count > 1 else None)
            b = builder.constant(RNG.integers(-999, 999, 8).astype(np.int32), element=sums)
        return builder.emit("top.Conv", x, w, b, element=target, group=groups, **CONV, **more)

    return [tensor(element, 2, 4, 9, 8)], build


W = QuantType(I8, F32, tuple(0.001 * (i + 1) for i in range(8)), (0,) * 8, axis=0)


def layer(element: QuantType, target: QuantType, transposed: bool = True, **more: Any) -> Any:
    def build(builder: Builder, x: Value) -> Value:
        w = builder.constant(RNG.integers(-127, 128, (6, 10) if transposed else (10, 6)).astype(np.int8), element=q(I8, 0.004))
        return builder.emit("top.MatMul", x, w, element=target, right_transpose=transposed, **more)

    return [tensor(element, 2, 5, 10)], build


def constant(name: str, array: Any, **attributes: Any) -> Callable[..., Any]:
    """An op with a constant between its first operand and the others."""
    return lambda build, x, *others: build.emit(name, x, build.constant(np.asarray(array)), *others, **attributes)


def transposed(element: QuantType | FloatType, target: Any, **more: Any) -> Any:
    def build(builder: Builder, x: Value) -> Value:
        shape = (4, 6 // more.get("group", 1), 3, 2)
        scales = QuantType(I8, F32, tuple(0.002 * (i + 1) for i in range(6)), (0,) * 6, axis=1)
        if isinstance(element, QuantType):
            w = builder.constant(RNG.integers(-127, 128, shape).astype(np.int8), element=scales)
        else:
            w = builder.constant(RNG.normal(size=shape).astype(np.float32))
        return builder.emit("top.Deconv", x, w, element=target, kernel_shape=(3, 2), **more)

    return [tensor(element, 2, 4, 5, 6)], build


FOUR = (2, 4, 9, 8)
INDICES = (-9, 9)
"""Between which integers of inputs are."""
SUMS = q(I32, 0.001)
CASES: dict[str, tuple[list[Type], Callable[..., Any]]] = {
    "convolution": conv(A, q(I8, 0.004), C),
    "convolution, scales a channel": conv(A, W, C),
    "convolution, relu6": conv(A, W, C, do_relu=True, relu_limit=6.0),
    "convolution, rounded once": conv(A, W, C, rounding="once"),
    "convolution, rounded as onnxruntime's kernels": conv(A, W, C, rounding="float32"),
    "convolution, depthwise": conv(A, W, C, groups=4),
    "convolution, groups": conv(A, W, C, groups=2),
    "convolution, unsigned": conv(U, q(UI8, 0.004, 7), V),
    "convolution, 16 bits": conv(S, W, T),
    "convolution, 16 bits, no bias": conv(S, W, T, bias=None),
    "layer": layer(A, C),
    "layer, rounded twice": layer(A, C, rounding="double"),
    "layer, columns": layer(A, C, transposed=False),
    "layer, unsigned": layer(U, V),
    "products of stacks": ([tensor(A, 2, 3, 5, 10), tensor(B, 2, 3, 10, 4)], emits("top.MatMul", element=C, rounding="double")),
    "products of stacks of other ranks": (
        [tensor(A, 1, 3, 5, 10), tensor(B, 3, 10, 4)], emits("top.MatMul", element=C, rounding="double")),
    "sum": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Add", element=C)),
    "sum, one a channel": ([tensor(A, *FOUR), tensor(B, 4, 1, 1)], emits("top.Add", element=C, do_relu=True)),
    "sum, one a channel of five dimensions": (
        [tensor(A, 2, 3, 3, 2, 1), tensor(B, 1, 3, 1, 1, 1)], emits("top.Add", element=C)),
    "sum, each broadcast along others of six dimensions": (
        [tensor(A, 2, 1, 5, 3, 1, 4), tensor(B, 3, 1, 1, 2, 1)], emits("top.Add", element=C)),
    "sum, unsigned": ([tensor(U, *FOUR), tensor(V, *FOUR)], emits("top.Add", element=V)),
    "sum, 16 bits": ([tensor(S, *FOUR), tensor(T, *FOUR)], emits("top.Add", element=T)),
    "difference": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Sub", element=C)),
    "product": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Mul", element=C)),
    "product, exact": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Mul", element=C, rounding="exact")),
    "greater": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Max", element=C)),
    "lesser": ([tensor(A, *FOUR), tensor(A, *FOUR)], emits("top.Min", element=A)),
    "mean of windows": ([tensor(A, *FOUR)], emits("top.AvgPool", element=A, kernel_shape=(3, 3), pads=(1, 1, 1, 1))),
    "mean of windows, padding counts": ([tensor(A, *FOUR)], emits(
        "top.AvgPool", element=A, kernel_shape=(3, 3), pads=(1, 1, 1, 1), count_include_pad=True)),
    "mean of windows, another type": ([tensor(A, *FOUR)], emits("top.AvgPool", element=C, kernel_shape=(2, 3))),
    "mean of windows, rounded once": ([tensor(A, *FOUR)], emits("top.AvgPool", element=C, kernel_shape=(2, 3), rounding="once")),
    "mean of windows, unsigned": ([tensor(U, *FOUR)], emits("top.AvgPool", element=U, kernel_shape=(2, 3))),
    "greatest of windows": ([tensor(A, *FOUR)], emits("top.MaxPool", element=A, kernel_shape=(3, 2), strides=(2, 2))),
    "greatest of windows, another type": ([tensor(A, *FOUR)], emits("top.MaxPool", element=C, kernel_shape=(3, 2))),
    "mean": ([tensor(A, *FOUR)], emits("top.Reduce", element=C, axes=(2, 3), mode="ReduceMean")),
    "mean, unsigned": ([tensor(U, *FOUR)], emits("top.Reduce", element=V, axes=(2, 3), mode="ReduceMean", keepdims=False)),
    "sum along": ([tensor(A, *FOUR)], emits("top.Reduce", element=q(I8, 2.0), axes=(1,), mode="ReduceSum")),
    "greatest along": ([tensor(A, *FOUR)], emits("top.Reduce", element=C, axes=(1,), mode="ReduceMax")),
    "softmax": ([tensor(A, 3, 11)], emits("top.Softmax", element=q(I8, 1 / 256, -128), axis=-1)),
    "softmax, channels": ([tensor(B, *FOUR)], emits("top.Softmax", element=q(I8, 1 / 256, -128), axis=1, beta=0.5)),
    "softmax, unsigned": ([tensor(U, 3, 11)], emits("top.Softmax", element=q(UI8, 1 / 256), axis=-1)),
    "relu": ([tensor(A, *FOUR)], emits("top.Relu", element=C, relu_limit=1.0)),
    "clip": ([tensor(A, *FOUR)], emits("top.Clip", element=A, min=-0.5, max=0.7)),
    "leaky relu": ([tensor(A, *FOUR)], emits("top.LeakyRelu", element=C, alpha=0.2)),
    "hard swish": ([tensor(A, *FOUR)], emits("top.HardSwish", element=C)),
    "sigmoid": ([tensor(A, *FOUR)], emits("top.Sigmoid", element=q(I8, 1 / 256, -128))),
    "tanh, unsigned": ([tensor(U, *FOUR)], emits("top.Tanh", element=q(UI8, 1 / 128, 128))),
    "exponential, 16 bits": ([tensor(q(I16, 0.0001), 4, 4)], emits("top.Exp", element=q(I16, 0.001))),
    "to another scale": ([tensor(A, *FOUR)], emits("top.Cast", element=C)),
    "to 16 bits": ([tensor(A, *FOUR)], emits("top.Cast", element=S)),
    "from floats": ([tensor(F32, *FOUR)], emits("top.Cast", element=A)),
    "to floats": ([tensor(A, *FOUR)], emits("top.Cast", element=F32)),
    "joined": ([tensor(A, *FOUR), tensor(B, *FOUR)], emits("top.Concat", element=C, axis=1)),
    "stacked": ([tensor(A, 3, 4), tensor(A, 3, 4)], emits("top.Pack", element=A, axis=1)),
    "padded": ([tensor(A, *FOUR)], emits("top.Pad", element=A, paddings=(0, 0, 1, 2, 0, 1, 3, 0))),
    "cut": ([tensor(A, *FOUR)], emits("top.Slice", element=A, offset=(0, 1, 8, 0), ends=(2, 4, 2, 8), steps=(1, 2, -3, 1))),
    "split": ([tensor(A, *FOUR)], emits("top.Split", element=A, axis=1, split_size=(1, 3))),
    "unstacked": ([tensor(A, *FOUR)], emits("top.Unpack", element=A, axis=2)),
    "turned": ([tensor(A, *FOUR)], emits("top.Permute", element=A, order=(0, 2, 3, 1))),
    "reversed": ([tensor(A, *FOUR)], emits("top.Reverse", element=A, axes=(2,))),
    **{f"resized, {mode}, {coordinates}, {'unsigned' if element is U else 'signed'}": ([tensor(element, 1, 3, 5, 6)], emits(
        "top.Interp", element=target, sizes=(11, 9), mode=mode, coord_mode=coordinates, nearest_mode=nearest))
       for element, target in ((A, C), (U, U)) for mode, coordinates, nearest in (
           ("linear", "half_pixel", "floor"), ("linear", "align_corners", "floor"), ("nearest", "asymmetric", "floor"),
           ("nearest", "tf_half_pixel_for_nn", "floor"), ("nearest", "align_corners", "round_prefer_ceil"))},
    "resized from one": ([tensor(A, 1, 3, 1, 6)], emits("top.Interp", element=C, sizes=(5, 11), mode="linear",
                                                        coord_mode="align_corners")),
    "resized in one dimension": ([tensor(A, 1, 3, 6)], emits("top.Interp", element=C, sizes=(11,), mode="linear")),
    "repeated": ([tensor(A, 1, 3, 5, 6)], emits("top.Upsample", element=A, scale_h=2, scale_w=3)),
    "depth to space": ([tensor(A, *FOUR)], emits("top.Depth2Space", element=A, block_h=2, block_w=2)),
    "gathered": ([tensor(A, *FOUR)], constant("top.Gather", [[0, 2], [4, -1]], axis=2, element=A)),
    "gathered by many": ([tensor(A, 3, 40)], constant("top.Gather", RNG.permutation(40), axis=1, element=A)),
    "gathered where computed": ([tensor(A, *FOUR), tensor(I32, 3, 2)], emits("top.Gather", axis=2, element=A)),
    "subscripts": ([tensor(A, *FOUR)], constant("top.GatherND", [[0, 3], [-1, 0], [1, 1]], element=A)),
    "subscripts that are computed": ([tensor(A, 9, 9, 5), tensor(I32, 4, 2)], emits("top.GatherND", element=A)),
    "scattered": ([tensor(A, 6, 5), tensor(A, 3, 5)], constant("top.ScatterND", [[4], [0], [4]], element=A)),
    "place of the greatest": ([tensor(A, *FOUR)], emits("top.Arg", axis=1, mode="ArgMax", keepdims=False, element=I64)),
    "the last place of the least": ([tensor(U, *FOUR)], emits(
        "top.Arg", axis=-1, mode="ArgMin", select_last_index=True, element=I32)),
    "the same bits": ([tensor(S, 4, 4)], emits("top.Bitcast", element=T)),
    "quotient of integers": ([tensor(I32, 4, 4)], constant("top.FloorDiv", np.int32(-4))),
    "shifted": ([tensor(I32, 4, 4)], constant("top.ShiftRight", np.int32(2))),
    "sum, 32 bits": ([tensor(A, 3, 8), tensor(B, 8), tensor(SUMS, 8)], lambda build, x, y, z: build.emit(
        "top.Add", build.emit("top.Mul", x, y, element=SUMS), z, element=SUMS)),
    "joined, unsigned": ([tensor(U, *FOUR), tensor(V, *FOUR)], emits("top.Concat", element=V, axis=1)),
    "reflected": ([tensor(A, *FOUR)], emits("top.Pad", element=A, paddings=(0, 0, 1, 2, 0, 1, 3, 0), mode="reflect")),
    "mirrored": ([tensor(A, *FOUR)], emits("top.Pad", element=A, paddings=(0, 0, 1, 2, 0, 1, 3, 0), mode="symmetric")),
    "repeated at its edges": ([tensor(A, *FOUR)], emits("top.Pad", element=A, paddings=(0, 0, 1, 2, 0, 1, 3, 0), mode="edge")),
    "space to batch": ([tensor(A, 2, 5, 6, 3)], emits("top.SpaceToBatch", element=A, block_shape=(2, 3), pads=(1, 0, 0, 0))),
    "batch to space": ([tensor(A, 12, 3, 2, 3)], emits("top.BatchToSpace", element=A, block_shape=(2, 3), crops=(1, 0, 0, 2))),
    "truth values": ([tensor(I32, 4, 4), tensor(I32, 4, 4)], lambda build, x, y: build.emit(
        "top.Cast", build.emit("top.Compare", x, y, mode="Less"), element=F32)),
    "transposed convolution": transposed(A, C, strides=(2, 3), pads=(1, 0, 0, 1), output_padding=(1, 0)),
    "transposed convolution, cropped": transposed(A, C, strides=(1, 2), pads=(3, 2, 3, 0), dilations=(1, 2)),
    "space to depth": ([tensor(A, 2, 4, 6, 8)], emits("top.Depth2Space", element=A, block_h=2, block_w=4, is_inversed=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_integers_are_the_hubs(name: str) -> None:
    module = made(*CASES[name])
    inputs = inputs_of(module)
    wanted = transload.run(module, inputs, engine="reference")
    low = lowered(module)
    assert left(low) == [], low.notes
    got = transload.run(low, inputs, engine="reference")
    for key, array in wanted.items():
        np.testing.assert_array_equal(got[key], array)
        assert got[key].dtype == array.dtype


NOT_EIGHT = ("16 bits", "floats", "the same bits", "truth", "32 bits", "place of", "last place", "of integers", "shifted")
EIGHT = [name for name in CASES if not any(word in name for word in NOT_EIGHT)]


@pytest.mark.parametrize("name", EIGHT)
def test_multipliers_of_eight_bits_are_near(name: str) -> None:
    """A factor is off by less than 1/128, and so is what it scales, besides half a step for each rounding."""
    module = made(*CASES[name])
    inputs = inputs_of(module)
    wanted = transload.run(module, inputs, engine="reference")
    low = lowered(module, "tp-tiny")
    if left(low):
        assert name == "mean of windows, another type"  # which takes 16 bits
        return
    most = {tuple(op.multiplier.op.value.numpy()) for op in low.ops() if op.name in ("tpu.conv2d", "tpu.matmul")}
    assert all(number < 128 for numbers in most for number in numbers)
    got = transload.run(low, inputs, engine="reference")
    for key, array in wanted.items():
        zero = low.outputs[key].element.zero_point  # type: ignore[union-attr]
        off = np.abs(got[key].astype(int) - array.astype(int))
        assert (off <= 1.6 + np.abs(array.astype(int) - zero) / 64).all(), off.max()


@pytest.mark.parametrize("real", [1.0, 0.5, 0.9999, 1 / 3, 0.0123, 77.0, 2.0**-20])
def test_eight_bits_are_the_nearest(real: float) -> None:
    multiplier, shift = eight_bits(real, 31)
    assert 0 < multiplier < 128
    assert abs(multiplier / 2.0**shift - real) <= real / 128


def test_weights_of_four_bits_are_multiplied_as_such() -> None:
    four = q(IntegerType(4), 0.1)
    module = made([tensor(A, 3, 8)], lambda build, x: build.emit(
        "top.MatMul", x, build.constant(RNG.integers(-8, 8, (5, 8)).astype(ml_dtypes.int4), element=four), element=C,
        right_transpose=True))
    low = lowered(module)
    kinds = [op.weights.stored_element for op in low.ops() if op.name == "tpu.matmul"]
    assert [kind.width for kind in kinds] == [4 if load_chip("tp-large").supports("matmul", "int4") else 8]
    inputs = inputs_of(module)
    np.testing.assert_array_equal(
        transload.run(low, inputs, engine="reference")["y0"], transload.run(module, inputs, engine="reference")["y0"])


def test_what_the_chip_lacks_stays_with_the_reason() -> None:
    module = made([tensor(F32, 4, 4)], emits("top.Exp"))
    low = lowered(module, "tp-tiny")
    assert left(low) == ["top.Exp"]
    (note,) = low.notes
    assert "top.Exp is not for tp-tiny" in note


@pytest.mark.parametrize("element", [I32, SUMS], ids=str)
@pytest.mark.parametrize("coeff", [(1.0, 0.5), (2.0, 2.0), (1.0, -2.0), (1.0, -1.0)])
def test_factors_of_sums_that_are_not_computed_stay(element: Type, coeff: tuple[float, float]) -> None:
    """They were left out, of floats too."""
    low = lowered(made([tensor(element, 3, 8), tensor(element, 3, 8)], emits("top.Add", element=element, coeff=coeff)))
    assert left(low) == ["top.Add"] * (coeff != (1.0, -1.0))


def floats(name: str, *shapes: tuple[int, ...], **attributes: Any) -> tuple[list[Type], Callable[..., Any]]:
    return [tensor(F32, *shape) for shape in shapes or ((2, 4, 5, 6),)], emits(name, **attributes)


def normalized(build: Builder, x: Value) -> Value:
    held = [build.constant(RNG.uniform(0.5, 1.5, 4).astype(np.float32)) for _ in range(4)]
    return build.emit("top.BatchNorm", x, *held, do_relu=True)


FLOATS: dict[str, tuple[list[Type], Callable[..., Any]]] = {
    **{name: floats(f"top.{name}") for name in (
        "Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Mish", "Neg", "Reciprocal", "Round", "SiLU", "Sign", "Sin",
        "Softplus", "Square", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Relu", "GELU")},
    "GELU, tanh": floats("top.GELU", approx=True), "relu6": floats("top.Relu", relu_limit=6.0),
    "clip": floats("top.Clip", min=-0.5, max=0.5), "plus": floats("top.AddConst", const_val=0.3, do_relu=True),
    "times": floats("top.MulConst", const_val=0.3), "softmax": floats("top.Softmax", axis=1),
    "log softmax": floats("top.Softmax", axis=-1, log=True), "mean": floats("top.Reduce", axes=(2, 3), mode="ReduceMean"),
    "greatest": floats("top.Reduce", axes=(1,), mode="ReduceMax", keepdims=False),
    "mean of windows": floats("top.AvgPool", kernel_shape=(2, 3), pads=(1, 0, 0, 1)),
    "greatest of windows": floats("top.MaxPool", kernel_shape=(2, 3), pads=(1, 0, 0, 1)),
    **{f"sum by {coeff}": floats("top.Add", (2, 4, 5, 6), (4, 1, 6), coeff=coeff, do_relu=True, relu_limit=1.5)
       for coeff in ((1.0, 0.5), (2.0, 2.0), (1.0, -0.5), (-1.0, 1.0), (0.0, -3.0))},
    **{name: floats(f"top.{name}", (2, 4, 5, 6), (4, 1, 6)) for name in (
        "Add", "Sub", "Mul", "Div", "Max", "Min", "SquaredDifference", "PRelu")},
    "resized": floats("top.Interp", sizes=(9, 5), mode="linear"),
    "resized, corners": floats("top.Interp", sizes=(9, 12), mode="linear", coord_mode="align_corners"),
    "hard sigmoid": floats("top.HardSigmoid", alpha=0.3, beta=0.4), "normalized": floats("top.Normalize", axes=(1,)),
    "norm": floats("top.Reduce", axes=(1, 3), mode="ReduceL2"),
    "transposed convolution of floats": transposed(F32, F32, strides=(2, 2), pads=(1, 0, 1, 1), group=2),
    "products": floats("top.MatMul", (2, 3, 5, 10), (2, 3, 10, 4)),
    "batch normalization": ([tensor(F32, 2, 4, 5, 6)], normalized),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_near_the_hubs(name: str) -> None:
    """To the last bits: in what order a sum is taken, and a square root, may differ."""
    module = made(*FLOATS[name])
    inputs = inputs_of(module)
    wanted = transload.run(module, inputs, engine="reference")["y0"]
    low = lowered(module)
    assert left(low) == [], low.notes
    got = transload.run(low, inputs, engine="reference")["y0"]
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_become_narrow_with_casts_where_types_meet(dtype: str) -> None:
    def network(build: Builder, x: Value) -> list[Value]:
        w = build.constant(RNG.normal(size=(4, 4, 3, 3)).astype(np.float32))
        x = build.emit("top.Conv", x, w, kernel_shape=(3, 3), do_relu=True)
        return [build.emit("top.Add", build.emit("top.Asinh", x), x), build.emit("top.Tanh", x)]

    module = made([tensor(F32, 1, 4, 7, 7)], network)
    low = lowered(module)
    assert narrow_floats(low, dtype)
    verify(low)
    casts = [op.results[0].element for op in low.ops() if op.name == "tpu.cast"]
    assert left(low) == ["top.Asinh"]  # the chip lacks it, and the host computes in float32
    assert {str(element) for element in casts} == {"f32", "f16" if dtype == "float16" else "bf16"}
    assert all(op.results[0].element != F32 for op in low.ops() if op.dialect == "tpu" and op.name != "tpu.cast")
    inputs = inputs_of(module)
    wanted, got = (transload.run(each, inputs, engine="reference") for each in (module, low))
    for key, array in wanted.items():
        assert got[key].dtype == np.float32
        np.testing.assert_allclose(got[key], array, rtol=0.05, atol=0.1 if dtype == "bfloat16" else 0.02)


LOOP = """
module {
  func.func @main(%n: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
    %e = "top.Exp"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    %r:2 = "top.While"(%n, %e) ({
    ^bb0(%i: tensor<i32>, %a: tensor<3xf32>):
      %z = "top.Weight"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %c = "top.Compare"(%i, %z) <{mode = "Greater"}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "top.Yield"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %a: tensor<3xf32>):
      %o = "top.Weight"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %j = "top.Sub"(%i, %o) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %b = "top.Tanh"(%a) : (tensor<3xf32>) -> tensor<3xf32>
      "top.Yield"(%j, %b) : (tensor<i32>, tensor<3xf32>) -> ()
    }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)
    "func.return"(%r#1) : (tensor<3xf32>) -> ()
  }
}
"""


def test_ops_of_a_loop_stay_on_the_host_as_they_are() -> None:
    """A part of the chip and its kernels have no loops; what is inside of one is the host's as a whole."""
    module = transload.load(text=LOOP, format="mlir")
    low = lowered(module)
    assert {op.name for op in low.walk() if op.dialect == "tpu"} == {"tpu.unary"}
    assert any("is inside of top.While" in note for note in low.notes)
