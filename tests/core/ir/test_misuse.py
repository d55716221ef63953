"""Ops built of parts that do not fit: the error names op, operand or attribute, what is expected, and the line that asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import BuildError, ConversionError, PassError, PluginFailure, ReadError, ShapeError, VerifyError
from transload.ir import F32, Op, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload.rewrite import Rewriter, RewriteTable, apply_greedily, convert_ops
from transload.testing.models import build_module

FOUR = TensorType((1, 4), F32)
RELU = "it is top.Relu(input, rounding=..., relu_limit=...)"


def here() -> tuple[Builder, Any]:
    module = new_module()
    module.add_function("main", [FOUR], ["x"])
    return Builder(module.body_of_main), module.body_of_main.arguments[0]


@pytest.mark.parametrize(("make", "said", "advice"), [
    (lambda b, x: b.emit("top.Relu", x, limit=6.0), "there is no attribute 'limit'; the nearest is 'relu_limit'", RELU),
    (lambda b, x: b.emit("top.Relu", x, types=[FOUR], xyzzy=6.0),
     "there is no attribute 'xyzzy'; it has 'rounding', 'relu_limit'", RELU),
    (lambda b, x: b.emit("top.Relu"), "has 0 operands, not 1", RELU),
    (lambda b, x: b.emit("top.Relu", x, x), "has 2 operands, not 1", RELU),
    (lambda b, x: b.emit("top.Relu", None), "operand 'input' is None, and must be a value", RELU),
    (lambda b, x: b.emit("top.Add", x, np.ones(4, np.float32)),
     "operand 1 is an array of float32 (4,), and must be a value: `constant(...)` of the builder makes one of it", "*inputs"),
    (lambda b, x: b.emit("top.Add", x, 1.0), "operand 1 is 1.0 (float), and must be a value: `constant(...)`", "*inputs"),
    (lambda b, x: b.emit("top.Concat", [x, x], axis=0),
     "operand 0 is a list of 2, and must be a value: give each value by itself", ""),
    (lambda b, x: b.emit("top.Relu", [1.0, 2.0]), "operand 'input' is a list of 2, and must be a value: `constant(...)`", ""),
    (lambda b, x: b.emit("top.Relu", b.emit("top.Relu", x).op),
     "operand 'input' is the op top.Relu, and must be a value: that is its `result`", ""),
    (lambda b, x: b.emit("top.Permute", x, order=np.array([1, 0])), "is array([1, 0]): give (1, 0)", ""),
    (lambda b, x: b.emit("top.Relu", x, location=5), "top.Relu takes a text or a location as location, and was given 5", ""),
    (lambda b, x: Builder(b.block, location=5), "Builder takes a text or a location as location, and was given 5", ""),
    (lambda b, x: b.emit("top.relu", x), "dialect 'top' declares no such op; the nearest is 'top.Relu'", "types=[...]"),
    (lambda b, x: b.emit("TOP.RELU", x), "there is no dialect 'TOP'; the nearest is 'top'", "types=[...]"),
    (lambda b, x: b.emit("top.Rleu", x), "dialect 'top' declares no such op; the nearest is 'top.Relu'", "types=[...]"),
    (lambda b, x: b.emit("tob.Relu", x), "there is no dialect 'tob'; the nearest is 'to", "types=[...]"),
    (lambda b, x: b.emit("Relu", x), "an op is called by its dialect and its own name; there is ", "types=[...]"),
    (lambda b, x: b.emit("top.Relu", x, element="f32"), "element is 'f32' (str), and must be a type", "transload.ir.F32"),
    (lambda b, x: b.create("top.Relu", (np.ones(3),), (FOUR,)), "operand 'input' is an array of float64 (3,)", ""),
    (lambda b, x: b.constant("a"), "Dense takes numbers as its data, and was given 'a' (str)", "lists of numbers"),
])
def test_what_does_not_fit_is_named(make: Callable[..., Any], said: str, advice: str):
    builder, x = here()
    before = len(builder.block)
    with pytest.raises(BuildError) as caught:
        make(builder, x)
    assert said in caught.value.message and advice in caught.value.hint
    assert f"({Path(__file__).parent.name}/{Path(__file__).name}:" in caught.value.message, "the line that asked"
    assert all(user.parent is not None for user in x.uses), "nothing is left behind"
    assert len(builder.block) <= before + 1


@pytest.mark.parametrize(("make", "said"), [
    (lambda b, x: b.emit("top.Conv", b.none("top"), x, kernel_shape=(1, 1)), "operand 'input' must be a tensor, and is none"),
    (lambda b, x: b.emit("top.Concat", x, x), "attribute 'axis' is missing"),
    (lambda b, x: b.emit("top.Concat", x, x, axis="a"), "attribute 'axis' must be integer (i64), and is 'a'"),
    (lambda b, x: b.emit("top.Softmax", x, axis=1.0), "attribute 'axis' must be integer (i64), and is 1.0"),
    (lambda b, x: b.emit("top.Softmax", x, axis=True), "attribute 'axis' must be integer (i64), and is True"),
    (lambda b, x: b.emit("top.Permute", x, order=[1, 0]), "attribute 'order' must be integers (i64), and is [1, 0]: give (1, 0)"),
    (lambda b, x: b.emit("stablehlo.compare", x, x, comparison_direction="LESS", types=[FOUR]),
     "attribute 'comparison_direction' must be EQ or NE or GE or GT or LE or LT, and is 'LESS'"),
])
def test_what_a_model_may_be_the_cause_of_is_a_finding(make: Callable[..., Any], said: str):
    builder, x = here()
    with pytest.raises(ShapeError) as caught:
        make(builder, x)
    assert [finding.why for finding in caught.value.findings] == [said]


def test_one_result_type_needs_no_list():
    builder, x = here()
    assert builder.emit("top.Relu", x, types=FOUR).type == FOUR


def test_attributes_with_a_prefix_are_others_notes():
    module = build_module([FOUR], lambda b, x: b.emit("top.Relu", x, **{"acme.note": "n"}))
    verify(module)


def test_open_ops_hold_what_others_ask_for():
    module = build_module([FOUR], lambda b, x: b.create(
        "stablehlo.custom_call", (x,), (FOUR,), {"call_target_name": "shape_assertion", "error_message": "no"}).result)
    module.main.attributes["no_inline"] = True
    verify(module)


def test_the_verifier_refuses_attributes_that_are_not_declared():
    module = build_module([FOUR], lambda b, x: b.create("top.Relu", (x,), (FOUR,), {"limit": 6.0}).result)
    with pytest.raises(VerifyError, match=r"top.Relu at 'y': there is no attribute 'limit'; the nearest is 'relu_limit'"):
        verify(module)


def test_text_with_an_attribute_that_is_not_declared_is_refused(tmp_path: Path):
    module = build_module([FOUR], lambda b, x: b.emit("top.Relu", x, relu_limit=6.0))
    file = tmp_path / "relu.mlir"
    transload.save(module, file)
    text = file.read_text()
    file.write_text(text.replace("relu_limit", "limit"))
    with pytest.raises(ReadError, match="there is no attribute 'limit'; the nearest is 'relu_limit'"):
        transload.load(file)


@pytest.mark.parametrize(("name", "given", "instead"), [
    ("order", [1, 0], r"is \[1, 0\]: give \(1, 0\)"),
    ("order", tuple(np.argsort([1, 0])), r": give \(1, 0\)"),
    ("axis", np.int64(1), r"is np.int64\(1\): give 1|is 1: give 1")])
def test_values_that_are_nearly_right_are_told_how_to_be(name: str, given: Any, instead: str):
    """Where an op is made of them, and of one that was given them later."""
    builder, x = here()
    op, right = ("top.Permute", (1, 0)) if name == "order" else ("top.Softmax", 1)
    with pytest.raises(ShapeError, match=instead):
        builder.emit(op, x, **{name: given})
    assert not x.uses
    module = build_module([FOUR], lambda b, x: b.emit(op, x, **{name: right}))
    next(each for each in module.ops() if each.name == op).attributes[name] = given
    with pytest.raises(VerifyError, match=instead):
        verify(module)


def test_a_rule_that_builds_wrongly_is_a_defect_of_the_rule():
    def wrong(op: Op, rw: Rewriter) -> Any:
        return rw.emit("top.Tanh", op.operands[0], limit=1.0)

    table = RewriteTable()
    table("top.Relu")(wrong)
    said = r"wrong.* failed: top.Tanh cannot be built: there is no attribute 'limit'.*\(ir/test_misuse.py:\d+\)"
    with pytest.raises(PluginFailure, match=said):
        apply_greedily(build_module([FOUR], lambda b, x: b.emit("top.Relu", x)), table)
    with pytest.raises(ConversionError, match=said) as caught:
        convert_ops(build_module([FOUR], lambda b, x: b.emit("top.Relu", x)), table, "top")
    assert [finding.what for finding in caught.value.findings] == ["top.Relu"] and not isinstance(caught.value, PassError)


def test_inputs_have_no_sizes_below_0() -> None:
    """Numpy's -1 says that a size follows from the others; of an input it says nothing."""
    module = new_module()
    set_results(module.add_function("main", [TensorType((-1, 4), F32)], ["x"]), module.body_of_main.arguments, ["y"])
    for act, error in ((verify, VerifyError), (lambda module: transload.lower(module, "tosa"), ConversionError)):
        with pytest.raises(error, match="which has a size below 0; None stands for one that is not known"):
            act(module)
