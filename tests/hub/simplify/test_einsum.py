"""The pass `write-out-einsums`: sums of products become matrix products and what is around them, everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload.passes.manager import Pipeline
from transload_converters.tflite.writer_module import serialize

from tests.support.graphs import Graph, op_names
from tests.support.litert import run_litert

CASES = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhqk,bkhd->bqhd", (2, 3, 4, 5), (2, 5, 3, 6)), ("iji->ij", (3, 2, 3)), ("iii->", (3, 3, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ki,kj", (3, 2), (3, 4)), ("i,i->", (3,), (3,)), ("i,i->", (1,), (3,)),
    ("i,j->ij", (2,), (3,)), ("ij,ij->ij", (2, 3), (2, 3)), ("ijk,ikl,il->jl", (2, 3, 4), (2, 4, 5), (2, 5)),
    ("ab,bc,ca->", (2, 3), (3, 4), (4, 2)), ("ii->i", (3, 3)), ("iij->j", (3, 3, 2)),
    ("aab,b->a", (2, 2, 3), (3,)), ("ij->", (2, 3)), ("ij->ji", (2, 3)), (",i->i", (), (3,)),
]


def _module(equation: str, *shapes: tuple[int, ...], constants: bool = False) -> Module:
    """The sum of inputs; with `constants` of one and of random numbers."""
    graph = Graph(*(shapes[:1] if constants else shapes))
    others = [graph.random(*shape) for shape in shapes[1:]] if constants else []
    return graph.done(graph.emit("Einsum", *graph.inputs, *others, equation=equation, location="sum"))


def _inputs(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.random.default_rng(place).standard_normal(shape).astype(np.float32) for place, shape in enumerate(shapes)]


@pytest.mark.parametrize(("equation", "shapes"), [(equation, shapes) for equation, *shapes in CASES])
def test_sums_are_written_out_and_go_out_to_tflite(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = _inputs(*shapes)
    wanted = np.einsum(equation, *(array.astype(np.float64) for array in arrays), optimize=False)
    module = _module(equation, *shapes)
    [theirs] = run_litert(serialize(transload.lower(module, "tfl")), {f"x{i}": array for i, array in enumerate(arrays)})
    np.testing.assert_allclose(theirs, wanted, rtol=1e-5, atol=1e-5)
    Pipeline.parse("write-out-einsums").run(module)
    assert "Einsum" not in op_names(module)
    [given] = transload.run(module, dict(zip(module.inputs, arrays, strict=True))).values()
    np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-5)


def test_the_diagonal_takes_nothing_from_beside_it() -> None:
    """It was multiplied by zeros there, and infinity times zero is none."""
    x = np.array([[1, np.inf, np.nan], [2, 3, np.inf], [-np.inf, 4, 5]], np.float32)
    for target in ("tfl", "tosa"):
        made = transload.run(transload.lower(_module("ii->i", (3, 3)), target), {"x0": x})
        np.testing.assert_array_equal(next(iter(made.values())), [1, 3, 5])


def test_attention_permutes_nothing_that_a_product_takes_as_it_is() -> None:
    module = _module("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5))
    Pipeline.parse("write-out-einsums").run(module)
    assert op_names(module) == ["Reshape", "Reshape", "MatMul", "Reshape"]


@pytest.mark.parametrize(("equation", "weights"), [("btd,dk->btk", (64, 32)), ("btd,hkd->bhtk", (2, 16, 64))])
def test_weights_of_sums_are_weights_of_layers(equation: str, weights: tuple[int, ...]) -> None:
    module = _module(equation, (2, 5, 64), weights, constants=True)
    lowered = transload.lower(module, "tfl")
    assert "tfl.fully_connected" in op_names(lowered)


@pytest.mark.parametrize("scheme", ["w8a16", "w4a16", "dynamic", "f8e4m3", "int8", "int8-asym", "int16x8"])
def test_sums_are_quantized(scheme: str) -> None:
    module = _module("btd,hkd->bhtk", (2, 5, 64), (2, 16, 64), constants=True)
    *seen, new = [{"x0": x} for x in _inputs(*[(2, 5, 64)] * 4)]
    quantized = transload.quantize(module, scheme, seen)
    assert "Einsum" not in op_names(quantized)
    [wanted], [given] = (transload.run(each, new).values() for each in (module, quantized))
    assert np.corrcoef(wanted.ravel(), given.ravel())[0, 1] > 0.98
    assert not np.array_equal(wanted, given)


@pytest.mark.parametrize("scheme", ["w8a16", "dynamic"])
def test_sums_that_are_named_stay_floats(scheme: str) -> None:
    module = _module("btd,hkd->bhtk", (2, 5, 64), (2, 16, 64), constants=True)
    with pytest.raises(transload.TransloadError, match=r"no (op|layer) of the model"):
        transload.quantize(module, scheme, floats=["sum"])
