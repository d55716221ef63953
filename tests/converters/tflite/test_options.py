"""Options and operands that kernels look at only in one form, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower
from transload.errors import ConversionError
from transload.ir import Module

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("shape", [
    np.array([2, 3], np.int64), np.array([-1], np.int64), np.array([[3, 2]], np.int32), np.array(6, np.int32)], ids=repr)
@pytest.mark.parametrize("new_shape", [[6], [1, 6]], ids=str)
def test_a_shape_that_is_no_vector_of_int32_is_not_looked_at(
    judge: Callable[..., Module], write: Callable[..., bytes], shape: np.ndarray, new_shape: list[int],
) -> None:
    """LiteRT takes the option then."""
    tensors = [((2, 3), "float32"), (shape.shape, str(shape.dtype), shape)]
    judge(write("RESHAPE", tensors, [(tuple(new_shape), "float32")], {"new_shape": new_shape}))


def test_a_shape_of_int64_that_is_computed_is_not_looked_at(judge: Callable[..., Module], write: Callable[..., bytes]) -> None:
    tensors = [((2, 3), "float32"), ((1,), "int64")]
    judge(write("RESHAPE", tensors, [((6,), "float32")], {"new_shape": [6]}))


@pytest.mark.parametrize(("operator", "option"), [("ARG_MAX", "output_type"), ("ARG_MIN", "output_type"), ("SHAPE", "out_type")])
@pytest.mark.parametrize(("says", "held"), [("INT32", "int64"), ("INT64", "int32"), (None, "int32")])
def test_a_type_that_an_option_says_is_the_result_s(
    load: Callable[..., Module], write: Callable[..., bytes], operator: str, option: str, says: str | None, held: str,
) -> None:
    """The kernel gives what the option says, which of an ARG_MAX was not read."""
    axis: list[Any] = [] if operator == "SHAPE" else [((), "int32", np.array(1, np.int32))]
    content = write(operator, [((2, 6), "float32"), *axis], [((2,), held)], {} if says is None else {option: says})
    with pytest.raises(ConversionError, match=f"its option {option} says {says or 'FLOAT32'}"):
        lower(load(content), "top")


_DIAGONAL = ((5,), "float32", np.linspace(-1, 1, 5, dtype=np.float32))
_MATRIX = ((5, 5), "float32", np.linspace(-1, 1, 25, dtype=np.float32).reshape(5, 5))


def _lstm(write: Callable[..., bytes], recurrent: list[Any], **options: Any) -> bytes:
    generator = np.random.default_rng(2)
    weights = [((5, 3), "float32", generator.uniform(-1, 1, (5, 3)).astype(np.float32)) for _ in range(4)]
    biases = [((5,), "float32", generator.uniform(-1, 1, 5).astype(np.float32)) for _ in range(4)]
    states = [((2, 5), "float32", "variable")] * 2
    return write(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", [((2, 4, 3), "float32"), *weights, *recurrent, *[None] * 3, *biases, None, None, *states],
        [((2, 4, 5), "float32")], {"fused_activation_function": "TANH", **options}, version=3)


@pytest.mark.parametrize("options", [{}, {"diagonal_recurrent_tensors": True}, {"cell_clip": 0.3}], ids=str)
@pytest.mark.parametrize("recurrent", [[_DIAGONAL] * 4, [_DIAGONAL, _MATRIX, _DIAGONAL, _MATRIX], [_MATRIX] * 4],
    ids=["diagonals", "both", "matrices"])
def test_recurrent_weights_that_are_diagonals(
    judge: Callable[..., Module], write: Callable[..., bytes], recurrent: list[Any], options: dict[str, Any],
) -> None:
    """A vector is the diagonal of a matrix, whatever the option says; it was refused."""
    judge(_lstm(write, recurrent, **options))


def test_diagonals_of_integers_are_refused(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    quantized = ((5,), "int8", np.arange(5, dtype=np.int8), ((0.1,), (0,)))
    with pytest.raises(ConversionError, match="a diagonal of quantized recurrent weights"):
        lower(load(_lstm(write, [quantized] * 4)), "top")
