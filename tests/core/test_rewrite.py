"""Rewriting: tables, the conversion driver and the greedy driver."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.conversion import apply_conversion
from transload.errors import ConversionError, Finding, PassError, PluginError, Unsupported, UsageError
from transload.ir import F32, Block, FusedLocation, Op, Region, SplatData, TensorType, new_module, set_results, verify
from transload.ir.build import Builder
from transload.ir.regions import copied_regions, release_regions
from transload.plugin import Conversion
from transload.plugin_host import Host
from transload.rewrite import CHANGED, DEEPEST, RewriteTable, apply_greedily, convert_ops
from transload.text import parse_module

T = TensorType((2,), F32)


def chain(*names: str):
    """A module with one unregistered op after another, named after their place."""
    module = new_module()
    main = module.add_function("main", [T], ["x"])
    value = main.regions[0].block.arguments[0]
    for index, name in enumerate(names):
        value = main.regions[0].block.append(Op(name, [value], [T], location=f"t{index}")).result
    set_results(main, [value], ["y"])
    return module


def names(module):
    return [op.name for op in module.ops()]


def test_conversion_lists_every_op_it_could_not_convert():
    table = RewriteTable()

    @table("old.known")
    def known(op, rw):
        return rw.create("new.known", op.operands, [T]).result

    @table("old.sometimes")
    def sometimes(op, rw):
        rw.create("new.left_over", op.operands, [T])
        raise Unsupported("only on Sundays", "wait")

    module = chain("old.known", "old.sometimes", "old.unknown", "old.unknown", "old.known")
    with pytest.raises(ConversionError) as caught:
        convert_ops(module, table, "old", hint=lambda name: f"add {name}")
    findings = {finding.what: finding for finding in caught.value.findings}
    assert findings["old.sometimes"].why == "only on Sundays"
    assert findings["old.sometimes"].hint == "wait"
    assert findings["old.sometimes"].names == ("t1",)
    assert findings["old.unknown"].count == 2
    assert findings["old.unknown"].names == ("t2", "t3")
    assert findings["old.unknown"].hint == "add old.unknown"
    assert "new.left_over" not in names(module), "what a rewrite made before it gave up is taken back"


def test_a_number_beyond_its_type_is_the_model_s():
    """Whether numpy says so, or a constant of one number everywhere: the op cannot be converted, and no rule failed."""
    table = RewriteTable()

    @table("old.array")
    def array(op, rw):
        return rw.constant(np.array(1 << 40, np.int32))

    @table("old.splat")
    def splat(op, rw):
        return rw.constant(SplatData(300, (2,), np.dtype(np.int8)))

    with pytest.raises(ConversionError) as caught:
        convert_ops(chain("old.array", "old.splat"), table, "old")
    whys = {finding.what: finding.why for finding in caught.value.findings}
    assert "a number of it is beyond what its type holds" in whys["old.array"]
    assert whys["old.splat"] == "300 is no number of type int8"
    for name in ("old.array", "old.splat"):
        with pytest.raises(PassError, match=r"no number of type int8|beyond what its type holds"):
            apply_greedily(chain(name), table)


@pytest.mark.parametrize("is_wrong", [False, True])
def test_what_a_rule_made_wrongly_is_not_the_model_s_fault(is_wrong):
    """Only an op that breaks a rule of its own contradicts itself."""
    table = RewriteTable()

    @table("top.Sigmoid")
    def mixed(op, rw):
        return rw.create("tosa.add", [op.operands[0], rw.constant(np.zeros(2, np.int32), dialect="tosa")], [T]).result

    module = chain("top.Sigmoid")
    if is_wrong:
        next(iter(module.ops())).attributes["log"] = 3
    with pytest.raises(ConversionError, match=r"it would become tosa\.add, of which this does not hold") as caught:
        convert_ops(module, table, "top")
    assert ("contradict" in caught.value.findings[0].hint) is is_wrong


def test_few_bytes_that_stand_for_many_numbers_are_no_array_to_compute_with():
    table = RewriteTable()

    @table("old.array")
    def array(op, rw):
        few, many = (rw.constant(SplatData(np.float32(1), shape)) for shape in ((4, 5), (1 << 20, 1 << 10)))
        assert rw.constant_of(few).shape == (4, 5) and rw.constant_of(many) is None
        return rw.need_constant(many, "the table")

    with pytest.raises(ConversionError, match="the table must be a constant, and repeats one number too often"):
        convert_ops(chain("old.array"), table, "old")


def test_what_comes_after_an_open_shape_is_a_consequence():
    """Ops that come, over others, after one whose shape is unknown because it was refused may be wrong in that alone."""
    table = RewriteTable()

    @table("old.reshape")
    @table("old.conv")
    def refuse(op, rw):
        raise Unsupported(f"{op.name} does not fit")

    @table("old.shape")
    def shape(op, rw):
        return rw.create("new.shape", op.operands, [T]).result

    module = chain("old.reshape", "old.shape", "old.conv", "old.nowhere", "old.conv")
    reshape = next(iter(module.ops()))
    reshape.results[0].type = TensorType((None,), F32)
    with pytest.raises(ConversionError, match=r"2 op\(s\) of 2 kind\(s\) .* and 2 more that come after them") as caught:
        convert_ops(module, table, "old")
    assert [finding.what for finding in caught.value.findings] == ["old.reshape", "old.nowhere"]  # which has no rewrite
    with pytest.raises(ConversionError, match=r"2 op\(s\) of 2 kind\(s\)") as caught:
        convert_ops(chain("old.reshape", "old.conv"), table, "old")
    assert len(caught.value.findings) == 2, "a shape that is known lets all be judged"


def test_a_plugin_is_no_advice_where_a_rule_refused():
    table = RewriteTable()

    @table("old.bare")
    def bare(op, rw):
        raise Unsupported("it is not static")

    @table("old.inside")
    def inside(op, rw):
        raise ConversionError("no", [Finding("new.part", "it is odd", (), "make it even")])

    @table("old.other")
    def other(op, rw):
        return None

    with pytest.raises(ConversionError) as caught:
        convert_ops(chain("old.bare", "old.inside", "old.other"), table, "old", hint=lambda name: f"add {name}")
    advice = {finding.what: finding.hint for finding in caught.value.findings}
    assert advice == {"old.bare": "", "old.inside": "make it even", "old.other": "add old.other"}


def test_the_op_that_computes_the_result_gets_the_original_name():
    table = RewriteTable()

    @table("old.two")
    def two(op, rw):
        first = rw.create("new.first", op.operands, [T]).result
        return rw.create("new.second", [first], [T]).result

    module = chain("old.two")
    convert_ops(module, table, "old")
    first, second = list(module.ops())[:2]
    assert second.location == "t0"
    assert isinstance(first.location, FusedLocation)
    assert first.origin == "t0"
    assert first.result.name is None
    verify(module)


def test_ops_of_the_source_dialect_that_a_rewrite_makes_are_converted_too():
    table = RewriteTable()
    table("old.outer")(lambda op, rw: rw.create("old.inner", op.operands, [T]).result)
    table("old.inner")(lambda op, rw: rw.create("new.inner", op.operands, [T]).result)
    module = chain("old.outer")
    convert_ops(module, table, "old")
    assert names(module) == ["new.inner", "func.return"]


def test_ops_of_other_dialects_that_the_table_names_are_converted():
    table = RewriteTable()
    table("mine.op")(lambda op, rw: rw.create("new.op", op.operands, [T]).result)
    module = chain("mine.op", "yours.op")
    convert_ops(module, table, "old")
    assert names(module) == ["new.op", "yours.op", "func.return"]


def test_tables_compose_and_are_tried_in_order():
    first, second = RewriteTable(), RewriteTable()
    first("a.x")(lambda op, rw: None)
    second("a.x")(lambda op, rw: rw.create("b.x", op.operands, [T]).result)
    module = chain("a.x")
    convert_ops(module, first + second, "a")
    assert names(module) == ["b.x", "func.return"]


def test_greedy_rewriting_goes_on_until_nothing_changes():
    table = RewriteTable()

    @table("a.twice")
    def cancel(op, rw):
        inner = op.operands[0].op
        return inner.operands[0] if inner is not None and inner.name == "a.twice" else None

    module = chain(*["a.twice"] * 6)
    assert apply_greedily(module, table)
    from transload.passes.dce import eliminate_dead_code

    eliminate_dead_code(module)
    assert not apply_greedily(module, table)
    verify(module)


def test_a_table_that_never_ends_is_an_error():
    table = RewriteTable()

    @table("a.x")
    def forever(op, rw):
        return CHANGED

    with pytest.raises(PassError, match="does not come to an end"):
        apply_greedily(chain("a.x"), table)


def test_a_refusal_is_no_coverage_unless_something_else_converts_the_op():
    refusing, converting = RewriteTable(), RewriteTable()
    refusing.refuse({"a.x": ("it cannot be", "do without")})
    with pytest.raises(ConversionError, match="it cannot be"):
        convert_ops(chain("a.x"), refusing, "a")
    assert refusing.refusal("a.x") == ("it cannot be", "do without")
    converting("a.x")(lambda op, rw: rw.create("b.x", op.operands, [T]).result)
    both = converting + refusing
    assert both.refusal("a.x") is None
    module = chain("a.x")
    convert_ops(module, both, "a")
    assert names(module) == ["b.x", "func.return"]


def test_a_rewrite_sees_the_options_of_its_conversion():
    table = RewriteTable()

    @table("old.known")
    def known(op, rw):
        return rw.create(f"new.{rw.options['style']}", op.operands, [T]).result

    conversion = Conversion("old-to-new", "old", "new", table=table, options={"style": (("plain", "fancy"), "plain", "How.")})
    made = Host([], only="")
    made.conversions[conversion.name] = conversion
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transload.conversion.host", lambda: made)
        for given, expected in (({}, "new.plain"), ({"style": "fancy"}, "new.fancy")):
            module = chain("old.known")
            apply_conversion(conversion, module, **given)
            assert names(module)[0] == expected
        with pytest.raises(UsageError, match="takes no option colour"):
            apply_conversion(conversion, chain("old.known"), colour="red")
        with pytest.raises(UsageError, match="plain or fancy"):
            apply_conversion(conversion, chain("old.known"), style="loud")


@pytest.mark.parametrize("element", ["f8E4M3", "f8E4M3B11FNUZ", "f8E8M0FNU"])
def test_what_is_renamed_in_place_is_looked_at_too(element: str):
    """Constants of types that TOSA lacks became invalid ops of TOSA, each called a defect."""
    t = f"tensor<2x{element}>"
    module = parse_module(
        f'"builtin.module"() ({{ "func.func"() <{{sym_name = "main", function_type = () -> {t}}}> ({{\n'
        f'%c = "top.Weight"() <{{value = dense<1.0> : {t}}}> : () -> {t}\n'
        f'"func.return"(%c) : ({t}) -> () }}) : () -> () }}) : () -> ()')
    with pytest.raises(ConversionError, match=rf"element types: output {element}"):
        transload.lower(module, "tosa")


@pytest.mark.parametrize("name", [5, "tanh", "", "stablehlo.", ".tanh", None])
def test_a_table_has_rules_of_ops_by_their_names(name):
    """They were taken, and never matched."""
    with pytest.raises(PluginError, match=r"asked for rules of .*, and an op is called 'dialect\.op'"):
        RewriteTable()(name)


@pytest.mark.parametrize("depth", [60, 700])
def test_what_lies_deep_is_rewritten(depth):
    """Regions that rules hand on were counted as made again and again, and each took frames of Python's stack."""
    table = RewriteTable()

    @table("acme.around")
    def around(op, rw):
        return rw.create("other.around", op.operands, [T], {}, release_regions(op)).result

    module = new_module()
    main = module.add_function("main", [T], ["x"])
    x, block = main.regions[0].block.arguments[0], main.regions[0].block
    for _ in range(depth):
        op = Builder(block).create("acme.around", [x], [T], {}, [Region([Block()])])
        block = op.regions[0].block
    set_results(main, [x], ["y"])
    convert_ops(module, table, "acme")
    assert [op.name for op in main.walk()][1:-1] == ["other.around"] * depth


