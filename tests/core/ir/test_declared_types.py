"""A declaration class is the static type of its ops, for a type checker and for `isinstance`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from transload.ir import BOOL, F32, I8, I32, INDEX, NONE, Block, Op, QuantType, TensorType, Value, registry
from transload.ir.build import Builder
from transload.ir.declare import INT, STRING, DeclaredOp, Dialect, attribute, constraint, operand, result
from transload.ir.types import FloatType, Type
from transload.ir.verify import check

ROOT = Path(__file__).parents[3]
SHELF = Dialect("shelf")


class Holder(DeclaredOp):
    operand_ = operand("called as `Op` calls a method of its own")
    result = result()

    def infer(op) -> Type:
        return op.operand_.type


@SHELF.op("board")
class Board(Holder):
    """A thing with a name."""

    name_ = attribute(STRING, "its name")
    length = attribute(INT, "its length", default=2)

    @constraint
    def length_is_even(op) -> bool:
        """the length is even"""
        return op.length % 2 == 0


@SHELF.op("box")
class Box(Holder):
    """Another."""


@pytest.fixture(autouse=True)
def shelf():
    registry.declare_dialect("shelf", lambda: SHELF)


def board(**attributes: object) -> Op:
    block = Block([TensorType((2,), F32)])
    return Builder(block).emit("shelf.board", block.arguments[0], **attributes).owner


def test_an_op_is_an_instance_of_the_class_that_declares_it():
    op = board(name="oak")
    assert type(op) is Op
    assert isinstance(op, Board) and isinstance(op, Holder) and isinstance(op, DeclaredOp)
    assert not isinstance(op, Box)
    assert not isinstance(Op("shelf.unknown"), DeclaredOp) and not isinstance("shelf.board", Board)


def test_a_declaration_class_is_not_instantiated():
    with pytest.raises(TypeError, match="Board declares an op; ops are made by"):
        Board("shelf.board")


def test_the_class_stays_a_class_and_the_dialect_has_its_declaration():
    assert isinstance(Board, type) and SHELF.ops["shelf.board"].definition is Board


def test_a_name_that_op_needs_itself_is_declared_with_an_underscore_behind():
    op = board(name="oak")
    declaration = SHELF.ops["shelf.board"]
    assert [slot.name for slot in declaration.operands] == ["operand"] and list(declaration.attributes) == ["name", "length"]
    assert op.name == "shelf.board" and op.name_ == op.attribute("name") == "oak"
    assert op.operand_ is op.operands[0] is op.operand("operand")
    assert not check(op.parent.first)
    assert [finding.why for finding in check(Op("shelf.board", op.operands, [op.result.type], {"name": 3}))] == [
        "attribute 'name' must be string, and is 3"]


def test_a_declaration_needs_no_base():
    dialect = Dialect("bare")

    @dialect.op("op")
    class Bare:
        input = operand("the tensor")
        output = result()

        def infer(op):
            return op.input.type

    registry.declare_dialect("bare", lambda: dialect)
    block = Block([TensorType((2,), F32)])
    made = Builder(block).emit("bare.op", block.arguments[0])
    assert made.owner.input is block.arguments[0] and made.type == block.arguments[0].type


QUANT = QuantType(I8, F32, (0.5,), (3,))


@pytest.mark.parametrize(("type_", "holds"), [
    (TensorType((2, 3), F32), {"is_float", "is_static"}),
    (TensorType((2, None), FloatType("bf16")), {"is_float"}),
    (TensorType(None, I32), {"is_integer"}),
    (TensorType((), BOOL), {"is_bool", "is_static"}),
    (TensorType((1,), INDEX), {"is_static"}),
    (TensorType((1,), QUANT), {"is_quantized", "is_static"}),
    (F32, set()),
    (NONE, set()),
])
def test_what_a_value_says_of_its_type(type_: Type, holds: set[str]):
    value = Value(type_, Block(), 0)
    questions = {"is_float", "is_integer", "is_bool", "is_quantized", "is_static"}
    assert {question for question in questions if getattr(value, question)} == holds
    element = type_.element if isinstance(type_, TensorType) else None
    assert value.element_or_none is element
    assert value.quant is (QUANT if element is QUANT else None)
    assert value.stored_element is (I8 if element is QUANT else element)
    shape = type_.shape if isinstance(type_, TensorType) else None
    assert value.shape_or_none == shape
    assert value.known_shape == (shape if "is_static" in holds else None)


def test_tensor_type_and_static_shape_say_what_is_wrong():
    assert Value(TensorType((2, 3), F32), Block(), 0).static_shape == (2, 3)
    with pytest.raises(ValueError, match=r"tensor<\?xf32> has no static shape"):
        _ = Value(TensorType((None,), F32), Block(), 0).static_shape
    with pytest.raises(TypeError, match="a value of type none is no tensor"):
        _ = Value(NONE, Block(), 0).tensor_type


SNIPPET = """
from transload.ir import Op, Value
from transload.ir.declare import INTS, DeclaredOp, Dialect, attribute, operand, region, result, variadic
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.conv import Conv

TABLE = RewriteTable()
OURS = Dialect("ours")

@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value:
    reveal_type(op.filter)  # Value
    reveal_type(op.bias)  # Value | None
    reveal_type(op.strides)  # tuple[int, ...]
    reveal_type(op.layout)  # str
    reveal_type(op.do_relu)  # bool
    reveal_type(op.results)  # list[Value]
    op.filtr  # error: "Conv" has no attribute "filtr"
    op.bias.type  # error: Item "None" of "Value | None" has no attribute "type"
    return rw.emit("top.Conv", op.input)

@OURS.op("loop")
class Loop(DeclaredOp):
    inputs = variadic("the state")
    body = region("a block")
    sizes = attribute(INTS, "sizes", optional=True)
    wrong = attribute(INTS, "sizes", default="none")  # error: Argument "default" to "attribute" has incompatible type

    def infer(op) -> list[object]:
        op.outputs  # error: "Loop" has no attribute "outputs"
        return [value.type for value in op.inputs]

def any_op(op: Op, loop: Loop) -> None:
    reveal_type(loop.inputs)  # tuple[Value, ...]
    reveal_type(loop.body)  # Region
    reveal_type(loop.sizes)  # tuple[int, ...] | None
    if isinstance(op, Loop):
        reveal_type(op.inputs)  # tuple[Value, ...]
"""


def test_mypy_knows_the_members_of_an_op(tmp_path: Path):
    pytest.importorskip("mypy")
    (tmp_path / "snippet.py").write_text(SNIPPET)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(tmp_path / "snippet.py")],
        cwd=ROOT, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=False)
    said = re.findall(r"snippet\.py:(\d+): (?:note: Revealed type is \"(.*)\"|(error: .*))$", done.stdout, re.MULTILINE)
    expected = {
        number: comment[1] for number, line in enumerate(SNIPPET.splitlines(), 1)
        if (comment := re.search(r"  # (.*)", line)) is not None}
    found = {int(number): re.sub(r"(builtins|transload\.ir\.core)\.", "", shown) or error for number, shown, error in said}
    assert found.keys() == expected.keys(), done.stdout + done.stderr
    assert [found[number][: len(text)] for number, text in expected.items()] == list(expected.values())
