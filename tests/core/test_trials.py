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


def test_a_loop_is_tried_with_the_functions_that_its_body_calls() -> None:
    """It was refused for a function that was not there."""
    module = transload.load(text="""
        func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %c = stablehlo.constant dense<0> : tensor<i32>
          %r:2 = stablehlo.while(%x = %c, %y = %a) : tensor<i32>, tensor<4xf32>
           cond {
            %l = stablehlo.constant dense<3> : tensor<i32>
            %p = stablehlo.compare LT, %x, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %o = stablehlo.constant dense<1> : tensor<i32>
            %n = stablehlo.add %x, %o : tensor<i32>
            %z = func.call @f(%y) : (tensor<4xf32>) -> tensor<4xf32>
            stablehlo.return %n, %z : tensor<i32>, tensor<4xf32>
          }
          return %r#1 : tensor<4xf32>
        }
        func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %a, %a : tensor<4xf32>
          return %0 : tensor<4xf32>
        }""", format="stablehlo")
    found: list[set[str]] = []
    assert not list(refused_ops(module, lambda alone: found.append(set(alone.functions))))
    assert {"main", "f", "g"} in found
