"""Ops, values, blocks and regions; declarations, the verifier, the builder."""

from __future__ import annotations

import pytest

from transload.errors import BuildError, ShapeError, VerifyError
from transload.ir import (
    F32,
    I32,
    NONE,
    Block,
    FileLocation,
    FusedLocation,
    NamedLocation,
    Op,
    Region,
    TensorType,
    input_names,
    is_absent,
    location_names,
    new_module,
    output_names,
    registry,
    set_results,
    verify,
)
from transload.ir.build import Builder
from transload.ir.compare import difference, same_structure
from transload.ir.declare import (
    ANY,
    BOOLEAN,
    FLOAT,
    INT,
    INTS,
    STRING,
    Dialect,
    absent,
    attribute,
    constraint,
    enum,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)
from transload.ir.verify import check

from tests.support.steps import steps_of

T = TensorType((2,), F32)


def chain(n=3):
    block = Block([T])
    values = [block.arguments[0]]
    for index in range(n):
        values.append(block.append(Op("a.op", [values[-1], values[0]], [T], {"i": index}, (), f"v{index}")).result)
    return block, values


# --- structure


def test_values_know_their_uses():
    block, values = chain()
    first, second, third = block
    assert values[0].uses == {first: 2, second: 1, third: 1}
    values[1].replace_all_uses_with(values[0])
    assert values[0].uses == {first: 2, second: 2, third: 1} and not values[1].uses and second.operands == (values[0], values[0])
    second.set_operand(0, values[1])
    assert values[1].uses == {second: 1} and values[0].uses[second] == 1
    values[0].replace_all_uses_with(values[0])
    assert values[0].uses[first] == 2


def test_erase_needs_unused_results():
    block, _ = chain()
    with pytest.raises(BuildError, match=r"used by a\.op \(ir/test_core\.py:\d+\)"):
        block.first.erase()
    while block.last is not None:
        block.last.erase()
    assert len(block) == 0 and not block.arguments[0].uses
    block.erase_argument(0)
    assert block.arguments == []


def test_erasing_an_op_drops_what_is_inside_it():
    block, values = chain(1)
    inner = Block()
    inner.append(Op("a.use", [values[1]]))
    outer = block.append(Op("a.region", (), (), None, [Region([inner])]))
    assert len(values[1].uses) == 1
    outer.erase()
    assert not values[1].uses


def test_replace_with():
    block, values = chain()
    block.last.prev.replace_with([values[1]])
    assert [op.attributes["i"] for op in block] == [0, 2] and block.last.operands[0] is values[1]
    with pytest.raises(BuildError, match=r"1 results; 0 .* \(ir/test_core\.py:\d+\)"):
        block.last.replace_with([])


def test_insert_and_remove():
    block, _ = chain()
    first, second, third = block
    block.remove(second)
    assert [*block] == [first, third] and second.parent is None and third.prev is first
    block.insert(second, first)
    assert [*block] == [second, first, third] and block.first is second
    with pytest.raises(BuildError, match="already in a block"):
        block.append(second)
    for op in block:  # erasing the op that was just yielded is allowed
        op.drop_references()
        block.remove(op)
    assert block.first is block.last is None


def test_walk_clone_and_comparison():
    block, values = chain(2)
    inner, _ = chain(1)
    inner.append(Op("a.use", [values[2]]))
    block.append(Op("a.region", [values[1]], [T, T], {"k": [1]}, [Region([inner])], FusedLocation(("x", "y"))))
    module = new_module()
    module.body.append(Op("a.top", (), (), None, [Region([block])]))
    assert [op.name for op in module.walk()] == ["builtin.module", "a.top", "a.op", "a.op", "a.region", "a.op", "a.use"]
    copy = module.clone()
    assert same_structure(module, copy)
    use = [*copy.walk()][-1]
    assert use.operands[0].op is [*copy.walk()][3]  # the copy's, not the original's
    use.attributes["k"] = 1
    assert "attributes" in difference(module, copy)
    del use.attributes["k"]
    use.operands = [[*copy.walk()][2].result]
    assert "operand 0" in difference(module, copy)


def test_names_of_values():
    fused = Op("a.op", (), [T, T], location=FusedLocation(("x", "y")))
    assert [v.name for v in fused.results] == ["x", "y"] and fused.origin == "x"
    assert [v.name for v in Op("a.op", (), [T, T], location="z").results] == ["z:0", "z:1"]
    part = Op("a.op", (), [T], location=FusedLocation(("x",), "part"))
    assert part.result.name is None and part.origin == "x"
    assert Op("a.op", (), [T], location=FileLocation("f", 1, 2)).result.name is None
    assert Op("a.op", (), [T], location=NamedLocation("n", "child")).result.name == "n"
    assert location_names(FusedLocation(("a", FusedLocation(("b",))))) == ["a", "b"]
    block = Block([T, T], ["in"])
    assert [v.name for v in block.arguments] == ["in", None]
    assert is_absent(None) and is_absent(Op("a.none", (), [NONE]).result) and not is_absent(block.arguments[0])


