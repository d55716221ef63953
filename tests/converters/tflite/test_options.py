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
