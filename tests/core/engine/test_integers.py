"""Which integers a quantized op gives: said by a plugin's fact, else dequantized, computed, quantized, and told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload import hookimpl
from transload.context import Context
from transload.engine.reference import prepare
from transload.errors import PluginFailure
from transload.facts import Facts
from transload.ir import BOOL, F32, I8, Block, Module, Op, QuantType, Region, TensorType
from transload.ir.build import Builder
from transload.plugin_host import Host
from transload.testing import build_module

Q = QuantType(I8, F32, (0.5,), (3,))
NUMBERS = np.arange(-128, 128, dtype=np.int8)


class Plain:
    """A plugin that says of `top.Relu` alone which integers it gives; those here are no rectifier's, so that it shows."""

    @hookimpl
    def register_facts(self, register: Callable[[Any], None]) -> None:
        register(Facts("integers", "top", {"top.Relu": lambda op: lambda op, x: x // 2}))


def chain() -> Module:
    return build_module([TensorType((256,), Q)], lambda b, x: b.emit("top.Neg", b.emit("top.Relu", x)), ["x"])


def test_a_fact_says_which_integers_an_op_gives() -> None:
    host = Host(only="-tosa")
    host.register(Plain())
    with Context(host).bind():
        execute = prepare(chain())
        seen: dict[str, np.ndarray] = {}
        execute({"x": NUMBERS}, watch=lambda value, array: seen.setdefault(value.op.name, array))
    np.testing.assert_array_equal(seen["top.Relu"], NUMBERS // 2)
    [note] = execute.notes
    assert note == "computed by dequantizing and quantizing, as no plugin here says which integers they give: 1 top.Neg"


def test_where_nobody_says_it_a_user_is_told() -> None:
    notes: list[str] = []
    with Context(Host(only="-tosa")).bind():
        outputs = transload.run(chain(), {"x": NUMBERS}, engine="reference", tell=notes.append)
    assert len(notes) == 1 and "1 top.Relu, 1 top.Neg" in notes[0]
    np.testing.assert_array_equal(outputs["y"], 6 - np.maximum(NUMBERS.astype(int), 3))


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_nothing_is_told_where_all_is_exact(engine: str) -> None:
    notes: list[str] = []
    transload.run(chain(), {"x": NUMBERS}, engine=engine, tell=notes.append)
    assert not notes


def test_ops_inside_regions_are_told_of() -> None:
    def build(b: Any, condition: Any, x: Any) -> Any:
        regions = []
        for name in ("top.Neg", "top.Abs"):
            block = Block()
            inner = Builder(block)
            block.append(Op("top.Yield", [inner.emit(name, x)]))
            regions.append(Region([block]))
        return b.create("top.If", [condition], [x.type], None, regions).results[0]

    module = build_module([TensorType((), BOOL), TensorType((256,), Q)], build, ["c", "x"])
    assert not prepare(module).notes
    with Context(Host(only="-tosa")).bind():
        assert "1 top.Neg, 1 top.Abs" in prepare(module).notes[0]


def test_constants_fold_to_the_same_integers() -> None:
    """A sum of int8 as LiteRT has it is not the rounded sum of reals."""
    a, b, target = QuantType(I8, F32, (0.05,), (3,)), QuantType(I8, F32, (0.031,), (-9,)), QuantType(I8, F32, (0.0437,), (5,))
    x, y = np.repeat(NUMBERS, 256), np.tile(NUMBERS, 256)
    type_ = TensorType((65536,), a)

    def build(b_: Any, x_: Any) -> Any:
        return b_.emit("top.Add", x_, b_.constant(y, b), element=target)

    def folded(b_: Any, x_: Any) -> Any:
        b_.fold = True
        return b_.emit("top.Add", b_.constant(x, a), b_.constant(y, b), element=target)

    computed = transload.run(build_module([type_], build, ["x"]), {"x": x}, engine="reference")["y"]
    constant = transload.run(build_module([type_], folded, ["x"]), {"x": x}, engine="reference")["y"]
    np.testing.assert_array_equal(computed, constant)


class Broken:
    """A plugin whose facts fail."""

    @hookimpl
    def register_facts(self, register: Callable[[Any], None]) -> None:
        def fails(op: Any) -> None:
            raise ZeroDivisionError("of theirs")

        for kind in ("integers", "moves"):
            register(Facts(kind, "top", {"top.Relu": fails}, overrides=True))


@pytest.mark.parametrize("kind", ["integers", "moves"])
def test_a_fact_that_fails_is_its_plugins(kind: str) -> None:
    host = Host(only="-tosa")
    host.register(Broken(), "broken")
    said = f"plugin 'broken'.* failed in the fact '{kind}' of top.Relu: ZeroDivisionError: of theirs"
    with Context(host).bind(), pytest.raises(PluginFailure, match=said) as caught:
        host.facts(kind)["top.Relu"](next(iter(chain().body_of_main)))
    assert caught.value.plugin is not None and "host().unregister('broken') leaves it out" in caught.value.hint
