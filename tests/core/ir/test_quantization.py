"""Scales per tensor, per axis and per block: one idea, followed through moves, against plain numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transload.engine.quantized import dequantize, quantize, round_half_away
from transload.ir import F32, I8, Blocks, IntegerType, Op, QuantType, TensorType, dtype_of, new_module
from transload.ir.module import set_results
from transload.ir.quantization import (
    block_size_for,
    grid_of,
    misfit,
    permuted,
    quantized_over,
    reshaped,
    sliced,
    spread,
    with_leading,
)
from transload.ir.verify import check

LIKE = QuantType(I8, F32, (1.0,), (0,))


@st.composite
def tensors(draw: Any) -> tuple[tuple[int, ...], QuantType]:
    """A shape of up to three dimensions, and a type whose blocks fill it."""
    shape, counts, sizes = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        count, size = draw(st.sampled_from([(1, 1), (1, 3), (2, 1), (3, 1), (2, 2), (2, 3), (4, 2)]))
        shape.append(count * size)
        counts.append(count)
        sizes.append(size)
    n = int(np.prod(counts))
    scales = np.array(draw(st.lists(st.sampled_from([0.25, 0.5, 1.0, 2.0, 0.1, 3.7]), min_size=n, max_size=n))).reshape(counts)
    points = np.array(draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))).reshape(counts)
    storage = draw(st.sampled_from([I8, IntegerType(4), IntegerType(8, "u")]))
    points = np.clip(points, *storage.range)
    return tuple(shape), quantized_over(LIKE.replace(
        storage=storage, storage_min=storage.range[0], storage_max=storage.range[1]), scales, points, sizes)


def stored_numbers(shape: tuple[int, ...], type_: QuantType, seed: int = 0) -> np.ndarray:
    low, high = type_.storage.range
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(dtype_of(type_))


def plainly(stored: np.ndarray, type_: QuantType) -> np.ndarray:
    """The real numbers, one by one, by the definition."""
    sizes, grid = grid_of(type_, stored.ndim)
    made = np.zeros(stored.shape, np.float64)
    for place in itertools.product(*map(range, stored.shape)):
        block = [p // s if s is not None else 0 for p, s in zip(place, sizes, strict=True)]
        index = int(np.ravel_multi_index(block, grid))
        made[place] = type_.scales[index] * (int(stored[place]) - type_.zero_points[index])
    return made


@given(tensors())
def test_dequantizing_is_the_definition(given: tuple[tuple[int, ...], QuantType]) -> None:
    shape, type_ = given
    stored = stored_numbers(shape, type_)
    np.testing.assert_allclose(dequantize(stored, type_, np.float64), plainly(stored, type_), rtol=1e-12)
    np.testing.assert_allclose(
        (stored.astype(np.int64) - spread(type_.zero_points, type_, stored.ndim, np.int64)) * spread(
            type_.scales, type_, stored.ndim, np.float64), plainly(stored, type_), rtol=1e-12)


@given(tensors())
def test_quantizing_gives_the_numbers_back(given: tuple[tuple[int, ...], QuantType]) -> None:
    shape, type_ = given
    stored = stored_numbers(shape, type_)
    np.testing.assert_array_equal(quantize(dequantize(stored, type_, np.float64), type_), stored)


@given(tensors(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_moved_numbers_keep_their_scales(given: tuple[tuple[int, ...], QuantType], random: Any) -> None:
    shape, type_ = given
    stored = stored_numbers(shape, type_)
    real = plainly(stored, type_)
    order = random.sample(range(len(shape)), len(shape))
    turned = permuted(type_, order)
    np.testing.assert_allclose(plainly(stored.transpose(order), turned), real.transpose(order))
    led = with_leading(type_, 2)
    np.testing.assert_allclose(plainly(stored[None, None], led), real[None, None])
    axis = random.randrange(len(shape))
    start = random.randrange(shape[axis])
    step = random.choice([1, 1, 2, 3])
    places = range(start, random.randrange(start, shape[axis]) + 1, step)
    places = places[::-1] if random.random() < 0.3 else places
    cut: Any = sliced(type_, len(shape), axis, places)
    np.testing.assert_allclose(plainly(stored.take(places, axis), cut), real.take(places, axis))
    assert misfit(cut, real.take(places, axis).shape) is None


@given(tensors(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_reshaped_numbers_keep_their_scales_or_have_no_type(given: tuple[tuple[int, ...], QuantType], random: Any) -> None:
    shape, type_ = given
    stored = stored_numbers(shape, type_)
    after: list[int] = []
    rest = stored.size
    while rest > 1:
        after.append(random.choice([d for d in range(1, rest + 1) if rest % d == 0]))
        rest //= after[-1]
    made = reshaped(type_, shape, after)
    if made is not None:
        assert misfit(made, after) is None
        np.testing.assert_allclose(plainly(stored.reshape(after), made), plainly(stored, type_).reshape(after))
    assert reshaped(type_, shape, shape) == type_
    assert reshaped(type_, shape, (1, *shape, 1)) is not None


def test_the_simplest_form_is_taken() -> None:
    one = np.full((1, 1), 0.5)
    assert quantized_over(LIKE, one, np.array([[3]]), [4, 32]) == QuantType(I8, F32, (0.5,), (3,))
    assert quantized_over(LIKE, np.array([[0.5], [0.25]]), np.zeros((2, 1)), [1, 7]) == QuantType(I8, F32, (0.5, 0.25), (0,), 0)
    made = quantized_over(LIKE, np.array([[0.5, 0.25]]), np.zeros((1, 2)), [9, 32])
    assert made.blocks == Blocks((None, 32), (1, 2)) and not made.per_tensor and not made.per_axis
    assert reshaped(made, (3, 64), (3, 2, 32)) == QuantType(I8, F32, (0.5, 0.25), (0,), 1)
    assert reshaped(made, (3, 64), (192,)) is None  # the same scale comes again after 64 numbers


def test_types_are_compared_by_their_blocks() -> None:
    made = quantized_over(LIKE, np.array([[0.5, 0.25]]), np.zeros((1, 2)), [1, 32])
    other = made.replace(blocks=Blocks((None, 16), (1, 2)))
    assert made != other and hash(made) != hash(other) and made == made.replace()
    assert made != made.replace(blocks=None, axis=1)


@pytest.mark.parametrize(("size", "block", "wanted"), [(64, 32, 32), (40, 32, 8), (33, 32, 1), (7, 16, 7), (0, 4, 4)])
def test_a_last_block_that_is_shorter(size: int, block: int, wanted: int) -> None:
    """Each smaller block lies in one of the others, and they fill the dimension."""
    assert block_size_for(size, block) == wanted
    starts = np.arange(0, size, wanted)
    assert size % wanted == 0 and (starts // block == (starts + wanted - 1).clip(max=max(size - 1, 0)) // block).all()


@pytest.mark.parametrize(("shape", "type_", "why"), [
    ((4, 5), QuantType(I8, F32, (1.0, 2.0), (0,), blocks=Blocks((None, 2), (1, 2))), "not divisible"),
    ((4, 8), QuantType(I8, F32, (1.0, 2.0), (0,), blocks=Blocks((None, 2), (1, 2))), "4 blocks of 2"),
    ((8,), QuantType(I8, F32, (1.0, 2.0), (0,), blocks=Blocks((None, 2), (1, 2))), "2 dimensions"),
    ((4, 4), QuantType(I8, F32, (1.0, 2.0, 3.0), (0,), blocks=Blocks((None, 2), (1, 2))), "3 scales for 2"),
    ((4, 4), QuantType(I8, F32, (1.0, 2.0), (0,), 2), "along dimension 2"),
    ((4, 4), QuantType(I8, F32, (1.0, 2.0), (0,), 1), "4 blocks of 1"),
])
def test_scales_that_do_not_fit_are_found(shape: tuple[int, ...], type_: QuantType, why: str) -> None:
    module = new_module()
    module.add_function("main", [TensorType(shape, type_)], ["x"])
    set_results(module.main, list(module.body_of_main.arguments), ["y"])
    (finding,) = check(module)
    assert why in finding.why
    made = new_module()
    made.add_function("main", [TensorType(shape, F32)], ["x"])
    op = Op("test.op", list(made.body_of_main.arguments), [TensorType(shape, type_)])
    made.body_of_main.append(op)
    set_results(made.main, [op.result], ["y"])
    assert any(why in finding.why for finding in check(made))


def test_unknown_sizes_fit() -> None:
    type_ = QuantType(I8, F32, (1.0, 2.0), (0,), blocks=Blocks((None, 2), (1, 2)))
    assert misfit(type_, None) is None and misfit(type_, (None, 4)) is None and misfit(type_, (3, None)) is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_halves_are_rounded_away_from_zero_and_nothing_else_is_moved(dtype: Any) -> None:
    before, odd = np.nextafter(dtype(0.5), dtype(0)), dtype(2.0 ** np.finfo(dtype).nmant + 1)
    x = np.array([0.5, before, 1.5, 2.5, np.nextafter(dtype(2.5), dtype(0)), odd, 0.0, np.inf], dtype)
    wanted = np.array([1, 0, 2, 3, 2, odd, 0, np.inf], dtype)
    for sign in (dtype(1), dtype(-1)):
        found = round_half_away(sign * x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, sign * wanted)
