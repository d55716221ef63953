"""`w4a8`: weights of 4 bits beside activations of 8, by channel as integers throughout, and in groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.ir import I4, I8, Dense, Module, QuantType, Value
from transload.ir.build import Builder
from transload.metrics import sqnr
from transload.plugin import Quantized
from transload.quantization import quantize_at_hub
from transload_plugins.quantize.run import by_scheme
from transload_plugins.quantize.scheme import SCHEMES, stored

from tests.plugins.quantize.test_weight_only import SHAPE, judged, network, sample
from tests.support.graphs import Graph

TARGETS = ("tosa", "stablehlo", "onnx", "tfl")
PACKED = {"tosa": {"int4": True}, "stablehlo": {"int4": True}}
DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"


@pytest.fixture(scope="module")
def given() -> list[dict[str, np.ndarray]]:
    numbers = np.random.default_rng(5)
    return [{"x0": numbers.standard_normal(SHAPE).astype(np.float32)} for _ in range(8)]


@pytest.fixture(scope="module")
def integers(given: list[dict[str, np.ndarray]]) -> Quantized:
    return quantize_at_hub(network(), "w4a8", given, {})


@pytest.fixture(scope="module")
def grouped(given: list[dict[str, np.ndarray]]) -> Quantized:
    return quantize_at_hub(network(), "w4a8", given, {"q_group_size": "8", "few": "0"})


def weights_of(module: Module) -> dict[str, QuantType]:
    """The types of what layers multiply by, by the name of what they compute; without products of batches of matrices."""
    found = {}
    for op in module.ops():
        if op.name in ("top.Conv", "top.Deconv") or (op.name == "top.MatMul" and op.operands[1].rank == 2):
            assert op.results[0].name is not None and op.operands[1].quant is not None
            found[op.results[0].name] = op.operands[1].quant
    return found


def test_sums_of_few_products_keep_eight_bits(integers: Quantized) -> None:
    """Those of the convolution in groups, of four, and of the depthwise one, of nine."""
    held = weights_of(integers.module)
    assert {kind.storage for kind in held.values()} == {I4, I8}
    assert all((kind.storage_min, kind.storage_max) in ((-7, 7), (-127, 127)) for kind in held.values())
    four = [name for name, kind in held.items() if kind.storage == I4]
    assert len(four) == 4 and not integers.floats  # 144, 32, 64 and 48 products


@pytest.mark.parametrize("target", TARGETS)
def test_targets_give_the_same_bits(
    integers: Quantized, given: list[dict[str, np.ndarray]], target: str, tmp_path: Path,
) -> None:
    wanted = next(iter(transload.run(integers.module, given[0], engine="reference").values()))
    lowered = transload.lower(integers.module, target, **PACKED.get(target, {}))
    np.testing.assert_array_equal(judged(lowered, target, given[0], tmp_path).reshape(wanted.shape), wanted)


LAYERS: dict[str, Callable[[Graph], Value]] = {
    "dense": lambda g: g.Conv(g.inputs[0], g.random(5, 16, 3, 3), g.random(5), kernel_shape=(3, 3), dilations=(2, 2)),
    "groups": lambda g: g.Conv(g.inputs[0], g.random(8, 8, 3, 3), kernel_shape=(3, 3), group=2),
    "depthwise": lambda g: g.Conv(g.inputs[0], g.random(16, 1, 6, 6), kernel_shape=(6, 6), group=16),
    "transposed": lambda g: g.Deconv(g.inputs[0], g.random(16, 5, 2, 2), kernel_shape=(2, 2), strides=(2, 2)),
    "one dimension": lambda g: g.Conv(g.Reshape(g.inputs[0], shape=(1, 16, 36)), g.random(5, 16, 3), kernel_shape=(3,)),
    "layer": lambda g: g.MatMul(g.Reshape(g.inputs[0], shape=(2, 3, 96)), g.random(96, 7), g.random(7)),
}


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("kind", LAYERS)
def test_each_kind_of_layer(kind: str, width: int, given: list[dict[str, np.ndarray]], tmp_path: Path) -> None:
    """Large kernels, odd numbers of channels, beside activations of 8 and of 16 bits, in LiteRT and the TOSA reference model."""
    g = Graph(SHAPE)
    module = g.done(LAYERS[kind](g))
    scheme = SCHEMES["w4a8"] if width == 8 else replace(SCHEMES["int16x8"], weights=I4)
    made = by_scheme(scheme)(module, given, islands="none").module
    assert [kind.storage for kind in weights_of(made).values()] == [I4]
    wanted = next(iter(transload.run(made, given[0], engine="reference").values()))
    for target in ("tfl", "tosa"):
        lowered = transload.lower(made, target, **PACKED.get(target, {}))
        np.testing.assert_array_equal(judged(lowered, target, given[0], tmp_path).reshape(wanted.shape), wanted)


def with_least(module: Module, least: int) -> Module:
    """The module with `least` as the first number of each row of weights of 4 bits, whose types hold -8 then."""
    changed = module.clone()
    for op in [op for op in changed.ops() if op.name in ("top.Conv", "top.Deconv", "top.MatMul")]:
        weights = op.operands[1]
        kind = weights.quant
        if kind is not None and kind.storage == I4:
            numbers = weights.op.attributes["value"].numpy().copy()
            numbers.reshape(len(numbers), -1)[:, 0] = least
            held = Dense(numbers, weights.op.attributes["value"].type)
            op.set_operand(1, Builder(op.parent, before=op).constant(held, kind.replace(storage_min=-8), dialect="top"))
    return changed


@pytest.mark.parametrize(("least", "element"), [(-7, "i4"), (-8, "i8")])
@pytest.mark.parametrize("kind", LAYERS)
def test_minus_eight_is_in_bytes_in_tosa(
    kind: str, least: int, element: str, given: list[dict[str, np.ndarray]], tmp_path: Path,
) -> None:
    """TOSA's int4_t ends at -7: its reference model gave the zero point everywhere. A type that could hold -8 does no harm."""
    g = Graph(SHAPE)
    made = with_least(by_scheme(SCHEMES["w4a8"])(g.done(LAYERS[kind](g)), given, islands="none").module, least)
    wanted = next(iter(transload.run(made, given[0], engine="reference").values()))
    lowered = transload.lower(made, "tosa", int4=True)
    assert {str(op.operands[1].element) for op in lowered.ops() if "conv" in op.name} == {element}
    told = [note for note in lowered.notes if "of 4 bits in the model, and of bytes here" in note]
    assert len(told) == (least == -8)
    assert not any("of bytes here" in note for note in transload.lower(made, "tosa").notes)  # as it was asked for
    np.testing.assert_array_equal(judged(lowered, "tosa", given[0], tmp_path).reshape(wanted.shape), wanted)


