"""Tensors made of little: filled, counted, diagonals, triangles."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.ops.constant import no_range, range_length

from .movement import expand_to
from .table import AtenTable, Call, axis_of, cast, number_like, permute, reshape, shape_of, splat

TABLE = AtenTable()


@TABLE("Constant")
def constant(call: Call, rw: Rewriter) -> Value:
    """A constant tensor."""
    return rw.constant(call.op.attributes["value"])


@TABLE("NoValue")
def no_value(call: Call, rw: Rewriter) -> Value:
    """A tensor that is left out."""
    return rw.none("top")


def _filled(call: Call) -> float | int | bool:
    if "full" in call.base:
        number: float = call.fill_value
        return number
    return 1 if "ones" in call.base else 0


@TABLE("full.default", "zeros.default", "ones.default", "empty.memory_format", "empty_strided.default", "empty_permuted.default",
       "new_full.default", "new_zeros.default", "new_ones.default", "new_empty.default", "new_empty_strided.default")
def filled(call: Call, rw: Rewriter) -> Value:
    """One number everywhere; what is left empty is zero here."""
    return splat(rw, _filled(call), tuple(call.size), call.element)


@TABLE("full_like.default", "zeros_like.default", "ones_like.default", "empty_like.default", "zero.default")
def filled_like(call: Call, rw: Rewriter) -> Value:
    """One number everywhere, in the shape of a tensor."""
    return splat(rw, _filled(call), shape_of(call.self), call.element)


@TABLE("fill.Scalar", "fill.Tensor", "copy.default")
def fill(call: Call, rw: Rewriter) -> Value:
    """A tensor's shape and element type, with another's numbers."""
    given = call.src if call.base == "copy" else call.value
    if not isinstance(given, Value):
        return splat(rw, given, shape_of(call.self), call.self.element)
    return expand_to(rw, cast(rw, given, call.self.element), shape_of(call.self))


@TABLE("scalar_tensor.default")
def scalar_tensor(call: Call, rw: Rewriter) -> Value:
    """A number as a tensor."""
    return number_like(rw, call.s, call.element, "cut")


@TABLE("arange.default", "arange.start", "arange.start_step", "linspace.default", "logspace.default")
def counting(call: Call, rw: Rewriter) -> Value:
    """Numbers in even steps."""
    dtype = dtype_of(call.element)
    start, end = call.get("start", 0), call.end
    if call.base == "arange":
        step = call.get("step", 1)
        if no_range(start, end, step) is not None or (count := range_length(start, end, step)) > 1 << 28:
            raise Unsupported(f"counts from {start} to {end} by {step}")
        return rw.constant((start + step * counted(count)).astype(dtype))
    if not 0 <= call.steps <= 1 << 28:
        raise Unsupported(f"makes {call.steps} numbers")
    numbers = tables.linspace(start, end, call.steps)
    if call.base == "logspace":  # its argument `base` is called as the operator's own name is here
        numbers = np.power(float(call.op.attributes.get("base", 10.0)), numbers)
    return rw.constant(numbers.astype(dtype))


@TABLE("eye.default", "eye.m")
def eye(call: Call, rw: Rewriter) -> Value:
    """Ones on the diagonal."""
    if call.n * (call.get("m") or call.n) > 1 << 28:
        raise Unsupported("is too large a matrix")
    return rw.constant(tables.eye(call.n, call.get("m"), dtype=dtype_of(call.element)))


@TABLE("tril.default", "triu.default")
def triangle(call: Call, rw: Rewriter) -> Value:
    """A triangle of each matrix, zeros elsewhere."""
    return rw.emit("top.Trilu", call.self, upper=call.base == "triu", k=call.diagonal)


@TABLE("tril_indices.default", "triu_indices.default")
def triangle_indices(call: Call, rw: Rewriter) -> Value:
    """The subscripts of a triangle."""
    places = (np.tril_indices if call.base == "tril_indices" else np.triu_indices)(call.row, call.offset, call.col)
    return rw.constant(np.stack(places).astype(dtype_of(call.element)))


@TABLE("diagonal.default", "linalg_diagonal.default")
def diagonal(call: Call, rw: Rewriter) -> Value:
    """A diagonal of two dimensions, which becomes the last one."""
    value = call.get("self") or call.A
    shape = shape_of(value)
    first, second = axis_of(call.dim1, len(shape)), axis_of(call.dim2, len(shape))
    order = [axis for axis in range(len(shape)) if axis not in (first, second)]
    rows, columns = shape[first], shape[second]
    numbers = counted(rows * columns).reshape(rows, columns).diagonal(call.offset)
    flat = reshape(rw, permute(rw, value, [*order, first, second]), (*(shape[axis] for axis in order), rows * columns))
    return rw.emit("top.Gather", flat, rw.constant(np.ascontiguousarray(numbers).astype(np.int64)), axis=len(order))


@TABLE("diag_embed.default", "diag.default", "diagflat.default")
def diag_embed(call: Call, rw: Rewriter) -> Value:
    """Vectors as the diagonals of matrices; `diag` of a matrix is its diagonal."""
    value, shape = call.self, shape_of(call.self)
    offset = call.get("offset", call.get("diagonal", 0))
    if call.base == "diagflat":
        value = reshape(rw, value, (math.prod(shape),))
        shape = shape_of(value)
    if call.base == "diag" and len(shape) == 2:
        numbers = counted(shape[0] * shape[1]).reshape(shape).diagonal(offset)
        flat = reshape(rw, value, (shape[0] * shape[1],))
        return rw.emit("top.Gather", flat, rw.constant(np.ascontiguousarray(numbers).astype(np.int64)), axis=0)
    size = shape[-1] + abs(offset)
    below, right = max(-offset, 0), max(offset, 0)
    zero = number_like(rw, 0, value.element)
    lead = len(shape) - 1
    row = rw.emit("top.Pad", value, paddings=(*(0,) * lead, right, *(0,) * lead, below), mode="constant") if offset else value
    on = tables.zeros((size, size), bool)
    np.fill_diagonal(on[below:, right:], True)
    made = rw.emit("top.Where", rw.constant(on), reshape(rw, row, (*shape[:-1], 1, size)), zero)
    first, second = axis_of(call.get("dim1", -2), lead + 2), axis_of(call.get("dim2", -1), lead + 2)
    rest = iter(range(lead))
    order = [lead if i == first else lead + 1 if i == second else next(rest) for i in range(lead + 2)]
    return permute(rw, made, order)


@TABLE("meshgrid.default", "meshgrid.indexing")
def meshgrid(call: Call, rw: Rewriter) -> list[Value]:
    """Vectors along the dimensions of a grid."""
    sizes = [math.prod(shape_of(value)) for value in call.tensors]
    turned = call.choice("indexing", ("ij", "xy"), "ij") == "xy" and len(sizes) > 1
    results = []
    for place, value in enumerate(call.tensors):
        apart = reshape(rw, value, [size if i == place else 1 for i, size in enumerate(sizes)])
        made = expand_to(rw, apart, sizes)
        results.append(permute(rw, made, [1, 0, *range(2, len(sizes))]) if turned else made)
    return results


@TABLE("cartesian_prod.default")
def cartesian_prod(call: Call, rw: Rewriter) -> Value:
    """All choices of an element of each vector, a row each."""
    if len(call.tensors) == 1:
        return call.tensors[0]
    sizes = [math.prod(shape_of(value)) for value in call.tensors]
    columns = []
    for place, value in enumerate(call.tensors):
        apart = reshape(rw, value, [size if i == place else 1 for i, size in enumerate(sizes)])
        columns.append(reshape(rw, expand_to(rw, apart, sizes), (math.prod(sizes),)))
    return rw.emit("top.Pack", *columns, axis=1)


@TABLE("angle.default")
def angle(call: Call, rw: Rewriter) -> Value:
    """The angle of real numbers: 0, or that of a half turn where they are negative."""
    value = cast(rw, call.self, call.element)
    negative = rw.emit("top.Compare", value, number_like(rw, 0, value.element), mode="Less")
    pi, zero = (number_like(rw, n, call.element) for n in (math.pi, 0.0))
    return rw.emit("top.Where", negative, pi, rw.emit("top.Where", rw.emit("top.IsNaN", value), value, zero))


TABLE.refuse_all(
    "gives numbers at random, and a compiled model always the same", "give them to the network as an input",
    "rand.default", "randn.default", "randperm.default", "rand_like.default", "randn_like.default", "randint.default",
    "randint.low", "bernoulli.default", "bernoulli.p", "multinomial.default", "normal.Tensor_Tensor", "uniform.default",
    "exponential.default", "poisson.default", "normal_functional.default", "randint_like.default", "randint_like.low_dtype")
TABLE.refuse_all(
    "computes a gradient, for training", "export the network for inference: model.eval(), without a loss",
    "_adaptive_avg_pool2d_backward.default", "avg_pool2d_backward.default", "convolution_backward.default",
    "embedding_dense_backward.default", "max_pool2d_with_indices_backward.default", "native_group_norm_backward.default",
    "native_layer_norm_backward.default")
TABLE.refuse_all(
    "gives a size, and those are computed when the file is read", "",
    "sym_numel.default", "sym_size.int", "sym_storage_offset.default", "sym_stride.int", "sym_size.default", "sym_stride.default")
TABLE.refuse_all(
    "reads a number out of a tensor, on which sizes or other operators then depend, and which is known only at run time",
    "keep it a tensor: torch.where instead of an if, a mask instead of a size", "_local_scalar_dense.default", "item.default")
TABLE.refuse_all(
    "writes into a tensor that is given for it, which torch.export does not leave in a program", "", "atan2.out",
    "resize_.default")
TABLE.refuse_all("asks how a tensor lies in memory, which is nothing that a model computes", "", "sym_is_contiguous.default")
