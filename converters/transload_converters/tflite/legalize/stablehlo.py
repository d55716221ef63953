"""StableHLO operations as operators of TFLite: each becomes the op of the dialect `stablehlo` that it is.

From there they go on to the hub by the conversion `stablehlo-to-top`, whose rules are tried in the same walk. Options
become attributes, and subgraphs the regions that they stand for: in those, plain operators of TFLite become StableHLO, too.

Where LiteRT has a kernel it works on stored numbers; the others take quantized tensors as StableHLO defines them.

Source: the TFLite schema, tables `Stablehlo...Options`; `tensorflow/lite/kernels/stablehlo_*.cc`, `reduce_window.cc`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I64, Block, Dense, Op, OpaqueAttr, Region, TensorType, Type, Value
from transload.ir.registry import lookup
from transload.ir.verify import check
from transload.rewrite import Rewriter, RewriteTable, convert_ops
from transload_hub.ops.cast import width_of

from .common import constant_ints, static_shape
from .control import subgraph_region
from .storage import plain_integers

TABLE = RewriteTable()

_PLAIN = (
    "abs", "and", "cbrt", "clamp", "convert", "cosine", "divide", "dynamic_slice", "exponential", "floor", "log", "logistic",
    "negate", "or", "power", "remainder", "reshape", "rsqrt", "select", "subtract", "tanh",
    "concatenate", "iota", "slice", "transpose",
)
"""Without attributes, or with those of the same names; no kernel in LiteRT."""
_PLAIN_WITH_KERNEL = ("add", "dynamic_update_slice", "maximum", "minimum", "multiply", "pad", "shift_left")


def _named(*names: str) -> Callable[[Op], dict[str, Any]]:
    """A function that takes over attributes of these names."""
    return lambda op: {name: op.attribute(name) for name in names}


_ATTRIBUTES: dict[str, Callable[[Op], dict[str, Any]]] = {
    "concatenate": _named("dimension"),
    "dynamic_slice": _named("slice_sizes"),
    "iota": _named("iota_dimension"),
    "pad": _named("edge_padding_low", "edge_padding_high", "interior_padding"),
    "slice": _named("start_indices", "limit_indices", "strides"),
    "transpose": _named("permutation"),
}


@TABLE(*(f"tfl.stablehlo_{name}" for name in _PLAIN))
def plain(op: Op, rw: Rewriter) -> Any:
    """ABS, ADD and so on, CONCATENATE, IOTA, PAD, SLICE, TRANSPOSE: the op of that name."""
    name = op.name.removeprefix("tfl.stablehlo_")
    operands = () if name == "iota" else op.operands
    return _emit(op, rw, name, operands, _ATTRIBUTES.get(name, _named())(op))


TABLE(*(f"tfl.stablehlo_{name}" for name in _PLAIN_WITH_KERNEL))(plain_integers(plain))


@TABLE("tfl.stablehlo_broadcast_in_dim")
def broadcast_in_dim(op: Op, rw: Rewriter) -> Any:
    """BROADCAST_IN_DIM: the shape is that of the result, also where an operand repeats it."""
    static_shape(op.results[0], "the result")
    return _emit(op, rw, "broadcast_in_dim", op.operands[:1], _named("broadcast_dimensions")(op))


@TABLE("tfl.stablehlo_compare")
def compare(op: Op, rw: Rewriter) -> Any:
    """COMPARE: the members of the enumerations have longer names."""
    direction, kind = (str(op.attribute(name)) for name in ("comparison_direction", "compare_type"))
    direction, kind = direction.rpartition("_")[2], kind.removeprefix("STABLEHLO_COMPARISON_TYPE_").removeprefix("FLOAT_")
    order = {} if kind == "NOTYPE" else {"compare_type": kind.replace("_", "")}
    return _emit(op, rw, "compare", op.operands, {"comparison_direction": direction, **order})


@TABLE("tfl.stablehlo_dot_general")
def dot_general(op: Op, rw: Rewriter) -> Any:
    """DOT_GENERAL."""
    names = [f"{side}_{kind}_dimensions" for kind in ("batching", "contracting") for side in ("lhs", "rhs")]
    return _emit(op, rw, "dot_general", op.operands, {"dot_dimension_numbers": _structure("dot", op, names)})


@TABLE("tfl.stablehlo_convolution")
def convolution(op: Op, rw: Rewriter) -> Any:
    """CONVOLUTION."""
    roles = [
        f"{part}_{role}_dimension{plural}" for part, roles in (("input", ("batch", "feature")), (
            "kernel", ("input_feature", "output_feature")), ("output", ("batch", "feature")))
        for role, plural in (*((role, "") for role in roles), ("spatial", "s"))]
    attributes = {
        "dimension_numbers": _structure("conv", op, roles, "raw "), "padding": _pairs(op.attribute("padding")),
        **_given(op, "window_strides", "lhs_dilation", "rhs_dilation"),
        **_named("feature_group_count", "batch_group_count")(op),
    }
    if any(op.attribute("window_reversal")):
        attributes["window_reversal"] = tuple(map(bool, op.attribute("window_reversal")))
    return _emit(op, rw, "convolution", op.operands, attributes)


@TABLE("tfl.stablehlo_gather")
@plain_integers
def gather(op: Op, rw: Rewriter) -> Any:
    """GATHER."""
    names = ("offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim")
    return _emit(op, rw, "gather", op.operands, {
        "dimension_numbers": _structure("gather", op, names), **_named("slice_sizes", "indices_are_sorted")(op)})


@TABLE("tfl.stablehlo_scatter")
@plain_integers
def scatter(op: Op, rw: Rewriter) -> Any:
    """SCATTER."""
    names = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "index_vector_dim")
    attributes = {
        "scatter_dimension_numbers": _structure("scatter", op, names), **_named("indices_are_sorted", "unique_indices")(op)}
    return _emit(op, rw, "scatter", op.operands, attributes, [_computation(rw, op.attribute("update_computation"))])


@TABLE("tfl.stablehlo_reduce")
def reduce(op: Op, rw: Rewriter) -> Any:
    """REDUCE."""
    return _emit(op, rw, "reduce", op.operands, _named("dimensions")(op), [_computation(rw, op.attribute("body"))])


@TABLE("tfl.stablehlo_reduce_window")
@plain_integers
def reduce_window(op: Op, rw: Rewriter) -> Any:
    """REDUCE_WINDOW."""
    attributes = {
        **_given(op, "window_dimensions", "window_strides", "base_dilations", "window_dilations"),
        "padding": _pairs(op.attribute("padding") or (0,) * (2 * len(op.attribute("window_dimensions"))))}
    return _emit(op, rw, "reduce_window", op.operands, attributes, [_computation(rw, op.attribute("body"))])


_COMBINING = {"ADD": "add", "MUL": "multiply", "MINIMUM": "minimum", "MAXIMUM": "maximum", "ALL": "and", "ANY": "or"}


@TABLE("tfl.reduce_window")
@plain_integers
def window(op: Op, rw: Rewriter) -> Any:
    """REDUCE_WINDOW, TFLite's own: sizes are operands, and nothing is padded."""
    function = op.attribute("reduce_function")
    if function not in _COMBINING:
        raise Unsupported(f"the function {function} of windows is not known", f"known are {', '.join(_COMBINING)}")
    value, init, *sizes = op.operands
    names = ("window_dimensions", "window_strides", "window_dilations")
    attributes: dict[str, Any] = {
        name: constant_ints(rw, size, f"the {name}") for name, size in zip(names, sizes, strict=True)}
    scalar = TensorType((), value.element)
    block = Block([scalar, scalar])
    block.append(Op("stablehlo.return", block.append(Op(f"stablehlo.{_COMBINING[function]}", block.arguments, [scalar])).results))
    attributes["padding"] = _pairs((0,) * (2 * value.rank))
    start = rw.emit("top.Reshape", init, shape=()) if init.rank else init
    return _emit(op, rw, "reduce_window", (value, start), attributes, [Region([block])])


