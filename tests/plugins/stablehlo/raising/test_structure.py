"""Calls, composites, tuples, control flow, custom calls, refusals: what holds programs together."""

from __future__ import annotations

import itertools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
import pytest

import transload
from transload import plugin_host
from transload.budget import allowed
from transload.contents import op_counts
from transload.errors import ConversionError, RunError
from transload.ir.core import Block, Op
from transload.plugin import Conversion, resolve
from transload.plugin_host import host
from transload.rewrite import RewriteTable
from transload_plugins.stablehlo.dialect.control import function_called

from tests.plugins.stablehlo.raising import raising

T = "tensor<3xf32>"


def test_every_op_of_the_dialect_is_converted_or_refused_with_a_reason() -> None:
    table = resolve(host().conversions["stablehlo-to-top"].table)
    dialect = resolve(host().dialects["stablehlo"].load)
    missing = [name for name in dialect.ops if name not in table]
    assert not missing
    for name in dialect.ops:
        refusal = table.refusal(name)
        assert refusal is None or all(refusal), name


def _module(*functions: str) -> transload.ir.Module:
    return raising.load('"builtin.module"() ({\n' + "\n".join(functions) + "\n}) : () -> ()\n")


def _function(name: str, arguments: str, body: str, results: str, returned: str, more: str = "") -> str:
    types = ", ".join(part.split(": ")[1] for part in arguments.split(", ")) if arguments else ""
    return (
        f'"func.func"() <{{function_type = ({types}) -> ({results}), sym_name = "{name}"{more}}}> ({{\n'
        f'^bb0({arguments}):\n{body}\n"func.return"({returned}) : ({results}) -> ()\n}}) : () -> ()')


PRIVATE = ', sym_visibility = "private"'


def test_calls_are_inlined_and_private_functions_go() -> None:
    module = _module(
        _function("main", f"%x: {T}", f'%a = "func.call"(%x) <{{callee = @twice}}> : ({T}) -> {T}', T, "%a"),
        _function("twice", f"%x: {T}", f'%a = "func.call"(%x) <{{callee = @one}}> : ({T}) -> {T}\n'
                  f'%b = "func.call"(%a) <{{callee = @one}}> : ({T}) -> {T}', T, "%b", PRIVATE),
        _function("one", f"%x: {T}", f'%a = "stablehlo.sine"(%x) : ({T}) -> {T}', T, "%a", PRIVATE))
    top = transload.legalize(module)
    assert raising.names_of(top) == ["top.Sin", "top.Sin"]
    assert list(top.functions) == ["main"]


def test_recursion_is_refused() -> None:
    body = f'%y = "stablehlo.sine"(%x) : ({T}) -> {T}\n%a = "func.call"(%y) <{{callee = @main}}> : ({T}) -> {T}'
    module = _module(_function("main", f"%x: {T}", body, T, "%a"))
    with pytest.raises(ConversionError, match="calls itself"):
        transload.legalize(module)


@pytest.mark.parametrize("call", [
    '"func.call"(%x) <{callee = @g}>', '"stablehlo.composite"(%x) <{name = "a.b", decomposition = @g}>'])
def test_what_calls_itself_by_way_of_another_neither_runs_nor_is_converted(call: str) -> None:
    """A run ended in a RecursionError, and a composite was taken apart without end."""
    module = _module(
        _function("main", f"%x: {T}", f'%a = "func.call"(%x) <{{callee = @f}}> : ({T}) -> {T}', T, "%a"),
        _function("f", f"%x: {T}", f'%a = {call} : ({T}) -> {T}\n%b = "stablehlo.sine"(%a) : ({T}) -> {T}', T, "%b", PRIVATE),
        _function("g", f"%x: {T}", f'%a = {call.replace("@g", "@f")} : ({T}) -> {T}', T, "%a", PRIVATE))
    with pytest.raises(RunError) as caught:
        transload.run(module, {"arg0": np.arange(3, dtype=np.float32)})
    assert [(each.why, each.hint) for each in caught.value.findings] == [
        ("calls @f, which calls itself", "write the recursion as a loop")]
    with pytest.raises(ConversionError, match="calls itself"):
        transload.legalize(module)


