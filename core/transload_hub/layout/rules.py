"""The layout pass's knowledge of ops: in which forms each can run, and what its attributes then are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from transload.ir import Op, QuantType, TensorType, Value
from transload.ir.build import constant_of

from .forms import Form, Shape, dropping, inserting, is_plain, plain, reshaped_form, stored_shape
from .options import Facts, Option, Rule, broadcast_form, fixed, joined_forms
from .weights import absorber

__all__ = ["RULES", "options_of"]

RULES: dict[str, Rule] = {}
"""Rules by op name."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        for name in names:
            RULES[f"top.{name}"] = function
        return function

    return add


def options_of(op: Op, facts: Facts) -> list[Option]:
    """All the ways in which `op` can run, at least one."""
    declaration = op.declaration
    if declaration is None or op.regions or "terminator" in declaration.traits or _moves_quantized_axis(op):
        return [fixed(op, facts)]
    known = RULES.get(op.name)
    tensors = [value for value in op.operands if isinstance(value.type, TensorType)]
    if any(facts.shape(value) is None for value in [*tensors, *op.results]):
        return [fixed(op, facts)]
    if known is None and "layout" in declaration.attributes:
        known = turn_layout
    elif known is None and "elementwise" in declaration.traits:
        known = elementwise
    if known is None or not tensors:
        return [fixed(op, facts)]
    return known(op, facts) or [fixed(op, facts)]


_RESHAPING = frozenset(
    f"top.{name}" for name in ("Reshape", "Squeeze", "Unsqueeze", "Split", "Slice", "Concat", "Gather", "Pack", "Unpack"))


def _moves_quantized_axis(op: Op) -> bool:
    """Whether the op joins, cuts or moves a dimension that quantization goes along: no rule here follows that."""
    return op.name in _RESHAPING and any(
        isinstance(value.type, TensorType) and isinstance(value.element, QuantType) and value.element.per_axis
        for value in (*op.operands, *op.results))


def _rank(value: Value, facts: Facts) -> int:
    return len(facts.shape(value))  # type: ignore[arg-type]


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _others(op: Op, facts: Facts, first: Form | None) -> tuple[Form | None, ...]:
    """Forms of the operands of an op whose first one has the form `first`, and the rest the plain one."""
    return (first, *fixed(op, facts).operands[1:])


# --- layout-sensitive ops

def turn_layout(op: Op, facts: Facts) -> list[Option]:
    """The data operand and the results in the wanted layout, weights to match."""
    rank = _rank(op.operands[0], facts)
    if op.layout == facts.to or not op.declaration.attributes["layout"].kind.accepts(facts.to):
        return [fixed(op, facts)]
    if rank <= 2:
        return [fixed(op, facts, layout=facts.to)]
    target = facts.target(rank)
    results = tuple(facts.target(_rank(result, facts)) for result in op.results)
    return [Option(_others(op, facts, target), results, {"layout": facts.to})]


@rule("Conv")
def conv(op: Op, facts: Facts) -> list[Option]:
    """Filter `O, I/g, kernel` (channels first) or `O, kernel, I/g` (channels last): permuted as the data is."""
    (option,) = turn_layout(op, facts)
    if option.keeps:
        return [option]
    target = facts.target(_rank(op.operands[1], facts))
    return [Option((option.operands[0], target, *option.operands[2:]), option.results, option.attributes)]


@rule("Deconv")
def deconv(op: Op, facts: Facts) -> list[Option]:
    """Filter `I, O/g, kernel` (channels first) or `O/g, kernel, I` (channels last)."""
    (option,) = turn_layout(op, facts)
    if option.keeps:
        return [option]
    rank = _rank(op.operands[1], facts)
    turned = (*range(1, rank), 0) if facts.to == "NHWC" else (rank - 1, *range(rank - 1))
    return [Option((option.operands[0], turned, *option.operands[2:]), option.results, option.attributes)]


@rule("BatchNorm", "InstanceNorm", "GroupNorm")
def per_channel(op: Op, facts: Facts) -> list[Option]:
    """The channels must be where the layout says; in which order the other dimensions lie does not matter."""
    rank = _rank(op.operands[0], facts)
    channel = 1 if op.layout == "NCHW" and rank > 1 else rank - 1
    place = 1 if facts.to == "NCHW" and rank > 1 else rank - 1
    options = []
    for form in joined_forms(op.operands[:1], rank, facts):
        if form[place] == channel and (op.name == "top.BatchNorm" or form[0] == 0):
            changes = {} if op.layout == facts.to else {"layout": facts.to}
            options.append(Option(_others(op, facts, form), (form,) * len(op.results), changes))
    return options