@TABLE("tfl.stablehlo_sort")
def sort(op: Op, rw: Rewriter) -> Any:
    """SORT."""
    computation = _computation(rw, op.attribute("comparator"))
    return _emit(op, rw, "sort", op.operands, _named("dimension", "is_stable")(op), [computation])


_ALGORITHMS = {"DEFAULT": "PHILOX", "PHILOX": "PHILOX", "THREEFRY": "THREE_FRY"}


@TABLE("tfl.stablehlo_rng_bit_generator")
def rng_bit_generator(op: Op, rw: Rewriter) -> Any:
    """RNG_BIT_GENERATOR.

    Threefry makes two words at a time. LiteRT gives them one behind the other; StableHLO's implementations cut a
    dimension in half, the first words in one half, the second in the other.
    """
    algorithm = _ALGORITHMS[op.attribute("algorithm")]
    state, bits = op.results
    shape = static_shape(bits, "the result")
    if algorithm != "THREE_FRY" or width_of(bits.element) != 32:
        return _emit(op, rw, "rng_bit_generator", op.operands, {"rng_algorithm": algorithm})
    count = math.prod(shape)
    half = -(-count // 2)
    types = [state.type, TensorType((2, half), bits.element)]
    after, words = _emit(op, rw, "rng_bit_generator", op.operands, {"rng_algorithm": algorithm}, types=types)
    row = rw.emit("top.Reshape", rw.emit("top.Permute", words, order=(1, 0)), shape=(2 * half,))
    kept = rw.emit("top.Slice", row, offset=(0,), ends=(count,), steps=(1,))
    return after, rw.emit("top.Reshape", kept, shape=shape)


@TABLE("tfl.stablehlo_custom_call")
def custom_call(op: Op, rw: Rewriter) -> Any:
    """CUSTOM_CALL: what a plugin may know by its name."""
    return _emit(op, rw, "custom_call", op.operands, _named(
        "call_target_name", "has_side_effect", "backend_config", "api_version")(op))


# --- attributes

def _structure(mnemonic: str, op: Op, names: Sequence[str], form: str = "") -> OpaqueAttr:
    """Roles of dimensions as StableHLO writes them: `#stablehlo.dot<lhs_batching_dimensions = [0], ...>`."""
    members = (op.attribute(name) for name in names)
    texts = (str(list(member) if isinstance(member, tuple) else member) for member in members)
    return OpaqueAttr(f"#stablehlo.{mnemonic}<{form}{', '.join(f'{n} = {text}' for n, text in zip(names, texts, strict=True))}>")


def _pairs(numbers: Sequence[int]) -> Dense:
    """Padding as pairs of numbers, one for each dimension."""
    if len(numbers) % 2:
        raise Unsupported(f"padding must be pairs of numbers, and is {list(numbers)}")
    return Dense(np.asarray(numbers, np.int64).reshape(-1, 2), TensorType((len(numbers) // 2, 2), I64))


def _given(op: Op, *names: str) -> dict[str, Any]:
    """The lists that the file gives; the others have StableHLO's defaults."""
    return {name: op.attribute(name) for name in names if op.attribute(name)}


# --- ops and their regions

def _emit(
    op: Op, rw: Rewriter, name: str, operands: Sequence[Value], attributes: dict[str, Any], regions: Sequence[Region] = (),
    types: Sequence[Type] = (),
) -> Any:
    """The op of StableHLO; its results have the given types, those of the file, or inferred ones where sizes are open there.

    `Unsupported` where it breaks a constraint of StableHLO's: the rules that come after rely on them.
    """
    declaration = lookup(f"stablehlo.{name}")
    if declaration is None:
        raise Unsupported("the dialect stablehlo is not there", "load the plugin that brings it")
    kept = {}
    for key, value in attributes.items():
        unwrap = declaration.attributes[key].kind.unwrap
        kept[key] = value if unwrap is None else unwrap(value)
    types = types or [result.type for result in op.results]
    if not all(isinstance(type_, TensorType) and type_.is_static for type_ in types):
        if declaration.infer is None or regions:
            raise Unsupported("the shape of its result is known only at run time", "give all inputs the shapes of the file")
        other = Op(f"stablehlo.{name}", operands, (), kept)
        try:
            inferred = declaration.infer(other)
            types = [inferred] if isinstance(inferred, Type) else list(inferred)
        except (IndexError, ValueError) as error:  # inference takes for granted what is checked below
            raise Unsupported(f"it is no valid stablehlo.{name}: its operands and attributes do not fit") from error
        finally:
            other.drop_references()
        if len(types) != len(op.results):  # nothing says what a custom call gives
            raise Unsupported("the shape of its result is known only at run time", "give all inputs the shapes of the file")
    made = rw.create(f"stablehlo.{name}", operands, types, kept, list(regions))
    wrong = check(made, inferred=False)
    if wrong:
        reasons = "; ".join(finding.why for finding in wrong)
        raise Unsupported(f"it is no valid stablehlo.{name}: {reasons}", "the file breaks a rule of StableHLO: make it anew")
    return made.results[0] if len(made.results) == 1 else made.results


def _computation(rw: Rewriter, symbol: str) -> Region:
    """The region that a subgraph stands for, in ops of StableHLO."""
    region = subgraph_region(rw, symbol, "stablehlo.return")
    holder = Op("builtin.module", (), (), None, [region])
    try:
        convert_ops(holder, IN_COMPUTATIONS, "tfl", fold=False)
    except BaseException:
        holder.drop_references()
        raise
    holder.regions = []
    return region


_SCALARS = RewriteTable()
"""Operators of TFLite in a computation."""

_SAME = {
    "tfl.add": "add", "tfl.sub": "subtract", "tfl.mul": "multiply", "tfl.div": "divide", "tfl.maximum": "maximum",
    "tfl.minimum": "minimum", "tfl.logical_and": "and", "tfl.logical_or": "or", "tfl.select": "select", "tfl.select_v2": "select",
}
_COMPARISONS = {
    "tfl.equal": "EQ", "tfl.not_equal": "NE", "tfl.less": "LT", "tfl.less_equal": "LE", "tfl.greater": "GT",
    "tfl.greater_equal": "GE",
}


@_SCALARS(*_SAME)
def same(op: Op, rw: Rewriter) -> Any:
    """Arithmetic and logic of scalars."""
    if op.attribute("fused_activation_function", "NONE") != "NONE":
        raise Unsupported(f"{op.name} in a computation has a fused activation", "make it an operator of its own")
    return _emit(op, rw, _SAME[op.name], op.operands, {})


@_SCALARS(*_COMPARISONS)
def comparison(op: Op, rw: Rewriter) -> Any:
    """Comparisons of scalars."""
    return _emit(op, rw, "compare", op.operands, {"comparison_direction": _COMPARISONS[op.name]})


@_SCALARS("tfl.logical_not")
def logical_not(op: Op, rw: Rewriter) -> Any:
    """LOGICAL_NOT."""
    if op.operands[0].element != BOOL:
        raise Unsupported(f"{op.name} of {op.operands[0].element}")
    return _emit(op, rw, "not", op.operands, {})


@_SCALARS("tfl.pseudo_const")
def constant(op: Op, rw: Rewriter) -> Any:
    """A constant of the subgraph."""
    return rw.create("stablehlo.constant", (), (op.results[0].type,), {"value": op.attribute("value")}).result


IN_COMPUTATIONS = TABLE + _SCALARS
"""The rewrites in a region."""
