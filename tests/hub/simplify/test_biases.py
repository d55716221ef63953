"""Biases of quantized products: float ones become as fine as 32 bits allow, and TOSA's integers are those of exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import transload
from transload.engine.quantized import dequantize
from transload.ir import F32, F64, I8, I32, Module, Op, QuantType, TensorType
from transload.ir.build import Builder, constant_of
from transload.passes.manager import Pipeline
from transload.testing import build_module
from transload_hub.simplify.biases import PRODUCTS, added_bits, finest

from tests.support.tosa_reference import run_module

INPUT = QuantType(I8, F32, (0.03,), (-11,))
OUTPUT = QuantType(I8, F32, (0.9,), (4,))

CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int | None, dict[str, Any]]] = {
    "layer": ("top.MatMul", (5, 40), (9, 40), 0, {"right_transpose": True}),
    "one scale": ("top.MatMul", (5, 40), (9, 40), None, {"right_transpose": True}),
    "columns": ("top.MatMul", (2, 5, 40), (40, 9), 1, {}),
    "transposed": ("top.MatMul", (40, 5), (40, 9), None, {"left_transpose": True}),
    "dense": ("top.Conv", (1, 6, 8, 8), (10, 6, 3, 3), 0, {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}),
    "depthwise": ("top.Conv", (1, 6, 8, 8), (6, 1, 3, 3), 0, {"kernel_shape": (3, 3), "group": 6}),
    "groups": ("top.Conv", (1, 6, 8, 8), (10, 3, 3, 3), 0, {"kernel_shape": (3, 3), "group": 2, "dilations": (2, 2)}),
    "line": ("top.Conv", (1, 6, 20), (10, 6, 3), 0, {"kernel_shape": (3,)}),
    "wider": ("top.Deconv", (1, 6, 5, 5), (6, 10, 3, 3), 1, {"kernel_shape": (3, 3), "strides": (2, 2)}),
    "wider, in groups": ("top.Deconv", (1, 6, 5, 5), (6, 5, 3, 3), None, {"kernel_shape": (3, 3), "group": 2}),
    "coarse": ("top.Conv", (4, 3, 64, 64), (16, 3, 1, 1), 0, {"kernel_shape": (1, 1)}),
    "wider, depthwise": ("top.Deconv", (1, 6, 5, 5), (6, 1, 3, 3), None, {"kernel_shape": (3, 3), "group": 6}),
}
"""Op, shapes of input and weights, the axis of their scales, attributes."""


def made(case: str) -> tuple[Module, Module]:
    """An op between casts, with a bias of floats: as QDQ models have it, and the same in float64, of real numbers."""
    name, shape, weights, axis, attributes = CASES[case]
    rng = np.random.default_rng(1)
    stored = rng.integers(-127, 128, weights).astype(np.int8)
    kind = QuantType(I8, F32, tuple(rng.uniform(0.01, 0.03, 1 if axis is None else weights[axis]).tolist()), (0,), axis)
    rows = 0 if name == "top.Conv" or attributes.get("right_transpose") else 1
    bias = rng.normal(size=weights[rows] * (attributes.get("group", 1) if name == "top.Deconv" else 1)).astype(np.float32)

    def cast(rw: Builder, x: Any) -> Any:
        rw.fold = False
        real, weight = (rw.emit("top.Cast", each, element=F32) for each in (x, rw.constant(stored, element=kind)))
        return rw.emit("top.Cast", rw.emit(name, real, weight, rw.constant(bias), **attributes), element=OUTPUT)

    def wide(rw: Builder, x: Any) -> Any:
        weight = rw.constant(dequantize(stored, kind, np.float64))
        return rw.emit(name, x, weight, rw.constant(bias.astype(np.float64)), **attributes)

    return build_module([TensorType(shape, INPUT)], cast), build_module([TensorType(shape, F64)], wide)


def quantized(case: str) -> Module:
    module, _ = made(case)
    Pipeline.parse("fold-qdq,round-once,dce").run(module)
    return module


def product(module: Module) -> Op:
    (op,) = (op for op in module.ops() if op.name in PRODUCTS)
    return op


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_exact_arithmetic(case: str) -> None:
    module, (_, real) = quantized(case), made(case)
    held = product(module).operands[2].element
    assert held.storage == I32 and held.scale_array.max() < INPUT.scale * 0.03 / 256
    x = np.random.default_rng(0).integers(-128, 128, module.body_of_main.arguments[0].shape).astype(np.int8)
    (steps,) = transload.run(real, {"x0": dequantize(x, INPUT, np.float64)}, engine="reference").values()
    steps = steps / OUTPUT.scale
    wanted = np.clip(np.rint(steps) + OUTPUT.zero_point, -128, 127)
    certain = np.abs(steps - np.floor(steps) - 0.5) > 1e-4
    tosa = transload.lower(module, "tosa")
    for what, each in {"hub": module, "TOSA": tosa, "StableHLO": transload.lower(module, "stablehlo")}.items():
        (result,) = transload.run(each, {"x0": x}, engine="reference").values()
        np.testing.assert_array_equal(result[certain], wanted[certain], err_msg=what)
    (plain,) = transload.run(transload.lower(module, "tosa", bias="plain"), {"x0": x}, engine="reference").values()
    assert np.abs(plain.astype(int) - wanted)[certain].max() <= 1


@pytest.mark.parametrize("case", CASES)
def test_the_reference_model_gives_the_same_bits(case: str) -> None:
    tosa = transload.lower(quantized(case), "tosa")
    x = np.random.default_rng(2).integers(-128, 128, tosa.body_of_main.arguments[0].shape).astype(np.int8)
    (judged,), (ours,) = run_module(tosa, [x]), transload.run(tosa, {"x0": x}, engine="reference").values()
    np.testing.assert_array_equal(judged, ours)


def test_plain_biases_move_numbers_that_fine_ones_do_not() -> None:
    """Sums of few products, whose steps are large beside those of the result."""
    module, (_, real) = quantized("coarse"), made("coarse")
    x = np.random.default_rng(0).integers(-128, 128, module.body_of_main.arguments[0].shape).astype(np.int8)
    (steps,) = transload.run(real, {"x0": dequantize(x, INPUT, np.float64)}, engine="reference").values()
    wanted = np.clip(np.rint(steps / OUTPUT.scale) + OUTPUT.zero_point, -128, 127)
    differing = {}
    for bias in ("fine", "plain"):
        (result,) = transload.run(transload.lower(module, "tosa", bias=bias), {"x0": x}, engine="reference").values()
        differing[bias] = int((result != wanted).sum())
    assert differing["fine"] == 0 < differing["plain"]


def test_what_is_rounded_is_noted_with_how_much_it_moves() -> None:
    module = quantized("layer")
    before = product(module).operands[2].element
    (record,) = Pipeline.parse("plain-biases").run(module)
    after = product(module).operands[2].element
    assert record.modified and added_bits(before, after.scale_array) is not None and added_bits(after, after.scale_array) is None
    np.testing.assert_allclose(after.scale_array, INPUT.scale * product(module).operands[1].element.scale_array)
    assert "1 biases, which are finer in the model, are rounded" in module.notes[0]
    assert not Pipeline.parse("plain-biases").run(module)[0].modified


def test_a_bias_of_whole_products_stays_plain() -> None:
    scales = np.array([0.25, 0.5])
    stored = finest(np.array([1.5, -4.0]), scales, np.array([1000, 1000]), OUTPUT)
    assert stored is not None and stored.numbers.tolist() == [6, -8] and stored.scales.tolist() == scales.tolist()


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-9, 1.0), st.integers(0, 2**31 - 1)), min_size=1, max_size=8))
def test_sums_with_a_bias_fit_in_32_bits(channels: list[tuple[float, float, int]]) -> None:
    real, scales, reach = (np.array(each) for each in zip(*channels, strict=True))
    stored = finest(real, scales, reach, OUTPUT)
    if stored is None:
        assert np.abs(np.rint(real / scales)).max() > I32.range[1]
        return
    bits = np.rint(np.log2(scales / stored.scales)).astype(np.int64)
    assert ((bits == 0) | ((reach << bits) + np.abs(stored.numbers.astype(np.int64)) <= I32.range[1])).all()
    assert (np.abs(stored.numbers * stored.scales - real) <= 0.5 * stored.scales * (1 + 1e-6)).all()


def test_a_bias_too_fine_for_its_sums_is_rounded() -> None:
    """As text may have it, that no pass of ours made."""
    module = quantized("layer")
    bias = product(module).operands[2]
    dense = constant_of(bias)
    assert dense is not None
    element = bias.element.replace(scales=tuple((bias.element.scale_array / 2**12).tolist()), zero_points=(0,) * 9)
    build = Builder(product(module).parent, before=product(module))
    numbers = dense.numpy().astype(np.int64) << 12
    product(module).set_operand(2, build.constant(np.clip(numbers, *I32.range).astype(np.int32), element=element))
    names = [op.name for op in transload.lower(module, "tosa").ops()]
    assert "tosa.logical_left_shift" not in names and "tosa.conv2d" in names
