"""A program of dynamic shapes, once the shapes of its inputs are fixed: sizes become constants, dynamic operations static ones.

JAX exports a function of symbolic shapes as one that computes its dimension variables from its inputs, asserts what it relies
on, and calls the function proper with them. What is constant is computed, op by op in order, and types are inferred on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from transload.context import current
from transload.errors import Finding, ShapeError, UsageError, merge_findings
from transload.ir.attributes import OpaqueAttr, Symbol
from transload.ir.build import Builder, constant_of
from transload.ir.constants import Dense
from transload.ir.core import Block, Op, Value
from transload.ir.locations import location_names
from transload.ir.module import Module, update_function_type
from transload.ir.types import BOOL, I64, FloatType, IntegerType, TensorType, Type
from transload.ir.verify import faults_of
from transload.passes.dce import eliminate_dead_code
from transload.passes.inline import calls_itself, inline_calls, named_functions
from transload.passes.shapes import infer_op
from transload.plugin_host import host

__all__ = ["choose_branches", "refine"]

MAX_SIZE = 4096
"""Elements of a result that is computed here: sizes and what they are made of, not weights."""
_SHAPES = "indices_of_shape_operands"
"""The attribute of a call that says which of its operands are the shapes of its results."""


def refine(module: Module) -> None:
    """Make static what follows from the types of the main function's arguments; `UsageError` where an assertion fails."""
    if not any(_SHAPES in op.attributes or str(op.attributes.get("call_target_name")) in _CALLS
               or any(_is_dynamic(value.type) for value in (*op.results, *_arguments(op))) for op in module.walk()):
        return
    inline_calls(module)
    called = _called(module)
    findings: list[Finding] = []
    changed: set[Any] = set()
    spoilt: set[Any] = set()
    of_sizes: _OfSizes = {}
    composed = _composed(module)
    for name, function in module.functions.items():
        if name in composed and function.attribute("sym_visibility") == "private":
            continue  # what composites mean of the sizes that they have
        _refine_block(function.regions[0].block, changed, findings, spoilt, of_sizes)
        update_function_type(function)
    if findings:
        merged = merge_findings(findings)
        raise ShapeError(f"shapes do not fit together in {sum(finding.count for finding in merged)} op(s)", merged)
    for name in called - _called(module):
        if name in module.functions:
            module.functions[name].erase()  # it is the body of an operation now
    _erase_replaced(module, composed)
    eliminate_dead_code(module)


def _erase_replaced(module: Module, composed: set[str]) -> None:
    """Erase the decompositions for which ones of known sizes stand, and then those that these alone meant."""
    while replaced := composed - named_functions(module):
        composed = composed - replaced
        for name in replaced & module.functions.keys():
            if module.functions[name].attribute("sym_visibility") == "private":
                module.functions[name].erase()


def _arguments(op: Op) -> list[Value]:
    """Those of its regions: of a function, too, in which nothing else need be dynamic."""
    return [argument for region in op.regions for block in region.blocks for argument in block.arguments]


def _composed(module: Module) -> set[str]:
    """The functions that composites mean."""
    return {str(op.attributes["decomposition"]) for op in module.walk() if op.name == "stablehlo.composite"}


def _called(module: Module) -> set[str]:
    """The functions that calls of what only an implementation knows name."""
    return {str(name) for op in module.walk() for name in op.attributes.get("called_computations") or ()}


def _is_dynamic(type_: Type) -> bool:
    return isinstance(type_, TensorType) and not type_.is_static


_OfSizes = dict[Any, Op]
"""Decompositions of composites, by their names, the types that they take, and the operands that are constant."""


