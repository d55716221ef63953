"""The attribute `rounding`: each word gives the integers of its definition, in TOSA, wherever the op stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run, save
from transload.ir import F32, I8, I16, I32, Module, QuantType, TensorType, new_module
from transload.ir.build import Builder
from transload.ir.module import set_results
from transload.ir.verify import check
from transload.passes.manager import Pipeline
from transload.text import parse_module, print_module
from transload_hub.ops import TOP
from transload_hub.ops.rounding import WORDS

SCALES = ((2.0**-3, 2.0**-2, 1.0), (0.375, 2.0**-4, 1.0), (0.1, 0.07, 0.3), (0.6, 0.5, 0.25))
"""Of both factors and the result: a power of two, a few bits (both make halves), and any; a factor above one."""


def fixed_point(x: int, real: float) -> int:
    """gemmlowp: SaturatingRoundingDoublingHighMul and RoundingDivideByPOT."""
    mantissa, exponent = math.frexp(real)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    x <<= max(exponent, 0)
    product = x * multiplier
    nudged = product + (2**30 if product >= 0 else 1 - 2**30)
    high = abs(nudged) // 2**31 * (1 if nudged >= 0 else -1)
    return away(Fraction(high, 2 ** max(-exponent, 0)))


def away(real: Fraction) -> int:
    size = math.floor(abs(real) + Fraction(1, 2))
    return size if real >= 0 else -size


def up(real: Fraction) -> int:
    return math.floor(real + Fraction(1, 2))


def defined(word: str, sums: np.ndarray, a: float, b: float, target: float) -> np.ndarray:
    """The integers that `sums * a * b / target` becomes, by the definition of the word."""
    single = np.float32(a) * np.float32(b) / np.float32(target)
    double = float(np.float32(a)) * float(np.float32(b)) / float(np.float32(target))
    rule: Callable[[int], int] = {
        "double": lambda x: fixed_point(x, double),
        "exact": lambda x: away(x * Fraction(double)),
        "once": lambda x: up(x * Fraction(double)),
        "float32": lambda x: up(x * Fraction(float(single))),
    }[word]
    low, high = I16.range
    return np.clip([rule(int(x)) for x in sums.reshape(-1)], low, high).reshape(sums.shape)


def quantized(scale: float, storage: Any = I8) -> QuantType:
    return QuantType(storage, F32, (scale,), (0,))


def product_of(name: str, word: str, a: float, b: float, target: float) -> tuple[Module, np.ndarray, np.ndarray]:
    """A module with one quantized op, its input, and the sums that it scales."""
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 1, 256, 1)
    w = np.array([3, 5, 127, -77, 64], np.int8)
    module = new_module()
    module.add_function("main", [TensorType(x.shape, quantized(a))], ["x"])
    block = module.body_of_main
    build = Builder(block, None, "y")
    element = quantized(target, I16)
    if name == "top.Conv":
        made = build.emit(
            name, block.arguments[0], build.constant(w.reshape(5, 1, 1, 1), element=quantized(b)), kernel_shape=(1, 1),
            layout="NHWC", element=element, rounding=word)
    elif name == "top.MatMul":
        made = build.emit(
            name, block.arguments[0], build.constant(w.reshape(1, 5), element=quantized(b)), element=element, rounding=word)
    else:
        made = build.emit(name, block.arguments[0], build.constant(w, element=quantized(b)), element=element, rounding=word)
    set_results(module.main, [made], ["y"])
    return module, x, x.astype(np.int64) * w


@pytest.mark.parametrize("word", ["exact", "once"])
def test_products_of_two_operands_of_16_bits(word: str) -> None:
    a, b, target = 1.1e-4, 1.3e-4, 3.3e-4
    x, y = (np.random.default_rng(3).integers(-9000, 9000, shape).astype(np.int16) for shape in ((20, 6), (6, 30)))
    module = new_module()
    module.add_function(
        "main", [TensorType(array.shape, quantized(scale, I16)) for array, scale in ((x, a), (y, b))], ["x", "y"])
    block = module.body_of_main
    made = Builder(block, None, "z").emit("top.MatMul", *block.arguments, element=quantized(target, I16), rounding=word)
    set_results(module.main, [made], ["z"])
    assert np.array_equal(run(lower(module), {"x": x, "y": y})["z"], defined(word, x.astype(np.int64) @ y, a, b, target))


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("word", ["double", "exact", "once", "float32"])
@pytest.mark.parametrize("name", ["top.Conv", "top.MatMul", "top.Mul"])
def test_products(name: str, word: str, scales: tuple[float, float, float]) -> None:
    if not TOP.ops[name].attributes["rounding"].kind.accepts(word):
        return  # no kernel of onnxruntime's is that
    module, x, sums = product_of(name, word, *scales)
    found = run(lower(module), {"x": x})["y"]
    np.testing.assert_array_equal(found, defined(word, sums, *scales))


def test_the_words_differ() -> None:
    """Else the test above could not tell them apart."""
    found = [defined(word, np.arange(-500, 500), *SCALES[0]) for word in ("double", "exact", "once")]
    assert all((a != b).any() for i, a in enumerate(found) for b in found[:i])


def test_a_factor_of_float32_is_another_one() -> None:
    """A sum whose real number is just above a middle is below it with the factor that onnxruntime's kernels have."""
    a, b, target = 0.013, 0.017, 0.3
    sums = np.arange(1, 2**21, dtype=np.int64)
    real, single = (np.floor(sums * factor + 0.5) for factor in (
        float(np.float32(a)) * float(np.float32(b)) / float(np.float32(target)),
        float(np.float32(a) * np.float32(b) / np.float32(target))))
    chosen = sums[real != single]
    assert chosen.size
    wanted = {word: defined(word, chosen[:5], a, b, target) for word in ("once", "float32")}
    assert (wanted["once"] != wanted["float32"]).all()
    for word, integers in wanted.items():
        module = new_module()
        module.add_function("main", [TensorType((1, 1), quantized(a))], ["x"])
        build = Builder(module.body_of_main, None, "y")
        bias = build.constant(chosen[:5].astype(np.int32), element=quantized(float(np.float32(a) * np.float32(b)), I32))
        made = build.emit(
            "top.MatMul", module.body_of_main.arguments[0], build.constant(np.zeros((1, 5), np.int8), element=quantized(b)), bias,
            element=quantized(target, I16), rounding=word)
        set_results(module.main, [made], ["y"])
        np.testing.assert_array_equal(run(lower(module), {"x": np.zeros((1, 1), np.int8)})["y"][0], integers)


