"""Modules that are tried by a runtime."""

from __future__ import annotations

import pytest

import transload
from transload.ir import Module
from transload.ir.build import constant_of
from transload.plugin_host import host
from transload.trials import refusal_by_runtime, refused_ops

from tests.support.graphs import Graph


def test_inputs_of_any_size_are_not_made() -> None:
    """A file may claim 137 GB; the trial ended in a MemoryError."""
    pytest.importorskip("ai_edge_litert")
    g = Graph((1 << 18, 1 << 17))
    assert refusal_by_runtime(host().runtimes["litert"], transload.lower(g.done(g.Relu(g.inputs[0])), "tfl")) is None


def test_ops_that_differ_in_a_constant_that_tells_a_size_are_each_tried() -> None:
    """The second had the verdict of the first."""
    module = transload.load(text="""
        func.func @main() -> (tensor<?xf32>, tensor<?xf32>) {
          %a = stablehlo.constant dense<3> : tensor<1xi32>
          %b = stablehlo.constant dense<4> : tensor<1xi32>
          %y = stablehlo.dynamic_iota %a, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
          %z = stablehlo.dynamic_iota %b, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
          return %y, %z : tensor<?xf32>, tensor<?xf32>
        }""", format="stablehlo")

    def refusal(alone: Module) -> str | None:
        sizes = [constant.numpy().item() for op in alone.ops() for result in op.results if (constant := constant_of(result))]
        return "no more than 3" if 4 in sizes else None

    (refused, why), = refused_ops(module, refusal)
    assert why == "no more than 3" and refused.results[0] is module.main.regions[0].block.terminator.operands[1]