def _refine_block(block: Block, changed: set[Any], findings: list[Finding], spoilt: set[Any], of_sizes: _OfSizes) -> None:
    following, has_form = block.first, host().facts("call-form")["stablehlo.custom_call"]
    while following is not None:
        op, before = following, following.prev
        following = op.next
        if op.name == "stablehlo.custom_call":
            _take_shapes(op)
            rule = _CALLS.get(str(op.attributes.get("call_target_name")))
            if rule is not None and has_form is not None and has_form(op):
                rule(op)
        if op.parent is None:
            continue
        if op.name in _BRANCHES and _choose(op):
            following = block.first if before is None else before.next  # the branch's ops stand where the op stood
            continue
        if op.name in _STATIC and not spoilt.intersection(op.operands):
            _make_static(op, findings, spoilt)
        infer_op(op, changed, findings, spoilt)
        if op.name == "stablehlo.composite":
            _fix_decomposition(op, changed, findings, spoilt, of_sizes)
        for region in op.regions:
            for inner in region.blocks:
                _refine_block(inner, changed, findings, spoilt, of_sizes)
        if op.regions:
            infer_op(op, changed, findings, spoilt)  # what its regions give may be known by now
        else:
            _fold(op)


def _fix_decomposition(op: Op, changed: set[Any], findings: list[Finding], spoilt: set[Any], of_sizes: _OfSizes) -> None:
    """Let a composite mean its decomposition for the sizes that it is given, which others that are given others do not."""
    functions, name = _functions_beside(op), str(op.attributes["decomposition"])
    callee = functions.get(name)
    if callee is None or len(callee.regions[0].blocks) != 1 or callee.parent is None or calls_itself([name], functions):
        return
    if not any(_is_dynamic(value.type) for inner in callee.walk() for value in (*inner.results, *_arguments(inner))):
        return
    held = [constant_of(operand) if _is_small(operand.type) else None for operand in op.operands]
    numbers = [None if dense is None else dense.numpy() for dense in held]
    key = (name, *(str(operand.type) for operand in op.operands), *(None if each is None else each.tobytes() for each in numbers))
    made = of_sizes.get(key)
    if made is None:
        made = of_sizes[key] = callee.clone({})
        made.attributes["sym_name"] = next(fresh for n in count(1) if (fresh := f"{name}_{n}") not in functions)
        callee.parent.insert(made, callee)
        block = made.regions[0].block
        builder = Builder(block, block.first)
        for argument, operand, array in zip(block.arguments, op.operands, numbers, strict=True):
            argument.type = operand.type
            if array is not None:
                argument.replace_all_uses_with(builder.constant(array, argument.element, dialect="stablehlo"))
        _refine_block(block, changed, findings, spoilt, of_sizes)
        update_function_type(made)
    op.attributes["decomposition"] = Symbol(made.attributes["sym_name"])
    for result, value in zip(op.results, made.regions[0].block.terminator.operands, strict=True):
        result.type = value.type


def _fold(op: Op) -> None:
    """Compute a small op whose operands are constant."""
    folded: Sequence[np.ndarray] | None
    if op.name == "stablehlo.get_dimension_size":
        type_, dimension = op.operands[0].type, op.attributes["dimension"]
        size = type_.shape[dimension] if isinstance(type_, TensorType) and type_.shape is not None else None
        folded = None if size is None else [np.array(size, np.int32)]
    elif not op.results or any(not _is_small(result.type) for result in op.results):
        return
    else:
        folded = current().fold(op)
    if folded is None:
        return
    builder = Builder(op.parent, op)  # type: ignore[arg-type]
    op.replace_with([
        builder.constant(array, result.element, dialect="stablehlo", location=op.location)
        for array, result in zip(folded, op.results, strict=True)])


