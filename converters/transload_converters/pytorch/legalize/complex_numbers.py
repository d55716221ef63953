"""Complex numbers, which the hub has not: a complex tensor is two real ones, behind a cast that says so.

The cast is `builtin.unrealized_conversion_cast` of the real and the imaginary part; when all is converted nobody uses it. What is
linear is done by the rules of real numbers, part by part. What a program takes and gives must be real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import ComplexType, NoneType, Op, TensorType, Type, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.build import slice_along

from . import convolution, creation, elementwise, indexing, matmul, movement, reduce, unary
from .movement import expand_to
from .table import AtenTable, Call, cast, is_complex, number_like, places_of, reshape, shape_of, shape_together, splat

__all__ = ["CAST", "TABLE", "as_complex", "packed", "parts_of"]

TABLE = AtenTable()
CAST = "builtin.unrealized_conversion_cast"
_REAL: RewriteTable = sum((family.TABLE for family in (
    movement, indexing, creation, reduce, elementwise, matmul, unary, convolution)), RewriteTable())
"""The rules of real numbers."""


def parts_of(value: Value) -> tuple[Value, Value]:
    """The real and the imaginary part of a complex value, or of a constant."""
    maker = value.op
    if maker is None or maker.name != CAST:
        raise Unsupported("works on complex numbers from outside the program",
                          "give them as real numbers, by torch.view_as_real, and make them complex inside")
    return maker.operands[0], maker.operands[1]


def as_complex(rw: Rewriter, real: Value, imaginary: Value) -> Value:
    """A complex value of its parts, which are of one shape; refused as a result of the program."""
    if any(user.name in ("func.return", "aten.Yield") for result in rw.op.results for user in result.uses):
        raise Unsupported("complex numbers cannot be a result of the program", "give torch.view_as_real of them, or their abs()")
    made: Value = rw.emit(CAST, real, imaginary, types=[TensorType(real.shape, ComplexType(real.element))])
    return made


def packed(rw: Rewriter, value: Value, element: Type) -> Value:
    """Pairs of real numbers in a last dimension of 2; of a real value, 1."""
    if not is_complex(value):
        real = cast(rw, value, element)
        return reshape(rw, real, (*shape_of(real), 1))
    return rw.emit("top.Pack", *(cast(rw, part, element) for part in parts_of(value)), axis=-1)


def unpacked(rw: Rewriter, pairs: Value) -> tuple[Value, Value]:
    """The parts of pairs in a last dimension of 2."""
    shape = shape_of(pairs)
    axis = len(shape) - 1
    if axis < 0 or shape[-1] != 2:
        raise Unsupported(f"takes {list(shape)} as complex numbers; the last dimension must be 2")
    real, imaginary = (reshape(rw, slice_along(rw, pairs, axis, i, i + 1), shape[:-1]) for i in (0, 1))
    return real, imaginary


# --- by the rules of real numbers


def _by_real_rule(op: Op, rw: Rewriter, operands: Sequence[Value], **changed: Any) -> list[Value]:
    """What the rule of real numbers makes of these operands in the place of the op's own."""
    types = [type_.with_element(_real(type_.element)) if isinstance(type_ := result.type, TensorType) else type_
             for result in op.results]
    given = {name: _real(value) for name, value in op.attributes.items()}  # a dtype is that of the parts
    real = Op(op.name, operands, types, {**given, **changed}, (), op.location)
    try:
        for function in _REAL.get(op.name):
            made = function(real, rw)
            if made is not None:
                return [made] if isinstance(made, Value) else list(made)
    finally:
        real.drop_references()
    raise Unsupported("has no rule for complex numbers")


def _real(given: Any) -> Any:
    return given.element if isinstance(given, ComplexType) else given


def _names(text: str) -> tuple[str, ...]:
    return tuple(name if "." in name else f"{name}.default" for name in text.split())


_BY_PARTS = _names(
    "view reshape _unsafe_view view_as reshape_as flatten.using_ints unflatten.int unsqueeze squeeze squeeze.dim squeeze.dims "
    "permute transpose.int t numpy_T movedim.int movedim.intlist swapaxes swapdims select.int slice.Tensor narrow split.Tensor "
    "split_with_sizes chunk unbind.int cat concat stack hstack vstack expand expand_as repeat tile roll flip index_select "
    "index.Tensor gather clone contiguous detach alias lift_fresh_copy constant_pad_nd pad unfold slice_scatter select_scatter "
    "index_put diagonal tril triu where.self masked_fill.Scalar sum sum.dim_IntList mean mean.dim cumsum neg negative add.Tensor "
    "sub.Tensor rsub.Tensor add.Scalar sub.Scalar mul.Scalar div.Scalar fft_fftshift fft_ifftshift zeros zeros_like new_zeros "
    "empty.memory_format empty_like new_empty full full_like ones ones_like new_ones new_full copy mT view.dtype fill.Scalar "
    "rsub.Scalar scalar_tensor")