def nested(depth: int, innermost: str = "old.unknown"):
    """A module of an op whose region holds the next such op, and so on; the last one holds another."""
    module = chain("old.around")
    op = module.main.regions[0].block.first
    for level in range(depth):
        block = Block()
        name = "old.around" if level < depth - 1 else innermost
        op.regions = [Region([block])]
        op = block.append(Op(name, (), (), location=f"at{level}"))
    return module


@pytest.mark.parametrize("copies", [False, True])
def test_what_regions_hold_is_looked_at_once_and_told_once(copies: bool) -> None:
    """At each level a rule has looked at all that is inside: looked at again, it would be 2 ** 30 times."""
    table, seen = RewriteTable(), []

    @table("old.around")
    def around(op, rw):
        rw.convert(Op("builtin.module", (), (), None, copied_regions(op)) if copies else op)
        return rw.create("new.around", (), [T] * len(op.results), {}, release_regions(op)).results

    @table("old.unknown")
    def unknown(op, rw):
        seen.append(op)
        raise Unsupported("only on Sundays", "wait")

    with pytest.raises(ConversionError) as caught:
        convert_ops(nested(30), table, "old")
    assert len(seen) == 1
    told = {finding.what: finding for finding in caught.value.findings}
    assert told["old.unknown"] == Finding("old.unknown", "only on Sundays", ("at29",), "wait")
    assert (told["old.around"].why, told["old.around"].count) == ("holds ops that cannot be converted", 30)


def test_regions_nested_too_deep_are_the_reason() -> None:
    table = RewriteTable()

    @table("old.around")
    def around(op, rw):
        rw.convert(op)
        return rw.create("new.around", (), [T] * len(op.results), {}, release_regions(op)).results

    convert_ops(nested(DEEPEST, "new.leaf"), table, "old")
    with pytest.raises(ConversionError) as caught:
        convert_ops(nested(DEEPEST + 3, "new.leaf"), table, "old")
    assert {(finding.why, finding.hint, finding.count) for finding in caught.value.findings} == {
        ("holds ops that cannot be converted", "", DEEPEST),
        (f"loops and branches are nested more than {DEEPEST} deep", "write them as fewer in each other", 3)}