CALLS = ('"func.call"(%x) <{callee = @NEXT}>', '"stablehlo.composite"(%x) <{name = "a.b", decomposition = @NEXT}>')


@pytest.mark.parametrize(("call", "runs"), [(CALLS[0], 150), (CALLS[1], 110)])
def test_functions_in_each_other_run_as_deep_as_python_has_frames(call: str, runs: int) -> None:
    """Of composites a level takes more frames than of calls: 180 of them ended in a RecursionError."""
    for depth in (runs, 178, 400):
        module = _module(*(_function(
            f"f{i}" if i else "main", f"%x: {T}", f'%a = {call.replace("NEXT", f"f{i + 1}")} : ({T}) -> {T}', T, "%a")
            for i in range(depth)), _function(f"f{depth}", f"%x: {T}", f'%a = "stablehlo.negate"(%x) : ({T}) -> {T}', T, "%a"))
        given = {"arg0": np.arange(3, dtype=np.float32)}
        try:
            (made,), (x,) = transload.run(module, given).values(), given.values()
        except RunError as error:
            assert depth > runs and "deeper" in str(error)
        else:
            assert depth < 400
            np.testing.assert_array_equal(made, -x)


def test_functions_are_looked_for_beside_functions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ops around a composite were looked through for each: a program of many took the square of their number."""
    call = f'%a = "stablehlo.composite"(%x) <{{name = "a.b", decomposition = @f}}> : ({T}) -> {T}'
    module = _module(
        _function("main", f"%x: {T}", call, T, "%a"),
        _function("f", f"%x: {T}", f'%a = "stablehlo.sine"(%x) : ({T}) -> {T}', T, "%a", PRIVATE))
    block = module.functions["main"].regions[0].block
    composite, seen, walk = block.first, [], Block.__iter__
    monkeypatch.setattr(Block, "__iter__", lambda self: (seen.append(self), walk(self))[1])
    assert function_called(composite, "f") is not None and function_called(composite, "g") is None
    assert seen and block not in seen


@pytest.mark.parametrize(("call", "levels", "why"), [
    ('"func.call"(%X) <{callee = @NEXT}>', 40, "would become more than"),
    ('"stablehlo.composite"(%X) <{name = "a.b", decomposition = @NEXT}>', 40,
     "means @f39, which would be taken apart into 1,649,267,441,662 ops"),
    ('"stablehlo.composite"(%X) <{name = "a.b", decomposition = @NEXT}>', 4, "")])
def test_calls_that_double_with_every_level_are_refused(call: str, levels: int, why: str) -> None:
    """Composites are counted before one is taken apart: 40 levels took minutes."""
    functions = [_function("f0", f"%x: {T}", f'%a = "stablehlo.sine"(%x) : ({T}) -> {T}', T, "%a", PRIVATE)]
    for level in range(1, levels):
        first, second = (call.replace("NEXT", f"f{level - 1}").replace("X", name) for name in "xa")
        functions.append(_function(
            f"f{level}", f"%x: {T}", f"%a = {first} : ({T}) -> {T}\n%b = {second} : ({T}) -> {T}", T, "%b", PRIVATE))
    outer = call.replace("NEXT", f"f{levels - 1}").replace("X", "x")
    functions.append(_function("main", f"%x: {T}", f"%a = {outer} : ({T}) -> {T}", T, "%a"))
    module = _module(*functions)
    if not why:
        assert op_counts(transload.legalize(module)) == {"top.Sin": 2 ** (levels - 1)}
        return
    with pytest.raises(ConversionError, match=why):
        transload.legalize(module)


DOUBLED = f'%a = "stablehlo.composite"(%x) <{{name = "a.b", decomposition = @NEXT}}> : ({T}) -> {T}'


def _doubling(levels: int, calls: int) -> transload.ir.Module:
    """Functions that each mean the next twice, the last of which returns its argument; `calls` composites mean the first."""
    functions = [_function("f0", f"%x: {T}", "", T, "%x", PRIVATE)]
    for level in range(1, levels + 1):
        inner = DOUBLED.replace("NEXT", f"f{level - 1}")
        twice = inner + "\n" + inner.replace("%a", "%b").replace("(%x)", "(%a)")
        functions.append(_function(f"f{level}", f"%x: {T}", twice, T, "%b", PRIVATE))
    outer = DOUBLED.replace("NEXT", f"f{levels}")
    lines = [outer.replace("%a", f"%x{number + 1}").replace("(%x)", f"(%x{number})") for number in range(calls)]
    return _module(*functions, _function("main", f"%x0: {T}", "\n".join(lines), T, f"%x{calls}"))


def test_composites_of_nothing_are_counted() -> None:
    """A function without ops is copied 2^25 times, and nothing is made: it took hours."""
    with pytest.raises(ConversionError, match="means @f25, which would be taken apart into 67,108,862 ops"):
        transload.legalize(_doubling(25, 1))
    assert not op_counts(transload.legalize(_doubling(4, 1)))


def test_composites_are_counted_together() -> None:
    """Each of them may be taken apart, and not all."""
    with allowed(ops=1000):
        transload.legalize(_doubling(6, 1))
        with pytest.raises(ConversionError, match=r"means @f\d, which would be taken apart into \d+ ops, and \d+ may be made"):
            transload.legalize(_doubling(6, 30))


def test_composites_lie_in_each_other_deeply() -> None:
    """A thousand that each mean the next were taken for a rule without end."""
    functions = [_function("f0", f"%x: {T}", "", T, "%x", PRIVATE)]
    functions += [
        _function(f"f{level}", f"%x: {T}", DOUBLED.replace("NEXT", f"f{level - 1}"), T, "%a", PRIVATE)
        for level in range(1, 1100)]
    module = _module(_function("main", f"%x: {T}", DOUBLED.replace("NEXT", "f1099"), T, "%a"), *functions)
    assert not op_counts(transload.legalize(module))


COMPOSITE = (
    f'%a = "stablehlo.composite"(%x) <{{name = "my.twice", decomposition = @twice, composite_attributes = {{n = 2 : i64}}}}> '
    f": ({T}) -> {T}")
TWICE = _function("twice", f"%x: {T}", f'%a = "stablehlo.add"(%x, %x) : ({T}, {T}) -> {T}', T, "%a", PRIVATE)


@pytest.mark.parametrize("first", [True, False])
def test_composites_become_their_decomposition(first: bool) -> None:
    functions = [_function("main", f"%x: {T}", COMPOSITE, T, "%a"), TWICE]
    top = transload.legalize(_module(*(functions if first else functions[::-1])))
    assert raising.names_of(top) == ["top.Add"]
    assert list(top.functions) == ["main"]


class _Claims:
    """A plugin that knows a composite, and a custom call."""

    table = RewriteTable()

    @table("stablehlo.composite")
    @staticmethod
    def twice(op: Any, rw: Any) -> Any:
        return rw.emit("top.MulConst", op.operands[0], const_val=2.0) if op.attributes["name"] == "my.twice" else None

    @table("stablehlo.custom_call")
    @staticmethod
    def call(op: Any, rw: Any) -> Any:
        return rw.emit("top.Neg", op.operands[0]) if op.call_target_name == "mine" else None


CLAIMS = _Claims.table


def test_a_plugin_claims_a_composite_and_a_custom_call() -> None:
    before = plugin_host.host()
    new = plugin_host.Host([*entry_points(group="transload")], only="")
    new.conversions["mine"] = Conversion("mine", "stablehlo", "top", table=CLAIMS, extends="stablehlo-to-top")
    plugin_host.use_host(new)
    try:
        call = f'\n%b = "stablehlo.custom_call"(%a) <{{call_target_name = "mine"}}> : ({T}) -> {T}'
        top = transload.legalize(_module(_function("main", f"%x: {T}", COMPOSITE + call, T, "%b"), TWICE))
        assert raising.names_of(top) == ["top.MulConst", "top.Neg"]
    finally:
        plugin_host.use_host(before)


@pytest.mark.parametrize(("target", "made"), [
    ("Sharding", []), ("mhlo.erf", ["top.Erf"]), ("unknown", ["top.Custom"])])
def test_custom_calls(target: str, made: list[str]) -> None:
    body = f'%a = "stablehlo.custom_call"(%x) <{{call_target_name = "{target}"}}> : ({T}) -> {T}'
    assert raising.names_of(transload.legalize(_module(_function("main", f"%x: {T}", body, T, "%a")))) == made


def test_all_refusals_are_listed_at_once_each_with_a_hint() -> None:
    body = (
        f'%s = "stablehlo.custom_call"(%x) <{{call_target_name = "print", has_side_effect = true}}> : ({T}) -> {T}\n'
        f'%b = "stablehlo.bitcast_convert"(%h) : (tensor<3xf64>) -> tensor<3xi64>\n'
        f'%r, %o = "stablehlo.rng_bit_generator"(%k) <{{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}}> '
        f": (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)")
    results = f"{T}, tensor<3xi64>, tensor<4xui32>"
    module = _module(_function("main", f"%x: {T}, %h: tensor<3xf64>, %k: tensor<2xui64>", body, results, "%s, %b, %o"))
    with pytest.raises(ConversionError) as caught:
        transload.legalize(module)
    findings = caught.value.findings
    assert [finding.what for finding in findings] == [
        "stablehlo.custom_call", "stablehlo.bitcast_convert", "stablehlo.rng_bit_generator"]
    assert all(finding.why and finding.hint for finding in findings)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_numbers_made_of_random_bits(bits: int) -> None:
    """Those of f16 and of f64, of which JAX draws numbers in as many bits, were refused, with the hint to convert them."""
    places, kind, real = {16: 10, 32: 23, 64: 52}[bits], f"tensor<3xui{bits}>", f"tensor<3xf{bits}>"
    one = int(np.array(1, f"float{bits}").view(f"uint{bits}"))
    body = (
        f'%n = "stablehlo.constant"() <{{value = dense<{bits - places}> : {kind}}}> : () -> {kind}\n'
        f'%e = "stablehlo.constant"() <{{value = dense<{one}> : {kind}}}> : () -> {kind}\n'
        f'%m = "stablehlo.shift_right_logical"(%x, %n) : ({kind}, {kind}) -> {kind}\n'
        f'%o = "stablehlo.or"(%m, %e) : ({kind}, {kind}) -> {kind}\n'
        f'%y = "stablehlo.bitcast_convert"(%o) : ({kind}) -> {real}')
    module = transload.legalize(_module(_function("main", f"%x: {kind}", body, real, "%y")))
    x = np.array([0, (1 << bits) - 1, 0x9E3779B97F4A7C15 >> (64 - bits)], f"uint{bits}")
    (found,) = transload.run(module, {next(iter(module.inputs)): x}).values()
    wanted = (x >> np.array(bits - places, x.dtype) | np.array(one, x.dtype)).view(f"float{bits}")
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_tuples_are_taken_apart() -> None:
    pair = f"tuple<{T}, tensor<2xi32>>"
    body = (
        f'%a = "stablehlo.get_tuple_element"(%p) <{{index = 0 : i32}}> : ({pair}) -> {T}\n'
        f'%n = "stablehlo.negate"(%a) : ({T}) -> {T}\n%t = "stablehlo.tuple"(%n, %n) : ({T}, {T}) -> tuple<{T}, {T}>')
    text = (
        f'"builtin.module"() ({{\n"func.func"() <{{function_type = ({pair}) -> tuple<{T}, {T}>, sym_name = "main"}}> ({{\n'
        f'^bb0(%p: {pair}):\n{body}\n"func.return"(%t) : (tuple<{T}, {T}>) -> ()\n}}) : () -> ()\n}}) : () -> ()\n')
    top = transload.legalize(raising.load(text))
    x = np.array([1, -2, 3], np.float32)
    first, second = raising.run(top, [x, np.zeros(2, np.int32)])
    np.testing.assert_array_equal(first, -x)
    np.testing.assert_array_equal(second, -x)


def _loop(
    rounds: str, body: str, more_arguments: str = "", condition: str = '%c = "stablehlo.compare"(%i, %n)',
) -> transload.ir.Module:
    text = (
        f'%zero = "stablehlo.constant"() <{{value = dense<0> : tensor<i32>}}> : () -> tensor<i32>\n'
        f'%one = "stablehlo.constant"() <{{value = dense<1> : tensor<i32>}}> : () -> tensor<i32>\n'
        f'{rounds}\n%r:2 = "stablehlo.while"(%zero, %x) ({{\n^bb0(%i: tensor<i32>, %s: {T}):\n'
        f'{condition} <{{comparison_direction = #stablehlo<comparison_direction LT>}}> '
        ': (tensor<i32>, tensor<i32>) -> tensor<i1>\n"stablehlo.return"(%c) : (tensor<i1>) -> ()\n}, {\n'
        f'^bb0(%i: tensor<i32>, %s: {T}):\n{body}\n%j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n'
        f'"stablehlo.return"(%j, %t) : (tensor<i32>, {T}) -> ()\n}}) : (tensor<i32>, {T}) -> (tensor<i32>, {T})')
    return _module(_function("main", f"%x: {T}{more_arguments}", text, T, "%r#1"))


def _rounds(count: int) -> str:
    return f'%n = "stablehlo.constant"() <{{value = dense<{count}> : tensor<i32>}}> : () -> tensor<i32>'


DOUBLE = f'%t = "stablehlo.add"(%s, %x) : ({T}, {T}) -> {T}'


def test_loops_of_few_rounds_are_unrolled_and_others_kept() -> None:
    x = np.array([1, 2, 3], np.float32)
    short = transload.legalize(_loop(_rounds(5), DOUBLE))
    assert raising.names_of(short) == ["top.Add"] * 5
    np.testing.assert_array_equal(raising.run(short, [x])[0], 6 * x)
    long = transload.legalize(_loop(_rounds(30_000), DOUBLE))
    assert "top.While" in raising.names_of(long)
    np.testing.assert_array_equal(raising.run(long, [x])[0], 30_001 * x)
    computed = transload.legalize(_loop("", DOUBLE, ", %n: tensor<i32>"))
    assert "top.While" in raising.names_of(computed)
    for form in (computed, transload.lower(computed, "tosa")):
        np.testing.assert_array_equal(raising.run(form, [x, np.array(7, np.int32)])[0], 8 * x)


@pytest.mark.timeout(120)  # a round takes a tenth of a second, and there would be 20,000
def test_conditions_that_cost_much_are_not_tried_out() -> None:
    """Whether such a loop ends after few rounds is not worth half a gigabyte a round."""
    wide = """%k = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<20000000xi32>
    %w = "stablehlo.slice"(%k) <{start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>}>
      : (tensor<20000000xi32>) -> tensor<1xi32>
    %z = "stablehlo.reshape"(%w) : (tensor<1xi32>) -> tensor<i32>
    %m = "stablehlo.add"(%i, %z) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %c = "stablehlo.compare"(%m, %n)"""
    long = _loop(_rounds(5), DOUBLE, condition=wide)
    assert "top.While" in raising.names_of(transload.legalize(long))
    types = "(tensor<i32>, tensor<i32>) -> tensor<i32>"
    chain = "".join(f'%c{i + 1} = "stablehlo.add"(%c{i}, %zero) : {types}\n' for i in range(3000))
    deep = _loop(_rounds(5), DOUBLE, condition=chain.replace("%c0", "%i") + '%c = "stablehlo.compare"(%c3000, %n)')
    assert raising.names_of(transload.legalize(deep)) == ["top.Add"] * 5


@pytest.mark.timeout(120)  # it would go round for ever
def test_loops_that_never_end_are_kept() -> None:
    forever = _loop(_rounds(5), DOUBLE)
    for op in forever.walk():
        if op.name == "stablehlo.add" and str(op.results[0].type) == "tensor<i32>":
            op.operands = [op.operands[1], op.operands[1]]  # the counter stays at 2
    assert "top.While" in raising.names_of(transload.legalize(forever))


@pytest.mark.slow
def test_loops_in_loops_are_unrolled_only_as_far_as_the_module_may_grow() -> None:
    inner = (
        f'%q:2 = "stablehlo.while"(%zero, %s) ({{\n^bb0(%k: tensor<i32>, %u: {T}):\n'
        '%d = "stablehlo.compare"(%k, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> '
        ': (tensor<i32>, tensor<i32>) -> tensor<i1>\n"stablehlo.return"(%d) : (tensor<i1>) -> ()\n}, {\n'
        f'^bb0(%k: tensor<i32>, %u: {T}):\n%v = "stablehlo.add"(%u, %x) : ({T}, {T}) -> {T}\n'
        '%l = "stablehlo.add"(%k, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n'
        f'"stablehlo.return"(%l, %v) : (tensor<i32>, {T}) -> ()\n}}) : (tensor<i32>, {T}) -> (tensor<i32>, {T})\n'
        f'%t = "stablehlo.negate"(%q#1) : ({T}) -> {T}')
    top = transload.legalize(_loop(_rounds(300), inner))
    names = raising.names_of(top)
    assert "top.While" in names
    assert len(names) < 120_000


def _branches(kind: str, selector: str, selector_type: str, count: int) -> transload.ir.Module:
    functions = ["negate", "sine", "cosine"][:count]
    regions = ", ".join(
        f'{{\n%b{name} = "stablehlo.{name}"(%x) : ({T}) -> {T}\n"stablehlo.return"(%b{name}) : ({T}) -> ()\n}}'
        for name in functions)
    body = f'{selector}%r = "stablehlo.{kind}"(%p) ({regions}) : ({selector_type}) -> {T}'
    arguments = f"%x: {T}" + ("" if selector else f", %p: {selector_type}")
    return _module(_function("main", arguments, body, T, "%r"))


def test_branches() -> None:
    x = np.array([0.1, 0.2, 0.3], np.float32)
    functions = [np.negative, np.sin, np.cos]
    for index in (-3, 0, 1, 2, 9):
        want = functions[index if 0 <= index < 3 else 2](x)
        constant = f'%p = "stablehlo.constant"() <{{value = dense<{index}> : tensor<i32>}}> : () -> tensor<i32>\n'
        chosen = transload.legalize(_branches("case", constant, "tensor<i32>", 3))
        assert len(raising.names_of(chosen)) == 1
        np.testing.assert_allclose(raising.run(chosen, [x])[0], want, rtol=1e-6)
        asked = transload.legalize(_branches("case", "", "tensor<i32>", 3))
        for form in (asked, transload.lower(asked, "tosa")):
            np.testing.assert_allclose(raising.run(form, [x, np.array(index, np.int32)])[0], want, rtol=1e-6)
    asked = transload.legalize(_branches("if", "", "tensor<i1>", 2))
    for value in (True, False):
        np.testing.assert_allclose(raising.run(asked, [x, np.array(value)])[0], functions[0 if value else 1](x), rtol=1e-6)


def _many(count: int, nested: bool = False) -> transload.ir.Module:
    """Branch `k` gives x + k, and its number; nested, branch 2 is such a choice again, by another index."""
    def choice(name: str, index: str, inner: str = "") -> str:
        parts = []
        for k in range(count):
            own = name + str(k)
            number = f'%n{own} = "stablehlo.constant"() <{{value = dense<{k}.0> : tensor<f32>}}> : () -> tensor<f32>\n'
            wide = f'%w{own} = "stablehlo.constant"() <{{value = dense<{k}.0> : {T}}}> : () -> {T}\n'
            there = f'%s{own} = "stablehlo.add"(%x, %w{own}) : ({T}, {T}) -> {T}\n'
            end = f'"stablehlo.return"({{}}) : ({T}, tensor<f32>) -> ()\n'
            if inner and k == 2:
                parts.append("{\n" + inner + end.format("%in#0, %in#1") + "}")
            else:
                parts.append("{\n" + number + wide + there + end.format(f"%s{own}, %n{own}") + "}")
        return f'%{name}:2 = "stablehlo.case"({index}) ({", ".join(parts)}) : (tensor<i32>) -> ({T}, tensor<f32>)\n'

    body = choice("r", "%p", choice("in", "%q") if nested else "") + "%t = stablehlo.add %r#0, %r#0 : " + T
    body += f"\n%u = stablehlo.broadcast_in_dim %r#1, dims = [] : (tensor<f32>) -> {T}\n%v = stablehlo.subtract %t, %u : {T}"
    return _module(_function("main", f"%x: {T}, %p: tensor<i32>, %q: tensor<i32>", body, T, "%v"))


@pytest.mark.parametrize("count", [2, 4, 7, 64])
def test_branches_of_many(count: int) -> None:
    """They were a chain, one choice in the other, which was taken for endless; the last branch is for other numbers, too."""
    asked = transload.legalize(_many(count))
    low = transload.lower(asked, "tosa")
    x = np.array([0.1, 0.2, 0.3], np.float32)
    for index in (*range(count), -1, -7, count, 2**31 - 1, -(2**31)):
        taken = index if 0 <= index < count else count - 1
        for form in (asked, low):
            got = raising.run(form, [x, np.array(index, np.int32), np.array(0, np.int32)])[0]
            np.testing.assert_allclose(got, 2 * x + taken, rtol=1e-5)


def test_branches_of_many_lie_few_deep() -> None:
    deep = [op for op in transload.legalize(_many(300)).main.walk() if op.name == "top.If"]
    assert len(deep) == 299
    assert max(_depth(op) for op in deep) == 9


def _depth(op: Op) -> int:
    return 0 if op.name == "func.func" else (op.name == "top.If") + _depth(op.parent_op)


def test_branches_of_many_in_each_other() -> None:
    low = transload.lower(_many(9, nested=True), "tosa")
    x = np.array([0.1, 0.2, 0.3], np.float32)
    for outer, inner in itertools.product((-1, 1, 2, 8, 30), (-2, 0, 2, 7, 8, 9)):
        place, last = (each if 0 <= each < 9 else 8 for each in (outer, inner))
        got = raising.run(low, [x, np.array(outer, np.int32), np.array(inner, np.int32)])[0]
        np.testing.assert_allclose(got, 2 * x + (last if place == 2 else place), rtol=1e-5)


def _ifs(depth: int, innermost: str) -> str:
    """Ifs in the first branches of each other, with what is in the last one."""
    lines = [f"%r{depth} = {innermost}"]
    for level in range(depth - 1, -1, -1):
        lines = [f'%r{level} = "stablehlo.if"(%p) ({{', *lines, f"stablehlo.return %r{level + 1} : {T}",
                 f"}}, {{\nstablehlo.return %x : {T}\n}}) : (tensor<i1>) -> {T}"]
    return f"func.func @main(%p: tensor<i1>, %x: {T}) -> {T} {{\n" + "\n".join(lines) + f"\nreturn %r0 : {T}\n}}"


@pytest.mark.parametrize(("depth", "innermost", "why"), [
    (52, f"stablehlo.tanh %x : {T}", "nested more than 48 deep"),
    (40, f"stablehlo.custom_call @print(%x) {{has_side_effect = true}} : ({T}) -> {T}", "effect"),
])
def test_why_branches_in_each_other_cannot_be_converted_is_told(depth: int, innermost: str, why: str) -> None:
    with pytest.raises(ConversionError) as caught:
        transload.legalize(transload.load(text=_ifs(depth, innermost), format="stablehlo"))
    told = {finding.why: finding.count for finding in caught.value.findings}
    (reason,) = set(told) - {"holds ops that cannot be converted"}
    assert sum(told.values()) == depth + (depth == 40)
    assert why in reason


def test_entry_point_is_there() -> None:
    assert EntryPoint("stablehlo", "transload_plugins.stablehlo", "transload").load() is not None
    assert host().conversions["stablehlo-to-top"].target == "top"


@pytest.mark.parametrize(("groups", "size"), [("0", "1x1"), ("", "0x0"), ("[[0, -1]]", "1x2")])
def test_groups_of_the_only_process(groups: str, size: str) -> None:
    """None at all is one of all processes, and -1 fills up."""
    module = raising.load(f"""
      func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
        %0 = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<{groups}> : tensor<{size}xi64>}}> ({{
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }}) : (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>
      }}""")
    x = np.arange(3, dtype=np.float32)
    for form in (module, transload.lower(module, "tosa")):
        np.testing.assert_array_equal(raising.run(form, [x])[0], x)


@pytest.mark.parametrize(("pairs", "size", "factor"), [("0", "1x2", 1), ("", "0x2", 0)])
def test_what_nobody_sends_is_zeros(pairs: str, size: str, factor: int) -> None:
    module = raising.load(f"""
      func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
        %0 = "stablehlo.collective_permute"(%a) <{{source_target_pairs = dense<{pairs}> : tensor<{size}xi64>}}> :
          (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>
      }}""")
    x = np.arange(3, dtype=np.float32)
    for form in (module, transload.lower(module, "tosa")):
        np.testing.assert_array_equal(raising.run(form, [x])[0], x * factor)
