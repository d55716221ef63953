"""Products of matrices, and attention."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.determinant import determinant

from .movement import expand_to
from .table import AtenTable, Call, axis_of, cast, number_like, pairs, permute, reshape, shape_of, shape_together, wide
from .unary import without_dead_rows

TABLE = AtenTable()


@TABLE("linear.default")
def linear(call: Call, rw: Rewriter) -> Value:
    """A fully connected layer, its weights [outputs, inputs]."""
    if len(shape_of(call.weight)) == 1:
        made = rw.emit("top.MatMul", call.input, call.weight)
        return made if call.bias is None else rw.emit("top.Add", made, call.bias)
    if len(shape_of(call.input)) == 1:
        row = reshape(rw, call.input, (1, *shape_of(call.input)))
        return reshape(rw, rw.emit("top.MatMul", row, call.weight, call.bias, right_transpose=True), shape_of(call.weight)[:1])
    return rw.emit("top.MatMul", call.input, call.weight, call.bias, right_transpose=True)


@TABLE("mm.default", "bmm.default", "matmul.default", "mv.default", "linalg_matmul.default", "_int_mm.default")
def matmul(call: Call, rw: Rewriter) -> Value:
    """The matrix product."""
    other = call.get("vec") or call.get("mat2") or call.other
    left = call.self
    if call.base == "_int_mm":
        left, other = cast(rw, left, call.element), cast(rw, other, call.element)
    return rw.emit("top.MatMul", left, other)


@TABLE("dot.default", "vdot.default", "inner.default")
def dot(call: Call, rw: Rewriter) -> Value:
    """The sum of products along the last dimensions."""
    a, b = call.self, call.get("tensor") or call.other
    if not shape_of(a) or not shape_of(b):
        return rw.emit("top.Mul", a, b)
    if len(shape_of(b)) == 1:
        return rw.emit("top.MatMul", a, b)
    last = shape_of(b)[-1]
    flat = rw.emit("top.MatMul", a, reshape(rw, b, (-(-math.prod(shape_of(b)) // max(last, 1)), last)), right_transpose=True)
    return reshape(rw, flat, (*shape_of(a)[:-1], *shape_of(b)[:-1]))


@TABLE("outer.default", "ger.default")
def outer(call: Call, rw: Rewriter) -> Value:
    """All products of two vectors."""
    a, b = (cast(rw, value, call.element) for value in (call.self, call.vec2))
    return rw.emit("top.LogicalAnd" if call.element == BOOL else "top.Mul", reshape(rw, a, (*shape_of(a), 1)), b)


def _where_scaled(call: Call) -> str:
    """A product of 16-bit floats with a bias stays one; with factors it is rounded once, after all, but for outer products."""
    return "each" if call.alpha == call.beta == 1 or call.base == "addr" else "once"


@TABLE("addmm.default", "baddbmm.default", "addmv.default", "addbmm.default", "addr.default", "_addmm_activation.default",
       rounded=_where_scaled)
def addmm(call: Call, rw: Rewriter) -> Value:
    """`beta * self + alpha * (a @ b)`."""
    pairs = {"addmm": ("mat1", "mat2"), "_addmm_activation": ("mat1", "mat2"), "addmv": ("mat", "vec"), "addr": ("vec1", "vec2")}
    a, b = (call.get(name) for name in pairs.get(call.base, ("batch1", "batch2")))
    first, alpha, beta = call.self, call.alpha, call.beta
    if call.base == "addr":
        first, a, b = (cast(rw, each, call.element) for each in (first, a, b))
        a, b = reshape(rw, a, (*shape_of(a), 1)), reshape(rw, b, (1, *shape_of(b)))
        if call.element == BOOL and alpha and beta:
            return rw.emit("top.LogicalOr", first, rw.emit("top.LogicalAnd", a, b))
    if call.base == "addmm" and alpha == beta == 1 and len(shape_of(first)) == 1:
        return rw.emit("top.MatMul", a, b, first)
    made = rw.emit("top.MatMul", a, b)
    if call.base == "addbmm":
        made = rw.emit("top.Reduce", made, axes=(0,), keepdims=False, mode="ReduceSum")
    if alpha != 1:
        made = rw.emit("top.Mul", made, number_like(rw, alpha, made.element, "held"))
    if beta == 0:
        return made
    first = first if beta == 1 else rw.emit("top.Mul", first, number_like(rw, beta, first.element, "held"))
    made = rw.emit("top.Add", made, first)
    if call.base == "_addmm_activation":
        return rw.emit("top.GELU", made, approx=True) if call.use_gelu else rw.emit("top.Relu", made)
    return made


@TABLE("einsum.default")
def einsum(call: Call, rw: Rewriter) -> Value:
    """A sum of products over subscripts."""
    if call.path is not None and len(call.path) > 2 * len(call.tensors):
        raise Unsupported("has a path that does not fit its tensors")
    return rw.emit("top.Einsum", *call.tensors, equation=call.equation.replace(" ", ""))


@TABLE("tensordot.default")
def tensordot(call: Call, rw: Rewriter) -> Value:
    """A sum of products over some dimensions of each."""
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    ranks = [len(shape_of(call.self)), len(shape_of(call.other))]
    left = [next(letters) for _ in range(ranks[0])]
    right = [next(letters) for _ in range(ranks[1])]
    for a, b in pairs(call.dims_self, call.dims_other, "dims_self and dims_other"):
        right[axis_of(b, ranks[1])] = left[axis_of(a, ranks[0])]
    outcome = [letter for letter in left if letter not in right] + [letter for letter in right if letter not in left]
    return rw.emit("top.Einsum", call.self, call.other, equation=f"{''.join(left)},{''.join(right)}->{''.join(outcome)}")


@TABLE("linalg_vecdot.default")
def vecdot(call: Call, rw: Rewriter) -> Value:
    """The sum of products along a dimension."""
    product = rw.emit("top.Mul", call.x, call.y)
    return rw.emit("top.Reduce", product, axes=(call.dim % len(shape_of(product)),), keepdims=False, mode="ReduceSum")


@TABLE("bilinear.default")
def bilinear(call: Call, rw: Rewriter) -> Value:
    """`x1' * W * x2` for each output."""
    made = rw.emit("top.Einsum", call.input1, call.weight, call.input2, equation="...i,oij,...j->...o")
    return made if call.bias is None else rw.emit("top.Add", made, call.bias)


# --- attention


@TABLE("scaled_dot_product_attention.default", "_scaled_dot_product_flash_attention_for_cpu.default",
       "_scaled_dot_product_attention_math.default")
def attention(call: Call, rw: Rewriter) -> list[Value]:
    """`softmax(q @ k' * scale + mask) @ v`; a query that may look nowhere gives zeros."""
    if float(call.dropout_p) > 0:
        raise Unsupported("drops attention at random, as in training", "export the network after model.eval()")
    call.refuse_use(1, "what training needs")
    (query, element), (key, _), (value, _) = (wide(rw, each) for each in (call.query, call.key, call.value))
    if call.get("enable_gqa", False):
        key, value = (_repeated(rw, each, shape_of(query)[-3]) for each in (key, value))
    *_, places, size = shape_of(query)
    keys = shape_of(key)[-2]
    scale = 1.0 / math.sqrt(max(size, 1)) if call.scale is None else float(call.scale)
    scores = rw.emit("top.MatMul", query, key, right_transpose=True)
    scores = rw.emit("top.MulConst", scores, const_val=scale)
    mask = call.attn_mask
    if call.is_causal:
        later = np.triu(tables.full((places, keys), -np.inf), 1)
        scores = rw.emit("top.Add", scores, rw.constant(later.astype(dtype_of(scores.element))))
    if mask is not None and mask.element == BOOL:
        scores = rw.emit("top.Where", mask, scores, number_like(rw, -math.inf, scores.element))
    elif mask is not None:
        scores = rw.emit("top.Add", scores, cast(rw, mask, scores.element))
    weights = rw.emit("top.Softmax", scores, axis=len(shape_of(scores)) - 1)
    if mask is not None:
        known = rw.constant_of(mask)
        alive = known is not None and (known if mask.element == BOOL else np.isfinite(known)).any(axis=-1).all()
        weights = weights if alive else _without_blind_queries(rw, weights, mask)
    made = cast(rw, rw.emit("top.MatMul", weights, value), element)
    return [made] * len(call.op.results)


def _without_blind_queries(rw: Rewriter, weights: Value, mask: Value) -> Value:
    """Weights of keys with zeros for queries whose mask leaves none.

    The mask alone is asked: the greatest of scores that are masked with -inf would have no range to quantize.
    """
    axis = len(shape_of(mask)) - 1
    if mask.element != BOOL:
        return without_dead_rows(rw, weights, cast(rw, mask, weights.element), axis)
    sees = rw.emit("top.Reduce", mask, axes=(axis,), mode="ReduceAny")
    return rw.emit("top.Where", sees, weights, number_like(rw, 0.0, weights.element))


def _repeated(rw: Rewriter, value: Value, heads: int) -> Value:
    """Keys or values of fewer heads, each for as many heads of queries."""
    shape = shape_of(value)
    times = heads // max(shape[-3], 1)
    if times * shape[-3] != heads:
        raise Unsupported(f"{heads} heads of queries do not share {shape[-3]} of keys")
    apart = reshape(rw, value, (*shape[:-2], 1, *shape[-2:]))
    spread = expand_to(rw, apart, (*shape[:-2], times, *shape[-2:]))
    return reshape(rw, spread, (*shape[:-3], heads, *shape[-2:]))


@TABLE("chain_matmul.default", "linalg_multi_dot.default")
def multi_dot(call: Call, rw: Rewriter) -> Value:
    """The product of several matrices, from the left."""
    values = call.get("matrices", call.get("tensors"))
    if not values:
        raise Unsupported("multiplies no matrices")
    made = values[0]
    for value in values[1:]:
        made = rw.emit("top.MatMul", made, value)
    return made


@TABLE("linalg_matrix_power.default", "matrix_power.default")
def matrix_power(call: Call, rw: Rewriter) -> Value:
    """A matrix times itself, so often."""
    if not 1 <= call.n <= 64:
        raise Unsupported(f"takes power {call.n} of a matrix", "1 to 64 can be converted")
    made = call.self
    for _ in range(call.n - 1):
        made = rw.emit("top.MatMul", made, call.self)
    return made


@TABLE("det.default", "linalg_det.default", "_linalg_det.default")
def det(call: Call, rw: Rewriter) -> list[Value]:
    """The determinant of matrices, by elimination; not what they are taken apart into."""
    if any(result.uses for result in call.op.results[1:]):
        raise Unsupported("gives what the matrix is taken apart into", "the determinant alone can be converted")
    matrices = call.get("self", call.get("A"))
    shape_of(matrices)
    return [determinant(rw, matrices)] * len(call.op.results)


@TABLE("trace.default")
def trace(call: Call, rw: Rewriter) -> Value:
    """The sum of the diagonal."""
    rows, columns = shape_of(call.self, 2)
    eye = tables.eye(rows, columns, dtype=dtype_of(call.element))
    kept = rw.emit("top.Mul", cast(rw, call.self, call.element), rw.constant(eye))
    return rw.emit("top.Reduce", kept, axes=(0, 1), keepdims=False, mode="ReduceSum")


@TABLE("linalg_cross.default", "cross.default")
def cross(call: Call, rw: Rewriter) -> Value:
    """The vector product."""
    from .movement import gather_places

    shape = shape_together(call.self, call.other)
    dim = call.dim
    axis = next((i for i, size in enumerate(shape) if size == 3), None) if dim is None else axis_of(dim, len(shape))
    if axis is None or shape[axis] != 3:
        raise Unsupported(f"multiplies vectors of the shape {list(shape)}, and has to be of three numbers each")
    turned = [gather_places(rw, expand_to(rw, value, shape), axis, np.array(places))
              for value, places in ((call.self, (1, 2, 0)), (call.other, (2, 0, 1)), (call.self, (2, 0, 1)),
                                    (call.other, (1, 2, 0)))]
    return rw.emit("top.Sub", rw.emit("top.Mul", *turned[:2]), rw.emit("top.Mul", *turned[2:]))


@TABLE("kron.default")
def kron(call: Call, rw: Rewriter) -> Value:
    """Each element of one matrix times the other."""
    a, b = shape_of(call.self), shape_of(call.other)
    rank = max(len(a), len(b))
    a, b = (*(1,) * (rank - len(a)), *a), (*(1,) * (rank - len(b)), *b)
    left = reshape(rw, cast(rw, call.self, call.element), [n for size in a for n in (size, 1)])
    right = reshape(rw, cast(rw, call.other, call.element), [n for size in b for n in (1, size)])
    return reshape(rw, rw.emit("top.Mul", left, right), [x * y for x, y in zip(a, b, strict=True)])


def transposed(rw: Rewriter, value: Value) -> Value:
    """The last two dimensions in each other's place."""
    rank = len(shape_of(value))
    return permute(rw, value, [*range(rank - 2), rank - 1, rank - 2])
