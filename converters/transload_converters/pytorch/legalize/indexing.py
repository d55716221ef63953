"""Reading and writing elements by subscripts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I64, IntegerType, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import compared_not, counted

from .elementwise import operand
from .movement import bounds, expand_to, slice_along, strided_places
from .table import (
    AtenTable,
    Call,
    axis_of,
    cast,
    compared_element,
    is_float,
    number_like,
    pairs,
    permute,
    reshape,
    shape_of,
    shape_together,
    splat,
)

TABLE = AtenTable()


def _from_front(rw: Rewriter, indices: Value, size: int) -> Value:
    """Subscripts counted from the front, of 64 bits as PyTorch's are; known ones at once."""
    known = rw.constant_of(indices)
    if known is not None:
        return rw.constant(np.where(known < 0, known + size, known).astype(np.int64))
    return cast(rw, indices, I64) if indices.element == IntegerType(8, "u") else indices


@TABLE("embedding.default")
def embedding(call: Call, rw: Rewriter) -> Value:
    """Rows of a table."""
    return rw.emit("top.Gather", call.weight, _from_front(rw, call.indices, shape_of(call.weight)[0]), axis=0)


@TABLE("index_select.default", stored="carried")
def index_select(call: Call, rw: Rewriter) -> Value:
    """Slices of a dimension."""
    value, shape = call.self, shape_of(call.self)
    places = reshape(rw, call.index, (math.prod(shape_of(call.index)),))
    if not shape:
        return reshape(rw, rw.emit("top.Gather", reshape(rw, value, (1,)), places, axis=0), ())
    axis = axis_of(call.dim, len(shape))
    return rw.emit("top.Gather", value, _from_front(rw, places, shape[axis]), axis=axis)


@TABLE("gather.default", "take_along_dim.default", stored="carried")
def gather(call: Call, rw: Rewriter) -> Value:
    """One subscript of each element replaced."""
    value, indices = call.self, call.get("index") or call.indices
    if call.base == "take_along_dim":
        if call.dim is None:
            flat = reshape(rw, value, (math.prod(shape_of(value)),))
            return rw.emit("top.Gather", flat, reshape(rw, indices, (math.prod(shape_of(indices)),)), axis=0)
        axis = axis_of(call.dim, len(shape_of(value)))
        both = pairs(shape_of(value), shape_of(indices), "tensor's and indices' shapes")
        sizes = [max(a, b) if i != axis else None for i, (a, b) in enumerate(both)]
        value = expand_to(rw, value, [shape_of(value)[i] if size is None else size for i, size in enumerate(sizes)])
        indices = expand_to(rw, indices, [shape_of(indices)[i] if size is None else size for i, size in enumerate(sizes)])
    shape = shape_of(value)
    if not shape:
        return expand_to(rw, value, shape_of(indices))
    axis = axis_of(call.dim, len(shape))
    places = _from_front(rw, indices, shape[axis])
    made = rw.emit("top.GatherElements", value, reshape(rw, places, shape_of(places) or (1,)), axis=axis)
    return reshape(rw, made, shape_of(places))


@TABLE("take.default", stored="carried")
def take(call: Call, rw: Rewriter) -> Value:
    """Elements of the flattened tensor."""
    total = math.prod(shape_of(call.self))
    return rw.emit("top.Gather", reshape(rw, call.self, (total,)), _from_front(rw, call.index, total), axis=0)


@TABLE("put.default")
def put(call: Call, rw: Rewriter) -> Value:
    """Numbers written at places of the flattened tensor, or added to what is there."""
    value, shape = call.self, shape_of(call.self)
    total, count = math.prod(shape), math.prod(shape_of(call.index))
    if not count:
        return value
    places = reshape(rw, _from_front(rw, call.index, total), (count, 1))
    updates = reshape(rw, cast(rw, call.source, value.element), (count,))
    return reshape(rw, rw.emit("top.ScatterND", reshape(rw, value, (total,)), places, updates,
                               reduction="add" if call.accumulate else "none"), shape)


# --- subscripts of several dimensions


def _subscripts(call: Call, rw: Rewriter) -> tuple[dict[int, Value], list[int]] | None:
    """The tensors that index dimensions, by dimension, masks of constants as their subscripts; None where a mask is computed."""
    found: dict[int, Value] = {}
    axis = 0
    for given in call.indices:
        if given is None:
            axis += 1
        elif given.element in (BOOL, IntegerType(8, "u")) and (given.element == BOOL):
            known = rw.constant_of(given)
            if known is None:
                return None
            for part in np.nonzero(known):
                found[axis] = rw.constant(part.astype(np.int64))
                axis += 1
        else:
            found[axis] = given
            axis += 1
    return found, sorted(found)


