"""Models that were trained with fake quantization inside: their casts to quantized types and back become integer arithmetic.

Training rounds weights before anything is done to them, and what is computed where its framework rounds; batch norms, biases and
activations are ops of their own there. They become parts of the products first, which leaves the integers of weights what they
are (`weights.rescaled`, `weights.moved_weight`). Then `fold-qdq` finds what lies between casts.

Where training rounded nothing, what follows from the op alone is said first: the types that LiteRT fixes for some functions, and
that tensors are joined, and averages taken, in a type that holds what comes in. Ranges of other ops are known on samples only.

Source: TensorFlow Lite's 8-bit quantization specification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from transload.analysis.movement import moved, moves_of, origins
from transload.ir import I8, FloatType, Module, Op, QuantType, Value
from transload.ir.build import Builder
from transload.passes.canonicalize import canonicalize

from ..ops.rounding import round_once
from ..recognize.composites import recognize
from ..scales import nudged
from .qdq import dequantized, fold_qdq, has_casts

__all__ = ["between_casts", "fold_fake_quant", "follows", "rounded_later"]


def fold_fake_quant(module: Module, rounding: Literal["litert", "once"] = "litert", complete: bool = True) -> bool:
    """The pass `fold-fake-quant`: quantized ops of a model that says with floats what its training rounded.

    `rounding`: as LiteRT's kernels round, which is each op's default, or once, as the floats of the model do. `complete` says
    whether what training left out gets the type that follows from its op.
    """
    if not has_casts(module):
        return False
    canonicalize(module)
    recognize(module)
    told = _complete(module, complete)
    fold_qdq(module)
    if told:
        module.notes = (*module.notes, f"training rounded nothing behind {', '.join(map(repr, told[:5]))}"
                        f"{' and more' if told[5:] else ''}: the types are those that follow from the ops")
    if rounding == "once":
        round_once(module)
    return True


def _complete(module: Module, everything: bool) -> list[str]:
    """Round what training left out: what it rounds only behind moves before them, which gives the same, and, for `everything`,
    where a type follows from the op and what comes in. The names of the latter."""
    told = []
    for op in list(module.walk()):
        if len(op.results) != 1 or not isinstance(op.results[0].element_or_none, FloatType):
            continue
        later = rounded_later(op.results[0])
        if later is not None:
            if moves_of(op) is None or op.name in _TYPES:
                _round_before(op.results[0], *later)
        elif everything and (kind := follows(op)) is not None:
            between_casts(op.results[0], kind)
            told.append(op.origin or op.name)
    return told


def rounded_later(value: Value) -> tuple[QuantType, str] | None:
    """The type to which all that takes a tensor rounds it, or what only moves its numbers, and how: it may be rounded before."""
    kinds = set()
    for user in value.uses:
        kind = None
        if user.name == "top.Cast":
            made = user.results[0].quant
            kind = (made, str(user.attribute("round_mode"))) if made is not None else None
        elif len(user.results) == 1 and moved(user) == (value,):
            kind = rounded_later(user.results[0])
        kinds.add(kind)
    return kinds.pop() if len(kinds) == 1 else None


def follows(op: Op) -> QuantType | None:
    """The type of what an op gives, where it follows from the op and what it takes; None where it does not."""
    return _TYPES[op.name](op) if op.name in _TYPES else None


def _round_before(value: Value, kind: QuantType, round_mode: str) -> None:
    """Round a tensor before its numbers are moved, where it is rounded behind that."""
    if any(user.name != "top.Cast" for user in value.uses) and (value.op is None or value.op.name != "top.Cast"):
        between_casts(value, kind, round_mode)


def between_casts(value: Value, type_: QuantType, round_mode: str = "HalfAwayFromZero") -> None:
    """Let all that takes a tensor take it rounded to a type; the name is that of the integers, as everywhere.

    `round_mode` is that of `top.Cast`: which way halves go where no op gives the integers themselves.
    """
    block: Any = value.op.parent if value.op is not None else value.owner
    before = value.op.next if value.op is not None else next(iter(block))
    users = list(value.uses)
    name = value.name
    integers = Builder(block, before=before, location=name).emit("top.Cast", value, element=type_, round_mode=round_mode)
    after = Builder(block, before=before, location=f"{name}/float" if name else None)
    real = after.emit("top.Cast", integers, element=value.element)
    for user in users:
        user.operands = tuple(real if operand is value else operand for operand in user.operands)


# --- types that follow from the op


def _taken(value: Value) -> QuantType | None:
    """The type, one for the tensor and of 8 bits, of whose numbers a tensor of floats consists; through what only moves them."""
    sources = [dequantized(each) for each in origins(value)]
    kinds = {source.quant if source is not None else None for source in sources}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind is not None and kind.per_tensor and kind.storage.width == 8 else None


def _fixed(scale: float, point: int, attribute: str = "") -> Callable[[Op], QuantType | None]:
    def of(op: Op) -> QuantType | None:
        kind = _taken(op.operands[0])
        if kind is None or (attribute and op.attribute(attribute, False)):
            return None
        return kind.replace(scales=(scale,), zero_points=(point + kind.storage.range[0] - I8.range[0],), storage_min=None,
                            storage_max=None)

    return of


def _joined(op: Op) -> QuantType | None:
    """The type of tensors that are joined, where they have unlike ones: from the least number to the greatest of all."""
    kinds = [_taken(value) for value in op.operands]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds) or len(set(known)) == 1 or len({kind.storage for kind in known}) != 1:
        return None
    low = min(kind.scale * (kind.storage_min - kind.zero_point) for kind in known)
    high = max(kind.scale * (kind.storage_max - kind.zero_point) for kind in known)
    least, most = known[0].storage.range
    scale, point = nudged(low, high, least, most)
    return known[0].replace(scales=(float(scale),), zero_points=(int(point),), storage_min=None, storage_max=None)


def _same(op: Op) -> QuantType | None:
    return _taken(op.operands[0])


_TYPES: dict[str, Callable[[Op], QuantType | None]] = {
    "top.Softmax": _fixed(1 / 256, -128, "log"), "top.Sigmoid": _fixed(1 / 256, -128, "log"), "top.Tanh": _fixed(1 / 128, 0),
    "top.Concat": _joined, "top.AvgPool": _same}
