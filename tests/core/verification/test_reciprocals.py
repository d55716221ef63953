"""Integers that differ by a step where an input was multiplied by the reciprocal of its scale are the same integers."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import F32, I16, FloatType, Module, QuantType, TensorType, dtype_of
from transload.verification.fineness import narrow_steps
from transload.verification.quantized import QuantizedModel, limits_only, verify_quantized
from transload.verification.reciprocals import by_reciprocals
from transload.verification.running import Running

from tests.support.graphs import Graph

SCALE = 0.00017850680160336196
SIZE = 1 << 16


def quantized(to: QuantType) -> Module:
    graph = Graph((SIZE,))
    turned = graph.Reshape(graph.inputs[0], shape=(SIZE // 2, 2))  # moved before it is quantized
    return graph.done(graph.builder.emit("top.Cast", turned, element=to))


def numbers() -> dict[str, np.ndarray]:
    return {"x0": np.random.default_rng(0).normal(0, 1, SIZE).astype(np.float32)}


def test_inputs_are_moved_to_where_a_product_is_rounded() -> None:
    module = quantized(QuantType(I16, F32, (SCALE,), (0,)))
    given = numbers()
    found = by_reciprocals(module, given)
    assert found is not None and found[0] is module
    moved = found[1]
    apart = moved["x0"] != given["x0"]
    assert 0 < apart.sum() < SIZE // 100 and np.abs(moved["x0"] - given["x0"]).max() < 1e-6
    divided, multiplied = (next(iter(transload.run(module, each, engine="reference").values())) for each in (given, moved))
    tosa = next(iter(transload.run(transload.lower(module, "tosa"), given).values()))
    assert (divided != tosa).any() and np.array_equal(multiplied, tosa)


def test_a_product_that_is_a_half_where_no_quotient_is() -> None:
    """Rounded away from zero it is 11511, to the even integer 11510, and the quotients beside it are 11510.499 and 11510.501."""
    module = quantized(QuantType(I16, F32, (0.0001739744038786739,), (0,)))
    given = {"x0": np.full(SIZE, 2.0025322, np.float32)}
    found = by_reciprocals(module, given)
    tosa = next(iter(transload.run(transload.lower(module, "tosa"), given).values()))
    assert found is not None and (tosa == 11511).all()
    assert np.array_equal(next(iter(transload.run(module, found[1], engine="reference").values())), tosa)
    even = by_reciprocals(module, given, np.rint)
    assert even is None


@pytest.mark.parametrize(("name", "scale"), [("f16", SCALE), ("bf16", 0.00020842875528614968)])
def test_narrow_inputs_are_moved_as_wide_ones(name: str, scale: float) -> None:
    graph = Graph((SIZE,), element=FloatType(name))
    module = graph.done(graph.builder.emit("top.Cast", graph.inputs[0], element=QuantType(I16, F32, (scale,), (0,))))
    given = {"x0": numbers()["x0"].astype(dtype_of(FloatType(name)))}
    found = by_reciprocals(module, given)
    tosa = next(iter(transload.run(transload.lower(module, "tosa"), given).values()))
    assert found is not None
    made, moved = found
    assert made is not module and moved["x0"].dtype == np.float32
    assert np.array_equal(next(iter(transload.run(made, moved, engine="reference").values())), tosa)


def test_a_scale_whose_reciprocal_is_exact_moves_nothing() -> None:
    assert by_reciprocals(quantized(QuantType(I16, F32, (2.0**-12,), (0,))), numbers()) is None


@pytest.mark.parametrize(("wrong", "limits", "status"), [
    (0, [], "passed"), (1, [], "failed"), (1, ["sqnr=20"], "failed"), (1, ["integer=1"], "passed"), (2, ["integer=1"], "failed")])
def test_multiplied_integers_pass_and_wrong_ones_as_somebody_allows(wrong: int, limits: list[str], status: str) -> None:
    module = quantized(QuantType(I16, F32, (SCALE,), (0,)))
    graph = Graph((SIZE,))
    floats = graph.done(graph.Reshape(graph.inputs[0], shape=(SIZE // 2, 2)))
    running = Running(transload.lower(module, "tosa"), "reference")
    execute = running.__call__

    class Off:
        used, own = "", None
        notes = running.notes

        def __call__(self, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            outputs = execute(given)
            next(iter(outputs.values()))[0, 0] += wrong
            return outputs

    Off.engine = "reference"  # type: ignore[attr-defined]
    model = QuantizedModel(floats, floats, module, True)
    found = verify_quantized(model, Off(), samples=[numbers()], limits=limits_only(limits))  # type: ignore[arg-type]
    assert found.status == status, found.broken


def test_integers_of_narrow_floats_are_as_coarse_as_these() -> None:
    bf16 = FloatType("bf16")
    graph = Graph((4,))
    narrow = graph.builder.emit("top.Cast", graph.inputs[0], types=[TensorType((4,), bf16)])
    module = graph.done(graph.builder.emit("top.Cast", narrow, element=QuantType(I16, F32, (0.001,), (0,))))
    (steps,) = narrow_steps(module, {"y": np.array([0, 1500, -6500, 3], np.int16)})
    assert steps == pytest.approx(2.0**-5 / 0.001)  # from 4 to 8, bf16 has steps of 2**-5
    assert narrow_steps(quantized(QuantType(I16, F32, (SCALE,), (0,))), {"y": np.zeros(4, np.int16)}) == [0.0]