@TABLE("index.Tensor", "_unsafe_index.Tensor", stored="carried")
def index(call: Call, rw: Rewriter) -> Value:
    """Elements or slices at subscripts that broadcast: where the subscripts are side by side, so are the dimensions made of
    them."""
    value, shape = call.self, shape_of(call.self)
    subscripts = _subscripts(call, rw)
    if subscripts is None:
        raise Unsupported("takes what a mask chooses that is computed at run time, so that nobody knows how much it is",
                          "use torch.where, which keeps the size")
    found, axes = subscripts
    if not axes:
        return value
    parts = [_from_front(rw, found[axis], shape[axis]) for axis in axes]
    if len(axes) == 1:
        return rw.emit("top.Gather", value, parts[0], axis=axes[0])
    made = shape_together(*parts)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    stacked = _stacked(rw, parts, made)
    taken = rw.emit("top.GatherND", permute(rw, value, [*axes, *rest]), stacked)
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    lead = sum(axis < axes[0] for axis in rest) if adjacent else 0
    order = [*range(len(made), len(made) + lead), *range(len(made)), *range(len(made) + lead, len(made) + len(rest))]
    return permute(rw, taken, order)


def _stacked(rw: Rewriter, parts: Sequence[Value], shape: Sequence[int]) -> Value:
    """Subscripts of each element side by side: [.., n]."""
    spread = [expand_to(rw, cast(rw, part, I64), shape) for part in parts]
    return rw.emit("top.Pack", *spread, axis=len(shape))


@TABLE("index_put.default", "_unsafe_index_put.default", "_index_put_impl.default")
def index_put(call: Call, rw: Rewriter) -> Value:
    """Values written, or added, at subscripts; one number where a mask says so."""
    value, values, shape = call.self, cast(rw, call.values, call.self.element), shape_of(call.self)
    masks = [given for given in call.indices if given is not None]
    if len(masks) == 1 and masks[0].element == BOOL and math.prod(shape_of(values)) == 1 and not call.accumulate:
        lead = [given is None for given in call.indices].index(False)
        mask = reshape(rw, masks[0], (*shape_of(masks[0]), *(1,) * (len(shape) - lead - len(shape_of(masks[0])))))
        return rw.emit("top.Where", mask, reshape(rw, values, ()), value)
    subscripts = _subscripts(call, rw)
    if subscripts is None:
        raise Unsupported("writes where a mask says so that is computed at run time", "use torch.where")
    found, axes = subscripts
    parts = [_from_front(rw, found[axis], shape[axis]) for axis in axes]
    made = shape_together(*parts)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*axes, *rest]
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    lead = sum(axis < axes[0] for axis in rest) if adjacent else 0
    sizes = [*(shape[axis] for axis in rest[:lead]), *made, *(shape[axis] for axis in rest[lead:])]
    updates = expand_to(rw, values, sizes)
    updates = permute(rw, updates, [*range(lead, lead + len(made)), *range(lead), *range(lead + len(made), len(sizes))])
    written = rw.emit("top.ScatterND", permute(rw, value, order), _stacked(rw, parts, made), updates,
                      reduction="add" if call.accumulate else "none")
    return permute(rw, written, [order.index(axis) for axis in range(len(shape))])


# --- writing


@TABLE("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add.default", "scatter_reduce.two")
def scatter(call: Call, rw: Rewriter) -> Value:
    """Numbers written at places along a dimension, or combined with what is there."""
    value, shape = call.self, shape_of(call.self)
    indices = call.index
    given = call.get("src") if call.get("src") is not None else call.get("value")
    source = cast(rw, given, value.element) if isinstance(given, Value) else splat(rw, given, shape_of(indices), value.element)
    if 0 in shape_of(indices):
        return value
    value, indices, source = (reshape(rw, each, shape_of(each) or (1,)) for each in (value, indices, source))
    sizes = shape_of(indices)
    if shape_of(source) != sizes:
        source = rw.emit("top.Slice", source, offset=(0,) * len(sizes), ends=sizes, steps=(1,) * len(sizes))
    axis = axis_of(call.dim, len(shape_of(value)))
    how = "add" if call.base == "scatter_add" else call.get("reduce")
    places = _from_front(rw, indices, shape_of(value)[axis])
    return reshape(rw, _combined(call, rw, value, places, source, axis, how), shape)