_NUMBER = {
    "masked_fill.Scalar": "value", "constant_pad_nd.default": "value", "pad.default": "value", "fill.Scalar": "value",
    "add.Scalar": "other", "sub.Scalar": "other", "full.default": "fill_value", "full_like.default": "fill_value",
    "new_full.default": "fill_value", "rsub.Scalar": "other", "scalar_tensor.default": "s"}
"""Arguments that are numbers: their real part for the real part, and so on. Complex ones are texts, as Python writes them."""
_SELECT = ("condition", "index", "indices", "mask")
"""Arguments that say which numbers are meant, and are none themselves."""
_ONES = ("ones.default", "ones_like.default", "new_ones.default")


@TABLE(*_BY_PARTS, stored="complex")
def by_parts(call: Call, rw: Rewriter) -> list[Value]:
    """What moves or adds complex numbers does to both parts what it does to real ones."""
    op = call.op
    name = op.name.removeprefix("aten.")
    if not all(is_complex(result) for result in op.results):
        raise Unsupported("does not give complex numbers of complex ones")
    pairs = _pairs(op, rw)
    numbers = _numbers(op, _NUMBER.get(name, ""))
    real = _by_real_rule(op, rw, [pair[0] for pair in pairs], **numbers[0])
    if name in _ONES:
        imaginary = [splat(rw, 0.0, shape_of(value), value.element) for value in real]
    else:
        imaginary = _by_real_rule(op, rw, [pair[1] for pair in pairs], **numbers[1])
    return [as_complex(rw, *pair) for pair in zip(real, imaginary, strict=True)]


def _numbers(op: Op, argument: str) -> tuple[dict[str, float], dict[str, float]]:
    """The real and the imaginary part of an argument that is a number, by its name; nothing where there is none."""
    given = op.attributes.get(argument)
    if given is None:
        return {}, {}
    try:
        number = complex(given)
    except (TypeError, ValueError):
        raise Unsupported(f"its {argument} is {given}, which is known only at run time") from None
    return {argument: number.real}, {argument: number.imag}


def _pairs(op: Op, rw: Rewriter) -> list[tuple[Value, Value]]:
    """The parts of each operand: of a real tensor itself and zeros; what says which numbers are meant is the same for both."""
    same = places_of(op, _SELECT)
    pairs = []
    for place, value in enumerate(op.operands):
        if place in same or isinstance(value.type, NoneType):
            pairs.append((value, value))
        elif is_complex(value):
            pairs.append(parts_of(value))
        else:
            pairs.append((value, splat(rw, 0, shape_of(value), value.element)))
    return pairs


@TABLE(*_names("mul.Tensor multiply.Tensor matmul mm bmm mv dot outer einsum tensordot linear addmm"), stored="complex")
def product(call: Call, rw: Rewriter) -> Value:
    """What is linear in each of two factors: products of parts, the imaginary ones subtracted."""
    op = call.op
    given = [value for value in op.operands if not isinstance(value.type, NoneType)]
    if len(given) == 1:
        pair = parts_of(given[0])
        return as_complex(rw, *(_by_real_rule(op, rw, [part])[0] for part in pair))
    if len(given) != 2:
        raise Unsupported(f"multiplies {len(given)} tensors of complex numbers", "two at a time can be converted")
    left, right = (parts_of(value) if is_complex(value) else (value, None) for value in given)

    def times(a: Value, b: Value) -> Value:
        both = iter((a, b))
        return _by_real_rule(op, rw, [value if isinstance(value.type, NoneType) else next(both) for value in op.operands])[0]

    real, imaginary = [times(left[0], right[0])], []
    if left[1] is not None:
        imaginary.append(times(left[1], right[0]))
    if right[1] is not None:
        imaginary.append(times(left[0], right[1]))
    first = rw.emit("top.Sub", real[0], times(left[1], right[1])) if left[1] is not None and right[1] is not None else real[0]
    second = imaginary[0] if len(imaginary) == 1 else rw.emit("top.Add", *imaginary)
    return as_complex(rw, first, second)


