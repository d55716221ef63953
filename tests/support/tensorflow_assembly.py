"""Modules of `tf` and `tf_executor` as TensorFlow's tools and its page on MLIR dialects write them.

Each is a name, a text, inputs for its main function, and what that gives (nothing: it computes nothing that can be run).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["EXAMPLES", "Example"]

_X = np.array([1.0, -2.0, 3.0], np.float32)


class Example(NamedTuple):
    name: str
    text: str
    inputs: list[Any]
    gives: list[Any]


EXAMPLES = (
    Example("a function of the tf dialect", """
func @some_function(%input : tensor<*xf32>) -> tensor<*xf32> {
  // Both operands and the result are of the one type.
  %added = tf.Add %input, %input : tensor<*xf32>
  %three = arith.constant dense<3.0> : tensor<f32>
  %mul = tf.Mul %input, %three : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %value = "tf.If"(%added, %mul) {cond = @positive, true_branch = @first, false_branch = @second}
      : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return %value : tensor<*xf32>
}
func private @positive(%a: tensor<*xf32>, %b: tensor<*xf32>) -> tensor<i1> {
  %axis = "tf.Const"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %sum = "tf.Sum"(%a, %axis) {keep_dims = false} : (tensor<*xf32>, tensor<i32>) -> tensor<f32>
  %greater = tf.Greater %sum, 0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %greater : tensor<i1>
}
func private @first(%a: tensor<*xf32>, %b: tensor<*xf32>) -> tensor<*xf32> {
  return %a : tensor<*xf32>
}
func private @second(%a: tensor<*xf32>, %b: tensor<*xf32>) -> tensor<*xf32> {
  return %b : tensor<*xf32>
}
""", [_X], [2 * _X]),
    Example("a graph with control tokens", """
func.func @main(%feed0: tensor<*xf32>, %feed1: tensor<*xf32>) -> tensor<*xf32> {
  %fetches = tf_executor.graph : tensor<*xf32> {
    %0, %ctl0 = tf_executor.island wraps tf.Add %feed0, %feed1 : tensor<*xf32>
    %1, %ctl1 = tf_executor.island wraps "tf.Neg"(%feed0) {device = ""} : (tensor<*xf32>) -> tensor<*xf32>
    %2, %ctl2 = tf_executor.island(%ctl0) wraps tf.Mul %1, %1 : tensor<*xf32>
    %ctl4 = tf_executor.ControlTrigger %ctl1, %ctl2
    %3, %ctl3 = tf_executor.island(%ctl4) wraps tf.Neg %2 : tensor<*xf32>
    tf_executor.fetch %3, %ctl4 : tensor<*xf32>, !tf_executor.control
  }
  return %fetches : tensor<*xf32>
}
""", [_X, _X], [-_X * _X]),
    Example("an island of several ops", """
func.func @main(%0: tensor<*xf32>, %1: tensor<*xf32>) -> tensor<*xf32> {
  %fetches = tf_executor.graph {
    %before, %ctl0 = tf_executor.island wraps tf.Neg %0 : tensor<*xf32>
    %2, %ctl2 = tf_executor.island (%ctl0)
                  : (tensor<*xf32>, !tf_executor<"control">) -> tensor<*xf32> {
      %added = tf.Add %1, %0 : tensor<*xf32>
      %mul = tf.Mul %added, %1 : tensor<*xf32>
      tf_executor.yield %mul : tensor<*xf32>
    }
    tf_executor.fetch %2 : tensor<*xf32>
  }
  return %fetches : tensor<*xf32>
}
""", [_X, 2 * _X], [6 * _X * _X]),
    Example("an island that wraps an op", """
func.func @main(%0: tensor<*xf32>, %1: tensor<*xf32>) -> tensor<*xf32> {
  %fetches = tf_executor.graph {
    %before, %ctl0 = tf_executor.island wraps tf.Neg %0 : tensor<*xf32>
    %2, %ctl2 = tf_executor.island(%ctl0) wraps tf.Add %1, %0 : tensor<*xf32>
    tf_executor.fetch %2 : tensor<*xf32>
  }
  return %fetches : tensor<*xf32>
}
""", [_X, 2 * _X], [3 * _X]),
    Example("a loop down to zero", """
func.func @main(%count.init: i32) -> i32 {
  %fetches = tf_executor.graph {
    %loop.init, %ctl0 = tf_executor.Enter %count.init : i32
    %next_count, %tok = tf_executor.NextIteration.Source : i32
    %loop.body.init, %ctlMerge = tf_executor.Merge %loop.init, %next_count : i32
    %dec_count, %ctlAdd = tf_executor.island
        wraps tf.Add %loop.body.init, -1 : (i32, i32) -> i32
    %loop_cond, %ctlNE = tf_executor.island
        wraps tf.NotEqual %dec_count, 0 : (i32, i32) -> i1
    %true, %false, %ctlSwitch = tf_executor.Switch %loop_cond, %dec_count : i32
    tf_executor.NextIteration.Sink[%tok] %false : i32
    %exit_count, %ctlExit = tf_executor.Exit %true : i32
    tf_executor.fetch %exit_count : i32
  } // end of the "tf_executor.graph" operation/region
  return %fetches : i32
}
""", [np.int32(7)], [np.int32(0)]),
    Example("a loop as tools print it", """