def test_tosa_has_them_as_its_own(integers: Quantized) -> None:
    """Convolutions of i8 numbers with i4 weights, where who takes the module has such."""
    def operands(module: Module) -> set[str]:
        return {str(op.operands[1].element) for op in module.ops() if "conv" in op.name}

    assert operands(transload.lower(integers.module, "tosa")) == {"i8"}
    module = transload.lower(integers.module, "tosa", int4=True)
    assert operands(module) == {"i4", "i8"}
    assert all(op.operands[4].element == op.operands[1].element for op in module.ops() if "conv" in op.name)
    eight = quantize_at_hub(network(), "int8", [sample()], {}).module
    assert operands(transload.lower(eight, "tosa", int4=True)) == {"i8"}


@pytest.mark.parametrize("target", TARGETS)
def test_groups_have_scales_of_their_own(
    grouped: Quantized, given: list[dict[str, np.ndarray]], target: str, tmp_path: Path,
) -> None:
    """The same numbers but for the last bits of float sums; what is multiplied lies on a grid of 8 bits."""
    kinds = [op.result.element for op in grouped.module.ops() if op.name == "top.Weight" and op.result.quant is not None]
    assert kinds and all(kind.storage == I4 for kind in kinds) and any(kind.blocks is not None for kind in kinds)
    activations = {value.quant.storage for op in grouped.module.ops() for value in op.results
                   if value.quant is not None and value.quant.per_tensor}
    assert activations == {I8} and grouped.report["activations"] == {"rounded": 7, "as they are": {}}
    wanted = next(iter(transload.run(grouped.module, given[0], engine="reference").values()))
    found = judged(transload.lower(grouped.module, target), target, given[0], tmp_path).reshape(wanted.shape)
    assert sqnr(wanted, found) > 90.0


def test_what_groups_are_worth(integers: Quantized, grouped: Quantized, given: list[dict[str, np.ndarray]]) -> None:
    exact, by_channel, by_group = (
        np.stack([next(iter(transload.run(each, sample).values())) for sample in given])
        for each in (network(), integers.module, grouped.module))
    assert sqnr(exact, by_group) > 10.0 and sqnr(exact, by_channel) > 10.0