# --- ops that run in any form

@rule("Input")
def elementwise(op: Op, facts: Facts) -> list[Option]:
    """The result in any form, operands to match (numpy's broadcasting, from the right)."""
    rank = _rank(op.results[0], facts)
    options = []
    for form in joined_forms([*op.operands, *op.results], rank, facts):
        operands = tuple(broadcast_form(value, form, facts) for value in op.operands)
        options.append(Option(operands, (form,) * len(op.results)))
    return options


@rule("Expand")
def expand(op: Op, facts: Facts) -> list[Option]:
    shape: Shape = facts.shape(op.results[0])  # type: ignore[assignment]
    if None in shape:
        return []
    return [
        Option(option.operands, option.results, {} if is_plain(form) else {"shape": stored_shape(shape, form)})
        for option in elementwise(op, facts) if (form := option.results[0]) is not None
    ]


@rule("Concat")
def concat(op: Op, facts: Facts) -> list[Option]:
    """All operands in the result's form, the axis where that has it."""
    rank = _rank(op.results[0], facts)
    axis = _axis(op.axis, rank)
    return [
        Option((form,) * len(op.operands), (form,), {} if is_plain(form) else {"axis": form.index(axis)})
        for form in joined_forms(op.operands, rank, facts)
    ]


def along_axis(op: Op, facts: Facts) -> list[Option]:
    """An op with an attribute `axis`, all of whose results have the operand's dimensions."""
    rank = _rank(op.operands[0], facts)
    axis = _axis(op.axis, rank)
    return [
        Option(_others(op, facts, form), (form,) * len(op.results), {} if is_plain(form) else {"axis": form.index(axis)})
        for form in joined_forms(op.operands[:1], rank, facts)
    ]


rule("Softmax", "CumSum", "Split", "TopK")(along_axis)


@rule("Reverse", "Normalize", "Roll")
def along_axes(op: Op, facts: Facts) -> list[Option]:
    """An op with an attribute `axes`, whose result has the operand's shape."""
    rank = _rank(op.operands[0], facts)
    options = []
    for form in joined_forms(op.operands[:1], rank, facts):
        changes = {} if is_plain(form) else {"axes": tuple(form.index(_axis(axis, rank)) for axis in op.axes)}
        options.append(Option(_others(op, facts, form), (form,), changes))
    return options


@rule("ReverseSequence")
def reverse_sequence(op: Op, facts: Facts) -> list[Option]:
    rank = _rank(op.operands[0], facts)
    options = []
    for form in joined_forms(op.operands[:1], rank, facts):
        changes = {} if is_plain(form) else {
            name: form.index(_axis(op.attribute(name), rank)) for name in ("seq_axis", "batch_axis")}
        options.append(Option(_others(op, facts, form), (form,), changes))
    return options


@rule("LayerNorm", "RMSNorm")
def over_trailing(op: Op, facts: Facts) -> list[Option]:
    """Normalized over all dimensions from `axis` on, which must stay at the end and in order, as the weights have them."""
    rank = _rank(op.operands[0], facts)
    axis = _axis(op.axis, rank)
    kept = tuple(range(axis, rank))
    return [
        Option(_others(op, facts, form), (form,) * len(op.results))
        for form in joined_forms(op.operands[:1], rank, facts) if form[axis:] == kept
    ]


@rule("MatMul")
def matmul(op: Op, facts: Facts) -> list[Option]:
    """`x @ W` with a constant matrix W: any form of x whose last dimension is the one multiplied."""
    rank = _rank(op.operands[0], facts)
    right = op.operands[1]
    if rank < 3 or op.left_transpose or constant_of(right) is None or _rank(right, facts) != 2:
        return []
    if len(op.operands) > 2 and facts.shape(op.operands[2]) is not None and _rank(op.operands[2], facts) > 1:
        return []
    return [
        Option(_others(op, facts, form), (form,))
        for form in joined_forms([op.operands[0], *op.results], rank, facts) if form[-1] == rank - 1
    ]


# --- ops with an entry per dimension