def by_reference_model(module: Module, arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    """What Arm's model makes of it, which also checks that no number is beyond what its shift allows; None without the model."""
    try:
        import tosa_reference_model
    except ImportError:
        return None
    with TemporaryDirectory() as folder:
        content = save(module, Path(folder) / "op.tosa").read_bytes()
    outputs, status = tosa_reference_model.run(content, list(arrays))
    assert str(status).endswith("TOSA_VALID"), status
    return outputs[0]


def single_op(name: str, arrays: list[np.ndarray], kinds: list[QuantType], target: QuantType, **attributes: Any) -> np.ndarray:
    """What an op that rounds once gives for stored numbers."""
    module = new_module()
    names = [f"x{number}" for number in range(len(arrays))]
    module.add_function("main", [TensorType(x.shape, kind) for x, kind in zip(arrays, kinds, strict=True)], names)
    block = module.body_of_main
    made = Builder(block, None, "y").emit(name, *block.arguments, element=target, rounding="once", **attributes)
    set_results(module.main, [made], ["y"])
    lowered = lower(module)
    found = run(lowered, dict(zip(names, arrays, strict=True)))["y"]
    theirs = by_reference_model(lowered, arrays)
    assert theirs is None or np.array_equal(theirs, found)
    return found


@pytest.mark.parametrize(("kernel", "strides", "pads"), [
    ((25, 5), (1, 1), (0, 0, 0, 0)), ((3, 3), (2, 2), (1, 1, 1, 1)), ((7,), (3,), (0, 0))])
def test_means_in_a_scale_of_their_own(kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...]) -> None:
    """They are the nearest to the real mean: with seven bits of fraction on the way one of some hundred is another one."""
    random = np.random.default_rng(0)
    size = (25, 17) if len(kernel) == 2 else (40,)
    x = random.integers(-128, 128, (4, *size, 64)).astype(np.int8)
    source, target = (QuantType(I8, F32, (float(np.float32(scale)),), (zero,)) for scale, zero in ((0.0669, -128), (0.0131, -90)))
    found = single_op(
        "top.AvgPool", [x], [source], target, kernel_shape=kernel, strides=strides, pads=pads, layout="NHWC",
        count_include_pad=True)
    n = len(kernel)
    padded = np.pad((x.astype(np.float64) + 128) * source.scale, ((0, 0), *zip(pads[:n], pads[n:], strict=True), (0, 0)))
    axes = tuple(range(1, n + 1))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axes)[
        (slice(None), *(slice(None, None, stride) for stride in strides))]
    wanted = np.clip(np.floor(windows.mean(axis=tuple(range(-n, 0))) / target.scale + 0.5) - 90, -128, 127)
    np.testing.assert_array_equal(found, wanted)


