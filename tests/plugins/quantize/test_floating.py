"""The schemes `f16` and `bf16` beside numbers that f16 does not hold, infinities, and models that are of f16 already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import F16, F32, Module, TensorType, Value, verify
from transload.metrics import sqnr

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node

LITTLE = 1e-8
Sample = dict[str, np.ndarray]


def kept(module: Module) -> dict[str, str]:
    """The tensors that stay f32, with the reasons."""
    assert module.quantization is not None
    return dict(module.quantization.floats or {})


def by_length(g: Graph, x: Value) -> Value:
    return g.Div(x, g.Add(squares(g, x), LITTLE))


def logit(g: Graph, x: Value, little: float) -> Value:
    share = g.Clip(x, min=0.0, max=1.0)
    return g.Log(g.Div(g.Clip(share, min=little, max=1.0), g.Clip(g.Sub(1.0, share), min=little, max=1.0)))


def pooled(g: Graph, x: Value, kind: str) -> Value:
    as_picture = g.Reshape(x, shape=(1, 1, 2, 16))
    guarded = g.Add(g.Abs(as_picture), LITTLE)
    return g.Div(as_picture, getattr(g, kind)(guarded, kernel_shape=(1, 1), strides=(1, 1), pads=(0, 0, 0, 0)))


def squares(g: Graph, x: Value) -> Value:
    return g.Reduce(g.Mul(x, x), mode="ReduceSum", axes=(1,), keepdims=True)


GUARDED: dict[str, Callable[[Graph, Value], Value]] = {
    "a sum": by_length,
    "a number added": lambda g, x: g.Div(x, g.AddConst(squares(g, x), const_val=LITTLE)),
    "a root": lambda g, x: g.Div(x, g.Reshape(g.Sqrt(g.Add(squares(g, x), LITTLE)), shape=(2, 1))),
    "taken away": lambda g, x: g.Div(x, g.Sub(squares(g, x), -LITTLE)),
    "a sum with itself": lambda g, x: g.Div(x, g.Add(guarded := g.Add(squares(g, x), LITTLE), guarded)),
    "a sum before another": lambda g, x: g.Div(x, g.Add(g.Add(squares(g, x), LITTLE), g.Abs(x))),
    "a product": lambda g, x: g.Div(x, g.Mul(guarded := g.AddConst(g.Abs(x), const_val=1e-5), guarded)),
    "a product of matrices": lambda g, x: g.Div(x, g.MatMul(g.Add(g.Abs(x), LITTLE), np.ones((16, 1), np.float32))),
    "a greatest of some": lambda g, x: pooled(g, x, "MaxPool"),
    "a mean of some": lambda g, x: pooled(g, x, "AvgPool"),
    "a logit": lambda g, x: logit(g, x, 1e-6),
    "a logit of what f16 holds": lambda g, x: logit(g, x, 1e-5),
    "a reciprocal of what f16 holds": lambda g, x: g.Mul(x, g.Reciprocal(g.AddConst(squares(g, x), const_val=1e-5))),
    "the greater": lambda g, x: g.Div(x, g.Max(g.Reduce(x, mode="ReduceL2", axes=(1,), keepdims=True), LITTLE)),
    "a limit": lambda g, x: g.Mul(x, g.Reciprocal(g.Clip(squares(g, x), min=LITTLE, max=1e4))),
    "a logarithm": lambda g, x: g.Log(g.Add(g.Relu(x), LITTLE)),
    "a norm": lambda g, x: g.LayerNorm(x, eps=1e-12),
    "a power": lambda g, x: g.Mul(x, g.Pow(g.AddConst(squares(g, x), const_val=LITTLE), np.array(-0.5, np.float32))),
}


def rows(count: int = 4) -> list[Sample]:
    """Rows of which one is normal, one 0, and one so little that its squares are nothing in f16."""
    numbers = np.random.default_rng(0)
    made = []
    for at in range(count):
        low = np.zeros(16) if at % 2 else 3e-4 * numbers.standard_normal(16)
        made.append({"x0": np.stack([numbers.standard_normal(16), low]).astype(np.float32)})
    return made


def outputs(module: Module, given: list[Sample]) -> np.ndarray:
    return np.stack([next(iter(transload.run(module, each, engine="reference").values())) for each in given]).astype(np.float64)


@pytest.mark.parametrize("with_samples", [False, True])
@pytest.mark.parametrize("form", GUARDED)
def test_what_keeps_a_divisor_from_0_is_not_lost(form: str, with_samples: bool) -> None:
    """1e-8 is 0 in f16, and 0 by it no number."""
    graph = Graph((2, 16))
    module, given = graph.done(GUARDED[form](graph, graph.inputs[0])), rows()
    made = transload.quantize(module, "f16", given if with_samples else None)
    wanted, found = outputs(module, given), outputs(made, given)
    assert np.isfinite(found).all() and sqnr(wanted, found) > 40
    assert any("f16" in why for why in kept(made).values())
    assert outputs(transload.lower(made, "stablehlo"), given).shape == wanted.shape
    assert np.isfinite(outputs(transload.lower(made, "tosa"), given)).all()
    assert not kept(transload.quantize(module, "bf16", given))


def test_what_is_little_beside_what_it_is_added_to_is_of_16_bits() -> None:
    """Biases and single weights that f16 does not hold change nothing, nor does what normalizations usually add."""
    graph = Graph((2, 16))
    weights = graph.random(16, 16)
    weights[0] = 1e-9
    sums = graph.Add(graph.MatMul(graph.inputs[0], weights), LITTLE)
    module = graph.done(graph.LayerNorm(graph.Div(sums, graph.AddConst(squares(graph, sums), const_val=1e-5))))
    assert not kept(transload.quantize(module, "f16", rows()))


def through_root(g: Graph, x: Value) -> Value:
    """A root between factors, which are joined else."""
    return g.Sqrt(g.AddConst(g.Abs(x), const_val=0.0))


@pytest.mark.parametrize("form", [
    lambda g, x: g.MulConst(through_root(g, g.MulConst(x, const_val=1e-7)), const_val=1e3),
    lambda g, x: g.Mul(through_root(g, g.Mul(x, np.full((2, 16), 1e-9, np.float32))), 1e4),
    lambda g, x: g.MulConst(through_root(g, g.MatMul(x, (1e-8 * g.random(16, 16)))), const_val=1e4),
    lambda g, x: g.MulConst(through_root(g, g.Div(x, 1e8)), const_val=1e4),
    lambda g, x: g.Div(through_root(g, x), 1e-7),
])
@pytest.mark.parametrize("with_samples", [False, True])
def test_factors_beyond_f16_stay(form: Any, with_samples: bool) -> None:
    graph = Graph((2, 16))
    module, given = graph.done(form(graph, graph.inputs[0])), rows()
    made = transload.quantize(module, "f16", given if with_samples else None)
    assert sqnr(outputs(module, given), outputs(made, given)) > 48


def test_tensors_below_the_least_number_stay() -> None:
    """Samples show what no constant says; what is 0 on all samples has nothing to lose."""
    graph = Graph((2, 16))
    x = graph.inputs[0]
    low = graph.Mul(x, x, location="low")
    nothing = graph.Relu(graph.Neg(graph.Abs(x)), location="nothing")
    module = graph.done(graph.Sqrt(graph.Add(low, nothing)))
    given = [{"x0": (1e-3 * np.random.default_rng(1).standard_normal((2, 16))).astype(np.float32)}]
    made = transload.quantize(module, "f16", given)
    assert "f16" in kept(made)["low"] and "nothing" not in kept(made)
    assert sqnr(outputs(module, given), outputs(made, given)) > 55


def test_a_divisor_that_samples_show_near_0_stays() -> None:
    graph = Graph((2, 16))
    x = graph.inputs[0]
    module = graph.done(graph.Div(x, graph.Sigmoid(graph.MulConst(x, const_val=20.0), location="by")))
    given = [{"x0": np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16)}]
    made = transload.quantize(module, "f16", given)
    assert "by" in kept(made) and np.isfinite(outputs(made, given)).all()


@pytest.mark.parametrize("scheme", ["f16", "bf16", "f8e4m3"])
@pytest.mark.parametrize("floats", [None, "far"])
def test_masks_that_are_infinite(scheme: str, floats: str | None) -> None:
    """They were refused where there were samples, with a hint that did not help."""
    graph = Graph((1, 4, 4), (1, 4, 4))
    scores, values = graph.inputs
    seen = np.tril(np.ones((1, 4, 4), bool))
    nothing = graph.constant(np.float32(-np.inf))
    masked = graph.Where(graph.builder.constant(seen), graph.MatMul(scores, values), nothing, location="far")
    module = graph.done(graph.MatMul(graph.Softmax(masked, axis=-1), values))
    numbers = np.random.default_rng(2)
    given = [{name: numbers.standard_normal((1, 4, 4)).astype(np.float32) for name in ("x0", "x1")} for _ in range(3)]
    made = transload.quantize(module, scheme, given, **({"floats": floats} if floats else {}))
    assert ("far" in kept(made)) == (floats is not None)
    assert sqnr(outputs(module, given), outputs(made, given)) > 20


@pytest.mark.parametrize("with_samples", [False, True])
def test_infinities_stay_infinite(with_samples: bool) -> None:
    """f16 has them, and what is beside them is measured."""
    graph = Graph((2, 16))
    x = graph.inputs[0]
    far = graph.Where(graph.Compare(x, 0.0, mode="Greater"), x, graph.constant(np.float32(-np.inf)))
    large = graph.MulConst(far, const_val=3e4, location="large")
    module, given = graph.done(large), [{"x0": 3 * sample["x0"]} for sample in rows()]
    made = transload.quantize(module, "f16", given if with_samples else None)
    assert ("large" in kept(made)) == with_samples
    assert np.isneginf(outputs(made, given)).sum() == np.isneginf(outputs(module, given)).sum() > 0


def half(kind: str) -> tuple[bytes, list[Sample]]:
    """An ONNX model of f16: with a tensor that is named, in a branch, or in the body of a loop."""
    from onnx import TensorProto, helper

    numbers = np.random.default_rng(3)
    constants = {"w": (numbers.standard_normal((16, 16)) / 4).astype(np.float16), "k": np.full((1, 16), 0.5, np.float16)}
    given = {"x": numbers.standard_normal((1, 16)).astype(np.float16)}
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["h"])]

    def info(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT16, [1, 16])

    match kind:
        case "plain":
            nodes += [node("Add", ["h", "k"], ["a"]), node("Mul", ["a", "h"], ["y"])]
        case "branch":
            given["c"] = np.array(True)
            then, other = (helper.make_graph([node(op, ["h", "k"], [op])], op, [], [info(op)]) for op in ("Add", "Mul"))
            nodes += [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
        case "loop":
            given["n"] = np.array(2)
            body = helper.make_graph(
                [node("Mul", ["before", "k"], ["p"]), node("Add", ["p", "h"], ["after"]), node("Identity", ["go"], ["on"])],
                "body",
                [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                 helper.make_tensor_value_info("go", TensorProto.BOOL, []), info("before")],
                [helper.make_tensor_value_info("on", TensorProto.BOOL, []), info("after")])
            nodes += [node("Loop", ["n", "", "x"], ["y"], body=body)]
    return make_model(nodes, given, ["y"], constants).SerializeToString(), [given]


@pytest.mark.parametrize(("kind", "floats"), [("plain", None), ("plain", "a"), ("branch", None), ("loop", None)])
@pytest.mark.parametrize("scheme", ["f16", "bf16", "f8e4m3"])
def test_what_was_f16_stays_f16(tmp_path: Path, kind: str, floats: str | None, scheme: str) -> None:
    """What stays was given casts to f32, beside operands of f16; outputs became f32."""
    path = tmp_path / "model.onnx"
    content, given = half(kind)
    path.write_bytes(content)
    module = at_hub(transload.load(path))
    made = transload.quantize(module, scheme, given, **({"floats": floats} if floats else {}))
    verify(made)
    assert [type_.element for type_ in made.outputs.values() if isinstance(type_, TensorType)] == [F16]
    assert F32 not in {value.element_or_none for op in made.ops() for value in op.results if scheme == "f16"}
    assert sqnr(outputs(module, given), outputs(made, given)) > 15
