"""What is left of nearly equal numbers is roundings, and by as much a result may differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.verification.differences import compare_outputs
from transload.verification.last_bits import excused_by_last_bits
from transload.verification.limits import breaks_usual
from transload.verification.within import moved_within

GRADIENT = """func.func @main(%x: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<32x4xf32>
  %t = stablehlo.tanh %x : tensor<32x4xf32>
  %s = stablehlo.multiply %t, %t : tensor<32x4xf32>
  %d = stablehlo.subtract %one, %s : tensor<32x4xf32>
  %r = stablehlo.multiply %d, %x : tensor<32x4xf32>
  return %r : tensor<32x4xf32>
}
"""


@pytest.fixture
def gradient(tmp_path: Path) -> Path:
    file = tmp_path / "gradient.mlir"
    file.write_text(GRADIENT)
    return file


def numbers() -> np.ndarray:
    """In the first column tanh is next to 1."""
    x = np.random.default_rng(0).uniform(-1, 1, (32, 4)).astype(np.float32)
    x[:, 0] = np.linspace(7.6, 9.5, 32)
    return x


def is_excused(file: Path, by: np.ndarray) -> bool:
    """Whether a result is that is `by` so much from what XLA gives."""
    pytest.importorskip("jaxlib")
    source = transload.load(file)
    (given,) = [{name: numbers()} for name in source.inputs]
    run = partial(transload.run, source, engine="reference")
    reference = run(given)
    actual = {name: (array + by).astype(np.float32) for name, array in reference.items()}
    breaks = partial(breaks_usual, unit=2.0**-24)
    tensors = compare_outputs(reference, actual)
    if not breaks(tensors[0]):
        pytest.fail("the difference breaks no limit")
    return bool(excused_by_last_bits(run, given, actual, tensors, [0], breaks, moved_within(source, given, reference)))


@pytest.mark.parametrize(("column", "apart", "excused"), [(0, 2e-6, True), (0, 1e-4, False), (0, -2e-5, False), (1, 0.5, False)])
def test_what_cancels_out_may_be_other_by_roundings(gradient: Path, column: int, apart: float, excused: bool) -> None:
    by = np.zeros((32, 4))
    by[:, column] = apart
    assert is_excused(gradient, by) == excused


def test_one_element_that_is_wrong_is_not(gradient: Path) -> None:
    by = np.zeros((32, 4))
    by[:, 0] = 2e-6
    by[3, 2] = 0.1
    assert not is_excused(gradient, by)


def test_whole_numbers_are_not_moved(tmp_path: Path) -> None:
    """A floor that is an integer then would be the one below."""
    pytest.importorskip("jaxlib")
    file = tmp_path / "floor.mlir"
    file.write_text("""func.func @main(%x: tensor<8xf32>) -> tensor<8xi32> {
  %f = stablehlo.floor %x : tensor<8xf32>
  %i = stablehlo.convert %f : (tensor<8xf32>) -> tensor<8xi32>
  return %i : tensor<8xi32>
}
""")
    source = transload.load(file)
    (given,) = [{name: np.linspace(0.3, 9.7, 8).astype(np.float32)} for name in source.inputs]
    reference = transload.run(source, given, engine="reference")
    near = moved_within(source, given, reference)
    for seed in range(5):
        other = near(seed)
        assert other is not None and all(np.array_equal(other[name], array) for name, array in reference.items())


def test_a_model_whose_ops_are_not_known_here_moves_nothing(tmp_path: Path) -> None:
    from tests.support.onnx_models import make_model, node

    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([node("Tanh", ["x"], ["y"])], {"x": np.ones((2, 3), np.float32)}, ["y"]).SerializeToString())
    assert moved_within(transload.load(file), {"x": np.ones((2, 3), np.float32)}, {"y": np.ones((2, 3), np.float32)})(0) is None


def test_a_gradient_passes_in_another_runtime(gradient: Path, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    pytest.importorskip("onnxruntime")
    (name,) = transload.load(gradient).inputs
    made = transload.convert(gradient, "onnx", tmp_path / "out", input_data={name: numbers()})
    assert made.verified, made.verification
