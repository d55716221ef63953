"""Random graphs of `top` ops: after the pass they compute the same, every type is what inference says, nothing is left over."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import run
from transload.engine.intermediates import named_values
from transload.errors import ShapeError
from transload.ir import F32, Module, TensorType, Type, new_module, set_results, verify
from transload.ir.build import Builder
from transload.text import print_module
from transload.verification.layers import meant_difference
from transload_hub.layout.change import _FunctionLayout, change_layout

UNTYPED = {"top.Cast", "top.Weight", "top.Arg"}  # whose result type the caller chooses


class Graph:
    """Ops on random earlier values, in one layout."""

    def __init__(self, seed: int, layout: str) -> None:
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.layout = layout
        shape = self.random.choice([(1, 3, 4, 6), (2, 4, 5, 5)])
        if layout == "NHWC":
            shape = (shape[0], *shape[2:], shape[1])
        self.module = new_module()
        self.module.add_function("main", [TensorType(shape, F32)] * 2, ["x0", "x1"])
        self.builder = Builder(self.module.body_of_main)
        self.values = list(self.module.body_of_main.arguments)

    def number(self, *shape: int) -> Any:
        return self.builder.constant(self.rng.normal(size=shape).astype(np.float32))

    def positive(self, *shape: int) -> Any:
        return self.builder.constant(np.abs(self.rng.normal(size=shape)).astype(np.float32) + np.float32(0.1))

    def pick(self, rank: int | None = None) -> Any:
        return self.random.choice([v for v in self.values if rank in (None, v.rank)][-6:])

    def emit(self, name: str, *operands: Any, **attributes: Any) -> Any:
        return self.builder.emit(f"top.{name}", *operands, **attributes)

    def channels(self, x: Any) -> int:
        return x.shape[1 if self.layout == "NCHW" else -1]

    def build(self) -> Module:
        for _ in range(self.random.randint(4, 14)):
            make = self.random.choice(KINDS)
            try:
                made = make(self)
            except (ShapeError, IndexError, ValueError):
                continue  # does not fit the value picked
            for value in made if isinstance(made, tuple) else (made,):
                if 0 < value.rank <= 6 and 0 < np.prod(value.shape) < 20000:
                    self.values.append(value)
        free = [value for value in self.values[2:] if not value.uses] or self.values[-1:]
        set_results(self.module.main, [*free, self.values[len(self.values) // 2]])
        verify(self.module)
        return self.module


def _conv(g: Graph) -> Any:
    x, outputs, k = g.pick(4), g.random.choice([2, 3, 4]), g.random.choice([1, 3])
    inputs = g.channels(x)
    filter_ = g.number(outputs, inputs, k, k) if g.layout == "NCHW" else g.number(outputs, k, k, inputs)
    return g.emit("Conv", x, filter_, g.number(outputs), kernel_shape=(k, k), pads=(k // 2,) * 4, layout=g.layout)


def _deconv(g: Graph) -> Any:
    x = g.pick(4)
    inputs = g.channels(x)
    filter_ = g.number(inputs, 2, 2, 2) if g.layout == "NCHW" else g.number(2, 2, 2, inputs)
    group = g.random.choice([1, inputs])
    return g.emit("Deconv", x, filter_, kernel_shape=(2, 2), strides=(2, 2), group=group, layout=g.layout)


def _batch_norm(g: Graph) -> Any:
    x = g.pick()
    return g.emit("BatchNorm", x, *(g.positive(g.channels(x)) for _ in range(4)), layout=g.layout)


def _pool(g: Graph) -> Any:
    return g.emit(g.random.choice(["MaxPool", "AvgPool"]), g.pick(4), kernel_shape=(2, 2), strides=(2, 2), layout=g.layout)


def _to_depth(g: Graph) -> Any:
    return g.emit(
        "Depth2Space", g.pick(4), block_h=2, block_w=2, is_inversed=True, is_CRD=g.random.random() < 0.5, layout=g.layout)


def _add_constant(g: Graph) -> Any:
    x = g.pick()
    shape = [size if g.random.random() < 0.5 else 1 for size in x.shape]
    return g.emit("Add", x, g.number(*shape[g.random.choice([0, g.random.randint(0, x.rank)]) :]))


def _combine(g: Graph) -> Any:
    x = g.pick()
    fitting = [
        v for v in g.values
        if all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], x.shape[::-1], strict=False))]
    return g.emit(g.random.choice(["Add", "Mul", "Max"]), x, g.random.choice(fitting))


def _concat(g: Graph) -> Any:
    x = g.pick()
    axis = g.random.randrange(x.rank)
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    fitting = [v for v in g.values if v.rank == x.rank and (*v.shape[:axis], *v.shape[axis + 1 :]) == others]
    return g.emit("Concat", x, g.random.choice(fitting), axis=axis)


def _permute(g: Graph) -> Any:
    x = g.pick()
    order = g.random.sample(range(x.rank), x.rank)
    if x.rank == 4 and g.random.random() < 0.6:
        order = g.random.choice([(0, 2, 3, 1), (0, 3, 1, 2)])
    return g.emit("Permute", x, order=tuple(order))


def _reshape(g: Graph) -> Any:
    x = g.pick()
    shape = list(x.shape)
    i = g.random.randrange(len(shape))
    if len(shape) > 1 and g.random.random() < 0.5:
        shape[i : i + 2] = [int(np.prod(shape[i : i + 2]))]
    else:
        part = g.random.choice([n for n in range(1, shape[i] + 1) if shape[i] % n == 0])
        shape[i : i + 1] = [part, shape[i] // part]
    return g.emit("Reshape", x, shape=tuple(shape))


def _flatten(g: Graph) -> Any:
    x = g.pick(4)
    flat = g.emit("Reshape", x, shape=(x.shape[0], -1))
    return g.emit("MatMul", g.emit("Relu", flat) if g.random.random() < 0.5 else flat, g.number(flat.shape[1], 3))


def _reduce(g: Graph) -> Any:
    x = g.pick()
    axes = tuple(g.random.sample(range(x.rank), g.random.randint(1, x.rank - 1)))
    return g.emit("Reduce", x, axes=axes, keepdims=g.random.random() < 0.5, mode=g.random.choice(["ReduceMean", "ReduceMax"]))


def _slice(g: Graph) -> Any:
    x = g.pick()
    return g.emit(
        "Slice", x, offset=tuple(g.random.randrange(n) for n in x.shape), ends=tuple(x.shape),
        steps=tuple(g.random.choice([1, 1, 2]) for _ in x.shape))


def _split(g: Graph) -> Any:
    x = g.pick()
    axis = g.random.randrange(x.rank)
    if x.shape[axis] < 2:
        raise ValueError("nothing to split")
    return g.emit("Split", x, axis=axis, split_size=(1, x.shape[axis] - 1))


def _arg(g: Graph) -> Any:
    x = g.pick()
    found = g.emit("Arg", x, axis=g.random.randrange(x.rank), keepdims=g.random.random() < 0.5, mode="ArgMax")
    return g.emit("Cast", found, element=F32)


def _gather(g: Graph) -> Any:
    x = g.pick()
    indices = g.builder.constant(np.array(g.random.choice([0, [0, 0], [[0], [0]]]), np.int32))
    return g.emit("Gather", x, indices, axis=g.random.randrange(x.rank))


KINDS: list[Callable[[Graph], Any]] = [
    _conv, _conv, _conv, _deconv, _batch_norm, _pool, _to_depth, _add_constant, _combine, _combine, _concat, _permute, _permute,
    _reshape, _reshape, _flatten, _reduce, _slice, _split, _arg, _gather,
    lambda g: g.emit(g.random.choice(["Relu", "Sigmoid", "Abs"]), g.pick()),
    lambda g: g.emit("InstanceNorm", g.pick(4), layout=g.layout),
    lambda g: g.emit("Softmax", (x := g.pick()), axis=g.random.randrange(x.rank)),
    lambda g: g.emit("MatMul", (x := g.pick()), g.number(x.shape[-1], 3)),
    lambda g: g.emit("LayerNorm", (x := g.pick()), g.number(x.shape[-1])),
    lambda g: g.emit("Unsqueeze", (x := g.pick()), axes=(g.random.randrange(x.rank + 1),)),
    lambda g: g.emit("Pad", (x := g.pick()), paddings=tuple(g.random.choice([0, 0, 1]) for _ in range(2 * x.rank))),
    lambda g: g.emit("Pack", (x := g.pick()), g.emit("Relu", x), axis=g.random.randrange(x.rank + 1)),
    lambda g: g.emit("Expand", (x := g.pick()), shape=tuple(2 if size == 1 else size for size in x.shape)),
    lambda g: g.emit("Where", g.emit("Compare", (x := g.pick()), g.number(1), mode="Less"), x, g.number(x.shape[-1])),
]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize(("layout", "to"), [("NCHW", "NHWC"), ("NHWC", "NCHW"), ("NHWC", "NHWC")])
def test_random_graphs(seed: int, layout: str, to: str) -> None:
    module = Graph(seed, layout).build()
    rng = np.random.default_rng(seed)
    given = {f"x{i}": rng.normal(size=v.shape).astype(np.float32) for i, v in enumerate(module.body_of_main.arguments)}
    wanted = run(module, given)
    change_layout(module, to)
    verify(module)
    for name, array in run(module, given).items():
        np.testing.assert_allclose(array, wanted[name], rtol=1e-4, atol=1e-4)
    for op in module.ops():
        assert "layout" not in op.declaration.attributes or op.layout == to
        if op.declaration.infer is not None and op.name not in UNTYPED and op.results:
            inferred = op.declaration.infer(op)
            assert [r.type for r in op.results] == ([inferred] if isinstance(inferred, Type) else list(inferred)), op.name


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize(("layout", "to"), [("NCHW", "NHWC"), ("NHWC", "NCHW")])
def test_what_has_a_name_holds_its_numbers(seed: int, layout: str, to: str) -> None:
    """A tensor under a name of the model's has the model's numbers, its dimensions in whatever order."""
    module = Graph(seed, layout).build()
    for number, op in enumerate(module.body_of_main):
        if op.results:
            op.location = f"op{number}"
    rng = np.random.default_rng(seed)
    given = {f"x{i}": rng.normal(size=v.shape).astype(np.float32) for i, v in enumerate(module.body_of_main.arguments)}
    wanted = _named(module, given)
    change_layout(module, to)
    for name, array in _named(module, given).items():
        difference = meant_difference(name, wanted[name], array, None, None)
        assert not difference.note and difference.metrics["max_abs"] <= 1e-3, name


def _named(module: Module, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    kept = set(map(id, named_values(module, "main")))
    run(module, given, watch=lambda value, array: found.update({value.name or "": array} if id(value) in kept else {}))
    return found


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_ops_that_are_settled_are_those_that_stay_anyway(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing turns, with Permutes among the ops: the same module as when every op's forms are weighed."""
    seen: list[bool] = []
    settled = _FunctionLayout._is_settled

    def noted(self: _FunctionLayout, op: Any) -> bool:
        seen.append(settled(self, op))
        return seen[-1]

    for seed in range(40):
        module = Graph(seed, layout).build()
        quick, slow = module.clone(), module.clone()
        monkeypatch.setattr(_FunctionLayout, "_is_settled", noted)
        changed = change_layout(quick, layout)
        monkeypatch.setattr(_FunctionLayout, "_is_settled", lambda self, op: False)
        assert change_layout(slow, layout) == changed
        assert print_module(quick) == print_module(slow)
    assert seen.count(True) > 100 and seen.count(False) > 30
