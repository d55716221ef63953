"""A reduction whose order or initial value counts is not judged by XLA: the specification leaves both open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload_targets.xla.undefined import undefined

BODIES = {
    "sum": "%r = stablehlo.add %a, %b : tensor<f32>",
    "largest": "%r = stablehlo.maximum %a, %b : tensor<f32>",
    "squares": "%s = stablehlo.multiply %b, %b : tensor<f32>\n%r = stablehlo.add %a, %s : tensor<f32>",
    "last": "%r = stablehlo.maximum %b, %b : tensor<f32>",
    "difference": "%r = stablehlo.subtract %a, %b : tensor<f32>",
}
HEAD = "func.func @main(%x: tensor<2x{size}xf32>{more}) -> tensor<{result}xf32> {{\n"
REDUCE = (
    HEAD
    + """  %i = stablehlo.constant dense<{init}> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %i) <{{dimensions = array<i64: 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
    stablehlo.return %r : tensor<f32>
  }}) : (tensor<2x{size}xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}
"""
)


def told(text: str, folder: Path, **given: np.ndarray) -> str:
    path = folder / "model.mlir"
    path.write_text(text)
    source = transload.load(path)
    return undefined(
        source, None, {name: given.get(name, np.ones(type_.static_shape, np.float32)) for name, type_ in source.inputs.items()}
    )


@pytest.mark.parametrize(
    ("body", "init", "open_"),
    [
        ("sum", "0.0", False),
        ("sum", "3.0", True),
        ("largest", "0xFF800000", False),
        ("largest", "0.0", True),
        ("squares", "0.0", True),
        ("difference", "0.0", True),
    ],
)
def test_a_reduction_is_open_where_order_or_initial_value_counts(tmp_path: Path, body: str, init: str, open_: bool) -> None:
    pytest.importorskip("jaxlib")
    text = REDUCE.format(size=3, more="", result=2, init=init, body=BODIES[body])
    assert ("leaves open" in told(text, tmp_path)) == open_


def test_a_single_element_that_xla_leaves_as_it_is_is_no_failure(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "squares.mlir"
    path.write_text(REDUCE.format(size=1, more="", result=2, init="0.0", body=BODIES["squares"]))
    (name,) = transload.load(path).inputs
    made = transload.convert(path, "tosa", tmp_path / "out", input_data={name: np.array([[3], [-2]], np.float32)}).verification
    assert made.status == "inconclusive" and "not associative" in made.why and "reduce" in made.why, made


@pytest.mark.parametrize(
    ("body", "rows", "open_"),
    [("last", (0, 0), True), ("last", (0, 1), False), ("sum", (0, 0), False), ("difference", (1, 1), False)],
)
def test_a_scatter_is_open_where_two_updates_that_do_not_commute_meet(
    tmp_path: Path,
    body: str,
    rows: tuple[int, int],
    open_: bool,
) -> None:
    pytest.importorskip("jaxlib")
    text = (
        HEAD.format(size=3, more="", result="2x3")
        + f"""
  %i = stablehlo.constant dense<[[{rows[0]}], [{rows[1]}]]> : tensor<2x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %x) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {BODIES[body]}
    stablehlo.return %r : tensor<f32>
  }}) : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}}
"""
    )
    assert ("leaves open" in told(text, tmp_path)) == open_


@pytest.mark.parametrize("body", ["sum", "squares"])
def test_windows_are_open_where_order_counts(tmp_path: Path, body: str) -> None:
    pytest.importorskip("jaxlib")
    text = REDUCE.format(size=4, more="", result="2x3", init="0.0", body=BODIES[body])
    text = (
        text.replace("stablehlo.reduce", "stablehlo.reduce_window")
        .replace("dimensions = array<i64: 1>", "window_dimensions = array<i64: 1, 2>")
        .replace("tensor<2xf32>", "tensor<2x3xf32>")
    )
    assert ("leaves open" in told(text, tmp_path)) == (body == "squares")


LARGER = """%f = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = stablehlo.select %f, %a, %b : tensor<i1>, tensor<f32>"""


@pytest.mark.parametrize(("body", "open_"), [(LARGER, True), (BODIES["largest"], False), (BODIES["sum"], False)])
def test_a_function_that_drops_some_nans_is_open_where_there_are_such(tmp_path: Path, body: str, open_: bool) -> None:
    pytest.importorskip("jaxlib")
    init = "0.0" if body == BODIES["sum"] else "0xFF800000"
    text = REDUCE.format(size=3, more="", result=2, init=init, body=body)
    (tmp_path / "model.mlir").write_text(text)
    (name,) = transload.load(tmp_path / "model.mlir").inputs
    numbers = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    assert not told(text, tmp_path, **{name: numbers})
    numbers[0, 1] = np.nan
    assert ("leaves open" in told(text, tmp_path, **{name: numbers})) == open_


def test_a_function_that_a_body_calls_is_tried_with_it(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    call = "%r = func.call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>"
    texts = {}
    for name in ("squares", "sum"):
        function = f"""func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
  {BODIES[name]}
  return %r : tensor<f32>
}}
"""
        main = REDUCE.format(size=3, more="", result=2, init="0.0", body=call)
        texts[name] = main.replace("func.func @main", function + "func.func @main")
    assert "leaves open" in told(texts["squares"], tmp_path)
    assert not told(texts["sum"], tmp_path)