module attributes {tf.versions = {bad_consumers = [], min_consumer = 0 : i32, producer = 1994 : i32}} {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> tensor<*xf32> attributes {tf.entry_function = {inputs = "x,n"}} {
    %0 = tf_executor.graph {
      %output, %token, %control = tf_executor.NextIteration.Source : tensor<*xf32> {T = f32, device = ""}
      %output_0, %token_1, %control_2 = tf_executor.NextIteration.Source : tensor<*xi32> {T = i32, device = ""} loc(#loc1)
      %zero, %control_3 = tf_executor.island wraps "tf.Const"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %output_4, %control_5 = tf_executor.Enter %zero frame "w" : (tensor<i32>) -> (tensor<*xi32>, !tf_executor.control) {T = i32}
      %output_6, %control_7 = tf_executor.Enter %arg0 frame "w" parallel_iterations 1 : tensor<f32> {T = f32, device = ""}
      %output_8, %control_9 = tf_executor.Enter %arg1 frame "w" constant  : tensor<i32> {T = i32, device = ""} loc(#loc1)
      %output_10, %value_index, %control_11 = tf_executor.Merge %output_4, %output_0 : tensor<*xi32> {N = 2 : i64, T = i32}
      %output_12, %value_index_13, %control_14 = tf_executor.Merge %output_6, %output
        : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<i32>, !tf_executor.control) {N = 2 : i64, T = f32, device = ""}
      %less, %c15 = tf_executor.island wraps "tf.Less"(%output_10, %output_8) : (tensor<*xi32>, tensor<i32>) -> tensor<*xi1>
      %output_16, %control_17 = tf_executor.LoopCond %less : (tensor<*xi1>) -> (tensor<i1>, !tf_executor.control) {device = ""}
      %falseOutput, %trueOutput, %control_18 = tf_executor.Switch %output_10, %output_16 : tensor<*xi32> {_class = ["loc:@Merge"]}
      %falseOutput_19, %trueOutput_20, %control_21 = tf_executor.Switch %output_12, %output_16 : tensor<*xf32> {T = f32}
      %next:2, %control_22 = tf_executor.island(%control_18) {
        %one = "tf.Const"() <{value = dense<1> : tensor<i32>}> {device = ""} : () -> tensor<i32>
        %1 = "tf.AddV2"(%trueOutput, %one) {device = ""} : (tensor<*xi32>, tensor<i32>) -> tensor<*xi32>
        %2 = "tf.AddV2"(%trueOutput_20, %trueOutput_20) {device = ""} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
        tf_executor.yield %1, %2 : tensor<*xi32>, tensor<*xf32>
      }
      tf_executor.NextIteration.Sink[%token_1] %next#0 : tensor<*xi32> {T = i32, device = ""}
      tf_executor.NextIteration.Sink[%token] %next#1 : tensor<*xf32> {T = f32, device = ""}
      %output_23, %control_24 = tf_executor.Exit %falseOutput_19 : tensor<*xf32> {T = f32, device = ""}
      tf_executor.fetch %output_23 : tensor<*xf32>
    }
    return %0 : tensor<*xf32>
  }
}
#loc1 = loc("w/NextIteration")
""", [np.float32(1.5), np.int32(3)], [np.float32(12.0)]),
    Example("a choice of three", """
func.func @main(%x: tensor<2xf32>, %which: tensor<i32>) -> tensor<2xf32> {
  %0 = tf_executor.graph {
    %way:3, %ctl = tf_executor._SwitchN %x, %which of 3 : tensor<2xf32> {T = f32, device = ""}
    %a, %ctl_a = tf_executor.island wraps "tf.Neg"(%way#0) : (tensor<2xf32>) -> tensor<2xf32>
    %b, %ctl_b = tf_executor.island wraps "tf.Abs"(%way#1) : (tensor<2xf32>) -> tensor<2xf32>
    %c, %ctl_c = tf_executor.island wraps "tf.Square"(%way#2) : (tensor<2xf32>) -> tensor<2xf32>
    %out, %index, %ctl_m = tf_executor.Merge %a, %b, %c : tensor<2xf32> {N = 3 : i64, T = f32, device = ""}
    tf_executor.fetch %out : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
""", [np.array([-3.0, 2.0], np.float32), np.int32(2)], [np.array([9.0, 4.0], np.float32)]),
    Example("a SavedModel with variables", """
module attributes {tf_saved_model.semantics} {
  "tf_saved_model.global_tensor"() <{sym_name = "w", type = tensor<2xf32>, value = dense<[1.0, 2.0]> : tensor<2xf32>}>
    {tf_saved_model.exported_names = ["w"]} : () -> ()
  func.func @serve(%arg0: tensor<2xf32> {tf_saved_model.index_path = [0]},
                   %arg1: tensor<!tf_type.resource<tensor<2xf32>>> {tf_saved_model.bound_input = @w})
      -> (tensor<2xf32> {tf_saved_model.index_path = []}) attributes {tf_saved_model.exported_names = ["serve"]} {
    %0 = "tf.ReadVariableOp"(%arg1) {device = ""} : (tensor<!tf_type.resource<tensor<2xf32>>>) -> tensor<2xf32>
    %1 = "tf_device.cluster"() ({
      %2 = "tf.Mul"(%arg0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      tf_device.return %2 : tensor<2xf32>
    }) {device = ""} : () -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
""", [np.array([3.0, 4.0], np.float32)], [np.array([3.0, 8.0], np.float32)]),
    Example("types of TensorFlow", """
func.func @main(%a: tensor<*x!tf_type.resource<tensor<16xf32>>>, %b: tensor<!tf_type.variant<tensor<2x?xf32>>>,
                %c: tensor<3x!tf_type.string>, %d: tensor<4x!tf_type.qint8>, %e: tensor<4x!tf_type.quint8>,
                %f: tensor<!tf_type.f32ref>, %g: tensor<2xui8>, %h: tensor<2xcomplex<f32>>, %i: tensor<2xbf16>,
                %j: tensor<?xf16>) -> tensor<?xf16> {
  return %j : tensor<?xf16>
}
""", [], []),
)
