# ruff: noqa: E501 - lines of programs
"""A program of StableHLO or CHLO on special numbers computes what XLA computes by it, in the reference engine and where it is converted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import transload
from transload.errors import RunError, TransloadError
from transload.ir import dtype_of
from transload.text import parse_type
from transload.worker import ChildEnded

from tests.drawn import Outcome
from tests.support import jaxlib_judge
from tests.support.xla_oracle import COMPLEX, body, comparator, differs, ints, pairs, tensor_type

SAMPLE = 16

FLOATS = ("bf16", "f16", "f32", "f32", "f64", "f8E4M3FN", "f8E5M2")
SIGNED = ("i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui4", "ui8", "ui16", "ui32", "ui64")
ALL = ("i1", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)


@dataclass(frozen=True)
class Value:
    """A value of a program; `exact` where it is the same number in all implementations, bit for bit."""

    name: str
    shape: tuple[int, ...]
    element: str
    exact: bool = True

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)


@dataclass
class Program:
    """Statements on arguments, and the values that they give."""

    rng: random.Random
    arguments: list[tuple[Value, np.ndarray]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    results: list[tuple[Value, str]] = field(default_factory=list)

    def argument(self, shape: Sequence[int], element: str, values: np.ndarray | None = None) -> Value:
        value = Value(f"%a{len(self.arguments)}", tuple(shape), element)
        array = special(self.rng, shape, element) if values is None else np.asarray(values).astype(dtype_of(parse_type(element))).reshape(shape)
        self.arguments.append((value, array))
        return value

    def some(self, elements: Sequence[str], shape: Sequence[int] | None = None, exact: bool = True) -> Value:
        """A value of the program that is of one of these types, or a new argument."""
        known = [value for value in (*(v for v, _ in self.arguments), *(v for v, _ in self.results))
                 if value.element in elements and (shape is None or value.shape == tuple(shape)) and (value.exact or not exact)]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        return self.argument(self.shape() if shape is None else shape, self.rng.choice(elements))

    def shape(self) -> tuple[int, ...]:
        return self.rng.choice(((), (1,), (5,), (2, 3), (3, 4), (2, 1, 3), (0, 2), (2, 2, 2, 2)))

    def op(self, name: str, operands: Sequence[Value], *results: tuple[Sequence[int], str], attributes: str = "", region: str = "", exact: bool = True) -> list[Value]:
        number = len(self.lines)
        values = [Value(f"%r{number}#{place}" if len(results) > 1 else f"%r{number}", tuple(shape), element, exact and all(v.exact for v in operands))
                  for place, (shape, element) in enumerate(results)]
        left = f"%r{number}:{len(results)}" if len(results) > 1 else f"%r{number}"
        properties = f" <{{{attributes}}}>" if attributes else ""
        regions = f" ({region})" if region else ""
        types = ", ".join(operand.type for operand in operands)
        name = name if "." in name else f"stablehlo.{name}"
        self.lines.append(f'{left} = "{name}"({", ".join(v.name for v in operands)}){properties}{regions} : ({types}) -> ({", ".join(v.type for v in values)})')
        self.results += [(value, f"{name} of {', '.join(v.element for v in operands)}") for value in values]
        return values

    def text(self) -> str:
        parameters = ", ".join(f"{value.name}: {value.type}" for value, _ in self.arguments)
        given, types = (", ".join(v.type for v, _ in each) for each in (self.arguments, self.results))
        lines = "\n".join(self.lines)
        return (f'"builtin.module"() ({{\n"func.func"() <{{function_type = ({given}) -> ({types}), sym_name = "main"}}> ({{\n^bb0({parameters}):\n{lines}\n'
                f'"func.return"({", ".join(v.name for v, _ in self.results)}) : ({types}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n')


def special(rng: random.Random, shape: Sequence[int], element: str) -> np.ndarray:
    """Numbers of a type: small ones, and those where functions have their corners."""
    type_, dtype = parse_type(element), dtype_of(parse_type(element))
    count = int(np.prod(shape))
    if element == "i1":
        return np.array([rng.random() < 0.5 for _ in range(count)], np.bool_).reshape(shape)
    if element.startswith("complex"):
        parts = [special(rng, shape, element[8:-1]).astype(dtype) for _ in range(2)]
        made = np.empty(shape, dtype)
        made.real, made.imag = parts[0].real, parts[1].real
        return made
    if element.startswith(("i", "ui")):
        low, high = type_.range  # type: ignore[attr-defined]
        corners = [low, high, 0, 1, high - 1, low + 1, min(7, high), max(-1, low)]
        return np.array([rng.choice(corners) if rng.random() < 0.5 else rng.randint(max(low, -9), min(high, 9)) for _ in range(count)], object).astype(
            np.uint64 if low == 0 else np.int64).astype(dtype).reshape(shape)
    corners_ = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, float("inf"), float("-inf"), float("nan"), 1e-3, 88.0, -104.0, 1e4, 3.4e38, -1e30, 1.0000001, 3.1415927]
    numbers = [rng.choice(corners_) if rng.random() < 0.5 else rng.uniform(-4, 4) for _ in range(count)]
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64).astype(np.float32).astype(dtype).reshape(shape)


# --- ops


UNARY_EXACT = ("abs", "ceil", "floor", "negate", "round_nearest_afz", "round_nearest_even", "sign")
UNARY = ("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh")
CHLO_UNARY = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf", "erf_inv", "erfc", "lgamma", "sinh", "square", "tan")
BINARY_EXACT = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder")
INTEGER = ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power")
ORDERED = ("chlo.top_k", "stablehlo.sort")
"""Ops whose results are the same bits in the hub: a tolerance sees no zero that another one stands before."""
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _unary(p: Program) -> None:
    x = p.some(FLOATS)
    p.op(p.rng.choice(UNARY_EXACT), [x], (x.shape, x.element))


def _function(p: Program) -> None:
    x = p.some((*FLOATS, *COMPLEX))
    p.op(p.rng.choice([op for op in UNARY if op != "cbrt" or not x.element.startswith("c")]), [x], (x.shape, x.element), exact=False)


def _chlo(p: Program) -> None:
    x = p.some(("f32", "f64", "f16", "bf16"))
    p.op(f"chlo.{p.rng.choice(CHLO_UNARY)}", [x], (x.shape, x.element), exact=False)


def _chlo_binary(p: Program) -> None:
    op, element = p.rng.choice(("next_after", "zeta", "polygamma")), p.rng.choice(("f32", "f64"))
    if op == "next_after":
        x = p.some((element,))
        p.op("chlo.next_after", [x, p.some((element,), x.shape)], (x.shape, element))
    else:  # of moderate numbers: XLA makes subnormal ones 0, which others are multiplied with
        x, y = (p.argument((4,), element, np.array([p.rng.randint(least, 6) + p.rng.choice((0, 0.5)) for _ in range(4)])) for least in (1, -3))
        p.op(f"chlo.{op}", [x, y], (x.shape, element), exact=False)


def _complex(p: Program) -> None:
    op = p.rng.choice(("abs", "real", "imag", "negate", "sign", "conj", "add", "subtract", "multiply", "divide", "power"))
    x = p.some(COMPLEX)
    operands = [x, p.some((x.element,), x.shape)] if op in ("add", "subtract", "multiply", "divide", "power") else [x]
    p.op("chlo.conj" if op == "conj" else op, operands, (x.shape, x.element[8:-1] if op in ("abs", "real", "imag") else x.element), exact=False)


def _binary(p: Program) -> None:
    x = p.some(FLOATS)
    p.op(p.rng.choice(BINARY_EXACT), [x, p.some((x.element,), x.shape)], (x.shape, x.element))


def _power(p: Program) -> None:
    x = p.some(("f32", "f64", "f16", "bf16"))
    p.op(p.rng.choice(("power", "atan2")), [x, p.some((x.element,), x.shape)], (x.shape, x.element), exact=False)


def _integer(p: Program) -> None:
    x = p.some((*SIGNED, *UNSIGNED))
    op = p.rng.choice((*INTEGER, "not", "negate", "abs", "sign", "popcnt", "count_leading_zeros"))
    if x.element[0] == "u" and op in ("negate", "abs", "sign"):
        op = "not"
    p.op(op, [x, p.some((x.element,), x.shape)] if op in INTEGER else [x], (x.shape, x.element))


def _compare(p: Program) -> None:
    x = p.some(("i1", *SIGNED, *UNSIGNED, *FLOATS))
    total = ", compare_type = #stablehlo<comparison_type TOTALORDER>" if x.element in FLOATS and p.rng.random() < 0.5 else ""
    flags = p.op("compare", [x, p.some((x.element,), x.shape)], (x.shape, "i1"), attributes=f"comparison_direction = #stablehlo<comparison_direction {p.rng.choice(DIRECTIONS)}>{total}")
    if p.rng.random() < 0.5:
        y = p.some(ALL, x.shape)
        p.op("select", [*flags, y, p.some((y.element,), x.shape)], (y.shape, y.element))


def _convert(p: Program) -> None:
    x, to = p.some(ALL), p.rng.choice(ALL)
    p.op("convert", [x], (x.shape, to))


def _bits(p: Program) -> None:
    x = p.some(("f32", "i32", "ui32", "f16", "bf16", "i16", "i8", "f64", "i64"))
    width = {"f32": 32, "bf16": 16}.get(x.element) or int(x.element.lstrip("uif"))
    to = p.rng.choice(("i8", "i16", "i32", "i64"))
    other = int(to[1:])
    if width > other:
        p.op("bitcast_convert", [x], ((*x.shape, width // other), to))
    elif width == other:
        p.op("bitcast_convert", [x], (x.shape, to))
    else:
        y = p.argument((2, other // width), x.element)
        p.op("bitcast_convert", [y], ((2,), to))


def _clamp(p: Program) -> None:
    x = p.some((*SIGNED, *UNSIGNED, *FLOATS))
    ends = [p.some((x.element,), p.rng.choice(((), x.shape))) for _ in range(2)]
    p.op("clamp", [ends[0], x, ends[1]], (x.shape, x.element))


def _precision(p: Program) -> None:
    x = p.some(("f32", "f64", "f16", "bf16"))
    p.op("reduce_precision", [x], (x.shape, x.element), attributes=f"exponent_bits = {p.rng.randint(1, 8)} : i32, mantissa_bits = {p.rng.randint(0, 10)} : i32")


def _movement(p: Program) -> None:
    x, rng = p.some(ALL), p.rng
    rank = len(x.shape)
    what = rng.randrange(7)
    if what == 0:
        order = rng.sample(range(rank), rank)
        p.op("transpose", [x], ([x.shape[i] for i in order], x.element), attributes=f"permutation = {ints(order)}")
    elif what == 1:
        p.op("reverse", [x], (x.shape, x.element), attributes=f"dimensions = {ints(rng.sample(range(rank), rng.randint(0, rank)))}")
    elif what == 2:
        low, high, inside = ([rng.randint(least, 3) for _ in x.shape] for least in (-2, -2, 0))
        sizes = [a + b + size + max(size - 1, 0) * c for a, b, c, size in zip(low, high, inside, x.shape, strict=True)]
        if min(sizes, default=0) >= 0:
            p.op("pad", [x, p.some((x.element,), ())], (sizes, x.element), attributes=f"edge_padding_low = {ints(low)}, edge_padding_high = {ints(high)}, interior_padding = {ints(inside)}")
    elif what == 3:
        begin = [rng.randint(0, size) for size in x.shape]
        end = [rng.randint(a, size) for a, size in zip(begin, x.shape, strict=True)]
        step = [rng.randint(1, 3) for _ in x.shape]
        p.op("slice", [x], ([-((a - b) // c) for a, b, c in zip(begin, end, step, strict=True)], x.element),
             attributes=f"start_indices = {ints(begin)}, limit_indices = {ints(end)}, strides = {ints(step)}")
    elif what == 4 and rank:
        index = rng.choice(("i8", "ui8", "i32", "i64", "ui32"))
        starts = [p.argument((), index) for _ in x.shape]
        sizes = [rng.randint(0, size) for size in x.shape]
        part = p.op("dynamic_slice", [x, *starts], (sizes, x.element), attributes=f"slice_sizes = {ints(sizes)}")
        p.op("dynamic_update_slice", [x, *part, *reversed(starts)], (x.shape, x.element))
    elif what == 5 and rank:
        axis = rng.randrange(rank)
        p.op("concatenate", [x, x, x], ([3 * size if i == axis else size for i, size in enumerate(x.shape)], x.element), attributes=f"dimension = {axis} : i64")
    else:
        places = sorted(rng.sample(range(rank + 1), rank))
        sizes = [2] * (rank + 1)
        for i, place in enumerate(places):
            sizes[place] = x.shape[i] if x.shape[i] != 1 else rng.choice((1, 3))
        p.op("broadcast_in_dim", [x], (sizes, x.element), attributes=f"broadcast_dimensions = {ints(places)}")


def _combiner(p: Program, element: str) -> tuple[str, float, bool]:
    """A function of two numbers, its identity, and whether the order in which it is applied is all one."""
    if element in FLOATS:
        op = p.rng.choice(("maximum", "minimum", "add"))
        return op, {"maximum": -np.inf, "minimum": np.inf, "add": 0.0}[op], op != "add"
    low, high = (0, 1) if element == "i1" else parse_type(element).range  # type: ignore[attr-defined]
    op = p.rng.choice(("maximum", "minimum", "or", "and") if element == "i1" else ("maximum", "minimum", "add", "multiply", "and", "or", "xor"))
    return op, {"maximum": low, "minimum": high, "add": 0, "multiply": 1, "and": -1 if low < 0 else high, "or": 0, "xor": 0}[op], True


REDUCED = ("i1", "i8", "ui8", "i32", "i64", "ui32", "bf16", "f16", "f32", "f64")


def _reduce(p: Program) -> None:
    x = p.some(REDUCED)
    op, start, exact = _combiner(p, x.element)
    axes = sorted(p.rng.sample(range(len(x.shape)), p.rng.randint(0, len(x.shape))))
    initial = p.argument((), x.element, np.array(start))
    p.op("reduce", [x, initial], ([size for i, size in enumerate(x.shape) if i not in axes], x.element),
         attributes=f"dimensions = {ints(axes)}", region=body(op, x.element), exact=exact)


def _window(p: Program) -> None:
    rng, rank = p.rng, p.rng.randint(1, 3)
    x = p.argument([rng.randint(1, 5) for _ in range(rank)], rng.choice(REDUCED[1:]))
    op, start, exact = _combiner(p, x.element)
    window, stride, inside, apart = ([rng.randint(1, most) for _ in range(rank)] for most in (3, 3, 2, 2))
    padding = [[rng.randint(-1, 2), rng.randint(-1, 2)] for _ in range(rank)]
    sizes = []
    for i, size in enumerate(x.shape):
        whole = (size - 1) * inside[i] + 1 + sum(padding[i])
        if whole < 0:
            return
        sizes.append(max(0, (whole - ((window[i] - 1) * apart[i] + 1)) // stride[i] + 1))
    p.op("reduce_window", [x, p.argument((), x.element, np.array(start))], (sizes, x.element),
         attributes=f"window_dimensions = {ints(window)}, window_strides = {ints(stride)}, base_dilations = {ints(inside)}, window_dilations = {ints(apart)}, padding = {pairs(padding)}",
         region=body(op, x.element), exact=exact)


def _sort(p: Program) -> None:
    x = p.some(REDUCED)
    if not x.shape:
        return
    direction = p.rng.choice(("LT", "GT"))
    y = p.some(ALL, x.shape)
    region = comparator(direction, x.element, (y.element,))
    if x.element in FLOATS:
        region = region.replace(f"comparison_direction {direction}>", f"comparison_direction {direction}>, compare_type = #stablehlo<comparison_type TOTALORDER>")
    p.op("sort", [x, y], (x.shape, x.element), (y.shape, y.element),
         attributes=f"dimension = {p.rng.randrange(-len(x.shape), len(x.shape))} : i64, is_stable = true", region=region)


def _top_k(p: Program) -> None:
    x = p.some(("f32", "bf16", "f16", "i32", "i8", "ui8", "f64", "i64"))
    if x.shape:
        k = p.rng.randint(0, x.shape[-1])
        p.op("chlo.top_k", [x], ((*x.shape[:-1], k), x.element), ((*x.shape[:-1], k), "i32"), attributes=f"k = {k} : i64")


def _gather(p: Program) -> None:
    x = p.argument((4, 3, 5), p.rng.choice(ALL))
    index = p.rng.choice(("i8", "ui8", "i32", "i64", "ui32"))
    mapped = p.rng.sample(range(3), p.rng.randint(1, 3))
    at = p.rng.randint(0, 2)
    shape = [2, 3]
    shape.insert(at, len(mapped))
    indices = p.argument(shape, index)
    sizes = [p.rng.randint(0, size) for size in x.shape]
    collapsed = sorted(i for i in range(3) if sizes[i] <= 1 and p.rng.random() < 0.7)
    window = [size for i, size in enumerate(sizes) if i not in collapsed]
    places = sorted(p.rng.sample(range(len(window) + 2), len(window)))
    batch, kept = iter((2, 3)), iter(window)
    p.op("gather", [x, indices], ([next(kept) if i in places else next(batch) for i in range(len(window) + 2)], x.element),
         attributes=f"dimension_numbers = #stablehlo.gather<offset_dims = {places}, collapsed_slice_dims = {collapsed}, start_index_map = {mapped}, index_vector_dim = {at}>, slice_sizes = {ints(sizes)}")


def _scatter(p: Program) -> None:
    rng = p.rng
    x = p.argument((4, 3, 5), rng.choice(REDUCED[1:]))
    mapped = rng.sample(range(3), rng.randint(1, 3))
    sizes = [rng.randint(1, size) for size in x.shape]
    inserted = [i for i in range(3) if sizes[i] == 1 and rng.random() < 0.7]
    limits = [[x.shape[i] - sizes[i]] for i in mapped]  # windows inside of the operand: XLA drops others whole
    numbers = np.stack([np.array([rng.randint(0, limit[0]) for _ in range(2)]) for limit in limits], -1)
    indices = p.argument((2, len(mapped)), rng.choice(("i8", "i32", "i64", "ui32")), numbers)
    window = [size for i, size in enumerate(sizes) if i not in inserted]
    places = sorted(rng.sample(range(len(window) + 1), len(window)))
    kept = iter(window)
    updates = p.argument([next(kept) if i in places else 2 for i in range(len(window) + 1)], x.element)
    op, _, exact = _combiner(p, x.element)
    p.op("scatter", [x, indices, updates], (x.shape, x.element), region=body(op, x.element), exact=exact,
         attributes=f"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {places}, inserted_window_dims = {inserted}, scatter_dims_to_operand_dims = {mapped}, index_vector_dim = 1>")


def _dot(p: Program) -> None:
    rng = p.rng
    element = rng.choice(("i8", "ui8", "i32", "i64", "bf16", "f16", "f32", "f64", *COMPLEX))
    x = p.argument((2, 3, 4), element, small(rng, (2, 3, 4), element))
    batch = rng.random() < 0.5
    shape, contract = rng.choice((((2, 4, 3), [2, 1]), ((2, 3, 4), [1, 2]))) if batch else rng.choice((((3, 5), []), ((4, 2), []), ((4, 3), [])))
    y = p.argument(shape, element, small(rng, shape, element))
    if batch:
        text, sizes = f"lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = {contract}", [2]
    elif shape == (4, 3):
        text, sizes = "lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [1, 0]", [2]
    else:
        at = 1 if shape[0] == 3 else 2
        text, sizes = f"lhs_contracting_dimensions = [{at}], rhs_contracting_dimensions = [0]", [2, 7 - x.shape[at], shape[1]]
    out = {"i8": "i32", "ui8": "ui32", "bf16": "f32"}.get(element, element) if rng.random() < 0.5 else element
    p.op("dot_general", [x, y], (sizes, out), attributes=f"dot_dimension_numbers = #stablehlo.dot<{text}>", exact=element[0] in "iu")


def _convolution(p: Program) -> None:
    rng = p.rng
    element = rng.choice(("i8", "i32", "f32", "f16", "bf16", "f64"))
    groups, batches = rng.choice(((1, 1), (2, 1), (1, 2)))
    inputs, features = 2 * groups, 2 * groups * batches
    batch, sizes, window = 2 * batches, [rng.randint(3, 6) for _ in range(2)], [rng.randint(1, 3) for _ in range(2)]
    stride, inside, apart = ([rng.randint(1, 2) for _ in range(2)] for _ in range(3))
    padding = [[rng.randint(-1, 2), rng.randint(-1, 2)] for _ in range(2)]
    out = [((n - 1) * d + 1 + sum(pad) - ((w - 1) * a + 1)) // s + 1 for n, d, pad, w, a, s in zip(sizes, inside, padding, window, apart, stride, strict=True)]
    if min(out) < 1:
        return
    orders = [rng.sample(range(4), 4) for _ in range(3)]
    parts = [{"b": batch, "f": inputs, "0": sizes[0], "1": sizes[1]}, {"i": inputs // groups, "o": features, "0": window[0], "1": window[1]}, {"b": batch // batches, "f": features, "0": out[0], "1": out[1]}]
    letters = [[list(part)[i] for i in order] for part, order in zip(parts, orders, strict=True)]
    shapes = [[part[letter] for letter in names] for part, names in zip(parts, letters, strict=True)]
    x, w = (p.argument(shape, element, small(rng, shape, element)) for shape in shapes[:2])
    names = [f"[{', '.join(each)}]" for each in letters]
    p.op("convolution", [x, w], (shapes[2], element), exact=element[0] == "i",
         attributes=f"dimension_numbers = #stablehlo.conv<{names[0]}x{names[1]}->{names[2]}>, window_strides = {ints(stride)}, lhs_dilation = {ints(inside)}, rhs_dilation = {ints(apart)}, "
         f"padding = {pairs(padding)}, window_reversal = array<i1: {', '.join(rng.choice(('true', 'false')) for _ in range(2))}>, feature_group_count = {groups} : i64, batch_group_count = {batches} : i64")


def _control(p: Program) -> None:
    x, rng = p.some(ALL), p.rng
    index = p.argument((), "i32")
    branches = rng.randint(1, 3)
    others = [p.some((x.element,), x.shape) for _ in range(branches)]
    regions = ", ".join(f'{{\n"stablehlo.return"({v.name}) : ({v.type}) -> ()\n}}' for v in others)
    p.op("case", [index], (x.shape, x.element), region=regions, exact=all(v.exact for v in others))


def _loop(p: Program) -> None:
    x = p.some(("i32", "i8", "f32", "ui8", "i64"))
    limit = p.rng.randint(-1, 5)
    t = x.type
    region = (f'{{\n^bb0(%i: tensor<i32>, %v: {t}):\n%n = "stablehlo.constant"() <{{value = dense<{limit}> : tensor<i32>}}> : () -> tensor<i32>\n'
              '%c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>\n'
              f'"stablehlo.return"(%c) : (tensor<i1>) -> ()\n}}, {{\n^bb0(%i: tensor<i32>, %v: {t}):\n%o = "stablehlo.constant"() <{{value = dense<1> : tensor<i32>}}> : () -> tensor<i32>\n'
              f'%j = "stablehlo.add"(%i, %o) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n%w = "stablehlo.{p.rng.choice(("add", "multiply", "negate"))}"(%v, {x.name}) : ({t}, {t}) -> {t}\n'
              f'"stablehlo.return"(%j, %w) : (tensor<i32>, {t}) -> ()\n}}')
    region = region.replace(f'"stablehlo.negate"(%v, {x.name}) : ({t}, {t})', f'"stablehlo.negate"(%v) : ({t})')
    p.op("while", [p.argument((), "i32", np.array(0)), x], ((), "i32"), (x.shape, x.element), region=region)


def _scan(p: Program) -> None:
    x = p.argument((3, 2), p.rng.choice(("f32", "i32", "i8", "f64")))
    dimension = p.rng.randrange(2)
    rest = (x.shape[1 - dimension],)
    start, t = p.argument(rest, x.element), tensor_type(rest, x.element)
    region = (f'{{\n^bb0(%e: {t}, %c: {t}):\n%s = "stablehlo.subtract"(%e, %c) : ({t}, {t}) -> {t}\n%m = "stablehlo.maximum"(%s, %e) : ({t}, {t}) -> {t}\n'
              f'"stablehlo.return"(%m, %s) : ({t}, {t}) -> ()\n}}')
    backwards = p.rng.choice(("", ", is_reverse = true", ", is_reverse = false", ", is_associative = false"))
    p.op("chlo.scan", [x, start], (x.shape, x.element), (rest, x.element), region=region,
         attributes=f"dimension = {dimension} : i64{backwards}, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>")


def _fft(p: Program) -> None:
    n = p.rng.randint(1, 6)
    kind = p.rng.choice(("FFT", "IFFT", "RFFT", "IRFFT"))
    wide = p.rng.choice(("f32", "f64"))
    element = wide if kind == "RFFT" else f"complex<{wide}>"
    size = n // 2 + 1 if kind == "IRFFT" else n
    x = p.argument((2, size), element, small(p.rng, (2, size), element))
    p.op("fft", [x], ((2, n // 2 + 1 if kind == "RFFT" else n), wide if kind == "IRFFT" else f"complex<{wide}>"),
         attributes=f"fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {n}>", exact=False)


def small(rng: random.Random, shape: Sequence[int], element: str) -> np.ndarray:
    """Numbers whose sums of products are near each other in whatever order."""
    values = np.array([rng.randint(0 if element[0] == "u" else -4, 4) / (1 if element[0] in "iu" else 4) for _ in range(int(np.prod(shape)))])
    return values + (1j * values[::-1] if element.startswith("complex") else 0)


MAKERS: tuple[Callable[[Program], None], ...] = (
    _unary, _function, _function, _chlo, _chlo, _chlo_binary, _complex, _binary, _power, _integer, _integer, _compare, _convert, _convert, _bits, _clamp, _precision, _movement, _movement,
    _reduce, _window, _sort, _top_k, _gather, _scatter, _dot, _convolution, _control, _loop, _scan, _fft)


def made(number: int) -> Program:
    """The program of that number."""
    program = Program(random.Random(number))
    for _ in range(program.rng.choice((1, 1, 2, 3, 5))):
        program.rng.choice(MAKERS)(program)
    while not program.results:
        program.rng.choice(MAKERS)(program)
    return program


# --- the judge


def draw(number: int, folder: Path) -> Outcome:
    program = made(number)
    text, arrays = program.text(), [array for _, array in program.arguments]
    why, _ = jaxlib_judge.verdict(text)
    assert not why, f"the program is not valid: {why}\n{text}"
    try:
        wanted = jaxlib_judge.computed(text, arrays)
    except (RunError, ChildEnded):
        return Outcome("not judged")
    path = folder / "program.mlir"
    path.write_text(text)
    try:
        module = transload.load(path, format="stablehlo")
    except TransloadError as error:
        return Outcome("unread", f"is not read: {error.message[:100]}\n{error}\n{text}")
    given = dict(zip(transload.ir.input_names(module.main), arrays, strict=True))
    found = list(transload.run(module, given, engine="reference").values())
    wrong = _difference(program, found, wanted, "the reference engine")
    if wrong:
        return Outcome("differs", wrong)
    if all(label.split()[0] in ORDERED for _, label in program.results):
        found = list(transload.run(transload.legalize(module), given, engine="reference").values())
        if wrong := _difference(program, found, wanted, "the hub"):
            return Outcome("hub differs", wrong)
    if number % 4:
        return Outcome("same")
    target = ("tosa", "stablehlo", "xla-cpu")[number // 4 % 3]
    try:
        artifact = transload.convert(path, target, folder / "out", format="stablehlo", input_data=given)
    except TransloadError as error:
        return Outcome(f"{target} refuses") if "verification" not in error.message else Outcome("unlike", f"{target}: {error.message[:150]}\n{error}\n{text}")
    judged = artifact.report.verification
    assert judged is not None
    far = [row.name for row in judged.outputs if row.equal not in (None, 1.0) or row.metrics.get("max_abs", 0.0) > 1e-3]
    if judged.status == "failed" and far:
        return Outcome(f"{target} failed", f"{target} is another program: {', '.join(judged.broken)[:150]}\n{judged}\n{_given(program)}\n{text}")
    said = " ".join(str(note) for note in artifact.report.notes)
    if target == "tosa" and "xf64>" in text and "f64" not in said:
        return Outcome("silent", f"f64 is narrowed without a word\n{said}\n{text}")
    return Outcome(f"{target} {judged.status}")


def _given(program: Program) -> str:
    return "\n".join(f"{each.name} = {array.tolist()}" for each, array in program.arguments)


def _with_limits(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Complex numbers of XLA's with our parts where its are NaN: of 0 times what overflows, which has a limit (docs/stablehlo.md)."""
    made = theirs.copy()
    made.real, made.imag = (np.where(np.isnan(part), own, part) for part, own in ((theirs.real, mine.real), (theirs.imag, mine.imag)))
    return made


def _difference(program: Program, found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], where: str) -> str:
    for (value, label), mine, theirs in zip(program.results, found, wanted, strict=True):
        element = parse_type(value.element)
        if value.element in COMPLEX:
            theirs = _with_limits(mine, theirs)
        why = differs(mine, theirs, element, 0 if value.exact and not value.element.startswith("c") else None)
        if why:
            return f"{where} differs: {label}\n{value.name}: {why}\n{_given(program)}\n{program.text()}"
    return ""
