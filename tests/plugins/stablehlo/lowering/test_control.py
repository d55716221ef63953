"""Control flow, third parties' ops, long recurrences, and what the programs look like."""

from __future__ import annotations

import numpy as np
import pytest

from transload.api import lower, run
from transload.contents import op_counts
from transload.errors import ConversionError
from transload.ir import BOOL, F32, I32, Block, Region, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_plugins.stablehlo.lowering import TABLE

from .conftest import check


def region(types, make):
    """A region that yields what `make(builder, *arguments)` gives."""
    block = Block(types)
    builder = Builder(block)
    made = make(builder, *block.arguments)
    builder.create("top.Yield", made if isinstance(made, tuple) else (made,))
    return Region([block])


@pytest.fixture
def vector():
    return TensorType((3,), F32)


@pytest.mark.parametrize("flag_shape", [(), (1,)])
@pytest.mark.parametrize("flag", [True, False])
def test_if(xla, vector, flag, flag_shape):
    module = new_module()
    module.add_function("main", [TensorType(flag_shape, BOOL), vector], ["x0", "x1"])
    builder = Builder(module.body_of_main, None, "y")
    condition, x = module.body_of_main.arguments
    regions = [region((), lambda b: b.emit("top.Exp", x)), region((), lambda b: b.emit("top.Add", x, b.constant(np.float32(2))))]
    made = builder.create("top.If", (condition,), (vector,), {}, regions)
    set_results(module.main, made.results, ["y0"])
    check(module, [np.full(flag_shape, flag), np.arange(3, dtype=np.float32)])


@pytest.mark.parametrize("shape", [(), (1,)])
def test_while(xla, vector, shape):
    """A loop that sees values around it; the condition may be a tensor of one element."""
    module = new_module()
    counter = TensorType(shape, I32)
    module.add_function("main", [counter, vector], ["x0", "x1"])
    builder = Builder(module.body_of_main, None, "y")
    start, x = module.body_of_main.arguments
    factor = builder.constant(np.float32(1.5))
    limit = builder.constant(np.full(shape, 5, np.int32))
    types = [counter, vector]

    def body(b, i, s):
        inner = [region((), lambda c: c.emit("top.Mul", s, factor)), region((), lambda c: c.emit("top.Add", s, x))]
        flag = b.emit("top.Compare", i, b.constant(np.full(shape, 2, np.int32)), mode="Less")
        chosen = b.create("top.If", (flag,), (vector,), {}, inner).results[0]
        return b.emit("top.Add", i, b.constant(np.full(shape, 1, np.int32))), chosen

    regions = [region(types, lambda b, i, s: b.emit("top.Compare", i, limit, mode="Less")), region(types, body)]
    made = builder.create("top.While", (start, x), types, {}, regions)
    set_results(module.main, made.results, ["y0", "y1"])
    check(module, [np.zeros(shape, np.int32), np.arange(3, dtype=np.float32)])


def test_branches_of_different_shapes_are_refused(vector):
    module = new_module()
    module.add_function("main", [TensorType((), BOOL), vector], ["x0", "x1"])
    builder = Builder(module.body_of_main, None, "y")
    condition, x = module.body_of_main.arguments
    regions = [region((), lambda b: x), region((), lambda b: b.emit("top.Concat", x, x, axis=0))]
    made = builder.create("top.If", (condition,), (vector,), {}, regions)
    set_results(module.main, made.results, ["y0"])
    with pytest.raises(ConversionError, match=r"else region yields tensor<6xf32>, where the result is tensor<3xf32>"):
        lower(module, "stablehlo")


