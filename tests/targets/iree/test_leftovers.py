"""Rows and columns behind the only window of a dimension: numpy is the judge, of IREE and of what it is given."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload_targets.iree.leftovers import cut_leftovers

X = np.arange(-9, 9, dtype=np.float32).reshape(1, 3, 3, 2)
KERNEL = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)

POOLED = """
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 3, 3, 1>,
      PADDING}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<1x3x3x2xf32>, tensor<f32>) -> tensor<1x1x1x2xf32>"""
CONVOLVED = """
  %k = stablehlo.constant dense<""" + str(KERNEL.tolist()) + """> : tensor<2x2x2x2xf32>
  %0 = "stablehlo.convolution"(%x, %k) <{window_strides = array<i64: 3, 3>, PADDING,
      dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64,
      batch_group_count = 1 : i64}> : (tensor<1x3x3x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x1x1x2xf32>"""
PLAIN, PADDED = [[0, 0], [0, 0]], [[1, 0], [0, 1]]


def program(line: str, padding: list[list[int]]) -> Module:
    pairs = [[0, 0], *padding, [0, 0]] if line is POOLED else padding
    line = line.replace("PADDING", f"padding = dense<{pairs}> : tensor<{len(pairs)}x2xi64>")
    return transload.load(format="stablehlo", text=f"""
        func.func @main(%x: tensor<1x3x3x2xf32> {{ml_program.identifier = "x"}}) -> tensor<1x1x1x2xf32> {{
          %z = stablehlo.constant dense<0.0> : tensor<f32>
          {line}
          return %0 : tensor<1x1x1x2xf32>
        }}""")


def wanted(line: str, padding: list[list[int]]) -> np.ndarray:
    window = np.pad(X, [(0, 0), *padding, (0, 0)])[:, :2, :2]
    summed = window.sum((1, 2)) if line is POOLED else np.einsum("bhwi,hwio->bo", window, KERNEL)
    return summed.reshape(1, 1, 1, 2)


@pytest.mark.parametrize("padding", [PLAIN, PADDED])
@pytest.mark.parametrize("line", [POOLED, CONVOLVED])
def test_what_no_window_reaches_is_cut_off(line: str, padding: list[list[int]]) -> None:
    module = program(line, padding)
    assert cut_leftovers(module)
    op = next(op for op in module.body_of_main if op.name in ("stablehlo.reduce_window", "stablehlo.convolution"))
    assert op.operands[0].shape == ((1, 2, 2, 2) if padding is PLAIN else (1, 1, 2, 2))
    (found,) = transload.run(module, {"x": X}, engine="reference").values()
    np.testing.assert_array_equal(found, wanted(line, padding))
    assert not cut_leftovers(module), "nothing is left"


def test_windows_side_by_side_stay() -> None:
    moved = POOLED.replace("1, 3, 3, 1", "1, 1, 1, 1").replace("-> tensor<1x1x1x2xf32>", "-> tensor<1x2x2x2xf32>")
    text = moved.replace("PADDING", "padding = dense<0> : tensor<4x2xi64>")
    assert not cut_leftovers(transload.load(format="stablehlo", text=f"""
        func.func @main(%x: tensor<1x3x3x2xf32>) -> tensor<1x2x2x2xf32> {{
          %z = stablehlo.constant dense<0.0> : tensor<f32>
          {text}
          return %0 : tensor<1x2x2x2xf32>
        }}"""))


@pytest.mark.skipif(importlib.util.find_spec("iree") is None, reason="install transload[iree] to compile for IREE's runtime")
@pytest.mark.parametrize(("line", "padding"), [(POOLED, PLAIN), (CONVOLVED, PLAIN), (POOLED, PADDED), (CONVOLVED, PADDED)])
def test_iree_compiles_it(line: str, padding: list[list[int]], tmp_path: Path) -> None:
    transload.convert(program(line, padding), "iree-llvm-cpu", tmp_path / "out", verify=False)
    (found,) = transload.run(tmp_path / "out", {"x": X}).values()
    np.testing.assert_array_equal(found, wanted(line, padding))
