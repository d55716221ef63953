"""Places of unsigned numbers, as those of JAX with `uint32` are, and vectors of none."""

from __future__ import annotations

import numpy as np
import pytest

import transload

from tests.plugins.stablehlo.raising import raising


@pytest.mark.parametrize("element", ["ui8", "ui32"])
def test_scatter_leaves_out_what_lies_beyond(element: str) -> None:
    """Those of 32 bits may be as large as no number of TOSA's, and were refused there."""
    module = raising.load(f"""func.func @main(%a: tensor<5xf32>, %i: tensor<2x1x{element}>, %u: tensor<2xf32>) -> tensor<5xf32> {{
  %0 = "stablehlo.scatter"(%a, %i, %u) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
       index_vector_dim = 1>}} : (tensor<5xf32>, tensor<2x1x{element}>, tensor<2xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}}""")
    places = np.array([[1], [200]], np.uint8) if element == "ui8" else np.array([[1], [4000000000]], np.uint32)
    arrays = [np.zeros(5, np.float32), places, np.ones(2, np.float32)]
    top = transload.legalize(module)
    for form in (module, top, transload.lower(top, "tosa")):
        np.testing.assert_array_equal(raising.run(form, arrays)[0], [0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("element", "target"), [("ui8", "top"), ("ui8", "tosa"), ("ui32", "top"), ("ui32", "tosa"), ("ui64", "top")])
def test_windows_far_beyond_stay_there(element: str, target: str) -> None:
    """The second element of a window at 2^31 - 1, to which places were cut off, was at 2^31: as i32 below zero, or refused."""
    taken = f"tensor<3x1x{element}>"
    module = raising.load(f"""func.func @main(%a: tensor<5xf32>, %i: {taken}, %u: tensor<3x2xf32>) -> tensor<5xf32> {{
  %0 = "stablehlo.scatter"(%a, %i, %u) ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0],
       index_vector_dim = 1>}} : (tensor<5xf32>, {taken}, tensor<3x2xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}}""")
    far = {"ui8": (200, 255), "ui32": (4000000000, (1 << 32) - 1), "ui64": (1 << 40, (1 << 64) - 1)}[element]
    places = np.array([[1], [far[0]], [far[1]]], {"ui8": np.uint8, "ui32": np.uint32, "ui64": np.uint64}[element])
    form = transload.legalize(module) if target == "top" else transload.lower(transload.legalize(module), "tosa")
    made = raising.run(form, [np.zeros(5, np.float32), places, np.ones((3, 2), np.float32)])[0]
    np.testing.assert_array_equal(made, [0, 1, 1, 0, 0])


def test_gather_by_vectors_without_numbers() -> None:
    """Each takes the same slice, from 0 on; of several there was one."""
    module = raising.load("""func.func @main(%a: tensor<5xf32>) -> tensor<3x2xf32> {
  %i = stablehlo.constant dense<> : tensor<3x0xi32>
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [],
       index_vector_dim = 1>, slice_sizes = array<i64: 2>} : (tensor<5xf32>, tensor<3x0xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}""")
    top = transload.legalize(module)
    for form in (module, top, transload.lower(top, "tosa")):
        np.testing.assert_array_equal(raising.run(form, [np.arange(5, dtype=np.float32)])[0], [[0, 1]] * 3)