def test_functions():
    module = new_module()
    main = module.add_function("main", [T, T], ["x", None])
    block = module.body_of_main
    op = block.append(Op("a.op", block.arguments, [T], location="y"))
    set_results(main, [op.result, op.result], ["out", None])
    assert input_names(main) == ["x", "arg1"] and output_names(main) == ["out", "y"]
    assert str(main.attributes["function_type"]) == "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)"
    verify(module)


# --- declarations


@pytest.fixture
def toy():
    dialect = Dialect("toy", constant="toy.const", none="toy.none")

    @dialect.op("conv")
    class Conv:
        """An op with everything."""

        input = operand("the tensor")
        bias = operand("added", optional=True)
        output = result()
        strides = attribute(INTS, default=(1, 1))
        group = attribute(INT)
        mode = attribute(enum("A", "B"), default="A")
        note = attribute(STRING, optional=True)

        @constraint
        def group_is_positive(op):
            """group is positive"""
            return op.group > 0 or f"it is {op.group}"

        def infer(op):
            return op.input.type

    @dialect.op("join")
    class Join:
        """Variadic operands between others."""

        first = operand()
        rest = variadic()
        last = operand(type=ANY)
        outputs = variadic_result()
        body = region()
        traits = ("effects",)

    assert dialect.ops["toy.conv"].pure and not dialect.ops["toy.join"].pure
    registry.dialect("builtin")
    registry.declare_dialect("toy", lambda: dialect)
    yield dialect
    registry.declare_dialect("toy", lambda: Dialect("toy"))


def test_declared_things_are_read_by_name(toy):
    block = Block([T, T, NONE])
    x, y, none = block.arguments
    op = Op("toy.conv", [x, none], [T], {"group": 2})
    assert (
        op.input is x
        and op.bias is None
        and op.output is op.result
        and op.strides == (1, 1)
        and op.group == 2
        and op.note is None
    )
    assert Op("toy.conv", [x], [T]).bias is None and op.attribute("mode") == "A" and op.attribute("other", 5) == 5
    assert Op("toy.conv", [x], [T]).attribute("note", "nothing") == "nothing"
    assert op.operand("input") is x
    join = Op("toy.join", [x, y, x, none], [T, T], None, [Region()])
    assert (
        join.first is x and join.rest == (y, x) and join.last is none and len(join.outputs) == 2 and join.body is join.regions[0]
    )
    with pytest.raises(AttributeError, match="declares no"):
        _ = op.missing


def problems(op):
    block = Block()
    block.append(op)
    return " ".join(finding.why for finding in check(op))


def test_the_verifier_reports_what_breaks_the_declaration(toy):
    x = Block([T, I32]).arguments
    assert problems(Op("toy.conv", [x[0]], [T], {"group": 1})) == ""
    assert "'group' is missing" in problems(Op("toy.conv", [x[0]], [T]))
    assert "group is positive: it is 0" in problems(Op("toy.conv", [x[0]], [T], {"group": 0}))
    assert "'strides' must be integers" in problems(Op("toy.conv", [x[0]], [T], {"group": 1, "strides": [1, 1]}))
    assert "'mode' must be" in problems(Op("toy.conv", [x[0]], [T], {"group": 1, "mode": "C"}))
    assert "has 0 operands, not 1 to 2" in problems(Op("toy.conv", [], [T], {"group": 1}))
    assert "operand 'input' must be a tensor, and is i32" in problems(Op("toy.conv", [x[1]], [T], {"group": 1}))
    assert "has 0 regions, not 1" in problems(Op("toy.join", [x[0], x[1]], []))
    assert "has 1 operands, not 2 or more" in problems(Op("toy.join", [x[0]], [], None, [Region()]))


def test_the_verifier_reports_values_that_are_not_visible(toy):
    module = new_module()
    late = Op("a.late", (), [T], location="late")
    module.body.append(Op("a.use", [late.result], location="early"))
    module.body.append(late)
    inner = Block()
    hidden = inner.append(Op("a.hidden", [late.result], [T]))
    module.body.append(Op("a.region", (), (), None, [Region([inner])]))
    module.body.append(Op("a.use", [hidden.result], location="outside"))
    with pytest.raises(VerifyError) as caught:
        verify(module)
    assert [finding.names for finding in caught.value.findings] == [("early",), ("outside",)]


def test_a_constraint_that_breaks_on_odd_input_is_a_finding(toy):
    @toy.op("odd")
    class Odd:
        """Its constraint fails on some attributes."""

        value = attribute(FLOAT)

        @constraint
        def divides(op):
            """1 / value is finite"""
            return 1 / op.value < 1e9

    registry.declare_dialect("toy", lambda: toy)
    assert "ZeroDivisionError" in problems(Op("toy.odd", (), (), {"value": 0.0}))


def test_declarations_must_make_sense():
    dialect = Dialect("wrong")

    class Two:
        a = variadic()
        b = variadic()

    with pytest.raises(TypeError, match="at most one variadic"):
        dialect.op("two")(Two)
    dialect.op("flag")(type("Flag", (), {"flag": attribute(BOOLEAN)}))
    with pytest.raises(TypeError, match="declared twice"):
        dialect.op("flag")(type("Flag", (), {}))
    with pytest.raises(TypeError, match="needs a docstring"):
        constraint(lambda op: True)


