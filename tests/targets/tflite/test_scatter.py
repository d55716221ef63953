"""Writing at computed places: which of several updates stays, sums, other combinations, parts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import BOOL, F16, F32, I8, I16, I32, I64, UI8, UI32, IntegerType, Module, QuantType, TensorType, Type, dtype_of

from .test_target import network
from tests.support.litert import run_litert

SHAPES = [((6,), (4,), 1), ((6,), (20,), 1), ((4, 5), (1,), 2), ((4, 5), (3, 2), 1), ((3, 4, 2), (13,), 2), ((3, 2), (2,), 0),
          ((4, 5), (), 2), ((4, 5), (), 1)]


def scattered(element: Type, places: TensorType, shape: tuple[int, ...], reduction: str) -> Module:
    count, n = places.static_shape[:-1], places.static_shape[-1]
    types = TensorType(shape, element), places, TensorType((*count, *shape[n:]), element)
    return network(lambda b, x, i, u: b.emit("top.ScatterND", x, i, u, reduction=reduction, element=element), *types)


def numbers(rng: np.random.Generator, type_: TensorType) -> np.ndarray:
    element = type_.element.storage if isinstance(type_.element, QuantType) else type_.element
    if element == F32:
        return rng.standard_normal(type_.static_shape).astype(np.float32)
    low = 0 if element == BOOL or (isinstance(element, IntegerType) and element.unsigned) else -5
    return rng.integers(low, 2 if element == BOOL else 6, type_.static_shape).astype(dtype_of(element))


def operators(module: Module, *arrays: np.ndarray) -> list[str]:
    """LiteRT's reference kernels against our engine, which rounds sums once; the operators."""
    from transload_converters.tflite.writer_module import serialize

    lowered = transload.lower(module, "tfl")
    ours = transload.run(module, dict(zip(module.inputs, arrays, strict=True)), engine="reference")["y"]
    [theirs] = run_litert(serialize(lowered), list(arrays))
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-6 if ours.dtype.kind == "f" else 0)
    return [op.name.removeprefix("tfl.") for op in lowered.ops() if "const" not in op.name and op.dialect == "tfl"]


@pytest.mark.parametrize("element", [
    F32, I8, UI8, I16, I32, I64, BOOL, QuantType(I8, F32, (0.1,), (3,)), QuantType(UI8, F32, (0.1,), (3,)),
    QuantType(I16, F32, (0.1,), (0,))])
@pytest.mark.parametrize("index", [I32, I64])
def test_the_last_update_of_a_place_stays(element: Type, index: Type) -> None:
    rng = np.random.default_rng(3)
    for shape, count, n in SHAPES:
        module = scattered(element, TensorType((*count, n), index), shape, "none")
        x, _, u = module.inputs.values()
        places = np.stack([rng.integers(-size, size, count) for size in shape[:n]], -1) if n else np.zeros((*count, 0))
        used = operators(module, numbers(rng, x), places.astype(dtype_of(index)), numbers(rng, u))
        assert n == 0 or ("dynamic_update_slice" if np.prod(count) <= 8 else "scatter_nd") in used


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("element", [F32, I8, I16, UI8, I32, I64])
def test_updates_are_combined(element: Type, reduction: str) -> None:
    rng = np.random.default_rng(4)
    for shape, count, n in (SHAPES if reduction == "add" else SHAPES[:1] + SHAPES[2:4]):
        if n:
            module = scattered(element, TensorType((*count, n), I32), shape, reduction)
            x, _, u = module.inputs.values()
            places = np.stack([rng.integers(-size, size, count) for size in shape[:n]], -1).astype(np.int32)
            operators(module, numbers(rng, x), places, numbers(rng, u))


@pytest.mark.parametrize("reduction", ["mul", "max", "min"])
@pytest.mark.parametrize("element", [F32, I8, I32, I64])
def test_many_updates_are_combined_at_once(element: Type, reduction: str) -> None:
    """Of each place, those that are for it."""
    rng = np.random.default_rng(8)
    for shape, count, n in (((6,), (20,), 1), ((4, 5), (9,), 1), ((3, 4, 2), (13,), 2), ((3, 2), (9,), 0)):
        module = scattered(element, TensorType((*count, n), I32), shape, reduction)
        x, _, u = module.inputs.values()
        places = [rng.integers(-size, size, count) for size in shape[:n]]
        where = np.stack(places, -1).astype(np.int32) if n else np.zeros((*count, 0), np.int32)
        used = operators(module, numbers(rng, x), where, numbers(rng, u))
        assert "dynamic_update_slice" not in used