_KINDS = {None: "none", "add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}


def _combined(call: Call, rw: Rewriter, value: Value, places: Value, source: Value, axis: int, how: str | None) -> Value:
    """Numbers written at places along a dimension, or combined with what is there, by a word of PyTorch's."""
    kind = _KINDS.get(how)
    if kind is None:
        raise Unsupported(f"combines by {how!r}")
    if not call.get("include_self", True):
        value = _cleared(rw, value, places, kind, axis)
    made = rw.emit("top.ScatterElements", value, places, source, axis=axis, reduction=kind)
    return _mean(call, rw, made, places, axis) if how == "mean" else made


def _neutral(value: Value, kind: str) -> float:
    if kind in ("add", "none"):
        return 0
    if kind == "mul":
        return 1
    if is_float(value.element):
        return -math.inf if kind == "max" else math.inf
    low, high = value.element.range  # type: ignore[attr-defined]
    return low if kind == "max" else high


def _cleared(rw: Rewriter, value: Value, places: Value, kind: str, axis: int) -> Value:
    """What is written to does not count: it becomes the number that changes nothing."""
    empty = splat(rw, _neutral(value, kind), shape_of(places), value.element)
    return rw.emit("top.ScatterElements", value, places, empty, axis=axis)


def _mean(call: Call, rw: Rewriter, sums: Value, places: Value, axis: int) -> Value:
    """Sums divided by how many numbers came to each place."""
    ones = splat(rw, 1, shape_of(places), sums.element)
    own = splat(rw, 1 if call.include_self else 0, shape_of(sums), sums.element)
    counts = rw.emit("top.ScatterElements", own, places, ones, axis=axis, reduction="add")
    counts = rw.emit("top.Max", counts, number_like(rw, 1, sums.element))
    return rw.emit("top.Div" if is_float(sums.element) else "top.FloorDiv", sums, counts)


@TABLE("index_add.default", "index_copy.default", "index_fill.int_Scalar", "index_fill.int_Tensor", "index_reduce.default")
def index_write(call: Call, rw: Rewriter) -> Value:
    """Slices of a dimension written, or combined with those there."""
    value = reshape(rw, call.self, shape_of(call.self) or (1,))
    shape = shape_of(value)
    axis = axis_of(call.dim, len(shape))
    places = reshape(rw, call.index, (math.prod(shape_of(call.index)),))
    sizes = [*shape[:axis], shape_of(places)[0], *shape[axis + 1 :]]
    given = call.get("source", call.get("value"))
    if isinstance(given, Value):
        source = cast(rw, given, value.element)
        source = expand_to(rw, source, sizes) if call.base == "index_fill" else reshape(rw, source, shape_of(source) or (1,))
    else:
        source = splat(rw, given, sizes, value.element)
    if call.get("alpha", 1) != 1:
        source = rw.emit("top.Mul", source, number_like(rw, call.alpha, value.element, "held"))
    column = reshape(rw, cast(rw, _from_front(rw, places, shape[axis]), I64),
                     [sizes[axis] if i == axis else 1 for i in range(len(shape))])
    spread = expand_to(rw, column, sizes)
    how = {"index_add": "add", "index_reduce": call.get("reduce")}.get(call.base)
    return reshape(rw, _combined(call, rw, value, spread, source, axis, how), shape_of(call.self))


@TABLE("select_scatter.default", "slice_scatter.default")
def slice_scatter(call: Call, rw: Rewriter) -> Value:
    """A copy with other numbers in a slice."""
    value, shape = call.self, shape_of(call.self)
    axis = axis_of(call.dim, len(shape))
    if call.base == "select_scatter":
        begin = call.index + shape[axis] if call.index < 0 else call.index
        end, step = begin + 1, 1
        source = reshape(rw, cast(rw, call.src, value.element), (*shape[:axis], 1, *shape[axis + 1 :])) if (
            shape_of(call.src)) or len(shape) == 1 else call.src
    else:
        begin, end, step = bounds(call, shape[axis])
        source = cast(rw, call.src, value.element)
    taken = range(begin, end, step)
    source = expand_to(rw, source, [*shape[:axis], len(taken), *shape[axis + 1 :]])
    return written_slices(rw, value, source, axis, taken)


def written_slices(rw: Rewriter, value: Value, source: Value, axis: int, taken: range) -> Value:
    """A copy with slices of a dimension from another tensor: joined of parts where they lie side by side."""
    from .movement import slice_along

    size = shape_of(value)[axis]
    if not len(taken):
        return value
    if len(taken) == size:
        return source
    if taken.step == 1:
        parts = [slice_along(rw, value, axis, 0, taken.start), source, slice_along(rw, value, axis, taken.stop, size)]
        kept = [part for part in parts if shape_of(part)[axis]]
        return rw.emit("top.Concat", *kept, axis=axis)
    from_source = tables.zeros(size, bool)
    from_source[list(taken)] = True
    places = np.cumsum(from_source) - 1
    spread = rw.emit("top.Gather", source, rw.constant(np.maximum(places, 0).astype(np.int64)), axis=axis)
    mask = from_source.reshape([-1 if i == axis else 1 for i in range(len(shape_of(value)))])
    return rw.emit("top.Where", rw.constant(mask), spread, value)


@TABLE("diagonal_scatter.default", "as_strided_scatter.default")
def diagonal_scatter(call: Call, rw: Rewriter) -> Value:
    """A copy with other numbers on a diagonal, or at places that strides name."""
    value, shape = call.self, shape_of(call.self)
    numbers = counted(math.prod(shape)).reshape(shape)
    if call.base == "diagonal_scatter":
        first, second = (axis_of(dim, len(shape)) for dim in (call.dim1, call.dim2))
        if first == second:
            raise Unsupported(f"takes the diagonal of dimension {first} and itself")
        places = numbers.diagonal(call.offset, first, second)
    else:
        places = strided_places(call, math.prod(shape))
    flat = reshape(rw, value, (math.prod(shape),))
    source = reshape(rw, cast(rw, call.src, value.element), (places.size,))
    made = rw.emit("top.ScatterElements", flat, rw.constant(np.ascontiguousarray(places).reshape(-1).astype(np.int64)), source,
                   axis=0)
    return reshape(rw, made, shape)


@TABLE("masked_scatter.default")
def masked_scatter(call: Call, rw: Rewriter) -> Value:
    """The source's numbers, in order, where a mask is true: the how-manieth place it is says which."""
    value = call.self
    shape = shape_together(value, call.mask)
    mask = reshape(rw, expand_to(rw, cast(rw, call.mask, BOOL), shape), (math.prod(shape),))
    flat = reshape(rw, expand_to(rw, value, shape), (math.prod(shape),))
    source = reshape(rw, cast(rw, call.source, value.element), (math.prod(shape_of(call.source)),))
    if not shape_of(source)[0]:
        return value
    count = rw.emit("top.CumSum", cast(rw, mask, I64), axis=0)
    before = rw.emit("top.Sub", count, number_like(rw, 1, I64))
    place = rw.emit("top.Max", before, number_like(rw, 0, I64))
    place = rw.emit("top.Min", place, number_like(rw, shape_of(source)[0] - 1, I64))
    made = rw.emit("top.Where", mask, rw.emit("top.Gather", source, place, axis=0), flat)
    return reshape(rw, made, shape)


# --- looking up


@TABLE("one_hot.default")
def one_hot(call: Call, rw: Rewriter) -> Value:
    """1 at the place that each index names."""
    if call.num_classes < 1:
        known = np.asarray(rw.need_constant(call.self, "the classes, as num_classes is not given"))
        depth = int(known.max(initial=0)) + 1
    else:
        depth = call.num_classes
    on, off = (number_like(rw, n, call.element) for n in (1, 0))
    return rw.emit("top.OneHot", call.self, on, off, depth=depth, axis=-1)


@TABLE("bucketize.Tensor", "searchsorted.Tensor", "searchsorted.Scalar", "bucketize.Scalar")
def searchsorted(call: Call, rw: Rewriter) -> Value:
    """How many boundaries lie before each number, and before NaN, which is beyond them, all."""
    edges, given = call.get("boundaries") or call.sorted_sequence, call.self
    if call.get("sorter") is not None:
        raise Unsupported("sorts by a table")
    right = call.right or call.choice("side", (None, "left", "right")) == "right"
    element = compared_element(edges, given)
    edges, values = cast(rw, edges, element), operand(given, rw, element)
    shape, sizes = shape_of(values), shape_of(edges)
    edges = reshape(rw, edges, (*sizes[:-1], *((1,) if shape and len(sizes) > 1 else ()), sizes[-1]))
    before = compared_not(rw, edges, reshape(rw, values, (*shape, 1)), "Greater" if right else "GreaterOrEqual")
    made = rw.emit("top.Reduce", cast(rw, before, I64), axes=(len(shape_of(before)) - 1,), keepdims=False, mode="ReduceSum")
    return cast(rw, made, call.element)


@TABLE("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def isin(call: Call, rw: Rewriter) -> Value:
    """Whether each number, or a single one, is among others."""
    numbers, given = (call.get(f"{name}s", call.get(name)) for name in ("element", "test_element"))
    element = compared_element(numbers, given) if isinstance(numbers, Value) else compared_element(given, numbers)
    tests, numbers = operand(given, rw, element), operand(numbers, rw, element)
    tests = reshape(rw, tests, (math.prod(shape_of(tests)),))
    apart = reshape(rw, numbers, (*shape_of(numbers), 1))
    same = rw.emit("top.Compare", apart, tests, mode="Equal")
    made = rw.emit("top.Reduce", same, axes=(len(shape_of(apart)) - 1,), keepdims=False, mode="ReduceAny")
    return rw.emit("top.LogicalNot", made) if call.invert else made


def _not_padding(call: Call, rw: Rewriter, places: Value, count: int) -> Value | None:
    """Which places [n] of rows are none of padding, [n, 1] of truths; None where there is no padding.

    -1 is the last row in the overload of that name, and says that there is none in the others.
    """
    padding = call.get("padding_idx")
    if padding is None or (padding == -1 and call.overload != "padding_idx"):
        return None
    index = number_like(rw, padding + count if padding < 0 else padding, places.element)
    return reshape(rw, rw.emit("top.Compare", places, index, mode="NotEqual"), (shape_of(places)[0], 1))


def _bag_without_padding(rw: Rewriter, bag: Value, kept: Value, mode: str) -> Value:
    """The sum, mean or maximum [1, width] of the rows that are `kept`; zeros where none is."""
    number = rw.emit("top.Reduce", cast(rw, kept, bag.element), axes=(0,), mode="ReduceSum")
    nothing = number_like(rw, 0, bag.element)
    if mode == "ReduceMax":
        most = rw.emit("top.Reduce", rw.emit("top.Where", kept, bag, number_like(rw, -np.inf, bag.element)), axes=(0,), mode=mode)
        return rw.emit("top.Where", rw.emit("top.Compare", number, nothing, mode="Greater"), most, nothing)
    total = rw.emit("top.Reduce", rw.emit("top.Where", kept, bag, nothing), axes=(0,), mode="ReduceSum")
    if mode == "ReduceSum":
        return total
    return rw.emit("top.Div", total, rw.emit("top.Max", number, number_like(rw, 1, number.element)))


@TABLE("_embedding_bag.default", "embedding_bag.default", "embedding_bag.padding_idx", "_embedding_bag_forward_only.default")
def embedding_bag(call: Call, rw: Rewriter) -> list[Value]:
    """Rows of a table, added up or averaged over bags whose beginnings are known; those of an index of padding are left out."""
    shape_of(call.offsets, 1)
    known = rw.constant_of(call.offsets)
    if known is None:
        raise Unsupported(
            "the beginnings of its bags are computed at run time, or given",
            "bags of one size need none: indices [bags, size]; fill shorter ones with padding_idx, which is left out")
    offsets = np.asarray(known).tolist()
    places = shape_of(call.indices)[0]
    if call.get("include_last_offset", False):
        offsets = offsets[:-1]
    ends = [*offsets, places][1:]
    if offsets and (offsets[0] != 0 or any(begin > end for begin, end in zip(offsets, ends, strict=False))):
        raise Unsupported(f"has bags that begin at {offsets[:9]}, of {places} indices", "they begin at 0, one behind the other")
    count = shape_of(call.weight, 2)[0]
    places_of_rows = _from_front(rw, call.indices, count)
    rows = rw.emit("top.Gather", call.weight, places_of_rows, axis=0)
    kept = _not_padding(call, rw, places_of_rows, count)
    if call.per_sample_weights is not None:
        rows = rw.emit("top.Mul", rows, reshape(rw, call.per_sample_weights, (places, 1)))
    made = []
    for begin, end in zip(offsets, ends, strict=True):
        if end <= begin:
            made.append(splat(rw, 0.0, (1, shape_of(rows)[1]), rows.element))
            continue
        bag = slice_along(rw, rows, 0, begin, end)
        mode = ("ReduceSum", "ReduceMean", "ReduceMax")[call.choice("mode", range(3))]
        made.append(rw.emit("top.Reduce", bag, axes=(0,), mode=mode) if kept is None else
                    _bag_without_padding(rw, bag, slice_along(rw, kept, 0, begin, end), mode))
    for place in (1, 2, 3):
        call.refuse_use(place, "what training needs")
    whole = splat(rw, 0.0, (0, shape_of(rows)[1]), rows.element) if not made else (
        made[0] if len(made) == 1 else rw.emit("top.Concat", *made, axis=0))
    return [whole] * len(call.op.results)