# --- builder


def test_an_op_is_declared_by_what_differs_from_another():
    """Of an older version: an attribute in place of an operand, and what did not exist."""

    class Newer:
        x = operand("the tensor")
        count = operand("how often")
        y = result("the tensor again")
        mode = attribute(STRING, "which way", default="fast")

        @constraint
        def is_short(op):
            """the mode has a short name"""
            return len(op.mode) < 5

        def infer(op):
            return op.x.type

    older = Dialect("older")

    @older.op("repeat")
    class Repeat(Newer):
        count = attribute(INT, "how often")
        mode = absent()
        is_short = absent()

    declaration = older.ops["older.repeat"]
    assert [slot.name for slot in declaration.operands] == ["x"] and [slot.name for slot in declaration.results] == ["y"]
    assert [*declaration.attributes] == ["count"] == declaration.required and not declaration.constraints
    assert declaration.infer is Newer.infer


def test_builder_infers_and_places(toy):
    block, values = chain(1)
    builder = Builder(block, block.first, location="here")
    value = builder.emit("toy.conv", values[0], None, group=1, note=None)
    assert value.type == T and block.first is value.op and value.op.attributes == {"group": 1} and value.op.location == "here"
    assert builder.emit("toy.conv", values[0], group=1, element=I32).type == TensorType((2,), I32)
    assert builder.emit("a.unknown", types=[T, T])[1].index == 1
    with pytest.raises(BuildError, match="its declaration infers no result types"):
        builder.emit("toy.join", values[0], values[0])
    with pytest.raises(BuildError, match="there is no dialect"):
        builder.constant(1.0, dialect="unheard_of")
    assert values[0].uses == {block.last: 2, value.op: 1, value.op.next: 1}  # what failed left nothing behind


def test_what_inference_falls_over_is_told_in_the_words_of_the_declaration():
    """Inference relies on what the declaration says; where it raises, that is asked first."""
    dialect = Dialect("shaky")

    @dialect.op("halves")
    class Halves:
        """Every nth element."""

        input = operand("the vector")
        output = result("shorter")
        step = attribute(INT, "not 0")

        @constraint
        def step_is_positive(op):
            """step is positive"""
            return op.step > 0

        def infer(op):
            return TensorType((op.input.type.shape[0] // op.step,), F32)

    registry.declare_dialect("shaky", lambda: dialect)
    block = Block([TensorType((4,), F32), TensorType((), F32)])
    builder = Builder(block)
    assert builder.emit("shaky.halves", block.arguments[0], step=2).shape == (2,)
    with pytest.raises(ShapeError, match="step is positive"):
        builder.emit("shaky.halves", block.arguments[0], step=0)
    with pytest.raises(IndexError):  # which nothing in the declaration forbids: a defect
        builder.emit("shaky.halves", block.arguments[1], step=2)


def test_results_are_replaced_at_once() -> None:
    """Each user once, however many it uses; what is replaced by another result of the op is followed as before."""
    tensor = TensorType((2,), F32)
    block = Block([tensor, tensor])
    first, second = block.arguments
    pair = block.append(Op("t.pair", [first], [tensor, tensor]))
    user = block.append(Op("t.user", [pair.results[1], first, pair.results[0], pair.results[1]]))
    pair.replace_with([first, second])
    assert user.operands == (second, first, first, second)
    assert (first.uses, second.uses) == ({user: 2}, {user: 2})


NUMBER = TensorType((), F32)


@pytest.mark.parametrize("each", [1, 2])
def test_operands_of_an_op_that_has_many_are_replaced_without_looking_at_the_others(each: int) -> None:
    def replaced(count: int) -> Op:
        builder = Builder(new_module().add_function("main", [], []).regions[0].block)
        parts = [builder.create("a.part", (), [NUMBER, NUMBER]) for _ in range(count)]
        firsts = [part.results[0] for part in parts for _ in range(each)]
        joined = builder.create("a.join", [*firsts, parts[0].results[1]], [NUMBER])
        for part in parts:
            part.replace_with(Builder(part.parent, part).create("a.made", (), [NUMBER, NUMBER]).results)
        return joined

    assert steps_of(lambda: replaced(2000)) < 5 * steps_of(lambda: replaced(500))
    joined = replaced(20_000)
    assert joined.parent is not None
    assert [op.name for op in joined.parent][-2:] == ["a.made", "a.join"]
    assert all(value.owner.name == "a.made" for value in joined.operands) and len(joined.operands) == 20_000 * each + 1
    assert isinstance(joined.operands, tuple) and joined.operands is joined.operands
    first = joined.operands[0]
    assert first.uses == {joined: each} and joined.operands[-1] is first.owner.results[1]
    first.replace_all_uses_with(joined.operands[each])
    assert joined.operands[each].uses == {joined: 2 * each} and not first.uses