def _is_small(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.is_static and type_.num_elements <= MAX_SIZE


def _assert(op: Op) -> None:
    """JAX's `shape_assertion`: a condition, and values that its message shows as {0}, {1}, ..."""
    condition = constant_of(op.operands[0])
    if condition is None:
        return
    if not bool(condition.numpy()):
        message = str(op.attributes.get("error_message", "the shapes are not those that the program was exported for"))
        for index, operand in enumerate(op.operands[1:]):
            value = constant_of(operand)
            message = message.replace(f"{{{index}}}", "?" if value is None else str(value.numpy()))
        raise UsageError(message)
    op.erase()


# --- branches

_BRANCHES = ("stablehlo.case", "stablehlo.if")


def choose_branches(module: Module) -> None:
    """Replace each `case` and `if` whose selector is constant by the branch that it selects, in order."""
    for function in module.functions.values():
        for op in function.walk():  # which allows to remove the op that it just gave
            if op.name in _BRANCHES:
                _choose(op)
    eliminate_dead_code(module)


def _choose(op: Op) -> bool:
    """Put the ops of the branch that a constant selects in the place of the op."""
    selector = constant_of(op.operands[0])
    if selector is None:
        return False
    value = int(selector.numpy())
    if op.name == "stablehlo.if":
        region = op.regions[0 if value else 1]
    else:
        region = op.regions[value if 0 <= value < len(op.regions) else -1]
    branch = region.block
    last = branch.terminator
    results = list(last.operands)
    last.erase()
    for inner in branch:
        branch.remove(inner)
        op.parent.insert(inner, op)  # type: ignore[union-attr]
    op.replace_with(results)
    return True


# --- dynamic operations whose sizes are known


def _numbers(op: Op, *operands: int) -> list[list[int]] | None:
    """The values of operands, where they are constant."""
    found = []
    for index in operands:
        dense = constant_of(op.operands[index]) if index < len(op.operands) else None
        if dense is None:
            return None
        found.append(dense.numpy().tolist())
    return found


def _sizes(op: Op, operand: int) -> tuple[int, ...] | None:
    """The sizes that an operand holds, where it is constant; none are below zero, which `ShapeError` says."""
    numbers = _numbers(op, operand)
    if numbers is not None and any(size < 0 for size in numbers[0]):
        raise ShapeError(f"{op.called}: {numbers[0]} is no shape")
    return None if numbers is None else tuple(numbers[0])


def _with_sizes(op: Op, type_: Type, shape: Sequence[int]) -> TensorType:
    """The type of a result with the shape that an operand gives it; `ShapeError` where it has another."""
    if not isinstance(type_, TensorType) or type_.shape is None or len(type_.shape) != len(shape) or any(
            size not in (None, other) for size, other in zip(type_.shape, shape, strict=True)):
        raise ShapeError(f"{op.called}: {type_} is given the shape {list(shape)}")
    return type_.with_shape(tuple(shape))


def _make_static(op: Op, findings: list[Finding], spoilt: set[Any]) -> None:
    """Take the sizes that operands hold into the op, where they are constant; the findings get why it does not take them."""
    was = op.name
    _STATIC[was](op)
    if op.name == was:
        return
    faults = faults_of(op)
    if faults:
        findings.extend(Finding(was, fault, tuple(location_names(op.location)[:1])) for fault in faults)
        spoilt.update(op.results)


def _of_shape(name: str, sizes: int, kept: int) -> Callable[[Op], None]:
    """A rule for an op whose operand number `sizes` is its result's shape; `kept` operands stay."""

    def rule(op: Op) -> None:
        shape = _sizes(op, sizes)
        if shape is None:
            return
        type_ = _with_sizes(op, op.results[0].type, shape)
        op.name = name
        op.operands = op.operands[:kept]
        for key in ("known_expanding_dimensions", "known_nonexpanding_dimensions"):
            op.attributes.pop(key, None)
        op.results[0].type = type_

    return rule


def _as_operand(op: Op) -> None:
    """The shape of its operand, for an op whose element type alone is free."""
    given, made = op.operands[0].type, op.results[0].tensor_type
    shape = given.static_shape if isinstance(given, TensorType) and given.is_static else None
    if shape is not None and made.shape is not None and len(made.shape) == len(shape):
        op.results[0].type = made.with_shape(shape)


def _with_lists(name: str, first: int, *keys: str) -> Callable[[Op], None]:
    """A rule for an op whose operands from number `first` on become lists of numbers."""

    def rule(op: Op) -> None:
        numbers = _numbers(op, *range(first, first + len(keys)))
        if numbers is None:
            return
        op.name = name
        op.operands = op.operands[:first]
        op.attributes.update({key: tuple(values) for key, values in zip(keys, numbers, strict=True)})

    return rule


def _convolution(op: Op) -> None:
    """`dynamic_conv` of known padding."""
    numbers = _numbers(op, 2)
    if numbers is None:
        return
    padding = np.array(numbers[0], np.int64).reshape(-1, 2)
    op.name = "stablehlo.convolution"
    op.operands = op.operands[:2]
    op.attributes["padding"] = Dense(padding, TensorType(padding.shape, I64))


_STATIC: dict[str, Callable[[Op], None]] = {
    **dict.fromkeys(("stablehlo.convert", "stablehlo.uniform_quantize", "stablehlo.bitcast_convert"), _as_operand),
    "stablehlo.dynamic_reshape": _of_shape("stablehlo.reshape", 1, 1),
    "stablehlo.dynamic_broadcast_in_dim": _of_shape("stablehlo.broadcast_in_dim", 1, 1),
    "stablehlo.dynamic_iota": _of_shape("stablehlo.iota", 0, 0),
    "stablehlo.dynamic_pad": _with_lists(
        "stablehlo.pad", 2, "edge_padding_low", "edge_padding_high", "interior_padding"),
    "stablehlo.real_dynamic_slice": _with_lists("stablehlo.slice", 1, "start_indices", "limit_indices", "strides"),
    "stablehlo.dynamic_gather": _with_lists("stablehlo.gather", 2, "slice_sizes"),
    "stablehlo.dynamic_conv": _convolution,
}


# --- calls by which JAX writes operations that StableHLO has with fixed sizes alone

def _become(op: Op, name: str, operands: int, attributes: dict[str, Any]) -> None:
    """Make of a call another operation on its first operands."""
    op.name = name
    op.operands = op.operands[:operands]
    op.attributes = attributes


def _take_shapes(op: Op) -> None:
    """Give the results of a call the shapes that are among its operands, and drop these.

    An implementation is told of them for what it makes of open sizes; a call of known ones has none.
    """
    places = op.attributes.get(_SHAPES)
    told = places.numpy().ravel().tolist() if isinstance(places, Dense) else []
    if not told or len(told) != len(op.results) or not all(_is_list(op, place) for place in told):
        return
    shapes = [shape for place in told if (shape := _sizes(op, place)) is not None]
    left = [place for place in range(len(op.operands)) if place not in told]
    aliases = _renumbered(op.attributes.get("output_operand_aliases"), left)
    if len(shapes) != len(told) or aliases is None:
        return
    for result, shape in zip(op.results, shapes, strict=True):
        result.type = _with_sizes(op, result.type, shape)
    op.operands = tuple(op.operands[place] for place in left)
    del op.attributes[_SHAPES]
    layouts = op.attributes.get("operand_layouts")
    if layouts is not None:
        op.attributes["operand_layouts"] = [layouts[place] for place in left if place < len(layouts)]
    if aliases:
        op.attributes["output_operand_aliases"] = aliases


def _is_list(op: Op, place: int) -> bool:
    """Whether a call has an operand of that number, and it is a list of integers."""
    type_ = op.operands[place].type if 0 <= place < len(op.operands) else None
    return isinstance(type_, TensorType) and type_.rank == 1 and isinstance(type_.element, IntegerType)


def _renumbered(aliases: Any, left: list[int]) -> list[OpaqueAttr] | None:
    """Aliases of results with operands, of which those numbered `left` stay; None where one of the others has an alias."""
    made = []
    for alias in aliases or ():
        before, number, after = re.split(r"(?<=operand_index = )(-?\d+)", alias.text, maxsplit=1)
        if int(number) not in left:
            return None
        made.append(OpaqueAttr(f"{before}{left.index(int(number))}{after}"))
    return made


def _reduce_window(op: Op) -> None:
    """Inputs, initial values, and the windows: sizes, strides, dilations of inputs and windows, padding."""
    values = len(op.operands) - 5
    numbers = _numbers(op, *range(values, values + 5))
    called = op.attributes.get("called_computations") or []
    function = _functions_beside(op).get(str(called[0])) if len(called) == 1 else None
    if numbers is None or function is None or values < 2:
        return
    keys = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    padding = np.array(numbers[4], np.int64).reshape(-1, 2)
    _become(op, "stablehlo.reduce_window", values, {
        **{key: tuple(each) for key, each in zip(keys, numbers, strict=False)},
        "padding": Dense(padding, TensorType(padding.shape, I64))})
    body = op.add_region()
    function.regions[0].clone_into(body, {})
    body.block.terminator.name = "stablehlo.return"


def _top_k(op: Op) -> None:
    """An operand, and how many of its last dimension: the first of all, sorted, as `chlo.top_k` is written without CHLO."""
    numbers, type_ = _numbers(op, 1), op.operands[0].type
    if numbers is None or not isinstance(type_, TensorType) or not type_.is_static or not type_.static_shape:
        return
    shape, axis = type_.static_shape, len(type_.static_shape) - 1
    builder = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    types = [type_, op.results[1].tensor_type.with_shape(shape)]
    places = builder.create("stablehlo.iota", (), types[1:], {"iota_dimension": axis}).results[0]
    found = builder.create("stablehlo.sort", (op.operands[0], places), types, {"dimension": axis, "is_stable": True})
    body = found.add_region().add_block()
    first, second, *_ = [body.add_argument(TensorType((), each.element)) for each in types for _ in range(2)]
    is_float, is_unsigned = isinstance(type_.element, FloatType), getattr(type_.element, "unsigned", False)
    kind = "TOTALORDER" if is_float else "UNSIGNED" if is_unsigned else "SIGNED"
    inner = Builder(body)
    greater = inner.create("stablehlo.compare", (first, second), [TensorType((), BOOL)],
                           {"comparison_direction": "GT", "compare_type": kind})
    inner.create("stablehlo.return", greater.results, ())
    limits: tuple[int, ...] = (*shape[:-1], int(numbers[0]))  # type: ignore[call-overload]
    op.replace_with([
        builder.create("stablehlo.slice", (value,), [each.with_shape(limits)], {
            "start_indices": (0,) * len(shape), "limit_indices": limits, "strides": (1,) * len(shape)}).results[0]
        for value, each in zip(found.results, types, strict=True)])


def _approximate_top_k(op: Op) -> None:
    """What `ApproxTopK` takes, and how many are kept, which that is told."""
    numbers, config = _numbers(op, 4), op.attributes.get("mhlo.backend_config")
    if numbers is None or not isinstance(config, dict):
        return
    _become(op, op.name, 4, op.attributes)
    op.attributes |= {"call_target_name": "ApproxTopK", "mhlo.backend_config": {**config, "top_k": numbers[0]}}


def _random_bits(op: Op) -> None:
    """A state, and the shape of the bits."""
    shape, algorithm = _sizes(op, 1), op.attributes.get("rng_algorithm")
    if shape is None or algorithm is None:
        return
    _become(op, "stablehlo.rng_bit_generator", 1, {})
    declared = op.declaration.attributes["rng_algorithm"].kind if op.declaration is not None else None
    unwrapped = declared.unwrap if declared is not None else None
    op.attributes["rng_algorithm"] = unwrapped(algorithm) if unwrapped is not None else algorithm
    op.results[1].type = op.results[1].tensor_type.with_shape(shape)


def _functions_beside(op: Op) -> dict[str, Op]:
    """The functions of the module that an op is in."""
    outer: Op | None = op
    while outer is not None and not isinstance(outer, Module):
        outer = outer.parent_op
    return outer.functions if outer is not None else {}


_CALLS: dict[str, Callable[[Op], None]] = {
    "shape_assertion": _assert,
    "stablehlo.dynamic_reduce_window": _reduce_window,
    "stablehlo.dynamic_top_k": _top_k,
    "stablehlo.dynamic_approx_top_k": _approximate_top_k,
    "stablehlo.dynamic_rng_bit_generator": _random_bits,
}
