"""Calls that PyTorch itself refuses: each ends in one clear error, with no rewrite having failed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, ReadError
from transload.ir import I8

from .cases.run import module_of
from .cases.spec import Cases, t
from .conftest import KEPT
from .test_archive import MODEL, edited

STATE, PARAMS = [t(1, 1, 4)] * 2, [t(16, 3), t(16, 4), t(16), t(16)]
LSTM = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": False, "bidirectional": False, "batch_first": False}
RESULTS = {"lstm.input": 3, "adaptive_max_pool2d.default": 2}
X, W = t(1, 3, 8, 8), t(4, 3, 3, 3)


@pytest.mark.parametrize(("op", "arguments", "named", "why"), [
    ("conv2d.default", [X, W], {"stride": [1, 1, 1]}, "its stride has 3 numbers, and must have 2"),
    ("instance_norm.default", [X, None, None, None, None], {
        "use_input_stats": False, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": False}, "lacks an operand"),
    ("slice.Tensor", [t()], {"dim": 0, "start": 0, "end": 1, "step": 1}, "outside a tensor of rank 0"),
    ("slice.Tensor", [t(4)], {"dim": 0, "start": 0, "end": 1, "step": 0}, "must be positive"),
    ("unflatten.int", [t()], {"dim": 0, "sizes": [1, 1]}, "outside a tensor of rank 0"),
    ("select.int", [t()], {"dim": -1, "index": 0}, "outside a tensor of rank 0"),
    ("narrow.default", [t()], {"dim": 0, "start": 0, "length": 1}, "outside a tensor of rank 0"),
    ("conv2d.default", [X, t(4, 3, 3)], {"padding": [1, 1]}, "its padding has 2 numbers, and there are 1 dimensions|is given"),
    ("conv2d.default", [t(8, 8), W], {}, "is of 2 dimensions, and is given"),
    ("conv2d.default", [X, t(4, 3)], {}, "has filters of the shape"),
    ("conv2d.padding", [X, W], {"padding": "same", "dilation": [1, 1, 1]}, "its dilation has 3 numbers"),
    ("conv1d.padding", [t(1, 3, 8), t(4, 3, 3)], {"padding": "same", "dilation": [1, 1]}, "its dilation has 2 numbers"),
    ("convolution.default", [X, W, None], {"stride": [2, 2, 2], "padding": [0, 0], "dilation": [1, 1], "transposed": False,
                                           "output_padding": [0, 0], "groups": 1}, "its stride has 3 numbers, and there are 2"),
    ("convolution.default", [X, t(3, 4, 3, 3), None],
     {"stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "transposed": True, "output_padding": [0, 0, 1], "groups": 1},
     "its output_padding has 3 numbers"),
    ("conv_transpose2d.input", [X, t(3, 4, 3, 3)], {"stride": [0, 2]}, "its stride is .*must be 1 or more"),
    ("im2col.default", [X], {"kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [0, 1]}, "its stride is"),
    ("col2im.default", [t(1, 12, 49)], {"output_size": [8, 8], "kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0],
                                        "stride": [1, 0]}, "its stride is"),
    ("max_pool2d.default", [X], {"kernel_size": [2, 2, 2]}, "its kernel_size has 3 numbers"),
    ("avg_pool2d.default", [X], {"kernel_size": [2, 2], "stride": [1, 0]}, "its stride is"),
    ("adaptive_avg_pool2d.default", [X], {"output_size": [1, 1, 1]}, "its output_size has 3 numbers"),
    ("adaptive_max_pool2d.default", [X], {"output_size": [0, 1]}, "pools"),
    ("embedding_bag.default", [t(6, 3), t(5, d="i64", lo=0, hi=5), t(2, d="i64")], {},
     r"the beginnings of its bags are computed[\s\S]*indices \[bags, size\]"),
    ("upsample_nearest2d.vec", [X], {"output_size": [4]}, "sizes and output_size must have"),
    ("upsample_nearest2d.vec", [X], {"scale_factors": [2.0, 2.0, 2.0]}, "sizes and scales must have the same length"),
    ("upsample_bilinear2d.vec", [X], {"align_corners": False, "scale_factors": [2.0, math.nan]}, "no finite numbers above 0"),
    ("upsample_bilinear2d.vec", [X], {"align_corners": False, "scale_factors": [math.inf, 1.0]}, "no finite numbers above 0"),
    ("upsample_nearest2d.vec", [X], {"output_size": None, "scale_factors": [-1.0, 1.0]}, "no finite numbers above 0"),
    ("rms_norm.default", [t(2, 4, d="i64")], {"normalized_shape": [4]}, "has no kernel|no kernel of it but for floats"),
    ("grid_sampler.default", [X, t(1, 2, 2, 2)], {"interpolation_mode": 7, "padding_mode": 0, "align_corners": False},
     "interpolation_mode 7"),
    ("torchvision.roi_align.default", [X, t(2, 4), 1.0, 2, 2, 2, True], {}, "pools regions"),
    ("torchvision.roi_align.default", [X, t(2, 5), 1.0, 2, 0, 2, True], {}, "pools regions"),
    ("torchvision.roi_align.default", [X, t(2, 5), 1.0, 2, 2, 0, True], {}, "regions are computed at run time"),
    ("torchvision.deform_conv2d.default", [X, W, t(1, 18, 5, 6), t(1, 0, 5, 6), t(4), 1, 1, 0, 0, 1, 1, 1, 1, False], {},
     "has offsets of shape"),
    ("torchvision.deform_conv2d.default", [X, W, t(1, 18, 6, 6), t(1, 0, 6, 6), t(4), 0, 1, 0, 0, 1, 1, 1, 1, False], {},
     "moves windows"),
    ("lstm.input", [t(5, 1, 3), [t(4)] * 2, PARAMS], LSTM, "has a state of shape"),
    ("lstm.input", [t(5, 1, 3), STATE[:1], PARAMS], LSTM, "has 1 states and 1 layers"),
    ("lstm.input", [t(5, 1, 3), STATE, PARAMS], LSTM | {"num_layers": 0}, "has 2 states and 0 layers"),
    ("lstm.input", [t(5, 1, 3), STATE, PARAMS[:3]], LSTM, "projects by weights of shape"),
    ("lstm.input", [t(5, 1, 3), STATE, [*PARAMS[:3], t(7)]], LSTM, "16 rows are due"),
    ("lstm.input", [t(5, 1, 3, 2), STATE, PARAMS], LSTM, "must have 3 dimensions"),
    ("roll.default", [X], {"shifts": [1, 2], "dims": [1]}, "shifts and dims must have the same length"),
    ("movedim.intlist", [X], {"source": [0, 1], "destination": [1]}, "source and destination"),
    ("movedim.intlist", [X], {"source": [0, 0], "destination": [1, 2]}, "moves the dimensions"),
    ("as_strided.default", [X], {"size": [2, 2], "stride": [1]}, "size and stride must have the same length"),
    ("as_strided.default", [X], {"size": [1 << 40], "stride": [0]}, "more than"),
    ("as_strided.default", [X], {"size": [2], "stride": [1], "storage_offset": -3}, "from -3"),
    ("diagonal_scatter.default", [t(3, 3), t(3)], {"dim1": 5}, "dimension 5 is outside"),
    ("tensordot.default", [t(2, 3), t(3, 2)], {"dims_self": [1], "dims_other": [0, 1]}, "dims_self and dims_other"),
    ("tensordot.default", [t(2, 3), t(3, 2)], {"dims_self": [9], "dims_other": [0]}, "dimension 9 is outside"),
    ("cat.default", [[]], {}, r"lists of fewer numbers, than it needs: \(\)"),
    ("stack.default", [[]], {}, "lists of fewer numbers"),
    ("scaled_dot_product_attention.default", [t(4), t(4), t(4)], {}, r"fewer dimensions.*tensor<4xf32>, tensor<4xf32>"),
    ("torchao.choose_qparams_affine.default", [t(4, 4, d="i32"), "SYMMETRIC", [1, 4], I8], {}, "which are no floats"),
    ("torchao.choose_qparams_affine.default", [t(4, 4), "SYMMETRIC", None, I8], {}, "lacks its argument block_size"),
    ("torchao.choose_qparams_affine.default", [None, "SYMMETRIC", [1, 4], I8], {}, "chooses scales of no tensor"),
    ("cat.default", [[t(2), None]], {}, "lacks an operand|lacks its argument"),
    ("stack.default", [[t(2), None]], {}, "lacks an operand|lacks its argument"),
    ("where.self", [t(2, d="i32"), None, t(2)], {}, "lacks its argument self"),
    ("eye.m", [], {"n": 1 << 20, "m": 1 << 20}, "too large"),
    ("channel_shuffle.default", [X], {"groups": 0}, "split into 0 groups"),
    ("adaptive_max_pool2d.default", [t(1, 2, 4, 4)], {"output_size": [1 << 40, 1]}, "takes a table"),
    ("fft_fftfreq.default", [[2, 3]], {}, "attribute 'n' must be number"),
    ("hann_window.periodic", [4, 0.5], {}, "must be true or false"),
    ("permute.default", [t(2, 3)], {"dims": 1}, "'dims' must be numbers"),
    ("topk.default", [t(4)], {"k": True}, "must be of whole numbers"),
    ("gelu.default", [X], {"approximate": 3}, "'approximate' must be string"),
    ("pad.default", [X], {"pad": [1, 1], "mode": "forward"}, "its mode is 'forward', and can be 'constant', 'reflect'"),
    ("gelu.default", [X], {"approximate": "erf"}, "its approximate is 'erf'"),
    ("div.Tensor_mode", [X, X], {"rounding_mode": "ceil"}, "its rounding_mode is 'ceil'"),
    ("group_norm.default", [X], {"num_groups": 0}, "cannot be split into 0 groups"),
    ("linspace.default", [], {"start": 0, "end": 1, "steps": 1 << 27}, "takes a table of 134,217,728 numbers"),
    ("take_along_dim.default", [t(2, 3), t(2, d="i64", lo=0, hi=1)], {"dim": 1}, "must have the same length"),
    ("select.int", [X], {"dim": 0.5, "index": 0}, "its dim is 0.5, and must be of whole numbers"),
    ("permute.default", [t(2, 3)], {"dims": [1.0, 0.0]}, "must be of whole numbers"),
    ("softmax.int", [X], {"dim": 1.5}, "must be of whole numbers"),
    ("sum.dim_IntList", [X], {"dim": [0], "keepdim": 0.5}, "must be true or false"),
])
def test_a_call_whose_arguments_do_not_fit(op: str, arguments: list[Any], named: dict[str, Any], why: str) -> None:
    cases = Cases()
    cases.add(op, *arguments, **named)
    module = module_of(cases.all[0], [np.zeros((1,), np.float32)] * RESULTS.get(op, 1))
    with pytest.raises(ConversionError, match=why) as caught:
        transload.legalize(module)
    assert caught.value.__cause__ is None, "a rewrite failed"


def test_no_integer_is_nan() -> None:
    cases = Cases()
    cases.add("full_like.default", t(2, d="i32"), fill_value=float("nan"))
    with pytest.raises(ConversionError, match="nan is none of i32"):
        transload.legalize(module_of(cases.all[0], [np.zeros(2, np.int32)]))


BYTES, PLACES, MASK = t(3, d="ui8"), t(2, d="i64", values=(0, 1)), t(3, d="i1")


@pytest.mark.parametrize(("op", "before", "after"), [
    ("masked_fill.Scalar", [BYTES, MASK], []), ("where.ScalarOther", [MASK, BYTES], []), ("where.ScalarSelf", [MASK], [BYTES]),
    ("full_like.default", [BYTES], []), ("fill.Scalar", [BYTES], []), ("constant_pad_nd.default", [BYTES, [1, 1]], []),
    ("index_fill.int_Scalar", [BYTES, 0, PLACES], []), ("scatter.value", [BYTES, 0, PLACES], []),
    ("index_add.default", [BYTES, 0, PLACES, t(2, d="ui8")], []),
    ("clamp.default", [BYTES, -1], []), ("clamp.default", [BYTES], [300]), ("clamp_min.default", [BYTES], []),
    ("hardtanh.default", [BYTES, 0], []), ("threshold.default", [BYTES], [7]), ("threshold.default", [BYTES, 7], []),
    ("pow.Tensor_Scalar", [BYTES], []), ("add.Tensor", [BYTES, BYTES], []), ("rsub.Tensor", [BYTES, BYTES], []),
    ("addcmul.default", [BYTES, BYTES, BYTES], []),
    ("addmm.default", [t(2, 2, d="ui8")] * 3, []),
], ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("number", [256, -300, 300.0, -1.0])
def test_no_number_out_of_range_is_converted(op: str, before: list[Any], after: list[Any], number: float) -> None:
    """Arithmetic and relations take its bits; these were given them, too. A float has none, not even below zero."""
    named = {"index_add.default": "alpha", "add.Tensor": "alpha", "rsub.Tensor": "alpha", "addcmul.default": "value",
             "addmm.default": "alpha"}.get(op)
    if (op.startswith("pow") and number < 0) or (named == "alpha" and isinstance(number, float)):
        pytest.skip("integers have no such powers, and take no floats as alpha, in range or out of it")
    cases = Cases()
    cases.add(op, *before, *(after if named else [number, *after]), **({named: number} if named else {}))
    with pytest.raises(ConversionError, match="PyTorch refuses to convert it"):
        transload.legalize(module_of(cases.all[0], [np.zeros(2, np.uint8)]))


def _graph(document: Any, node: int, place: int) -> Any:
    return document["graph_module"]["graph"]["nodes"][node]["inputs"][place]["arg"]["as_graph"]["graph"]


BRANCH, CONDITION, BODY = (2, 1), (4, 0), (4, 1)
"""Where `control_flow.pt2` has its graphs: the node and the argument."""


def _takes_less(graph: Any) -> None:
    graph["inputs"].pop()


def _takes_more(graph: Any) -> None:
    graph["inputs"].append({"as_tensor": {"name": "more"}})


def _gives_less(graph: Any) -> None:
    graph["outputs"].pop()


def _takes_integers(graph: Any) -> None:
    graph["tensor_values"][graph["inputs"][1 if len(graph["inputs"]) > 1 else 0]["as_tensor"]["name"]]["dtype"] = 5


@pytest.mark.parametrize(("change", "where", "why"), [
    (_takes_less, BRANCH, "its graph takes 0 values, and 1 are due"), (_gives_less, BRANCH, "its graph gives"),
    (_takes_integers, BRANCH, "its graph takes a tensor"), (_takes_less, CONDITION, "uses 'arg2_1', which nothing defines"),
    (_gives_less, CONDITION, "its condition gives 0 values"), (_gives_less, BODY, "its graph gives 1 values, and 2 are due"),
    (_takes_more, CONDITION, "its graph takes 4 values, and 3 are due"), (_takes_integers, BODY, "its graph takes a tensor")])
def test_a_graph_that_does_not_fit_what_it_is_given(tmp_path: Path, change: Any, where: tuple[int, int], why: str) -> None:
    path = edited(tmp_path / "m.pt2", MODEL.replace("cnn", "control_flow"), lambda document: change(_graph(document, *where)),
                  KEPT / "control_flow.pt2")
    with pytest.raises((ConversionError, ReadError), match=why) as caught:
        transload.legalize(transload.load(path))
    assert caught.value.__cause__ is None, "a rewrite failed"


@pytest.mark.parametrize("to", ["stablehlo", "tosa"])
def test_a_loop_whose_graph_does_not_know_the_shape_that_it_is_given(tmp_path: Path, to: str) -> None:
    def change(document: Any) -> None:
        graph = _graph(document, *CONDITION)
        del graph["tensor_values"][graph["inputs"][1]["as_tensor"]["name"]]

    path = edited(tmp_path / "m.pt2", MODEL.replace("cnn", "control_flow"), change, KEPT / "control_flow.pt2")
    with pytest.raises(ConversionError, match=r"a loop takes tensor<\*xf32> where it is given tensor<3x4xf32>"):
        transload.lower(transload.load(path), to, int64="assumed") if to == "tosa" else transload.lower(transload.load(path), to)


@pytest.mark.parametrize("argument", [{"as_int": 3}, {"as_none": True}, {"as_tensors": []}])
@pytest.mark.parametrize("kind", ["parameter", "buffer", "tensor_constant"])
def test_a_weight_that_is_no_tensor(tmp_path: Path, kind: str, argument: Any) -> None:
    def change(document: Any) -> None:
        specs = document["graph_module"]["signature"]["input_specs"]
        (entry,) = specs[0].values()
        (name,) = (value for key, value in entry.items() if key != "arg")
        specs[0] = {kind: {"arg": argument, f"{kind}_name": name}}

    with pytest.raises(ReadError, match=f"a tensor, as the argument of a {kind}"):
        transload.load(edited(tmp_path / "m.pt2", MODEL, change))


@pytest.mark.parametrize(("scales", "points", "axis", "why"), [
    ("dense<1.0> : tensor<8xf32>", "dense<0> : tensor<5x8xi64>", 0, "must have 8"),
    ("dense<1.0> : tensor<3xf32>", "dense<0> : tensor<3xi64>", 0, "3 scales and 3 zero points, and must have 8"),
    ("dense<0.0> : tensor<8xf32>", "dense<0> : tensor<8xi64>", 0, "not positive and finite"),
    ("dense<1.0> : tensor<8xf32>", "dense<999> : tensor<8xi64>", 0, "do not lie from"),
    ("dense<1.0> : tensor<8xf32>", "dense<0> : tensor<8xi64>", 5, "axis 5 is outside")])
def test_scales_that_do_not_fit_their_tensor(scales: str, points: str, axis: int, why: str) -> None:
    s, p = scales.rpartition(" ")[2], points.rpartition(" ")[2]
    text = f"""func.func @main(%x: tensor<8x3xi8>) -> tensor<8x3xf32> {{
  %s = "aten.Constant"() {{value = {scales}}} : () -> {s}
  %p = "aten.Constant"() {{value = {points}}} : () -> {p}
  %y = "aten.quantized_decomposed.dequantize_per_channel.default"(%x, %s, %p)
      {{axis = {axis} : i64, quant_min = -127 : i64, quant_max = 127 : i64, dtype = i8}}
      : (tensor<8x3xi8>, {s}, {p}) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}}"""
    with pytest.raises(ConversionError, match=why) as caught:
        transload.lower(transload.load(text=text, format="mlir"), "tosa")
    assert caught.value.__cause__ is None


def test_complex_numbers_of_halves_are_told_by_their_name(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        next(iter(document["graph_module"]["graph"]["tensor_values"].values()))["dtype"] = 9

    with pytest.raises(ReadError, match="is complex32, complex numbers of halves, which are not read") as caught:
        transload.load(edited(tmp_path / "m.pt2", MODEL, change))
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(("op", "said"), [
    ("relu.default", np.zeros((2, 3), np.float16)), ("relu.default", np.zeros((3, 2), np.float32)),
    ("relu.default", np.zeros(6, np.float32)), ("neg.default", np.zeros((2, 3), np.float64)),
    ("argmax.default", np.zeros((), np.int32)), ("isnan.default", np.zeros((2, 3), np.uint8)),
    ("max_pool1d.default", np.zeros((2, 3), np.float32))])
def test_results_are_what_the_program_says_of_them(op: str, said: np.ndarray) -> None:
    """Where a rule made another element type or shape, what came after it computed with that."""
    cases = Cases()
    cases.add(op, t(2, 3), *([[2]] if "pool" in op else []))
    with pytest.raises(ConversionError, match=r"its result is said to be tensor<.*>, and is tensor<"):
        transload.legalize(module_of(cases.all[0], [said]))


def test_an_operator_without_a_conversion_has_a_way_out() -> None:
    from transload.conversion import hint_for
    from transload.plugin_host import host

    said = hint_for(host().conversions["aten-to-top"])("aten.vander")
    assert said.startswith("export the network with `.run_decompositions()`") and ", or a plugin can add it: hook" in said
