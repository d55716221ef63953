"""Where XLA computes otherwise than StableHLO's specification, a verdict says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload_targets.xla.undefined import undefined

PROGRAM = """
func.func @main(%x: tensor<5x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x{window}x3xf32>) -> tensor<5x3xf32> {{
  {before}
  %0 = "stablehlo.scatter"(%x, {indices}, %u) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }}) : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x{window}x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}}
"""
CONSTANT = "%c = stablehlo.constant dense<[[{}], [1]]> : tensor<2x1xi32>"
MOVED = "%k = stablehlo.constant dense<3> : tensor<2x1xi32>\n  %c = stablehlo.add %i, %k : tensor<2x1xi32>"


def written(folder: Path, window: int, before: str) -> Path:
    path = folder / "scatter.mlir"
    path.write_text(PROGRAM.format(window=window, before=before, indices="%c" if before else "%i"))
    return path


@pytest.mark.parametrize("before", [CONSTANT.format(4), CONSTANT.format(-1), MOVED, ""])
def test_a_window_that_is_partly_outside_is_no_failure(tmp_path: Path, before: str) -> None:
    """The verdict of XLA, which leaves out the whole of it, is said to be none; the rows inside are written."""
    pytest.importorskip("jaxlib")
    given = {"x": np.zeros((5, 3), np.float32), "u": np.ones((2, 2, 3), np.float32), "i": np.array([[1], [1]], np.int32)}
    if not before:
        given["i"] = np.array([[4], [0]], np.int32)
    source = transload.load(written(tmp_path, 2, before))
    given = dict(zip(source.inputs, (given["x"], given["i"], given["u"]), strict=True))
    made = transload.convert(tmp_path / "scatter.mlir", "tosa", tmp_path / "out", input_data=given)
    assert made.verification.status == "inconclusive", made.verification
    assert "partly outside" in made.verification.why and "scatter" in made.verification.why
    (result,) = transload.run(source, given).values()
    assert result[0 if "-1" in before else 4].all()  # its own row alone


@pytest.mark.parametrize(("window", "before"), [(1, CONSTANT.format(4)), (1, CONSTANT.format(9)), (2, CONSTANT.format(3)),
                                                (2, CONSTANT.format(5)), (2, CONSTANT.format(-2))])
def test_windows_that_are_wholly_in_or_out_are_judged(tmp_path: Path, window: int, before: str) -> None:
    pytest.importorskip("jaxlib")
    source = transload.load(written(tmp_path, window, before))
    generator = np.random.default_rng(0)
    given = {name: generator.normal(size=type_.static_shape).astype(np.float32) if name != list(source.inputs)[1]
             else np.zeros((2, 1), np.int32) for name, type_ in source.inputs.items()}
    assert undefined(source, None, given) == ""
    assert transload.convert(tmp_path / "scatter.mlir", "tosa", tmp_path / "out", input_data=given).verification.passed


WINDOWS = """
func.func @main(%x: tensor<3x4xi32>) -> tensor<3x4xi32> {{
  %c = stablehlo.constant dense<{init}> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{{padding = dense<[[0, {pad}], [1, 1]]> : tensor<2x2xi64>,
      window_dimensions = array<i64: {rows}, 3>}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.{name} %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }}) : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}}
"""


@pytest.mark.parametrize(("name", "init", "wanted"), [
    ("multiply", 2, "inconclusive"), ("add", 3, "inconclusive"), ("maximum", -5, "passed"),
    ("multiply", 1, "passed"), ("add", 0, "passed"), ("minimum", 2147483647, "passed")])
def test_padding_that_counts_is_not_judged(tmp_path: Path, name: str, init: int, wanted: str) -> None:
    """XLA leaves it out. With an identity it does not matter."""
    pytest.importorskip("jaxlib")
    path = tmp_path / "windows.mlir"
    path.write_text(WINDOWS.format(name=name, init=init, pad=1, rows=2))
    given = {"arg0": -np.arange(1, 13, dtype=np.int32).reshape(3, 4)}
    source = transload.load(path)
    given = {next(iter(source.inputs)): given["arg0"]}
    made = transload.convert(path, "tosa", tmp_path / "out", input_data=given).verification
    assert made.status == wanted, made
    assert wanted == "passed" or "padded with an initial value" in made.why
    assert (undefined(source, None, given) == "") == (wanted == "passed")


@pytest.mark.parametrize(("given", "initial", "body"), [
    (", %c: tensor<i32>", "", "%1 = stablehlo.add %a, %b : tensor<i32>"),
    ("", "%k = stablehlo.constant dense<3> : tensor<i32>\n%c = stablehlo.add %k, %k : tensor<i32>",
     "%1 = stablehlo.add %a, %b : tensor<i32>"),
    ("", "%c = stablehlo.constant dense<6> : tensor<i32>", "%1 = stablehlo.xor %a, %b : tensor<i32>"),
    ("", "%c = stablehlo.constant dense<6> : tensor<i32>",
     "%2 = stablehlo.add %a, %b : tensor<i32>\n%1 = stablehlo.maximum %2, %2 : tensor<i32>")])
def test_padding_by_what_is_computed_or_given_is_looked_at_as_the_program_runs(
    tmp_path: Path, given: str, initial: str, body: str,
) -> None:
    pytest.importorskip("jaxlib")
    text = WINDOWS.format(name="add", init=0, pad=1, rows=2).replace("%x: tensor<3x4xi32>)", f"%x: tensor<3x4xi32>{given})")
    text = text.replace("%c = stablehlo.constant dense<0> : tensor<i32>", initial).replace(
        "%1 = stablehlo.add %a, %b : tensor<i32>", body)
    (tmp_path / "windows.mlir").write_text(text)
    source = transload.load(tmp_path / "windows.mlir")
    numbers = [np.arange(1, 13, dtype=np.int32).reshape(3, 4), np.int32(5)]
    fed = dict(zip(source.inputs, numbers, strict=False))
    made = transload.convert(tmp_path / "windows.mlir", "tosa", tmp_path / "out", input_data=fed).verification
    assert made.status == "inconclusive" and "no identity" in made.why
    if given:
        name = list(source.inputs)[1]
        assert undefined(source, None, {**fed, name: np.int32(0)}) == "", "0 is the identity of a sum"