@pytest.mark.parametrize("element", [F32, I32, BOOL])
def test_one_number_is_written_however_many_places_there_are(element: Type) -> None:
    """It does not matter which of them is last: none is compared with the others."""
    number = np.ones((3000, 2), dtype_of(element))
    module = network(
        lambda b, x, i: b.emit("top.ScatterND", x, i, b.constant(number)),
        TensorType((9, 2), element), TensorType((3000, 1), I32))
    rng = np.random.default_rng(9)
    used = operators(module, numbers(rng, module.inputs["x0"]), rng.integers(-4, 4, (3000, 1)).astype(np.int32))
    assert used[-1] == "select_v2"


def test_zeros_of_either_sign_are_two_numbers() -> None:
    """They are equal, and each is written where it belongs."""
    number = np.zeros((6, 2), np.float32)
    number[:, 1] = -0.0
    module = network(
        lambda b, x, i: b.emit("top.ScatterND", x, i, b.constant(number)), TensorType((5, 2), F32), TensorType((6, 1), I32))
    used = operators(module, np.ones((5, 2), np.float32), np.arange(6, dtype=np.int32)[:, None] % 5)
    assert "dynamic_update_slice" in used and "scatter_nd" not in used


def test_of_constant_places_the_last_stays() -> None:
    places = np.array([[1], [-1], [1], [0], [3]], np.int32)
    module = network(
        lambda b, x, u: b.emit("top.ScatterND", x, b.constant(places), u), TensorType((4, 2), F32), TensorType((5, 2), F32))
    rng = np.random.default_rng(5)
    used = operators(module, *(rng.standard_normal(shape).astype(np.float32) for shape in ((4, 2), (5, 2))))
    assert used == ["gather", "scatter_nd", "select_v2"]


def test_one_update_without_dimensions() -> None:
    """SCATTER_ND takes no update of rank 0."""
    rng = np.random.default_rng(6)
    for reduction in ("none", "add"):
        for place, part in (([1, 2], ()), ([-1], (5,))):
            module = network(
                lambda b, x, u, way=reduction, where=place: b.emit(
                    "top.ScatterND", x, b.constant(np.array(where, np.int32)), u, reduction=way),
                TensorType((4, 5), F32), TensorType(part, F32))
            arrays = [np.asarray(rng.standard_normal(shape), np.float32) for shape in ((4, 5), part)]
            assert "scatter_nd" in operators(module, *arrays)


@pytest.mark.parametrize("part", [(2, 3), (1, 8), (4, 8)])
def test_a_part_that_is_read_is_written_as_one(part: tuple[int, int]) -> None:
    from transload_converters.tflite.writer import ModelWriter
    from transload_converters.tflite.writer_module import serialize

    model = ModelWriter()
    x, u, start, y = (model.add_tensor(name, shape, dtype) for name, shape, dtype in (
        ("x", (4, 8), "float32"), ("u", part, "float32"), ("start", (2,), "int32"), ("y", (4, 8), "float32")))
    model.add_operator("DYNAMIC_UPDATE_SLICE", [x, u, start], [y])
    model.inputs, model.outputs = [x, u, start], [y]
    lowered = transload.lower(transload.legalize(transload.load(text=model.finish(), format="tflite")), "tfl")
    assert [op.name for op in lowered.ops() if op.name not in ("tfl.pseudo_const", "func.return")] == ["tfl.dynamic_update_slice"]
    content = serialize(lowered)
    whole, written = np.zeros((4, 8), np.float32), np.ones(part, np.float32)
    for begin in ((0, 0), (1, 2), (-5, 90)):
        given = [whole, written, np.array(begin, np.int32)]
        np.testing.assert_array_equal(run_litert(content, given)[0], run_litert(model.finish(), given)[0])


@pytest.mark.parametrize(("element", "count", "reduction", "why"), [
    (F32, 3 << 20, "max", "3145728 updates at places that are computed, combined by 'max'"),
    (F32, 3000, "none", "of 3000 updates at places that are computed the last"),
    (UI32, 1, "none", "DYNAMIC_UPDATE_SLICE has no kernel of ui32"), (F16, 9, "none", "SCATTER_ND has no kernel of f16"),
    (QuantType(I8, F32, (0.1,), (3,)), 2, "max", "adds stored numbers, and this is to combine real ones by 'max'")])
def test_what_litert_cannot_say_is_refused(element: Type, count: int, reduction: str, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        transload.lower(scattered(element, TensorType((count, 1), I32), (6,), reduction), "tfl")


def test_a_constant_place_outside_is_refused() -> None:
    places = np.array([[1, 0], [0, 131080]], np.int32)
    module = network(
        lambda b, x, u: b.emit("top.ScatterND", x, b.constant(places), u), TensorType((4, 40), F32), TensorType((2,), F32))
    with pytest.raises(ConversionError, match=r"\(0, 131080\), lies outside of \(4, 40\)"):
        transload.lower(module, "tfl")