# --- to and from real numbers


@TABLE("Constant", stored="complex")
def constant(call: Call, rw: Rewriter) -> Value:
    """A constant's parts, as constants."""
    numbers = call.op.attributes["value"].numpy()
    return as_complex(rw, *(rw.constant(np.asarray(part, order="C")) for part in (numbers.real, numbers.imag)))


@TABLE("complex.default", "polar.default", stored="complex")
def of_parts(call: Call, rw: Rewriter) -> Value:
    """A complex number of its real and imaginary part, or of its length and angle."""
    shape = shape_together(*call.op.operands)
    length, angle = (expand_to(rw, each, shape) for each in call.op.operands)
    if call.base == "complex":
        return as_complex(rw, length, angle)
    return as_complex(rw, *(rw.emit("top.Mul", length, rw.emit(name, angle)) for name in ("top.Cos", "top.Sin")))


@TABLE("view_as_complex.default", stored="complex")
def of_pairs(call: Call, rw: Rewriter) -> Value:
    """Pairs of real numbers as complex ones."""
    return as_complex(rw, *unpacked(rw, call.self))


@TABLE("view_as_real.default", stored="complex")
def pairs_of(call: Call, rw: Rewriter) -> Value:
    """Complex numbers as pairs of real ones."""
    return rw.emit("top.Pack", *parts_of(call.self), axis=-1)


@TABLE("real.default", "imag.default", stored="complex")
def part(call: Call, rw: Rewriter) -> Value:
    """The real or the imaginary part."""
    return parts_of(call.self)[0 if call.base == "real" else 1]


@TABLE(*_names("conj _conj conj_physical _conj_physical resolve_conj resolve_neg adjoint mH matrix_H"), stored="complex")
def conjugate(call: Call, rw: Rewriter) -> Value:
    """The imaginary part with the other sign; of a matrix, if so, the other way round."""
    real, imaginary = parts_of(call.self)
    if call.base.startswith("resolve"):
        return as_complex(rw, real, imaginary)
    if call.base in ("adjoint", "mH", "matrix_H"):
        rank = len(shape_of(real))
        order = (*range(rank - 2), rank - 1, rank - 2)
        real, imaginary = (rw.emit("top.Permute", part, order=order) for part in (real, imaginary))
    return as_complex(rw, real, rw.emit("top.Neg", imaginary))


_CASTS = _names("to.dtype to.other to.device to.dtype_layout type_as _to_copy")


@TABLE(*_CASTS, stored="complex")
def casted(call: Call, rw: Rewriter) -> Value:
    """Complex numbers of other floats; of real ones with an imaginary part of 0, and of complex ones the real part."""
    element, value = call.element, call.op.operands[0]
    if not isinstance(element, ComplexType):
        return cast(rw, parts_of(value)[0], element)
    real, imaginary = parts_of(value) if is_complex(value) else (value, None)
    real = cast(rw, real, element.element)
    zeros = splat(rw, 0.0, shape_of(real), real.element)
    return as_complex(rw, real, zeros if imaginary is None else cast(rw, imaginary, element.element))


# --- functions


def _squared_length(rw: Rewriter, value: Value) -> Value:
    return rw.emit("top.Add", *(rw.emit("top.Square", part) for part in parts_of(value)))


@TABLE(*_names("abs absolute angle sgn"), stored="complex")
def polar_parts(call: Call, rw: Rewriter) -> Value:
    """The length and the angle, and the number of length 1 with the same angle."""
    real, imaginary = parts_of(call.self)
    if call.base == "angle":
        return rw.emit("top.Atan2", imaginary, real)
    length = rw.emit("top.Reduce", packed(rw, call.self, real.element), axes=(-1,), keepdims=False, mode="ReduceL2")
    if call.base != "sgn":
        return length
    nothing = rw.emit("top.Compare", length, number_like(rw, 0, real.element), mode="Equal")
    divisor = rw.emit("top.Where", nothing, number_like(rw, 1, real.element), length)
    return as_complex(rw, *(rw.emit("top.Div", each, divisor) for each in (real, imaginary)))


