"""Products that give 16 bits, of bytes and of 16 bits: LiteRT's kernels give what they take, and read a bias of 64 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, I32, I64, UI8, Dense, IntegerType, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_converters.tflite.runtime import available, open_model

pytestmark = pytest.mark.skipif(available() is not None, reason="LiteRT is not installed")
RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(-127, 128, (16, 40)).astype(np.int8)
BIAS = RNG.integers(-2000, 2000, 16)


def kind(storage: IntegerType, scale: float, zero: int = 0) -> QuantType:
    return QuantType(storage, F32, (scale,), (zero,))


def product(
    given: QuantType, made: QuantType, rounding: str, bias: IntegerType | None = None, op: str = "top.MatMul",
) -> Module:
    """A layer, or a convolution of one element."""
    module = new_module()
    shape = (8, 40) if op == "top.MatMul" else (1, 8, 1, 40)
    function = module.add_function("main", [TensorType(shape, given)], ["x"])
    block = function.regions[0].block
    build = Builder(block)
    held = WEIGHTS if op == "top.MatMul" else WEIGHTS.reshape(16, 1, 1, 40)
    weights = build.constant(Dense(held), element=kind(I8, 0.01))
    numbers = None if bias is None else build.constant(
        Dense(BIAS.astype(f"int{bias.width}")), element=kind(bias, float(np.float32(given.scale) * np.float32(0.01))))
    options = {"right_transpose": True} if op == "top.MatMul" else {"kernel_shape": (1, 1), "layout": "NHWC"}
    y = build.emit(op, block.arguments[0], weights, numbers, element=made, rounding=rounding, **options)
    set_results(function, [y], ["y"])
    return module


def judged(module: Module, path: Path, rounding: str = "kept") -> int:
    """By how much LiteRT's results of the module written as a file differ from the hub's."""
    transload.save(transload.lower(module, "tfl", rounding=rounding), path)
    (type_,) = module.inputs.values()
    storage = type_.element.storage  # type: ignore[union-attr]
    low, high = (-128, 127) if storage == I16 else storage.range
    x = np.random.default_rng(1).integers(low, high + 1, type_.shape).astype(f"{'u' * (storage == UI8)}int{storage.width}")  # type: ignore[union-attr]
    ours, theirs = transload.run(module, {"x": x})["y"], open_model(path)({"x": x})["y"]
    assert len(np.unique(ours)) > 50
    return int(np.abs(ours.astype(int) - theirs).max())


@pytest.mark.parametrize("given", [kind(I8, 0.03, -5), kind(UI8, 0.03, 7), kind(I16, 0.03)], ids=str)
@pytest.mark.parametrize("bias", [None, I32, I64], ids=str)
def test_a_layer_gives_16_bits(tmp_path: Path, given: QuantType, bias: IntegerType | None) -> None:
    assert judged(product(given, kind(I16, 2.0**-9), "exact", bias), tmp_path / "m.tflite") == 0


@pytest.mark.parametrize("op", ["top.MatMul", "top.Conv"])
@pytest.mark.parametrize("bias", [None, I32, I64], ids=str)
@pytest.mark.parametrize("rounding", ["kept", "litert"])
def test_bytes_that_are_rounded_twice_to_16_bits(tmp_path: Path, op: str, bias: IntegerType | None, rounding: str) -> None:
    """The kernels of 16 bits round as those of bytes where their bias has 32 bits."""
    module = product(kind(I8, 0.03, -5), kind(I16, 2.0**-9), "double", bias, op)
    assert judged(module, tmp_path / "m.tflite", rounding) <= (rounding == "litert")


@pytest.mark.parametrize("bias", [None, I32, I64], ids=str)
@pytest.mark.parametrize("op", ["top.MatMul", "top.Conv"])
def test_16_bits_that_are_rounded_twice(tmp_path: Path, op: str, bias: IntegerType | None) -> None:
    assert judged(product(kind(I16, 0.03), kind(I16, 2.0**-9), "double", bias, op), tmp_path / "m.tflite") == 0


def test_16_bits_that_give_bytes_are_refused_where_they_are() -> None:
    for rounding in ("kept", "litert"):
        with pytest.raises(ConversionError, match="takes i16 and gives i8") as error:
            transload.lower(product(kind(I16, 0.03), kind(I8, 0.5), "exact"), "tfl", rounding=rounding)
        assert error.value.findings[0].what == "top.MatMul"


def test_the_hint_of_floats_is_given_where_it_helps() -> None:
    """Products of other bits than kernels have are not to be had in floats, for what they give has no type there."""
    def scaled(made: QuantType) -> str:
        module = new_module()
        given = [TensorType((2, 3), kind(storage, 0.01)) for storage in (I16, I8)]
        function = module.add_function("main", given, ["a", "b"])
        block = function.regions[0].block
        y = Builder(block).emit("top.Mul", *block.arguments, element=made)
        set_results(function, [y], ["y"])
        with pytest.raises(ConversionError) as error:
            transload.lower(module, "tfl")
        if "rounding=litert" in str(error.value):
            transload.lower(module, "tfl", rounding="litert")
        return str(error.value)

    assert "rounding=litert" in scaled(kind(I8, 0.01)) and "rounding=litert" not in scaled(kind(I32, 0.01))


@pytest.mark.models
def test_a_recurrent_layer_whose_states_are_explicit(models: Path, tmp_path: Path) -> None:
    """Its gates are layers of bytes that give 16 bits. LiteRT, and the model as it is with its states, state for state."""
    path = models / "tflite/tflm_mnist_lstm_int8/trained_lstm_int8.tflite"
    made = transload.convert(path, "tflite", tmp_path / "out", options={"state": "explicit", "rounding": "litert"})
    x = np.random.default_rng(0).integers(-128, 128, (1, 28, 28)).astype(np.int8)
    names = list(made.module.inputs)
    given = {names[0]: x, **transload.ir.initial_states(made.module)}
    found = open_model(made.files[0])(given)
    want = transload.run(path, {names[0]: x})
    for name, array in want.items():
        assert np.abs(found[name].astype(int) - array).max() <= 2
    ours = transload.run(made.files[0], given)
    assert all(np.array_equal(found[name], array) for name, array in ours.items())
