"""What a fact's function gives is looked at where it is called, by what its kind says, and blamed on its plugin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from transload.analysis.intervals import IntervalRule, result_intervals
from transload.analysis.movement import Moves
from transload.context import Context
from transload.errors import PluginError, PluginFailure
from transload.extraction import Nested, tensors_of
from transload.facts import FactKind, Facts, FactTable
from transload.ir import Module, Op
from transload.plugin_host import host
from transload.verification.fineness import output_steps

from tests.support.graphs import Graph
from tests.support.plugins import Odd, beside_ours, raising

pytestmark = pytest.mark.plugin_fails


def module() -> Module:
    graph = Graph((4,))
    return graph.done(graph.Mul(graph.inputs[0], graph.constant(np.full(4, 2, np.float32))))


def product(of: Module) -> Op:
    (op,) = [op for op in of.body_of_main if op.name == "top.Mul"]
    return op


def saying(kind: str, fact: Any, *more: Any) -> Context:
    """A context where a plugin gives this as the fact of a product."""
    table = FactTable("top")
    table.add(fact, "Mul")
    return beside_ours(facts=[*more, Facts(kind, "top", table, overrides=True)])


def giving(outcome: Any) -> Callable[..., Any]:
    return lambda *arguments, **named: outcome


WORDS = {
    "moves": "a Moves or None", "exact": "True or False", "interval": "an interval", "integers": "a kernel or None",
    "signs": "two tuples", "error-bound": "values that bound the errors", "as-it-runs": "a Value", "assembly": "a Written",
    "layout": "a list of Options", "integer-width": "a Width", "known-call": "True or False", "quantization": "a Rule or None"}


@pytest.mark.parametrize(
    "outcome", [42, "nonsense", [1, "a"], (1,), {"a": 1}, Odd()], ids=["int", "str", "list", "tuple", "dict", "odd"])
@pytest.mark.parametrize("kind", list(WORDS))
def test_what_no_fact_of_the_kind_is_is_the_plugins_failure(kind: str, outcome: Any) -> None:
    op = product(module())
    with saying(kind, giving(outcome)).bind(), pytest.raises(PluginFailure) as raised:
        host().facts(kind)["top.Mul"](op, [(0.0, 1.0)] * 2)
    assert f"plugin 'acme' (no distribution) failed in the fact {kind!r} of top.Mul: TypeError: gives" in raised.value.message
    assert WORDS[kind] in raised.value.message


@pytest.mark.parametrize(("kind", "outcome", "words"), [
    ("interval", (2.0, 1.0), "begins at 2.0 and ends at 1.0"), ("interval", [(0, 1), (0, 1)], "2 intervals, where the op has 1"),
    ("moves", Moves(("first",)), "their numbers"), ("moves", Moves(constants=("zero",)), "numbers are wanted"),  # type: ignore[arg-type]
    ("signs", ((7,), ()), "number 7 of 2 operands"), ("signs", ((), (1,)), "number 1 of 1 results"),
    ("error-bound", [None, None], "2 bounds, where the op has 1"),
    ("steps", -1, "a whole number of 0 or more is wanted"), ("steps", 2.5, "a whole number"), ("steps", None, "a whole number")])
def test_what_does_not_fit_the_op_is_told(kind: str, outcome: Any, words: str) -> None:
    op = product(module())
    with saying(kind, giving(outcome)).bind(), pytest.raises(PluginFailure, match=words):
        host().facts(kind)["top.Mul"](op, None)


@pytest.mark.parametrize(("kind", "outcome"), [
    ("moves", None), ("moves", Moves(None)), ("exact", np.bool_(True)), ("exact", None), ("interval", None),
    ("interval", (np.float32(0), 1)), ("interval", [(0, float("nan"))]), ("integers", None), ("signs", ((0, -1), [0])),
    ("error-bound", ()), ("steps", np.int64(3)), ("layout", []), ("known-call", False), ("quantization", None)])
def test_what_is_meant_stays_as_it_is(kind: str, outcome: Any) -> None:
    with saying(kind, giving(outcome)).bind():
        assert host().facts(kind)["top.Mul"](product(module()), None) is outcome


def test_a_function_in_an_object_is_looked_at_too() -> None:
    for fact in (IntervalRule(giving(42)), partial(giving(42))):
        with saying("interval", fact).bind(), pytest.raises(PluginFailure, match=r"'acme'.*'interval' of top.Mul.*an interval"):
            result_intervals(product(module()), [(0, 1)] * 2)

    nested = Nested(raising(KeyError("tensors")), raising(KeyError("surfaced")))
    with saying("nested", nested).bind(), pytest.raises(PluginFailure, match=r"'acme'.*'nested' of top.Mul: KeyError"):
        host().facts("nested")["top.Mul"].tensors(product(module()))
    assert tensors_of(module())


@dataclass
class Telling:
    """An object that is called as a function is, and is more than one; to make it again more has to be known."""

    said: Any
    seed: InitVar[int]
    function: Any = None

    def __post_init__(self, seed: int) -> None:
        self.seeded = seed

    def __call__(self, *arguments: Any) -> Any:
        return self.said


def test_objects_that_are_called_are_functions_where_a_function_is_wanted() -> None:
    with saying("moves", Telling(42, 1)).bind(), pytest.raises(PluginFailure, match=r"'acme'.*'moves' of top.Mul.*a Moves or"):
        host().facts("moves")["top.Mul"](product(module()))


@pytest.mark.parametrize("kind", ["interval", "integers", "error-bound"])
def test_a_class_is_a_function_where_one_is_wanted(kind: str) -> None:
    """It was called without a guard: what its constructor raised was told of nobody."""
    class Leaves:
        def __init__(self, *given: Any) -> None:
            raise SystemExit(0)

    with saying(kind, Leaves).bind(), pytest.raises(PluginFailure, match=rf"'acme'.*{kind}.*SystemExit"):
        host().facts(kind)["top.Mul"](product(module()), [])


@pytest.mark.parametrize("type_", [None, Telling, (Telling, Callable)])
def test_objects_of_a_kinds_class_stay_what_they_are(type_: Any) -> None:
    given = Telling(42, 1, raising(KeyError("seed")))
    kind = FactKind("cost", "cycles", "a scheduler", type_)
    with saying("cost", given, kind).bind():
        found = host().facts("cost")["top.Mul"]
        assert isinstance(found, Telling) and found.seeded == 1 and found() == 42
        with pytest.raises(PluginFailure, match=r"'acme'.*'cost' of top.Mul: KeyError"):
            found.function()


def test_a_rule_of_quantizing_is_a_rule_or_a_function() -> None:
    with saying("quantization", 42).bind(), pytest.raises(PluginError, match=r"as fact 'quantization' of top.Mul a int"):
        host().facts("quantization")["top.Mul"]


@pytest.mark.parametrize(("gives", "outcome", "words"), [
    (int, "a", "a str, where a int is wanted"), ((int, None), "a", "a int or None"), ((int, float), "a", "a int or a float"),
    ("transload.ir:Op", 1, "a Op")])
def test_a_kind_of_ones_own_says_what_its_functions_give(gives: Any, outcome: Any, words: str) -> None:
    kind = FactKind("cost", "cycles", "a scheduler", gives=gives)
    with saying("cost", giving(outcome), kind).bind(), pytest.raises(PluginFailure, match=words):
        host().facts("cost")["top.Mul"](None)


def test_what_asks_tells_whose_fact_is_wrong() -> None:
    """Verification ended as a defect of ours, without the plugin's name."""
    with saying("moves", giving(42)).bind(), pytest.raises(PluginFailure, match=r"'acme'.*'moves' of top.Mul"):
        output_steps(module())
