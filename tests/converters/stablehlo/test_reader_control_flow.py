# ruff: noqa: E501 - lines of programs
"""Jumps between blocks become regions that compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

pytest.importorskip("jaxlib", reason="its bindings read blocks")

I, F = "tensor<i32>", "tensor<f32>"


def run(body: str, arguments: str, result: str, *values: Any) -> tuple[Any, set[str]]:
    """The result of `main`, and the ops that it has."""
    module = transload.load(text=f"func.func @main({arguments}) -> {result} {{\n{body}\n}}", format="stablehlo")
    names = transload.ir.input_names(module.main)
    given = {name: np.asarray(value, np.int32 if isinstance(value, int) else np.float32) for name, value in zip(names, values, strict=True)}
    first = [list(transload.run(module, given, engine=engine).values()) for engine in ("reference", "xla")]
    for a, b in zip(*first, strict=True):
        np.testing.assert_array_equal(a, b)
    outputs = first[0]
    return (outputs[0] if len(outputs) == 1 else outputs), {op.name for op in module.walk()}


def constants(**values: int) -> str:
    return "\n".join(f"%{name} = stablehlo.constant dense<{value}> : {I}" for name, value in values.items())


def test_a_fork_and_a_join() -> None:
    body = constants(ten=10) + f"""
  %c = stablehlo.compare LT, %x, %ten : ({I}, {I}) -> tensor<i1>
  %e = tensor.extract %c[] : tensor<i1>
  cf.cond_br %e, ^a(%x : {I}), ^b
^a(%y: {I}):
  %d = stablehlo.add %y, %y : {I}
  cf.br ^c(%d : {I})
^b:
  %n = arith.constant dense<7> : {I}
  cf.br ^c(%n : {I})
^c(%r: {I}):
  return %r : {I}"""
    for x in (3, 10, 40):
        result, ops = run(body, f"%x: {I}", I, x)
        assert result == (2 * x if x < 10 else 7)
        assert "stablehlo.if" in ops and not any(op.startswith(("cf.", "arith.", "tensor.")) for op in ops)


def test_a_loop_keeps_its_condition() -> None:
    body = constants(zero=0, one=1) + f"""
  cf.br ^head(%zero, %one : {I}, {I})
^head(%i: {I}, %s: {I}):
  %c = stablehlo.compare LT, %i, %n : ({I}, {I}) -> tensor<i1>
  %double = stablehlo.add %s, %s : {I}
  %e = tensor.extract %c[] : tensor<i1>
  cf.cond_br %e, ^body, ^exit(%s : {I})
^body:
  %j = stablehlo.add %i, %one : {I}
  cf.br ^head(%j, %double : {I}, {I})
^exit(%r: {I}):
  %last = stablehlo.add %r, %double : {I}
  return %last : {I}"""
    for n in (0, 1, 5):
        result, ops = run(body, f"%n: {I}", I, n)
        assert result == 3 * 2**n
        assert "stablehlo.while" in ops and "stablehlo.if" not in ops


def test_a_loop_that_ends_at_its_foot() -> None:
    body = constants(zero=0, one=1) + f"""
  cf.br ^body(%zero : {I})
^body(%i: {I}):
  %j = stablehlo.add %i, %one : {I}
  %sq = stablehlo.multiply %j, %j : {I}
  %c = stablehlo.compare LT, %sq, %n : ({I}, {I}) -> tensor<i1>
  %e = tensor.extract %c[] : tensor<i1>
  cf.cond_br %e, ^body(%j : {I}), ^exit
^exit:
  return %sq : {I}"""
    for n in (0, 5, 26):
        j = next(j for j in range(1, 99) if j * j >= n)
        assert run(body, f"%n: {I}", I, n)[0] == j * j


def test_a_loop_with_several_exits_inside_of_another() -> None:
    body = constants(zero=0, one=1, three=3, hundred=100) + f"""
  cf.br ^outer(%zero, %zero : {I}, {I})
^outer(%i: {I}, %s: {I}):
  %c0 = stablehlo.compare LT, %i, %n : ({I}, {I}) -> tensor<i1>
  %e0 = tensor.extract %c0[] : tensor<i1>
  cf.cond_br %e0, ^inner(%zero, %s : {I}, {I}), ^exit(%s : {I})
^inner(%j: {I}, %t: {I}):
  %c1 = stablehlo.compare LT, %j, %i : ({I}, {I}) -> tensor<i1>
  %e1 = tensor.extract %c1[] : tensor<i1>
  cf.cond_br %e1, ^work, ^next(%t : {I})