def test_sums_are_those_of_real_numbers() -> None:
    a, b = (values.reshape(-1).astype(np.int8) for values in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    for scales in ((0.0713215, 0.0229731, 0.0841177), (0.5912371, 0.0136191, 0.6131719), (0.0313717, 0.0317931, 0.0331777)):
        left, right, target = (
            QuantType(I8, F32, (float(np.float32(scale)),), (zero,)) for scale, zero in zip(scales, (3, -7, 5), strict=True))
        found = single_op("top.Add", [a, b], [left, right], target)
        real = (a.astype(np.float64) - 3) * left.scale + (b.astype(np.float64) + 7) * right.scale
        np.testing.assert_array_equal(found, np.clip(np.floor(real / target.scale + 0.5) + 5, -128, 127))


@pytest.mark.parametrize("word", ["double", "exact", "once"])
@pytest.mark.parametrize("name", ["top.Cast", "top.Relu"])
def test_requantization(name: str, word: str) -> None:
    module = new_module()
    x = np.arange(-(1 << 15), 1 << 15, 7).astype(np.int16)
    module.add_function("main", [TensorType(x.shape, quantized(1.0, I16))], ["x"])
    made = Builder(module.body_of_main, None, "y").emit(
        name, module.body_of_main.arguments[0], element=quantized(16.0, I16), rounding=word)
    set_results(module.main, [made], ["y"])
    wanted = defined(word, x, 1.0, 1.0, 16.0)
    np.testing.assert_array_equal(run(lower(module), {"x": x})["y"], wanted if name == "top.Cast" else np.maximum(wanted, 0))


@pytest.mark.parametrize(("word", "rounded"), [("truncate", np.trunc), ("exact", np.rint), ("once", np.rint)])
def test_square_roots(word: str, rounded: Any) -> None:
    """LiteRT's kernel cuts the fraction off. (No root of these numbers is a half.)"""
    module = new_module()
    x = np.arange(128, dtype=np.int8)
    module.add_function("main", [TensorType(x.shape, quantized(1.0))], ["x"])
    made = Builder(module.body_of_main, None, "y").emit(
        "top.Sqrt", module.body_of_main.arguments[0], element=quantized(1.0), rounding=word)
    set_results(module.main, [made], ["y"])
    np.testing.assert_array_equal(run(lower(module), {"x": x})["y"], rounded(np.sqrt(x.astype(np.float64))))


@pytest.mark.parametrize("name", ["LeakyRelu", "HardSwish", "Abs"])
def test_functions_of_rounded_reals(name: str) -> None:
    """Where a word other than LiteRT's fixed point is asked for, each result is the nearest to the real one."""
    from transload_hub.kernels import KERNELS

    module = new_module()
    x = np.arange(-128, 128).astype(np.int8)
    module.add_function("main", [TensorType(x.shape, quantized(0.11))], ["x"])
    block = module.body_of_main
    made = Builder(block, None, "y").emit(f"top.{name}", block.arguments[0], element=quantized(0.07), rounding="exact")
    set_results(module.main, [made], ["y"])
    real = KERNELS.kernels[f"top.{name}"][0](block.terminator.operands[0].op, x * np.float64(np.float32(0.11)))
    found = run(lower(module), {"x": x})["y"]
    np.testing.assert_array_equal(found, np.clip(np.rint(real / np.float64(np.float32(0.07))), -128, 127))


# --- the declaration

def test_defaults_say_what_an_op_without_the_word_means() -> None:
    for name in ("top.Conv", "top.MatMul", "top.Mul"):
        default = str(TOP.ops[name].attributes["rounding"].default)
        module, x, sums = product_of(name, default, *SCALES[0])
        del next(op for op in module.walk() if op.name == name).attributes["rounding"]
        np.testing.assert_array_equal(run(lower(module), {"x": x})["y"], defined(default, sums, *SCALES[0]))


def test_words_are_verified() -> None:
    module, _, _ = product_of("top.Conv", "once", *SCALES[0])
    op = next(op for op in module.walk() if op.name == "top.Conv")
    assert not list(check(module))
    op.attributes["rounding"] = "shift"
    (finding,) = check(module)
    assert "rounding" in str(finding)
    for declaration in TOP.ops.values():
        declared = declaration.attributes.get("rounding")
        if declared is None:
            continue
        words = [declared.default] if not callable(declared.default) else [
            declared.default(SimpleNamespace(mode=mode)) for mode in ("ReduceSum", "ReduceMean")]
        assert all(word in WORDS and declared.kind.accepts(word) for word in words), declaration


def test_text_keeps_the_word_and_nothing_around_the_op_matters() -> None:
    """The function's text alone, in another module, lowers to the same TOSA."""
    module, _, _ = product_of("top.Conv", "once", *SCALES[0])
    text = print_module(module)
    assert 'rounding = "once"' in text and "transload." not in text
    again = parse_module(text)
    assert print_module(again) == text
    assert print_module(lower(again)) == print_module(lower(module))


@pytest.mark.parametrize("pass_", ["canonicalize", "recognize", "layout{to=NHWC}", "layout{to=NCHW}", "cse"])
def test_passes_keep_the_word(pass_: str) -> None:
    """A convolution whose ReLU, padding and transposes are taken into it still rounds once."""
    module = new_module()
    module.add_function("main", [TensorType((1, 3, 8, 8), quantized(0.1))], ["x"])
    block = module.body_of_main
    build = Builder(block, None, "y")
    padded = build.emit("top.Pad", block.arguments[0], paddings=(0, 0, 1, 1, 0, 0, 1, 1), mode="constant", element=quantized(0.1))
    weights = build.constant(np.ones((4, 3, 3, 3), np.int8), element=quantized(0.02))
    bias = build.constant(np.ones(4, np.int32), element=quantized(0.1 * 0.02, I32))
    made = build.emit(
        "top.Conv", padded, weights, bias, kernel_shape=(3, 3), layout="NCHW", element=quantized(0.3), rounding="once")
    made = build.emit("top.Relu", made, element=quantized(0.3), rounding="once")
    made = build.emit("top.Permute", made, order=(0, 2, 3, 1))
    set_results(module.main, [made], ["y"])
    Pipeline.parse(pass_).run(module)
    computing = [op for op in module.walk() if op.name in ("top.Conv", "top.Relu")]
    assert computing and all(op.rounding == "once" for op in computing)