def test_a_table_says_the_ranges(given: list[dict[str, np.ndarray]]) -> None:
    module = network()
    table = transload.calibrate(module, given)
    made = quantize_at_hub(module, "w4a8", None, {"q_group_size": 8, "calibration": table})
    low, high = table.ranges["x0"]
    kind = next(op.results[0].quant for op in made.module.ops()
                if op.name == "top.Cast" and op.results[0].name == "x0/w4a8" and op.results[0].quant is not None)
    assert kind is not None and np.isclose(kind.scale, (max(high, 0.0) - min(low, 0.0)) / 255)


def test_what_costs_most_stays_as_it_is(given: list[dict[str, np.ndarray]]) -> None:
    """Powers, which reach too far for 8 bits, in front of a product."""
    g = Graph((4, 8))
    y = g.MatMul(g.Square(g.Square(g.MatMul(g.inputs[0], g.random(8, 64)))), g.random(64, 64) / 8, location="loud")
    y = g.Sqrt(g.Abs(y))
    for place in range(6):
        y = g.Tanh(g.MatMul(y, g.random(64, 64) / 8, location=f"layer {place}"))
    module = g.done(y)
    rows = np.random.default_rng(0).standard_normal((8, 4, 8)).astype(np.float32)
    samples = [{"x0": each} for each in rows]
    made, all_rounded = (quantize_at_hub(module, "w4a8", samples, {"q_group_size": 8, "few": 0, **options})
                         for options in ({}, {"islands": "none"}))
    assert made.report["activations"]["as they are"] and set(made.report["activations"]["as they are"]) <= set(made.floats)
    assert not all_rounded.report["activations"]["as they are"]
    exact, found, rough = (np.stack([next(iter(transload.run(each, sample).values())) for sample in samples])
                           for each in (module, made.module, all_rounded.module))
    assert sqnr(exact, found) > sqnr(exact, rough)


def test_a_lesser_range_where_that_has_less_error() -> None:
    """Weights that lie on such a grid keep it, whatever their farthest is."""
    scheme = SCHEMES["w4a8"]
    numbers = np.random.default_rng(0).standard_normal((16, 256))
    kind = scheme.weight_type(numbers, 0)
    whole = np.abs(numbers).max(axis=1) / 7
    assert (kind.scale_array < whole * 0.99).any() and (kind.scale_array <= whole * (1 + 1e-6)).all()
    integers = stored(numbers, kind)
    again = scheme.weight_type(integers * kind.scale_array[:, None], 0)
    np.testing.assert_allclose(again.scale_array, kind.scale_array, rtol=1e-6)
    assert SCHEMES["int8"].weight_type(numbers, 0).scales == tuple(
        float(np.float32(each / 127)) for each in np.abs(numbers).max(axis=1))


def test_what_cannot_be_is_refused() -> None:
    module = at_hub(transload.load(DIGITS / "digits_float.onnx"))
    with pytest.raises(UsageError, match="ranges of activations are not known"):
        quantize_at_hub(module, "w4a8", None, {"q_group_size": 32})
    given = [{"image": np.zeros((1, 1, 8, 8), np.float32)}]
    with pytest.raises(UsageError, match="no option learning"):
        quantize_at_hub(module, "w4a8", given, {"q_group_size": 32, "learning": True})
    with pytest.raises(UsageError) as told:
        quantize_at_hub(module, "w4a4", given, {})
    assert "w4a8" in str(told.value.hint)


@pytest.mark.parametrize(("options", "message"), [
    ({"islands": "foo"}, "islands cannot be 'foo'"), ({"rounds": "foo"}, "products cannot be rounded by 'foo'"),
    ({"calibration": {}, "method": "kl"}, "not chosen by 'kl'")])
def test_words_are_checked_as_without_groups(options: dict[str, object], message: str) -> None:
    module = at_hub(transload.load(DIGITS / "digits_float.onnx"))
    given = [{"image": np.zeros((1, 1, 8, 8), np.float32)}]
    for size in (0, 8):
        with pytest.raises(UsageError, match=message):
            quantize_at_hub(module, "w4a8", given, {"q_group_size": size, **options})


def test_an_unknown_option_names_those_that_there_are() -> None:
    module = at_hub(transload.load(DIGITS / "digits_float.onnx"))
    given = [{"image": np.zeros((1, 1, 8, 8), np.float32)}]
    with pytest.raises(UsageError, match="w4a8 with q_group_size has no option nonsense") as caught:
        quantize_at_hub(module, "w4a8", given, {"q_group_size": 8, "nonsense": 1})
    named = str(caught.value.hint)
    assert all(word in named for word in ("islands", "rounds", "method", "calibration", "few", "asymmetric", "effort"))
    with pytest.raises(UsageError, match="has no option nonsense") as caught:
        quantize_at_hub(module, "w4a8", given, {"nonsense": 1})
    assert "q_group_size" in str(caught.value.hint)
