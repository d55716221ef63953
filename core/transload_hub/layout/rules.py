"""The layout pass's knowledge of ops: in which forms each can run, and what its attributes then are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from transload.facts import FactTable
from transload.ir import Op, QuantType, TensorType, Value
from transload.ir.build import constant_of
from transload.plugin_host import host

from .forms import Form, Shape, dropping, inserting, is_plain, plain, reshaped_form, stored_shape
from .options import Option, Rule, Surroundings, broadcast_form, fixed, joined_forms
from .weights import absorber

if TYPE_CHECKING:
    from ..ops.constant import Input
    from ..ops.conv import Conv, Deconv
    from ..ops.gather import Gather
    from ..ops.matmul import MatMul
    from ..ops.movement import Concat, Expand, Pack, Reshape, Reverse, ReverseSequence, Roll, Squeeze, Unpack, Unsqueeze
    from ..ops.normalization import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm
    from ..ops.reduce import Arg, Reduce

__all__ = ["RULES", "options_of"]

RULES = FactTable("top")
"""Facts of kind "layout", the rules by op name."""


def rule(*names: str, per_axis: bool = True) -> Callable[[Rule], Rule]:
    """The rule of ops of `top`; `per_axis=False`: it does not follow a dimension that quantization goes along."""

    def add(function: Rule) -> Rule:
        RULES.add(function if per_axis else _unless_per_axis(function), *names)
        return function

    return add


def _unless_per_axis(function: Rule) -> Rule:
    """A rule that leaves tensors quantized along a dimension as they are: their ops join, cut or move that."""
    return lambda op, around: [] if _with_quantized_axis(op) else function(op, around)


def options_of(op: Op, around: Surroundings) -> list[Option]:
    """All the ways in which `op` can run, at least one."""
    declaration = op.declaration
    if declaration is None or op.regions or "terminator" in declaration.traits:
        return [fixed(op, around)]
    known: Rule | None = host().facts("layout")[op.name]
    tensors = [value for value in op.operands if isinstance(value.type, TensorType)]
    if any(around.shape(value) is None for value in [*tensors, *op.results]):
        return [fixed(op, around)]
    if known is None and "layout" in declaration.attributes:
        known = turn_layout
    elif known is None and "elementwise" in declaration.traits:
        known = elementwise
    if known is None or not tensors:
        return [fixed(op, around)]
    return known(op, around) or [fixed(op, around)]


def _with_quantized_axis(op: Op) -> bool:
    """Whether a value of the op has more than one scale, along dimensions."""
    return any(
        isinstance(value.type, TensorType) and isinstance(value.element, QuantType) and not value.element.per_tensor
        for value in (*op.operands, *op.results))


def _rank(value: Value, around: Surroundings) -> int:
    return len(around.shape(value))  # type: ignore[arg-type]


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _others(op: Op, around: Surroundings, first: Form | None) -> tuple[Form | None, ...]:
    """Forms of the operands of an op whose first one has the form `first`, and the rest the plain one."""
    return (first, *fixed(op, around).operands[1:])


# --- layout-sensitive ops

def turn_layout(op: Op, around: Surroundings) -> list[Option]:
    """The data operand and the results in the wanted layout, weights to match."""
    rank = _rank(op.operands[0], around)
    if op.layout == around.to or not op.declaration.attributes["layout"].kind.accepts(around.to):
        return [fixed(op, around)]
    if rank <= 2:
        return [fixed(op, around, layout=around.to)]
    target = around.target(rank)
    results = tuple(around.target(_rank(result, around)) for result in op.results)
    return [Option(_others(op, around, target), results, {"layout": around.to})]


@rule("Conv")
def conv(op: Conv, around: Surroundings) -> list[Option]:
    """Filter `O, I/g, kernel` (channels first) or `O, kernel, I/g` (channels last): permuted as the data is."""
    (option,) = turn_layout(op, around)
    if option.keeps:
        return [option]
    target = around.target(_rank(op.operands[1], around))
    return [Option((option.operands[0], target, *option.operands[2:]), option.results, option.attributes)]


@rule("Deconv")
def deconv(op: Deconv, around: Surroundings) -> list[Option]:
    """Filter `I, O/g, kernel` (channels first) or `O/g, kernel, I` (channels last)."""
    (option,) = turn_layout(op, around)
    if option.keeps:
        return [option]
    rank = _rank(op.operands[1], around)
    turned = (*range(1, rank), 0) if around.to == "NHWC" else (rank - 1, *range(rank - 1))
    return [Option((option.operands[0], turned, *option.operands[2:]), option.results, option.attributes)]


@rule("BatchNorm", "InstanceNorm", "GroupNorm")
def per_channel(op: BatchNorm | GroupNorm | InstanceNorm, around: Surroundings) -> list[Option]:
    """The channels must be where the layout says; in which order the other dimensions lie does not matter."""
    rank = _rank(op.operands[0], around)
    channel = 1 if op.layout == "NCHW" and rank > 1 else rank - 1
    place = 1 if around.to == "NCHW" and rank > 1 else rank - 1
    options = []
    for form in joined_forms(op.operands[:1], rank, around):
        if form[place] == channel and (op.name == "top.BatchNorm" or form[0] == 0):
            changes = {} if op.layout == around.to else {"layout": around.to}
            options.append(Option(_others(op, around, form), (form,) * len(op.results), changes))
    return options


# --- ops that run in any form

@rule("Input")
def elementwise(op: Input, around: Surroundings) -> list[Option]:
    """The result in any form, operands to match (numpy's broadcasting, from the right)."""
    rank = _rank(op.results[0], around)
    options = []
    for form in joined_forms([*op.operands, *op.results], rank, around):
        operands = tuple(broadcast_form(value, form, around) for value in op.operands)
        options.append(Option(operands, (form,) * len(op.results)))
    return options


@rule("Expand")
def expand(op: Expand, around: Surroundings) -> list[Option]:
    shape: Shape = around.shape(op.results[0])  # type: ignore[assignment]
    if None in shape:
        return []
    return [
        Option(option.operands, option.results, {} if is_plain(form) else {"shape": stored_shape(shape, form)})
        for option in elementwise(op, around) if (form := option.results[0]) is not None
    ]


@rule("Concat", per_axis=False)
def concat(op: Concat, around: Surroundings) -> list[Option]:
    """All operands in the result's form, the axis where that has it."""
    rank = _rank(op.results[0], around)
    axis = _axis(op.axis, rank)
    return [
        Option((form,) * len(op.operands), (form,), {} if is_plain(form) else {"axis": form.index(axis)})
        for form in joined_forms(op.operands, rank, around)
    ]


def along_axis(op: Op, around: Surroundings) -> list[Option]:
    """An op with an attribute `axis`, all of whose results have the operand's dimensions."""
    rank = _rank(op.operands[0], around)
    axis = _axis(op.axis, rank)
    return [
        Option(_others(op, around, form), (form,) * len(op.results), {} if is_plain(form) else {"axis": form.index(axis)})
        for form in joined_forms(op.operands[:1], rank, around)
    ]


rule("Softmax", "CumSum", "TopK")(along_axis)
rule("Split", per_axis=False)(along_axis)


@rule("Reverse", "Normalize", "Roll")
def along_axes(op: Normalize | Reverse | Roll, around: Surroundings) -> list[Option]:
    """An op with an attribute `axes`, whose result has the operand's shape."""
    rank = _rank(op.operands[0], around)
    options = []
    for form in joined_forms(op.operands[:1], rank, around):
        changes = {} if is_plain(form) else {"axes": tuple(form.index(_axis(axis, rank)) for axis in op.axes)}
        options.append(Option(_others(op, around, form), (form,), changes))
    return options


@rule("ReverseSequence")
def reverse_sequence(op: ReverseSequence, around: Surroundings) -> list[Option]:
    rank = _rank(op.operands[0], around)
    options = []
    for form in joined_forms(op.operands[:1], rank, around):
        changes = {} if is_plain(form) else {
            name: form.index(_axis(op.attribute(name), rank)) for name in ("seq_axis", "batch_axis")}
        options.append(Option(_others(op, around, form), (form,), changes))
    return options


@rule("LayerNorm", "RMSNorm")
def over_trailing(op: LayerNorm | RMSNorm, around: Surroundings) -> list[Option]:
    """Normalized over all dimensions from `axis` on, which must stay at the end and in order, as the weights have them."""
    rank = _rank(op.operands[0], around)
    axis = _axis(op.axis, rank)
    kept = tuple(range(axis, rank))
    return [
        Option(_others(op, around, form), (form,) * len(op.results))
        for form in joined_forms(op.operands[:1], rank, around) if form[axis:] == kept
    ]


@rule("MatMul")
def matmul(op: MatMul, around: Surroundings) -> list[Option]:
    """`x @ W` with a constant matrix W: any form of x whose last dimension is the one multiplied."""
    rank = _rank(op.operands[0], around)
    right = op.operands[1]
    if rank < 3 or op.left_transpose or constant_of(right) is None or _rank(right, around) != 2:
        return []
    if len(op.operands) > 2 and around.shape(op.operands[2]) is not None and _rank(op.operands[2], around) > 1:
        return []
    return [
        Option(_others(op, around, form), (form,))
        for form in joined_forms([op.operands[0], *op.results], rank, around) if form[-1] == rank - 1
    ]


# --- ops with an entry per dimension

def _per_dimension(*names: str, sides: int = 1) -> Rule:
    """A rule for an op whose attributes `names` have an entry (or `sides` lists of entries) per dimension."""

    def permuted(values: tuple[int, ...], form: Form) -> tuple[int, ...]:
        rank = len(form)
        return tuple(values[side * rank + dim] for side in range(sides) for dim in form)

    def entries(op: Op, around: Surroundings) -> list[Option]:
        rank = _rank(op.operands[0], around)
        if any(len(op.attribute(name) or ()) != sides * rank for name in names):
            return []
        return [
            Option(
                _others(op, around, form), (form,),
                {} if is_plain(form) else {name: permuted(op.attribute(name), form) for name in names})
            for form in joined_forms(op.operands[:1], rank, around)
        ]

    return entries


rule("Slice", per_axis=False)(_per_dimension("offset", "ends", "steps"))
rule("Pad")(_per_dimension("paddings", sides=2))
rule("Tile")(_per_dimension("tile"))


# --- ops that remove or add dimensions

def _dropping(
    op: Op, around: Surroundings, axes: Iterable[int], keepdims: bool, changes: Callable[[Form], dict[str, Any]],
) -> list[Option]:
    rank = _rank(op.operands[0], around)
    gone = sorted({_axis(axis, rank) for axis in axes})
    return [
        Option(
            _others(op, around, form), (form if keepdims else dropping(form, gone),) * len(op.results),
            {} if is_plain(form) else changes(form))
        for form in joined_forms(op.operands[:1], rank, around)
    ]


@rule("Reduce")
def reduce(op: Reduce, around: Surroundings) -> list[Option]:
    """Any form; the axes where that has them, in ascending order."""
    rank = _rank(op.operands[0], around)
    return _dropping(
        op, around, op.axes, op.keepdims,
        lambda form: {"axes": tuple(sorted(form.index(_axis(axis, rank)) for axis in op.axes))})


@rule("Arg")
def arg(op: Arg, around: Surroundings) -> list[Option]:
    rank = _rank(op.operands[0], around)
    return _dropping(op, around, [op.axis], op.keepdims, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Unpack", per_axis=False)
def unpack(op: Unpack, around: Surroundings) -> list[Option]:
    rank = _rank(op.operands[0], around)
    return _dropping(op, around, [op.axis], False, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Gather", per_axis=False)
def gather(op: Gather, around: Surroundings) -> list[Option]:
    """With one index, or a list of them, the axis goes or stays as it is; other indices want the plain form."""
    rank = _rank(op.operands[0], around)
    indices = around.shape(op.operands[1])
    if op.batch_dims or indices is None or len(indices) > 1:
        return []
    return _dropping(
        op, around, [op.axis], len(indices) == 1, lambda form: {"axis": form.index(_axis(op.axis, rank))})


@rule("Pack", per_axis=False)
def pack(op: Pack, around: Surroundings) -> list[Option]:
    """All operands in one form, the new dimension in a place that gives the result a form that may be wished for."""
    rank = _rank(op.results[0], around)
    axis = _axis(op.axis, rank)
    options = []
    for form in joined_forms(op.operands, rank - 1, around):
        wished = [wish for wish in around.wishes(rank) if dropping(wish, [axis]) == form]
        for result in wished or [inserting(form, axis, min(axis, rank - 1))]:
            changes = {} if is_plain(result) else {"axis": result.index(axis)}
            options.append(Option((form,) * len(op.operands), (result,), changes))
    return options


@rule("Reshape", "Squeeze", "Unsqueeze", per_axis=False)
def reshape(op: Reshape | Squeeze | Unsqueeze, around: Surroundings) -> list[Option]:
    """A form of the operand in which the data is, unmoved, a form of the result."""
    before, after = around.shape(op.operands[0]), around.shape(op.results[0])
    if before is None or after is None or None in before or None in after:
        return []
    wishes = around.wishes(len(after))
    pairs: dict[tuple[Form, Form], None] = {(plain(len(before)), plain(len(after))): None}
    for form in around.forms(op.operands[0]):
        made = reshaped_form(form, before, after, wishes)  # type: ignore[arg-type]
        if made is not None:
            pairs[form, made] = None
    for wish in wishes:
        form = reshaped_form(wish, after, before, around.forms(op.operands[0]))  # type: ignore[arg-type, assignment]
        if form is not None:
            pairs[form, wish] = None
    options = [
        Option((form,), (made,)) if is_plain(made) and is_plain(form)
        else Option((form,), (made,), {"shape": stored_shape(after, made)}, "top.Reshape")
        for form, made in pairs
    ]
    absorb = absorber(op) if op.name == "top.Reshape" else None
    for form in around.forms(op.operands[0]) if absorb is not None else ():
        action = None if is_plain(form) else absorb(form)  # type: ignore[misc]
        if action is not None:
            options.append(Option((form,), (plain(len(after)),), {"shape": tuple(after)}, then=action))
    return options

