# ruff: noqa: E501 - lines of programs
"""Artifacts of older versions, with what their verifiers allowed, and of newer ones, as far as they hold what is known."""

from __future__ import annotations

import re

import numpy as np
import pytest

import transload
from transload.errors import RunError, TransloadError

pytest.importorskip("jaxlib", reason="jaxlib writes the artifacts")
from tests.converters.stablehlo.jaxlib_oracle import VERSIONS, forms
from tests.support.judge_versions import newer_jaxlib

LENIENT = """
func.func @op_all_gather(%arg0: tensor<16x8xf32>) -> tensor<16x16xf32> {
  %0 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 1 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<16x8xf32>) -> tensor<16x16xf32>
  func.return %0 : tensor<16x16xf32>
}
func.func @op_reduce_scatter(%arg0: tensor<16xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>} : (tensor<16xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @op_rng_bit_generator(%arg0: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = "stablehlo.rng_bit_generator"(%arg0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
func.func @op_set_dimension_size(%arg0: tensor<?xf32>, %arg1: tensor<i32>) -> tensor<16xf32> {
  %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) {dimension = 0 : i64} : (tensor<?xf32>, tensor<i32>) -> tensor<16xf32>
  func.return %0 : tensor<16xf32>
}
func.func @op_custom_call(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.custom_call"(%arg0) {call_target_name = "foo", has_side_effect = true, backend_config = "\\08\\03\\1A\\02", api_version = 2 : i32,
    called_computations = [@op_custom_call], operand_layouts = [dense<> : tensor<0xindex>],
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>],
    result_layouts = [dense<> : tensor<0xindex>]} : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
"""
PLAIN = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n%0 = stablehlo.abs %x : tensor<3xf32>\nreturn %0 : tensor<3xf32>\n}"


@newer_jaxlib("does not write StableHLO 1.13")
def test_what_older_verifiers_allowed_is_read() -> None:
    """Every version's released test artifact holds these; that they cannot be right is said when they run."""
    written = dict(forms(LENIENT, VERSIONS, range(0)))
    assert len(written) == len(VERSIONS)
    for name, data in written.items():
        module = transload.load(text=data, format="stablehlo")
        assert len(module.functions) == 5, name
    with pytest.raises(RunError, match=r"ui64|state of type"):
        transload.run(module, {"arg0": np.float32(0)}, function="op_rng_bit_generator", engine="reference")


@pytest.mark.parametrize("version", ["1.21.0", "1.22.3", "1.30.0"])
def test_newer_artifacts_of_what_is_known_are_read(version: str) -> None:
    (data,) = dict(forms(PLAIN, (None,), range(0))).values()
    newer = re.sub(rb"StableHLO_v[\d.]+\0", b"StableHLO_v" + version.encode() + b"\0", data)
    module = transload.load(text=newer, format="stablehlo")
    outputs = transload.run(module, {"arg0": np.array([-1, 2, -3], np.float32)})
    assert next(iter(outputs.values())).tolist() == [1, 2, 3]
    unknown = newer.replace(b"abs_v1", b"abs_v9")
    assert unknown != newer
    with pytest.raises(TransloadError, match=rf"StableHLO {re.escape(version)}.*1\.20.*abs_v9") as raised:
        transload.load(text=unknown, format="stablehlo")
    assert "1.20" in raised.value.hint
