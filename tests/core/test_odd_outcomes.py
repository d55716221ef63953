"""What cannot be looked at in any way is told with the plugin that gave it, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import PluginFailure
from transload.ir import F32, Module, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.declare import FLOAT_TENSOR, AttributeKind, Dialect, attribute, constraint, operand, result
from transload.ir.verify import check
from transload.passes.manager import Pipeline
from transload.plugin import DialectSpec, KernelTable

from tests.support.plugins import Odd, beside_ours, raising

pytestmark = pytest.mark.plugin_fails


class OddText(str):
    __slots__ = ()

    def __format__(self, how: str) -> str:
        raise ValueError("format")


def context(rule: Any = True, kernel: Any = None, accepts: Callable[[Any], Any] = lambda value: True) -> transload.Context:
    """A plugin whose op's rule gives this, and its kernel; `accepts` says which attributes the op has."""
    dialect, kernels = Dialect("odd", "A toy."), KernelTable()

    @dialect.op("Same")
    class Same:
        """The same."""

        input = operand("numbers", FLOAT_TENSOR)
        output = result("the same", FLOAT_TENSOR)
        kind = attribute(AttributeKind("of a kind", accepts), "A kind.", default=None)

        @constraint
        def holds(op) -> Any:
            """the rule holds"""
            return rule

        def infer(op) -> Any:
            return op.input.type

    @kernels("odd.Same")
    def same(op: Any, x: np.ndarray) -> Any:
        return x if kernel is None else kernel

    return beside_ours(dialects=[DialectSpec("odd", dialect, kernels)])


def model(*shape: int | None, constant: bool = False, **attributes: Any) -> Module:
    module = new_module()
    main = module.add_function("main", [TensorType(shape or (4,), F32)], ["x"])
    build = Builder(module.body_of_main, location="here")
    given = build.constant(np.ones(4, np.float32)) if constant else module.body_of_main.arguments[0]
    set_results(main, [build.emit("odd.Same", given, **attributes)], ["y"])
    return module


@pytest.mark.parametrize(("rule", "words"), [
    (Odd, "the rule holds: plugin 'acme' (no distribution) gives a Odd, where True, False or a reason is wanted"),
    (lambda: None, "gives a NoneType"), (lambda: 1, "gives a int"), (lambda: OddText("too small"), "the rule holds: too small"),
    (lambda: np.False_, "the rule holds")])
def test_a_rule_of_an_op_that_gives_no_answer_is_told(rule: Callable[[], Any], words: str) -> None:
    with context(rule()).bind():
        (finding,) = check(model())
        assert finding.what == "odd.Same" and words in finding.why


def test_a_truth_of_numpy_is_one() -> None:
    with context(np.True_).bind():
        assert check(model()) == []


@pytest.mark.parametrize("accepts", [lambda value: Odd(), raising(ZeroDivisionError("no kind"))])
def test_a_kind_of_attribute_that_gives_no_answer_is_told(accepts: Any) -> None:
    with context(accepts=accepts).bind():
        (finding,) = check(model(kind=1))
    assert "cannot be checked (plugin 'acme' (no distribution) failed: " in finding.why


@pytest.mark.parametrize("given", [Odd, lambda: (Odd(),)], ids=["one", "tuple"])
@pytest.mark.parametrize("act", [
    lambda module: transload.run(module, {"x": np.ones(4, np.float32)}, engine="reference"),
    lambda module: Pipeline.parse("fold-constants").run(module)], ids=["run", "fold"])
def test_what_a_kernel_gives_is_its_plugins(act: Callable[[Module], Any], given: Callable[[], Any]) -> None:
    with context(kernel=given()).bind(), pytest.raises(PluginFailure, match=r"'acme' .* failed in the kernel .*of odd.Same"):
        act(model(constant=True))


def test_a_kernel_of_sizes_that_are_not_known_gives_an_array() -> None:
    """A number went on to the next kernel, which was blamed for it."""
    with context(kernel=42).bind(), pytest.raises(PluginFailure, match=r"the kernel .*of odd.Same: TypeError: gives a int"):
        transload.run(model(None), {"x": np.ones(4, np.float32)}, engine="reference")