def _per_dimension(*names: str, sides: int = 1) -> Rule:
    """A rule for an op whose attributes `names` have an entry (or `sides` lists of entries) per dimension."""

    def permuted(values: tuple[int, ...], form: Form) -> tuple[int, ...]:
        rank = len(form)
        return tuple(values[side * rank + dim] for side in range(sides) for dim in form)

    def entries(op: Op, facts: Facts) -> list[Option]:
        rank = _rank(op.operands[0], facts)
        if any(len(op.attribute(name) or ()) != sides * rank for name in names):
            return []
        return [
            Option(
                _others(op, facts, form), (form,),
                {} if is_plain(form) else {name: permuted(op.attribute(name), form) for name in names})
            for form in joined_forms(op.operands[:1], rank, facts)
        ]

    return entries


rule("Slice")(_per_dimension("offset", "ends", "steps"))
rule("Pad")(_per_dimension("paddings", sides=2))
rule("Tile")(_per_dimension("tile"))


# --- ops that remove or add dimensions

def _dropping(
    op: Op, facts: Facts, axes: Iterable[int], keepdims: bool, changes: Callable[[Form], dict[str, Any]],
) -> list[Option]:
    rank = _rank(op.operands[0], facts)
    gone = sorted({_axis(axis, rank) for axis in axes})
    return [
        Option(
            _others(op, facts, form), (form if keepdims else dropping(form, gone),) * len(op.results),
            {} if is_plain(form) else changes(form))
        for form in joined_forms(op.operands[:1], rank, facts)
    ]


@rule("Reduce")
def reduce(op: Op, facts: Facts) -> list[Option]:
    """Any form; the axes where that has them, in ascending order."""
    rank = _rank(op.operands[0], facts)
    return _dropping(
        op, facts, op.axes, op.keepdims,
        lambda form: {"axes": tuple(sorted(form.index(_axis(axis, rank)) for axis in op.axes))})


@rule("Arg")
def arg(op: Op, facts: Facts) -> list[Option]:
    rank = _rank(op.operands[0], facts)
    return _dropping(op, facts, [op.axis], op.keepdims, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Unpack")
def unpack(op: Op, facts: Facts) -> list[Option]:
    rank = _rank(op.operands[0], facts)
    return _dropping(op, facts, [op.axis], False, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Gather")
def gather(op: Op, facts: Facts) -> list[Option]:
    """With one index, or a list of them, the axis goes or stays as it is; other indices want the plain form."""
    rank = _rank(op.operands[0], facts)
    indices = facts.shape(op.operands[1])
    if op.batch_dims or indices is None or len(indices) > 1:
        return []
    return _dropping(
        op, facts, [op.axis], len(indices) == 1, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Pack")
def pack(op: Op, facts: Facts) -> list[Option]:
    """All operands in one form, the new dimension in a place that gives the result a form that may be wished for."""
    rank = _rank(op.results[0], facts)
    axis = _axis(op.axis, rank)
    options = []
    for form in joined_forms(op.operands, rank - 1, facts):
        wished = [wish for wish in facts.wishes(rank) if dropping(wish, [axis]) == form]
        for result in wished or [inserting(form, axis, min(axis, rank - 1))]:
            changes = {} if is_plain(result) else {"axis": result.index(axis)}
            options.append(Option((form,) * len(op.operands), (result,), changes))
    return options


@rule("Reshape", "Squeeze", "Unsqueeze")
def reshape(op: Op, facts: Facts) -> list[Option]:
    """A form of the operand in which the data is, unmoved, a form of the result."""
    before, after = facts.shape(op.operands[0]), facts.shape(op.results[0])
    if before is None or after is None or None in before or None in after:
        return []
    wishes = facts.wishes(len(after))
    pairs: dict[tuple[Form, Form], None] = {(plain(len(before)), plain(len(after))): None}
    for form in facts.forms(op.operands[0]):
        made = reshaped_form(form, before, after, wishes)  # type: ignore[arg-type]
        if made is not None:
            pairs[form, made] = None
    for wish in wishes:
        form = reshaped_form(wish, after, before, facts.forms(op.operands[0]))  # type: ignore[arg-type, assignment]
        if form is not None:
            pairs[form, wish] = None
    options = [
        Option((form,), (made,)) if is_plain(made) and is_plain(form)
        else Option((form,), (made,), {"shape": stored_shape(after, made)}, "top.Reshape")
        for form, made in pairs
    ]
    absorb = absorber(op) if op.name == "top.Reshape" else None
    for form in facts.forms(op.operands[0]) if absorb is not None else ():
        action = None if is_plain(form) else absorb(form)  # type: ignore[misc]
        if action is not None:
            options.append(Option((form,), (plain(len(after)),), {"shape": tuple(after)}, then=action))
    return options

