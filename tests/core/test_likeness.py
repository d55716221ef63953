"""What rules of plugins give for the results of their ops is of a type that can stand for these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.context import Context
from transload.errors import ConversionError, PassError, PluginFailure
from transload.facts import Facts
from transload.ir import F32, Module, TensorType
from transload.ir.declare import FLOAT_TENSOR, Dialect, operand, result
from transload.passes.manager import Pipeline
from transload.plugin import Conversion, DialectSpec
from transload.plugin_host import Host
from transload.rewrite import RewriteTable
from transload.testing import build_module

from tests.support.plugins import registering

pytestmark = pytest.mark.plugin_fails

Rule = Callable[[Any, Any], Any]


def _network() -> Module:
    return build_module([TensorType((2, 6), F32)], lambda b, x: b.emit("top.Relu", b.emit("top.LeakyRelu", x, alpha=0.1)))


def _beside_ours(**items: Any) -> Context:
    own = Host()
    own.register(type("Acme", (), {name: staticmethod(hook) for name, hook in registering(**items).items()}), "acme")
    return Context(own)


def _table(rule: Rule) -> RewriteTable:
    table = RewriteTable()
    table("top.LeakyRelu")(rule)
    return table


@pytest.mark.parametrize(("array", "why"), [
    (np.zeros((3, 3), np.float32), "gives a tensor<3x3xf32> for a result of top.LeakyRelu which is tensor<2x6xf32>"),
    (np.zeros((6, 2), np.float32), "gives a tensor<6x2xf32>"),
    (np.zeros((2, 6), np.float16), "gives a tensor<2x6xf16>"),
    (np.zeros((2, 6), np.int32), "gives a tensor<2x6xi32>"),
])
def test_within_a_dialect(array: np.ndarray, why: str) -> None:
    """The next pass was blamed, or the rule of another plugin, or nobody, and f16 was written."""
    facts = Facts("canonicalization", "top", _table(lambda op, rw: rw.constant(array)))
    with _beside_ours(facts=[facts]).bind(), pytest.raises(PluginFailure, match=rf"'acme'.*the rule .*: TypeError: {why}"):
        Pipeline.parse("canonicalize").run(_network())


_own = Dialect("own", "A dialect of somebody's.")


@_own.op("Gain")
class _Gain:
    """As it is."""

    input = operand("A tensor.", FLOAT_TENSOR)
    output = result("The same.", FLOAT_TENSOR)

    def infer(op: Any) -> Any:
        return op.input.type


def _of_own() -> Module:
    return build_module([TensorType((2, 6), F32)], lambda b, x: b.emit("own.Gain", x))


@pytest.mark.parametrize("array", [np.zeros((2, 6)), np.zeros((2, 6), np.float16), np.zeros((6, 2), np.float32)])
def test_a_pass_over_any_dialect(array: np.ndarray) -> None:
    """A constant is of the hub, and was taken for what another dialect writes in its own way: an output became f64."""
    table = RewriteTable()
    table("own.Gain")(lambda op, rw: rw.constant(array))
    facts = Facts("canonicalization", "own", table)
    with (_beside_ours(dialects=[DialectSpec("own", _own)], facts=[facts]).bind(),
          pytest.raises(PluginFailure, match=r"'acme'.*TypeError: gives a tensor<\S+ for a result of own.Gain")):
        Pipeline.parse("canonicalize").run(_of_own())


def test_floats_stay_on_the_way_to_the_hub() -> None:
    table = RewriteTable()
    table("own.Gain")(lambda op, rw: rw.constant(np.zeros((2, 6), np.float16)))
    way = Conversion("own-to-top", "own", "top", table, before="canonicalize")
    with (_beside_ours(dialects=[DialectSpec("own", _own)], conversions=[way]).bind(),
          pytest.raises(ConversionError, match=r"gives a tensor<2x6xf16> for a result of own\.Gain which is tensor<2x6xf32>")):
        transload.lower(_of_own(), "tosa")


@pytest.mark.parametrize("array", [np.zeros((3, 3), np.float32), np.zeros((2, 6), np.int32)])
def test_between_dialects(array: np.ndarray, tmp_path: Path) -> None:
    more = Conversion("mine", "top", "tosa", _table(lambda op, rw: rw.constant(array)), extends="top-to-tosa")
    with _beside_ours(conversions=[more]).bind(), pytest.raises(ConversionError) as raised:
        transload.convert(_network(), "tosa", tmp_path, verify=False)
    (finding,) = raised.value.findings
    assert finding.what == "top.LeakyRelu" and "of plugin 'acme'" in finding.why and "TypeError: gives a tensor<" in finding.why
    assert not list(tmp_path.glob("*.tosa"))


def test_other_numbers_in_their_place_are_the_rules_own() -> None:
    more = Conversion("mine", "top", "tosa", _table(lambda op, rw: rw.emit("tosa.tanh", op.input)), extends="top-to-tosa")
    with _beside_ours(conversions=[more]).bind():
        assert "tosa.tanh" in {op.name for op in transload.lower(_network(), "tosa").ops()}


def test_the_result_itself() -> None:
    facts = Facts("canonicalization", "top", _table(lambda op, rw: op.result))
    with _beside_ours(facts=[facts]).bind(), pytest.raises(PluginFailure, match=r"'acme'.*gives the result of \S+ itself"):
        Pipeline.parse("canonicalize").run(_network())


def test_a_rule_that_never_ends_is_named() -> None:
    facts = Facts("canonicalization", "top", _table(lambda op, rw: rw.emit("top.LeakyRelu", op.input, alpha=op.alpha)))
    with _beside_ours(facts=[facts]).bind(), pytest.raises(PassError, match=r"an end \(last at .* of plugin 'acme'"):
        Pipeline.parse("canonicalize").run(_network())
