"""The benchmark of mistakes: that they are what they say, and are made where a plugin's would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mistakes import ROOT, Mistaken, Outcome, Truth, case_of, distance, told_of_right
from mistakes_kinds import KINDS, make_mistake

import transload
from transload.context import Context
from transload.ir import F32, I8, Module, QuantType, verify
from transload.ir.compare import difference
from transload.plugin_host import Host

from tests.support.graphs import Graph


def network() -> Module:
    """A graph in which each kind of mistake can be made, quantized in part."""
    graph = Graph((4, 4), (4, 4))
    x, y = graph.inputs
    small = graph.Sub(graph.MatMul(x, graph.random(4, 4)), graph.LeakyRelu(graph.Mul(y, graph.random(4)), alpha=0.1))
    turned = graph.Permute(graph.Softmax(small, axis=1), order=(1, 0))
    rows = graph.Gather(turned, graph.constant(np.array([1, 0, 2], np.int32)), axis=0)
    coarse = graph.Cast(rows, element=QuantType(I8, F32, (0.1,), (0,)))
    return graph.done(graph.Reduce(graph.Cast(coarse, element=F32), axes=(1,), keepdims=True, mode="ReduceSum"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mistake_is_one_change_and_the_same_again(kind: str):
    right = network()
    wrong, again = right.clone(), right.clone()
    mistake = make_mistake(wrong, "here#3", [kind])
    assert mistake is not None and mistake.kind == kind and mistake.what
    verify(wrong)
    assert difference(right, wrong) is not None
    assert make_mistake(again, "here#3", [kind]) == mistake and difference(again, wrong) is None


def test_what_has_nothing_of_a_kind_stays():
    graph = Graph((2,), (2,))
    module = graph.done(graph.Add(*graph.inputs))
    before = module.clone()
    assert make_mistake(module, "here#0", ["row", "swapped", "scale"]) is None, "an addition minds no order"
    assert difference(module, before) is None


def test_the_mistake_is_made_last_before_a_target_writes(tmp_path: Path):
    own, plugin = Host(), Mistaken(["tosa"])
    own.register(plugin, "mistaken")
    with Context(own).bind():
        right = transload.convert(network(), "tosa-mistaken", tmp_path / "right", verify=False).module
        assert plugin.made is None
        plugin.called = "model:tosa#1"
        wrong = transload.convert(network(), "tosa-mistaken", tmp_path / "wrong", verify=False).module
        assert plugin.made is not None and plugin.made.op.startswith("tosa.")
        assert difference(right, wrong) is not None
        assert own.targets["tosa"].name == "tosa" and "mistake" not in own.targets["tosa"].pipeline


@pytest.mark.parametrize(("right", "wrong", "step", "beyond"), [
    (np.ones(100, np.float32), np.full(100, 1.01, np.float32), None, False),
    (np.ones(100, np.float32), np.full(100, 1.03, np.float32), None, True),
    (np.zeros(100, np.int8), np.arange(100, dtype=np.int8) // 95, None, False),
    (np.zeros(100, np.int8), np.ones(100, np.int8), None, True),
    (np.zeros(100, np.int8), np.arange(100, dtype=np.int8) // 99 * np.int8(2), None, True),
    (np.arange(100, dtype=np.float32), np.arange(100, dtype=np.float32) + (np.arange(100) == 3), 1.0, False),
    (np.zeros(100, np.int64), np.arange(100) // 95, None, True),
    (np.ones(4, np.float32), np.array([1, 1, 1, np.nan], np.float32), None, True),
])
def test_distances_are_by_the_limits_that_are_stated(right: np.ndarray, wrong: np.ndarray, step: float | None, beyond: bool):
    assert distance(right, wrong, step).beyond is beyond


@pytest.mark.parametrize("seed", [0, 1])
def test_quantized_cases_are_converted_with_any_seed(tmp_path: Path, seed: int):
    own, plugin = Host(), Mistaken(["tosa"])
    own.register(plugin, "mistaken")
    digits = ROOT / "examples" / "digits" / "digits_float.onnx"
    with Context(own).bind():
        cases = [case_of("digits_float_onnx", digits, to, tmp_path, seed) for to in ("tosa", "tosa+int8")]
    assert [verdict for _, verdict, _ in cases] == ["passed", "passed"], cases
    assert [case.options.get("seed") for case, _, _ in cases if case is not None] == [seed, None]


def test_cases_in_which_no_mistake_was_made_are_told_with_why():
    outcomes = [Outcome(f"{name}:tosa+int8#right", "right", "", "", *verdict, Truth()) for name, verdict in (
        ("a", ("passed", "")), ("b", ("refused", "it is text")), ("c", ("refused", "it is text")),
        ("d", ("skipped", "too large")))]
    assert told_of_right(outcomes).splitlines() == [
        "right conversions: 1 passed, 2 refused, 1 skipped",
        "    no mistakes in 2 to tosa+int8, refused: it is text",
        "    no mistakes in 1 to tosa+int8, skipped: too large"]
