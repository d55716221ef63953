"""Random numbers, which are no function of a model's inputs: drawn once, as the model is converted, where the user wants that.

They come from numpy's generator MT19937 with the model's seed, as those of ONNX's own reference evaluator do. Other runtimes
have other generators: with the same seed they give other numbers, and ONNX allows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I32, FloatType, IntegerType, Op, TensorType, Type, Value, dtype_of
from transload.rewrite import Rewriter

from ..choices import chosen
from ..types import element_of
from .table import MAX_CONSTANT, OnnxTable, attr, cast, need, need_attr, opset, reshape, shape_of

__all__ = ["TABLE", "dropped"]

TABLE = OnnxTable()


def _generator(op: Op, rw: Rewriter, shape: tuple[int, ...]) -> np.random.RandomState:
    """The generator for so many numbers, with the op's seed."""
    if chosen(rw, "random") == "refuse":
        raise Unsupported("gives random numbers", "the option random=drawn draws them once, as the model is converted")
    return _seeded(op, rw, shape)


def _seeded(op: Op, rw: Rewriter, shape: tuple[int, ...]) -> np.random.RandomState:
    seed = float(attr(op, "seed", 0))
    if math.prod(shape) > MAX_CONSTANT:
        raise Unsupported(f"draws {math.prod(shape):,} numbers, more than {MAX_CONSTANT:,}")
    rw.note(f"the random numbers of {op.origin or op.name} were drawn as the model was converted, and are the same in every run")
    # Seeds are floats in some operators. MT19937 takes 32 bits: of a float that is no such number, its own bits.
    whole = seed.is_integer() and 0 <= seed < 1 << 32
    return np.random.RandomState(int(seed) if whole else int(np.float32(seed).view(np.uint32)))


def _element(op: Op, default: Type) -> Type:
    code = attr(op, "dtype")
    element = default if code is None else element_of(code)
    if not isinstance(element, FloatType | IntegerType):
        raise Unsupported(f"gives numbers of {element}")
    return element


def _draw(op: Op, generator: np.random.RandomState, shape: tuple[int, ...]) -> np.ndarray:
    with np.errstate(all="ignore"):  # numpy's own refuse a spread below 0, and what is no number
        if "Normal" in op.name:
            return float(attr(op, "mean", 0.0)) + float(attr(op, "scale", 1.0)) * generator.standard_normal(shape)
        low, high = float(attr(op, "low", 0.0)), float(attr(op, "high", 1.0))
        return low + (high - low) * generator.random_sample(shape)


@TABLE("onnx.RandomUniform", "onnx.RandomNormal")
def random(op: Op, rw: Rewriter) -> Value:
    """RandomUniform and RandomNormal: a constant."""
    return _constant(op, rw, tuple(need_attr(op, "shape")), _element(op, F32))


@TABLE("onnx.RandomUniformLike", "onnx.RandomNormalLike")
def random_like(op: Op, rw: Rewriter) -> Value:
    """RandomUniformLike and RandomNormalLike: a constant of another tensor's shape."""
    return _constant(op, rw, shape_of(need(op, 0)), _element(op, need(op, 0).element))


def _constant(op: Op, rw: Rewriter, shape: tuple[int, ...], element: Type) -> Value:
    numbers = _draw(op, _generator(op, rw, shape), shape)
    return rw.constant(numbers.astype(dtype_of(element)), element=element)


@TABLE("onnx.Bernoulli")
def bernoulli(op: Op, rw: Rewriter) -> Value:
    """Bernoulli: whether a random number is less than each probability."""
    value = need(op, 0)
    numbers = _generator(op, rw, shape_of(value)).uniform(size=shape_of(value))
    held = rw.constant(numbers.astype(dtype_of(value.element)), element=value.element)
    return cast(rw, rw.emit("top.Compare", held, value, mode="Less"), _element(op, value.element))


@TABLE("onnx.Multinomial")
def multinomial(op: Op, rw: Rewriter) -> Value:
    """Multinomial: of the classes' summed probabilities, how many each random number is beyond."""
    value = need(op, 0)
    batch, classes = shape_of(value, 2)
    count = attr(op, "sample_size", 1)
    numbers = _generator(op, rw, (batch, count)).uniform(size=(batch, count, 1))
    summed = rw.emit("top.CumSum", rw.emit("top.Softmax", cast(rw, value, F32), axis=1), axis=1)
    beyond = rw.emit("top.Compare", reshape(rw, summed, (batch, 1, classes)), rw.constant(numbers.astype(np.float32)),
                     mode="LessOrEqual")
    which = rw.emit("top.Reduce", cast(rw, beyond, I32), axes=(2,), keepdims=False, mode="ReduceSum")
    return cast(rw, rw.emit("top.Clip", which, min=0.0, max=classes - 1.0), _element(op, I32))


def dropped(op: Op, rw: Rewriter, value: Value, ratio: float) -> list[Value]:
    """Dropout in training mode: elements that a random number below `ratio` drops, the others scaled; which are kept.

    A seed in the model fixes what ONNX's own definition of Dropout drops. Without one it is as any other random operator.
    """
    shape = shape_of(value)
    if not 0 <= ratio < 1:
        raise Unsupported(f"drops elements with probability {ratio}, which must be less than 1")
    make: Callable[..., np.random.RandomState] = _seeded if "seed" in op.attributes else _generator
    kept = make(op, rw, shape).uniform(size=shape) >= ratio
    element = dtype_of(value.element)
    scaled = rw.emit("top.Mul", value, rw.constant((kept / (1.0 - ratio)).astype(element), element=value.element))
    mask: TensorType = TensorType(shape, BOOL if opset(op) >= 10 else value.element)
    return [scaled, rw.constant(kept.astype(dtype_of(mask.element)), element=mask.element)][: len(op.results)]