@TABLE(*_names("div.Tensor divide.Tensor true_divide.Tensor reciprocal"), stored="complex")
def quotient(call: Call, rw: Rewriter) -> Value:
    """The product with the conjugate, divided by the square of the length."""
    divisor = call.self if call.base == "reciprocal" else call.other
    if not is_complex(divisor):
        return as_complex(rw, *(_by_real_rule(call.op, rw, [each, divisor])[0] for each in parts_of(call.self)))
    c, d = parts_of(divisor)
    square = _squared_length(rw, divisor)
    if call.base == "reciprocal":
        above = (c, rw.emit("top.Neg", d))
    elif not is_complex(call.self):
        a = cast(rw, call.self, c.element)
        above = (rw.emit("top.Mul", a, c), rw.emit("top.Neg", rw.emit("top.Mul", a, d)))
    else:
        (a, b), times = parts_of(call.self), lambda one, other: rw.emit("top.Mul", one, other)
        above = (rw.emit("top.Add", times(a, c), times(b, d)), rw.emit("top.Sub", times(b, c), times(a, d)))
    return as_complex(rw, *(rw.emit("top.Div", each, square) for each in above))


@TABLE("square.default", "pow.Tensor_Scalar", stored="complex")
def power(call: Call, rw: Rewriter) -> Value:
    """Whole powers, from 1 to 16, by products."""
    exponent = 2 if call.base == "square" else call.exponent
    if exponent not in range(1, 17):
        raise Unsupported(f"raises complex numbers to the power of {exponent}", "whole powers from 1 to 16 can be converted")
    a, b = c, d = parts_of(call.self)
    for _ in range(int(exponent) - 1):
        (c, d) = (rw.emit("top.Sub", rw.emit("top.Mul", a, c), rw.emit("top.Mul", b, d)),
                  rw.emit("top.Add", rw.emit("top.Mul", a, d), rw.emit("top.Mul", b, c)))
    return as_complex(rw, c, d)


@TABLE(*_names("eq.Tensor eq.Scalar ne.Tensor ne.Scalar not_equal.Tensor not_equal.Scalar"), stored="complex")
def equal(call: Call, rw: Rewriter) -> Value:
    """Whether both parts are equal, or one is not."""
    op = call.op
    parts = zip(*_pairs(op, rw), strict=True)
    same = [_by_real_rule(op, rw, operands, **numbers)[0]
            for operands, numbers in zip(parts, _numbers(op, "other"), strict=True)]
    return rw.emit("top.LogicalAnd" if call.base == "eq" else "top.LogicalOr", *same)


@TABLE("tanh.default", stored="complex")
def hyperbolic_tangent(call: Call, rw: Rewriter) -> Value:
    """`tanh(a + ib) = (t + i sin b cos b (1 - t^2)) / (cos^2 b + t^2 sin^2 b)` with `t = tanh a`, which overflows nowhere."""
    real, imaginary = parts_of(call.self)
    t, cosine, sine = (rw.emit(name, part) for name, part in (("top.Tanh", real), ("top.Cos", imaginary), ("top.Sin", imaginary)))
    square = rw.emit("top.Square", t)
    rest = rw.emit("top.Sub", number_like(rw, 1, real.element), square)
    below = rw.emit("top.Add", rw.emit("top.Square", cosine), rw.emit("top.Mul", square, rw.emit("top.Square", sine)))
    turned = rw.emit("top.Mul", rw.emit("top.Mul", sine, cosine), rest)
    return as_complex(rw, rw.emit("top.Div", t, below), rw.emit("top.Div", turned, below))


@TABLE(*_names("exp log sqrt"), stored="complex")
def function(call: Call, rw: Rewriter) -> Value:
    """The exponential has the real part's as its length, and the imaginary part as its angle; the others undo that."""
    real, imaginary = parts_of(call.self)
    if call.base == "exp":
        length = rw.emit("top.Exp", real)
        return as_complex(rw, *(rw.emit("top.Mul", length, rw.emit(name, imaginary)) for name in ("top.Cos", "top.Sin")))
    angle = rw.emit("top.Atan2", imaginary, real)
    length = rw.emit("top.Reduce", packed(rw, call.self, real.element), axes=(-1,), keepdims=False, mode="ReduceL2")
    if call.base == "log":
        return as_complex(rw, rw.emit("top.Log", length), angle)
    half = rw.emit("top.MulConst", angle, const_val=0.5)
    root = rw.emit("top.Sqrt", length)
    return as_complex(rw, *(rw.emit("top.Mul", root, rw.emit(name, half)) for name in ("top.Cos", "top.Sin")))