def test_custom_is_a_custom_call(vector):
    module = new_module()
    module.add_function("main", [vector], ["x0"])
    builder = Builder(module.body_of_main, None, "y")
    made = builder.create("top.Custom", module.body_of_main.arguments, (vector,), {"name": "acme", "options": {"gain": 2}})
    set_results(module.main, made.results, ["y0"])
    call = next(op for op in lower(module, "stablehlo").walk() if op.name == "stablehlo.custom_call")
    assert (call.call_target_name, call.backend_config, call.api_version) == ("acme", {"gain": 2}, 4)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_long_sequences_are_loops(same, rng, kind, direction):
    """More than a few steps are a while, whose program does not grow with time."""
    time, batch, inputs, hidden = 23, 2, 3, 4
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    d = 2 if direction == "bidirectional" else 1
    shapes = [(time, batch, inputs), (d, gates * hidden, inputs), (d, gates * hidden, hidden), (d, 2 * gates * hidden)]
    arrays = [rng.standard_normal(shape).astype(np.float32) * 0.5 for shape in shapes]
    lengths = np.array([time, 9], np.int32)

    def make(builder, *values):
        plain = builder.emit(f"top.{kind}", *values, hidden_size=hidden, direction=direction)
        states = (None, None, None) if kind == "LSTM" else (None,)
        ragged = builder.emit(f"top.{kind}", *values, *states, builder.constant(lengths), hidden_size=hidden, direction=direction)
        return [*plain, *ragged]

    lowered = same(make, *arrays)
    assert op_counts(lowered)["stablehlo.while"] == 2 * d


def test_every_op_is_converted_or_refused():
    """The table has every op of `top`."""
    from transload.ir import registry
    from transload.plugin_host import host

    host()
    missing = [name for name in registry.dialect("top").ops if name not in TABLE]
    assert not missing


@pytest.mark.parametrize(("layout", "shape", "filters", "group"), [
    ("NHWC", (1, 8, 8, 6), (6, 3, 3, 1), 6), ("NCHW", (1, 6, 8, 8), (6, 1, 3, 3), 6), ("NCHW", (1, 6, 8, 8), (4, 3, 3, 3), 2),
    ("NHWC", (1, 8, 8, 6), (4, 3, 3, 6), 1),
])  # fmt: skip
def test_a_convolution_stays_one(same, rng, layout, shape, filters, group):
    """No transposes, whatever the layout; a depthwise one is a convolution with as many groups as channels."""
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in (shape, filters, filters[:1]))

    def make(builder, x):
        return builder.emit(
            "top.Conv", x, builder.constant(w), builder.constant(b), kernel_shape=(3, 3), pads=(1, 1, 1, 1), group=group,
            layout=layout, do_relu=True, relu_limit=6.0)

    lowered = same(make, x)
    assert op_counts(lowered) == {
        "stablehlo.convolution": 1, "stablehlo.broadcast_in_dim": 1, "stablehlo.add": 1, "stablehlo.clamp": 1}
    conv = next(op for op in lowered.walk() if op.name == "stablehlo.convolution")
    assert conv.feature_group_count == group


def test_constants_are_not_spread(same, rng):
    """Numbers are splats, biases are spread by an op: a program is not larger than its model."""
    x = rng.standard_normal((1, 64, 64, 32)).astype(np.float32)
    bias = rng.standard_normal(32).astype(np.float32)
    lowered = same(lambda b, x: b.emit("top.GELU", b.emit("top.Add", x, b.constant(bias))), x)
    from transload.contents import constant_bytes

    assert constant_bytes(lowered) < 1000


def test_dynamic_sizes_are_refused(vector):
    module = new_module()
    module.add_function("main", [TensorType((None, 3), F32)], ["picture"])
    builder = Builder(module.body_of_main, None, "y")
    set_results(module.main, [builder.emit("top.Exp", module.body_of_main.arguments[0])], ["y0"])
    with pytest.raises(ConversionError, match=r"picture(.|\n)*known only at run time(.|\n)*--shape"):
        lower(module, "stablehlo")


def test_sequences_of_no_steps():
    module = new_module()
    types = [TensorType((0, 2, 3), F32), TensorType((1, 4, 3), F32), TensorType((1, 4, 4), F32)]
    module.add_function("main", types, ["x0", "x1", "x2"])
    builder = Builder(module.body_of_main, None, "y")
    made = builder.emit("top.RNN", *module.body_of_main.arguments, hidden_size=4)
    set_results(module.main, made, ["y0", "y1"])
    given = {name: np.zeros(type_.shape, np.float32) for name, type_ in zip(("x0", "x1", "x2"), types, strict=True)}
    assert [array.shape for array in run(lower(module, "stablehlo"), given).values()] == [(0, 1, 2, 4), (1, 2, 4)]
