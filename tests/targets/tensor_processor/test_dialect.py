"""Dialect `tpu`: text there and back, shapes that are inferred, kernels that are the operations."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ShapeError, VerifyError
from transload.ir import F32, I8, I32, Dense, Module, QuantType, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.text import parse_module, print_module
from transload_targets.tensor_processor.arithmetic import OPERATIONS, operation
from transload_targets.tensor_processor.dialect import TPU

Q8 = QuantType(I8, F32, (0.1,), (3,))


def one(*shapes: tuple[int, ...]) -> tuple[Module, Builder, list[Value]]:
    module = new_module()
    main = module.add_function("main", [TensorType(shape, Q8) for shape in shapes], [f"x{i}" for i in range(len(shapes))])
    return module, Builder(main.regions[0].block), list(main.regions[0].block.arguments)


def test_every_op_has_an_operation_and_every_operation_an_op() -> None:
    assert set(TPU.ops) == set(OPERATIONS)


def test_an_op_computes_what_its_operation_does_and_its_text_reads_back() -> None:
    module, build, (x,) = one((1, 4, 6, 6))
    w = build.constant(np.arange(-54, 54).reshape(3, 4, 3, 3).astype(np.int8))
    bias, multiplier, shift = (build.constant(np.array(each, np.int32)) for each in ([7, -8, 9], [1 << 30] * 3, [38] * 3))
    made = build.emit("tpu.conv2d", x, w, bias, multiplier, shift, element=Q8, input_zero=3, output_zero=3, strides=(2, 2),
                      low=3.0)
    set_results(module.main, [made], ["y"])
    assert made.shape == (1, 3, 2, 2)
    verify(module)
    array = np.arange(144).reshape(1, 4, 6, 6).astype(np.int8)
    wanted = operation("conv2d")(
        array, w.op.value.numpy(), *(v.op.value.numpy() for v in (bias, multiplier, shift)), dtype="int8", input_zero=3,
        output_zero=3, strides=(2, 2), low=3)
    assert len(np.unique(wanted)) > 3
    again = parse_module(print_module(module))
    for each in (module, again):
        np.testing.assert_array_equal(transload.run(each, {"x0": array})["y"], wanted)


def test_operands_that_do_not_fit_are_shape_errors() -> None:
    _, build, (a, b, m) = one((1, 4, 6, 6), (1, 4, 6, 5), (4, 6))
    for name, operands, attributes in (
            ("tpu.add", (a, b), {}), ("tpu.add", (a, m), {}), ("tpu.conv2d", (b, m), {}), ("tpu.conv2d", (m, m), {}),
            ("tpu.matmul", (m, m), {}), ("tpu.max_pool2d", (a,), {"kernel": (7, 7)})):
        with pytest.raises(ShapeError):
            build.emit(name, *operands, **attributes)


def test_a_multiplier_needs_a_shift() -> None:
    module, build, (a,) = one((4, 6))
    right = build.constant(np.zeros((6, 2), np.int8))
    multiplier = build.constant(np.ones(1, np.int32))
    set_results(module.main, [build.emit("tpu.matmul", a, right, None, multiplier, element=Q8)], ["y"])
    with pytest.raises(transload.errors.TransloadError, match="a multiplier of integers comes with a shift"):
        verify(module)


@pytest.mark.parametrize("shifted", [False, True])
def test_a_multiplier_of_floats_has_no_shift(shifted) -> None:
    module, build, (a,) = one((4, 6))
    real = build.emit("tpu.cast", a, element=F32)
    operands = [np.ones((6, 2), np.float32), np.full(2, 5, np.float32), np.full(1, 0.5, np.float32)]
    operands += [np.ones(1, np.int32)] * shifted
    set_results(module.main, [build.emit("tpu.matmul", real, *map(build.constant, operands))], ["y"])
    if shifted:
        with pytest.raises(transload.errors.TransloadError, match="one of floats with none"):
            verify(module)
        return
    verify(module)
    found = transload.run(module, {"x0": np.full((4, 6), 3, np.int8)})["y"]
    np.testing.assert_array_equal(found, np.full((4, 2), 6 * 3 * 0.5 + 5, np.float32))


@pytest.mark.parametrize("shape", [(4, 1), (2, 6)])
def test_a_greatest_number_broadcasts_to_floats(shape) -> None:
    module, build, (a,) = one((4, 6))
    real, most = build.emit("tpu.cast", a, element=F32), build.constant(np.full(shape, 8, np.float32))
    set_results(module.main, [build.emit("tpu.cast", real, most, element=I32, full=2.0)], ["y"])
    if shape == (2, 6):
        with pytest.raises(transload.errors.TransloadError, match="their size or 1"):
            verify(module)
        return
    verify(module)
    found = transload.run(module, {"x0": np.full((4, 6), 16, np.int8)})["y"]
    np.testing.assert_array_equal(found, np.full((4, 6), 4, np.int32))


def test_sums_without_a_multiplier_are_of_32_bits() -> None:
    module, build, (a,) = one((4, 6))
    right = build.constant(np.full((6, 2), 127, np.int8))
    set_results(module.main, [build.emit("tpu.matmul", a, right, element=I32, input_zero=3)], ["y"])
    found = transload.run(module, {"x0": np.full((4, 6), 127, np.int8)})["y"]
    np.testing.assert_array_equal(found, np.full((4, 2), 6 * 124 * 127, np.int32))


def test_scales_by_channel_follow_what_moves_them() -> None:
    """Of a reshape and a transpose they stayed at the number of their dimension, where there were others."""
    module, build, _ = one((1,))
    scales = tuple(float(number) for number in np.float32([0.1, 0.2, 0.3]))
    element = QuantType(I8, F32, scales, (0,) * 3, 3)
    value = build.constant(Dense(np.zeros((1, 2, 4, 3), np.int8)), element=element)
    reshaped = build.emit("tpu.reshape", value, shape=(2, 4, 3))
    turned = build.emit("tpu.permute", reshaped, order=(2, 0, 1))
    cut = build.emit("tpu.slice", turned, starts=(2, 0, 0), sizes=(2, 2, 4), steps=(-1, 1, 1))
    assert [each.quant.axis for each in (reshaped, turned, cut)] == [2, 0, 0]
    assert cut.quant.scales == (scales[2], scales[1])
    set_results(module.main, [cut], ["y"])
    verify(module)


@pytest.mark.parametrize(("name", "number", "fits"), [
    ("input_zero", -128, True), ("input_zero", 1 << 31, False), ("output_zero", -1 << 63, False), ("multiplier", 1 << 40, False),
    ("multiplier", (1 << 31) - 1, True), ("shift", 62, True), ("shift", 64, False)])
def test_numbers_that_a_chip_has_no_bits_for(name: str, number: int, fits: bool) -> None:
    """They went as far as the simulator, which told them in Python's words."""
    module, build, (x,) = one((4,))
    set_results(module.main, [build.emit("tpu.requantize", x, element=Q8, **{name: number})], ["y"])
    if fits:
        verify(module)
    else:
        with pytest.raises(VerifyError, match=f"{name} {number}"):
            verify(module)
