"""Sums of 16 bits whose scales are powers of two: LiteRT rounds one operand before, and not the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.errors import ConversionError, TransloadError
from transload.ir import Module, QuantType, TensorType

pytest.importorskip("ai_edge_litert")

_SHAPE = (2000,)


def _content(
    write: Callable[..., bytes], operator: str, scales: Sequence[float], shapes: Sequence[tuple[int, ...]] = (_SHAPE, _SHAPE),
    zeros: Sequence[int] = (0, 0, 0), **options: Any,
) -> bytes:
    shapes = (*shapes, np.broadcast_shapes(*shapes))
    tensors = [(shape, "int16", None, ((scale,), (zero,))) for shape, scale, zero in zip(shapes, scales, zeros, strict=True)]
    return write(operator, tensors[:2], tensors[2:], options, version=2)  # pot_scale_int16 is true where nothing is said


def _random(*shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    return {f"in{index}": generator.integers(-32768, 32767, shape, np.int16, endpoint=True) for index, shape in enumerate(shapes)}


@pytest.mark.parametrize("operator", ["ADD", "SUB"])
@pytest.mark.parametrize("scales", [
    (2.0**-12, 2.0**-11, 2.0**-11), (2.0**-11, 2.0**-12, 2.0**-11), (2.0**-11, 2.0**-15, 2.0**-11),
    (2.0**-11, 2.0**-26, 2.0**-11), (2.0**-11, 2.0**-11, 2.0**-11), (2.0**-12 * 1.0003, 2.0**-11, 2.0**-11 * 0.9997),
    (2.0**-12 * 1.001, 2.0**-11, 2.0**-11)])
def test_an_operand_is_rounded_before(
    judge: Callable[..., Module], write: Callable[..., bytes], operator: str, scales: Sequence[float],
) -> None:
    """Every fifth result was another by one; scales that are nearly powers of two count as such."""
    judge(_content(write, operator, scales), _random(_SHAPE, _SHAPE))


@pytest.mark.parametrize("activation", ["RELU", "RELU6", "RELU_N1_TO_1"])
def test_with_an_activation(judge: Callable[..., Module], write: Callable[..., bytes], activation: str) -> None:
    judge(_content(write, "ADD", (2.0**-12, 2.0**-11, 2.0**-11), fused_activation_function=activation), _random(_SHAPE, _SHAPE))


def test_a_difference_broadcasts(judge: Callable[..., Module], write: Callable[..., bytes]) -> None:
    judge(_content(write, "SUB", (2.0**-12, 2.0**-11, 2.0**-11), ((4, 5), (5,))), _random((4, 5), (5,)))


@pytest.mark.parametrize(("scales", "shapes", "zeros", "why"), [
    ((0.25, 0.25, 0.5), (_SHAPE, _SHAPE), (0, 0, 0), "are 1 and 1 places finer"),
    ((1.0, 0.5, 0.5), (_SHAPE, _SHAPE), (0, 0, 0), "are -1 and 0 places finer"),
    ((0.5, 0.25, 0.5), (_SHAPE, _SHAPE), (1, 0, 0), "zero points have to be 0"),
    ((0.5, 2.0**-17, 0.5), (_SHAPE, _SHAPE), (0, 0, 0), "by 16 places it does not do"),
    ((0.5, 0.25, 0.5), ((4, 5), (5,)), (0, 0, 0), "does not broadcast")])
def test_what_the_kernel_does_not_do_is_refused(
    write: Callable[..., bytes], load: Callable[..., Module], scales: Sequence[float], shapes: Sequence[tuple[int, ...]],
    zeros: Sequence[int], why: str,
) -> None:
    with pytest.raises(ConversionError, match=why):
        lower(load(_content(write, "ADD", scales, shapes, zeros)), "top")


def test_a_scale_that_is_no_step_has_no_logarithm(write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    """LiteRT runs none either; that of 0 was an exception of Python's."""
    (result,) = lower(load(_content(write, "ADD", (0.0, 0.25, 0.25))), "top").outputs.values()
    assert isinstance(result, TensorType) and isinstance(result.element, QuantType)
    with pytest.raises(TransloadError, match="scale"):
        lower(load(_content(write, "ADD", (-0.5, 0.25, 0.25))), "top")


@pytest.mark.parametrize("option", [False, True])
@pytest.mark.parametrize("operator", ["ADD", "SUB"])
def test_other_kernels_take_any(
    judge: Callable[..., Module], write: Callable[..., bytes], operator: str, option: bool,
) -> None:
    """Without the option, and with other scales, the sum alone is rounded."""
    scales = (0.125, 0.25, 0.25) if not option else (0.1, 0.2, 0.25)
    judge(_content(write, operator, scales, pot_scale_int16=option), _random(_SHAPE, _SHAPE))


@pytest.mark.parametrize("dialect", ["tosa", "tfl", "onnx", "stablehlo"])
@pytest.mark.parametrize("scales", [(2.0**-12, 2.0**-11, 2.0**-11), (2.0**-11, 2.0**-26, 2.0**-11)])
def test_onward(
    write: Callable[..., bytes], load: Callable[..., Module], litert: Callable[..., list[np.ndarray]], dialect: str,
    scales: Sequence[float],
) -> None:
    """What is made of it has the numbers of LiteRT's."""
    content, given = _content(write, "SUB", scales), _random(_SHAPE, _SHAPE)
    [wanted] = litert(content, given)
    module = lower(load(content), "top")
    [made] = run(lower(module, dialect), given).values()
    np.testing.assert_array_equal(made, wanted)