^work:
  %u = stablehlo.add %t, %j : {I}
  %c2 = stablehlo.compare GT, %u, %hundred : ({I}, {I}) -> tensor<i1>
  %e2 = tensor.extract %c2[] : tensor<i1>
  cf.cond_br %e2, ^early(%u : {I}), ^more
^more:
  %c3 = stablehlo.compare EQ, %j, %three : ({I}, {I}) -> tensor<i1>
  %e3 = tensor.extract %c3[] : tensor<i1>
  %j1 = stablehlo.add %j, %one : {I}
  cf.cond_br %e3, ^next(%u : {I}), ^inner(%j1, %u : {I}, {I})
^next(%v: {I}):
  %i1 = stablehlo.add %i, %one : {I}
  cf.br ^outer(%i1, %v : {I}, {I})
^early(%w: {I}):
  %m = stablehlo.negate %w : {I}
  return %m : {I}
^exit(%r: {I}):
  return %r : {I}"""

    def expected(n: int) -> int:
        s = 0
        for i in range(n):
            for j in range(i):
                s += j
                if s > 100:
                    return -s
                if j == 3:
                    break
        return s

    for n in (0, 1, 4, 9, 20, 40):
        assert run(body, f"%n: {I}", I, n)[0] == expected(n)


def test_a_switch_and_a_fall_through() -> None:
    body = constants(one=1, two=2, three=3) + f"""
  %e = tensor.extract %x[] : {I}
  cf.switch %e : i32, [
    default: ^d(%x : {I}),
    4: ^four,
    7: ^seven(%one : {I})
  ]
^d(%a: {I}):
  cf.br ^end(%a : {I})
^four:
  cf.br ^seven(%two : {I})
^seven(%b: {I}):
  %c = stablehlo.multiply %b, %three : {I}
  cf.br ^end(%c : {I})
^end(%r: {I}):
  return %r : {I}"""
    for x, wanted in ((4, 6), (7, 3), (9, 9), (-1, -1)):
        assert run(body, f"%x: {I}", I, x)[0] == wanted


def test_several_returns_and_blocks_that_nothing_reaches() -> None:
    body = constants(zero=0) + f"""
  %c = stablehlo.compare LT, %x, %zero : ({I}, {I}) -> tensor<i1>
  %e = tensor.extract %c[] : tensor<i1>
  cf.cond_br %e, ^a, ^b
^dead:
  return %zero, %zero : {I}, {I}
^a:
  %m = stablehlo.negate %x : {I}
  return %m, %x : {I}, {I}
^b:
  return %x, %zero : {I}, {I}"""
    assert run(body, f"%x: {I}", f"({I}, {I})", -5)[0] == [5, -5]
    assert run(body, f"%x: {I}", f"({I}, {I})", 6)[0] == [6, 0]


@pytest.mark.parametrize(("body", "why"), [
    (f"""%e = tensor.extract %c[] : tensor<i1>
  cf.cond_br %e, ^a(%x : {I}), ^b(%x : {I})
^a(%p: {I}):
  cf.br ^b(%p : {I})
^b(%q: {I}):
  cf.cond_br %e, ^a(%q : {I}), ^c
^c:
  return %x : {I}""", "more than one block"),
    (f"""cf.br ^a(%x : {I})
^a(%p: {I}):
  cf.br ^a(%p : {I})""", "never"),
])
def test_what_has_no_regions_is_refused(body: str, why: str) -> None:
    with pytest.raises(transload.TransloadError, match=why) as caught:
        transload.load(text=f"func.func @main(%x: {I}, %c: tensor<i1>) -> {I} {{\n{body}\n}}", format="stablehlo")
    assert "@main" in str(caught.value)


@pytest.mark.models
def test_the_lstm_of_blocks(models: Path) -> None:
    path = models / "stablehlo" / "iree_unidirectional_lstm" / "unidirectional_lstm.mlir"
    if not path.is_file():
        pytest.skip(f"no {path}")
    module = transload.load(path)
    x = np.array([[0, 1, 0, 3, 4]], np.float32)
    y = np.arange(1, 21, dtype=np.float32).reshape(1, 5, 2, 2)
    for engine in ("reference", "xla"):
        (result,) = transload.run(module, {"arg0": x, "arg1": y}, engine=engine).values()
        assert result.shape == (5, 1, 10)
        wanted = np.repeat([[0.743973], [0.743973], [0.962937], [0], [0]], 10, 1)  # the file says 0.7 and 0.9
        np.testing.assert_allclose(result[:, 0], wanted, atol=2e-6)
