"""Every declaration: documented with its source, with inference and a kernel; names and defaults as agreed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from transload.ir import F32, I8, Block, Op, QuantType, TensorType
from transload.ir.verify import check
from transload_hub.kernels import KERNELS
from transload_hub.ops import TOP

MANUAL = [
    "Add", "AvgPool", "Depth2Space", "BatchNorm", "Cast", "Clip", "Concat", "Conv", "Deconv", "Div", "Input",
    "LeakyRelu", "LSTM", "Log", "MaxPool", "MatMul", "Mul", "MulConst", "Permute", "Relu", "Reshape", "Scale",
    "Sigmoid", "SiLU", "Slice", "Softmax", "Squeeze", "Upsample", "Weight",
]
SOURCES = re.compile(r"TPU-MLIR|ONNX|TFLite|numpy|StableHLO|MLIR")
WITHOUT_KERNEL = {"top.Weight", "top.None", "top.Yield"}


def test_the_manual_is_covered():
    for name in MANUAL:
        declaration = TOP.ops[f"top.{name}"]
        assert "TPU-MLIR manual 13.1" in declaration.doc, name


@pytest.mark.parametrize("name", sorted(TOP.ops))
def test_declaration(name):
    declaration = TOP.ops[name]
    assert SOURCES.search(declaration.doc), "the docstring names no source"
    assert declaration.infer is not None or name == "top.Custom"
    for member in (*declaration.operands, *declaration.results, *declaration.attributes.values(), *declaration.regions):
        assert member.doc, f"{member.name} is not documented"
    for rule in declaration.constraints:
        assert rule.doc and not rule.doc.endswith("."), rule.doc
    if "layout" in declaration.attributes:
        assert "layout" in declaration.traits or declaration.attributes["layout"].default == "NHWC"


def test_kernels_and_declarations_are_the_same_ops():
    assert set(KERNELS.kernels) == set(TOP.ops) - WITHOUT_KERNEL
    assert {n for n, d in TOP.ops.items() if d.traits & {"constant", "terminator"}} == {"top.Weight", "top.Yield"}
    for declaration in TOP.ops.values():
        if "shape_only" in declaration.traits:
            assert KERNELS.kernels[declaration.name]


MOVES = [
    "Input", "Reshape", "Squeeze", "Unsqueeze", "Permute", "Expand", "Tile", "Concat", "Split", "Pack", "Unpack",
    "Slice", "Pad", "Reverse", "ReverseSequence", "Roll", "Depth2Space", "SpaceToBatch", "BatchToSpace", "Upsample",
    "Gather", "GatherND", "GatherElements", "OneHot", "Where", "Fill", "MaxPool",
]


def test_ops_that_move_numbers_work_on_stored_ones():
    for name in MOVES:
        assert KERNELS.kernels[f"top.{name}"][1] == "storage", name


def test_defaults_that_depend_on_the_op(make_op):
    x, w = TensorType((1, 2, 5, 6, 7), F32), TensorType((3, 2, 1, 2, 3), F32)
    op = make_op("top.Conv", [x, w], kernel_shape=(1, 2, 3))
    assert (op.strides, op.dilations, op.pads) == ((1, 1, 1), (1, 1, 1), (0,) * 6)
    assert op.attribute("pads") == (0,) * 6
    assert (op.group, op.layout, op.do_relu, op.relu_limit, op.bias) == (1, "NCHW", False, -1.0, None)
    assert make_op("top.Cast", [x], element=F32).round_mode == "Trunc"
    assert make_op("top.Cast", [x], element=QuantType(I8, F32, (1.0,), (0,))).round_mode == "HalfAwayFromZero"


@pytest.mark.parametrize(("name", "n", "attributes", "message"), [
    ("Conv", 2, {"kernel_shape": (1,), "strides": (1, 1)}, "strides and dilations as many"),
    ("Conv", 2, {"kernel_shape": (0,)}, "are positive"),
    ("MaxPool", 1, {"kernel_shape": (2,), "pads": (1,)}, "pads twice as many"),
    ("AvgPool", 1, {"kernel_shape": (2,), "pads": (-1, 0)}, "pads not negative"),
    ("Sub", 3, {}, "exactly two operands"),
    ("Add", 1, {}, "two or more operands"),
    ("Add", 2, {"coeff": (1.0,)}, "one entry per operand"),
    ("Softmax", 1, {"axis": 3}, "axis is a dimension"),
    ("Reshape", 1, {"shape": (-1, -1)}, "at most one entry"),
    ("Interp", 1, {"sizes": (0,)}, "sizes are positive"),
    ("Interp", 1, {"sizes": (2,), "mode": "bilinear"}, "must be 'nearest' or 'linear' or 'cubic'"),
    ("Slice", 1, {"offset": (0,), "ends": (1,), "steps": (1,)}, "as many entries as the input"),
    ("Roll", 1, {"shifts": (1,), "axes": ()}, "same number of entries"),
    ("GroupNorm", 1, {"num_groups": 0}, "is positive"),
    ("RNN", 3, {"hidden_size": 1, "activations": ["Sine"]}, "functions that ONNX names"),
    ("RNN", 3, {"hidden_size": 1, "bidirectional": True, "direction": "forward"}, "says the same"),
])
def test_constraints(name, n, attributes, message):
    type_ = TensorType((1, 2, 3), F32)
    block = Block([type_] * n)
    op = Op(f"top.{name}", block.arguments, [type_] * len(TOP.ops[f"top.{name}"].results), attributes)
    findings = [finding.why for finding in check(op)]
    assert any(message in why for why in findings), findings


def test_weight_and_its_quantized_type():
    from transload.ir import Dense
    from transload.ir.build import Builder, constant_of

    builder = Builder(Block())
    stored = np.array([1, 2], np.int8)
    value = builder.constant(stored, QuantType(I8, F32, (0.5, 0.25), (0, 0), axis=0))
    assert not check(value.op)
    assert constant_of(value).numpy() is not None
    wrong = Op("top.Weight", [], [TensorType((3,), F32)], {"value": Dense(stored)})
    assert any("the constant is" in finding.why for finding in check(wrong))
