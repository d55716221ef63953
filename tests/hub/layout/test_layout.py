"""The pass `layout`: what it leaves of typical networks, and that they compute the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from transload.api import run
from transload.errors import UsageError
from transload.ir import BOOL, F32, I8, Block, Module, QuantType, Region, TensorType, new_module, set_results, verify
from transload.ir.build import Builder
from transload.ir.types import Blocks
from transload_hub.layout import change
from transload_hub.layout.change import change_layout

from tests.hub.layout.networks import Network, names

Turn = Callable[..., Module]


def test_a_network_has_the_border_permutes_only(turned: Turn) -> None:
    net = Network((1, 3, 8, 8))
    x = net.conv(net.inputs[0], 8)
    x = net.Relu(net.BatchNorm(x, *(np.abs(net.random(8)) + np.float32(0.1) for _ in range(4))))
    x = net.Concat(x, net.Mul(x, net.random(8, 1, 1)), axis=1)
    x = net.MaxPool(x, kernel_shape=(2, 2), strides=(2, 2))
    x = net.Pad(net.Softmax(x, axis=1), paddings=(0, 0, 1, 1, 0, 0, 1, 1))
    x = net.Add(net.conv(x, 16), net.Slice(x, offset=(0, 0, 0, 0), ends=(1, 16, 6, 6), steps=(1, 1, 1, 1)))
    parts = net.Split(x, axis=1, split_size=(4, 12))
    turned(net.done(net.Upsample(parts[1], scale_h=2, scale_w=2)), permutes=2)


def test_a_global_mean_leaves_none_behind(turned: Turn) -> None:
    net = Network((1, 3, 8, 8))
    x = net.Reduce(net.conv(net.inputs[0], 8), axes=(2, 3), keepdims=False, mode="ReduceMean")
    made = turned(net.done(net.MatMul(x, net.random(8, 5))), permutes=1)
    (reduce,) = (op for op in made.ops() if op.name == "top.Reduce")
    assert reduce.axes == (1, 2)


def test_pooling_to_one_pixel_then_flatten(turned: Turn) -> None:
    net = Network((1, 3, 8, 8))
    x = net.AvgPool(net.conv(net.inputs[0], 8), kernel_shape=(8, 8))
    turned(net.done(net.MatMul(net.Reshape(x, shape=(1, -1)), net.random(5, 8), right_transpose=True)), permutes=1)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_weight_absorbs_the_order_of_a_flatten(turned: Turn, transposed: bool) -> None:
    net = Network((2, 3, 6, 6))
    x = net.Reshape(net.conv(net.inputs[0], 4), shape=(2, -1))
    weight = net.random(5, 4 * 36) if transposed else net.random(4 * 36, 5)
    turned(net.done(net.MatMul(net.Relu(x), weight, net.random(5), right_transpose=transposed)), permutes=1)


@pytest.mark.parametrize(("kind", "permutes"), [
    (QuantType(I8, F32, tuple(2.0 ** -n for n in range(4)) * 3, (0,) * 12, blocks=Blocks((4, 1), (4, 3))), 2),
    (QuantType(I8, F32, tuple(2.0 ** -n for n in range(16)), (0,) * 16, axis=0), 2),
    (QuantType(I8, F32, (0.5, 0.25, 1.0), (0,) * 3, axis=1), 1),
])
def test_rows_of_a_quantized_weight_stay_with_their_scales(kind: QuantType, permutes: int) -> None:
    """Those that share a scale in blocks, too; a scale for each column is the same for all rows."""
    held = QuantType(I8, F32, (0.1,), (0,))
    net = Network(TensorType((1, 4, 3, 3), held))
    x = net.Reshape(net.MaxPool(net.inputs[0], kernel_shape=(2, 2)), shape=(1, 16))
    weight = net.builder.constant(net.rng.integers(-100, 100, (16, 3)).astype(np.int8), kind)
    module = net.done(net.MatMul(x, weight, element=held.replace(scales=(2.0,))))
    given = {"x0": net.rng.integers(-100, 100, (1, 4, 3, 3)).astype(np.int8)}
    wanted = run(module, given)["y0"]
    change_layout(module)
    verify(module)
    np.testing.assert_array_equal(run(module, given)["y0"], wanted)
    assert names(module).count("Permute") == permutes


def test_a_flatten_that_others_use_too_keeps_its_order(turned: Turn) -> None:
    net = Network((2, 3, 6, 6))
    x = net.Reshape(net.conv(net.inputs[0], 4), shape=(2, -1))
    turned(net.done(net.MatMul(x, net.random(4 * 36, 5)), x), permutes=2)


def test_one_channel_needs_no_permute(turned: Turn) -> None:
    net = Network((1, 1, 8, 8))
    x = net.Relu(net.conv(net.inputs[0], 1))
    assert "Reshape" in names(turned(net.done(x), permutes=0))


def test_permutes_of_the_model_cancel(turned: Turn) -> None:
    net = Network((1, 8, 8, 3))
    x = net.Permute(net.inputs[0], order=(0, 3, 1, 2))
    x = net.Permute(net.Relu(net.conv(x, 4)), order=(0, 2, 3, 1))
    x = net.Add(x, net.random(4))
    x = net.Permute(x, order=(0, 3, 1, 2))
    turned(net.done(net.Permute(net.conv(x, 2), order=(0, 2, 3, 1))), permutes=0)


def test_channel_shuffle_is_one_permute(turned: Turn) -> None:
    net = Network((1, 8, 4, 4))
    x = net.Permute(net.Reshape(net.conv(net.inputs[0], 8), shape=(1, 2, 4, 4, 4)), order=(0, 2, 1, 3, 4))
    turned(net.done(net.conv(net.Reshape(x, shape=(1, 8, 4, 4)), 8)), permutes=3)


def test_tokens_of_a_feature_map(turned: Turn) -> None:
    net = Network((1, 3, 8, 8))
    x = net.Permute(net.Reshape(net.conv(net.inputs[0], 6), shape=(1, 6, 64)), order=(0, 2, 1))
    turned(net.done(net.MatMul(net.LayerNorm(x, net.random(6)), net.random(6, 6))), permutes=1)


def test_residual_chain(turned: Turn) -> None:
    net = Network((1, 4, 8, 8))
    x = net.inputs[0]
    for _ in range(4):
        x = net.Add(x, net.Relu(net.conv(x, 4)))
    turned(net.done(x), permutes=2)


def test_attention_is_left_alone(turned: Turn) -> None:
    net = Network((1, 10, 16))
    q, k = (net.Reshape(net.MatMul(net.inputs[0], net.random(16, 16)), shape=(1, 10, 4, 4)) for _ in range(2))
    q, k = net.Permute(q, order=(0, 2, 1, 3)), net.Permute(k, order=(0, 2, 3, 1))
    module = net.done(net.Softmax(net.MatMul(net.MulConst(q, const_val=0.5), k), axis=-1))
    before = names(module)
    assert change_layout(module) is False
    assert names(module) == before


@pytest.mark.parametrize(("rank", "to"), [(1, "NHWC"), (2, "NCHW"), (3, "NHWC"), (3, "NCHW")])
def test_any_number_of_spatial_dimensions_both_ways(turned: Turn, rank: int, to: str) -> None:
    layout = "NCHW" if to == "NHWC" else "NHWC"
    spatial = (6, 5, 4)[:rank]
    net = Network((2, 3, *spatial) if layout == "NCHW" else (2, *spatial, 3))
    x = net.conv(net.inputs[0], 4, layout)
    x = net.InstanceNorm(x, net.random(4), layout=layout)
    x = net.LRN(net.AvgPool(x, kernel_shape=(2,) * rank, layout=layout), size=3, layout=layout)
    x = net.GroupNorm(x, num_groups=2, layout=layout)
    x = net.Interp(x, sizes=(4,) * rank, mode="nearest", layout=layout)
    turned(net.done(x), to, permutes=2)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("group", [1, 2])
def test_filters_of_convolutions(turned: Turn, layout: str, group: int) -> None:
    net = Network((1, 4, 5, 5) if layout == "NCHW" else (1, 5, 5, 4))
    shape = (6, 4 // group, 3, 3) if layout == "NCHW" else (6, 3, 3, 4 // group)
    x = net.Conv(net.inputs[0], net.random(*shape), kernel_shape=(3, 3), group=group, layout=layout)
    shape = (6, 2, 2, 2) if layout == "NCHW" else (2, 2, 2, 6)
    x = net.Deconv(x, net.random(*shape), kernel_shape=(2, 2), strides=(2, 2), group=group, layout=layout)
    made = net.Depth2Space(x, block_h=2, block_w=2, is_inversed=True, layout=layout)
    turned(net.done(made), "NHWC" if layout == "NCHW" else "NCHW")


def test_a_filter_computed_at_run_time_is_permuted(turned: Turn) -> None:
    net = Network((1, 3, 6, 6), (4, 3, 3, 3))
    turned(net.done(net.Conv(net.inputs[0], net.Relu(net.inputs[1]), kernel_shape=(3, 3))), permutes=3)


def test_vectors_that_broadcast(turned: Turn) -> None:
    net = Network((2, 4, 5, 6), (6,), (4, 1, 1))
    x = net.conv(net.inputs[0], 4)
    x = net.Add(x, net.inputs[1])
    x = net.Mul(x, net.inputs[2], net.random(1), net.random(5, 1))
    x = net.Where(net.Compare(x, net.random(6), mode="Less"), x, net.random(4, 5, 6))
    turned(net.done(net.PRelu(x, net.random(4, 1, 1))), permutes=2)


def test_every_op_that_runs_in_any_form(turned: Turn) -> None:
    net = Network((2, 4, 5, 6))
    x = net.conv(net.inputs[0], 4)
    results = [
        net.Reverse(x, axes=(1, -1)), net.Roll(x, shifts=(1, 2), axes=(1, 3)), net.Tile(x, tile=(1, 2, 1, 3)),
        net.CumSum(x, axis=1), net.TopK(x, axis=1, k=2)[0], net.Normalize(x, axes=(1,)), net.RMSNorm(x, axis=-1),
        net.Arg(x, axis=1, keepdims=False, mode="ArgMax"),
        net.Expand(net.Reduce(x, axes=(1,), mode="ReduceMax"), shape=(2, 3, 5, 6)),
        net.Pack(x, x, axis=2), *net.Unpack(x, axis=1)[:2], net.Gather(x, np.array(2, np.int32), axis=1),
        net.Gather(x, np.array([2, 0], np.int32), axis=1), net.Squeeze(net.Unsqueeze(x, axes=(0, 3)), axes=(0,)),
        net.ReverseSequence(x, np.array([3, 5], np.int32), seq_axis=2, batch_axis=0),
    ]
    made = turned(net.done(*[net.conv(y, 2) if y.shape[1:] == (4, 5, 6) else y for y in results]))
    assert names(made).count("Conv") == 7


def test_scales_per_axis_follow() -> None:
    per_axis = QuantType(I8, F32, (0.1, 0.2, 0.3), (0, 0, 0), 1)
    module = new_module()
    module.add_function("main", [TensorType((1, 3, 4, 4), F32)], ["x"])
    block = module.body_of_main
    rw = Builder(block)
    x = rw.emit("top.MaxPool", block.arguments[0], kernel_shape=(1, 1))
    x = rw.emit("top.Cast", rw.emit("top.Cast", x, element=per_axis), element=F32)
    set_results(module.main, [rw.emit("top.MaxPool", x, kernel_shape=(1, 1))])
    change_layout(module)
    verify(module)
    quantized = next(op.result for op in module.ops() if op.name == "top.Cast" and isinstance(op.result.element, QuantType))
    assert quantized.shape == (1, 4, 4, 3) and quantized.element.axis == 3


def test_regions_see_values_in_the_form_they_want(turned: Turn) -> None:
    net = Network((1, 3, 4, 4))
    x = net.conv(net.inputs[0], 3)
    condition = net.builder.constant(np.array([True]))
    regions = []
    for op in ("Relu", "Neg"):
        region = Region([Block()])
        inside = Builder(region.block)
        made = inside.emit("top.MaxPool", inside.emit(f"top.{op}", x), kernel_shape=(2, 2))
        inside.create("top.Yield", (made,))
        regions.append(region)
    results = net.builder.create("top.If", (condition,), (made.type,), {}, regions).results
    assert condition.element == BOOL
    turned(net.done(net.Relu(results[0])))


def test_unknown_sizes() -> None:
    net = Network(TensorType((None, 3, None, 8), F32))
    x = net.Relu(net.conv(net.inputs[0], 4))
    module = net.done(net.Reshape(net.Reduce(x, axes=(2, 3), mode="ReduceMean"), shape=(-1, 4)))
    assert change_layout(module)
    verify(module)
    assert names(module).count("Permute") <= 2
    (conv,) = (op for op in module.ops() if op.name == "top.Conv")
    assert conv.result.shape == (None, None, 8, 4)


def test_names_of_results_and_intermediates_stay() -> None:
    net = Network((1, 3, 4, 4))
    x = net.conv(net.inputs[0], 4, location="conv")
    module = net.done(net.Relu(x, location="relu"))
    del module.main.attributes["res_attrs"]
    change_layout(module)
    assert module.body_of_main.terminator.operands[0].name == "relu"
    assert {op.name: op.origin for op in module.ops()}["top.Conv"] == "conv"


def test_low_ranks_are_only_marked(turned: Turn) -> None:
    net = Network((2, 4))
    turned(net.done(net.BatchNorm(net.inputs[0], *(np.abs(net.random(4)) for _ in range(2)))), permutes=0)


def test_the_layout_wanted_already() -> None:
    net = Network((1, 4, 4, 3))
    module = net.done(net.conv(net.inputs[0], 4, "NHWC"))
    assert change_layout(module) is False


def test_other_layouts_are_refused() -> None:
    net = Network((1, 4, 4, 3))
    with pytest.raises(UsageError, match="NWHC"):
        change_layout(net.done(net.conv(net.inputs[0], 4, "NHWC")), "NWHC")


def test_what_joins_very_many_parts_looks_at_each_once(turned: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looked through all of its operands for each of them: minutes for 50,000."""
    parts, looked = 300, 0

    class Counted(change._Need):
        def __getattribute__(self, name: str) -> object:
            nonlocal looked
            looked += name == "base"
            return super().__getattribute__(name)

    monkeypatch.setattr(change, "_Need", Counted)
    net = Network((1, 3, 4, parts))
    x = net.conv(net.inputs[0], 4)
    pieces = net.Split(x, axis=3, split_size=(1,) * parts)
    turned(net.done(net.Concat(*(net.Relu(piece) for piece in pieces), axis=3)), permutes=2)
    assert 0 < looked < 100 * parts
