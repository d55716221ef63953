"""Inputs and outputs of a quantized module as integers: where one asks for it, and where the model's were integers before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from transload.analysis.movement import is_cast
from transload.errors import UsageError
from transload.extraction import names_among
from transload.ir import BF16, F16, FloatType, IntegerType, Module, Value, input_names, output_names, update_function_type

from .groups import Groups

__all__ = ["ALL", "Which", "fixed_by", "integers_at", "join_casts", "take_casts_off"]

ALL = "all"
Which = str | bool | Sequence[str] | None
"""Names, also as text with commas between, `ALL` (or True), or None (or False)."""


def take_casts_off(
    module: Module, inputs: Which = None, outputs: Which = None, floats: Mapping[str, str] | None = None,
    islands: Collection[str] = (),
) -> list[str]:
    """Have inputs and outputs of a quantized module's main function hold integers: those named, or all that can; a note for each
    of all that cannot.

    An input can that is cast to one quantized type and nothing else, an output that is cast from one; one that takes integers
    stays as it is. `floats` are reasons of tensors that stay float, some of them `islands` maybe. Raises `UsageError` for a name
    that is none, and for one that was named and cannot.
    """
    notes: list[str] = []

    def tell(what: str, whose: Iterable[Value], all_of: bool) -> None:
        named = dict.fromkeys(value.name for value in whose if value.name in (floats or {}))
        why = "; ".join(f"{name!r} stays float: {(floats or {})[name or '']}" for name in named)
        is_island = any(name in islands for name in named)
        hint = "--quantizer-option islands=none has nothing stay float for what it costs" if is_island else ""
        if not all_of:
            raise UsageError(what + (f" ({why})" if why else ""), hint=hint)
        notes.append(f"{what}, though all were asked for" + (f" ({why})" if why else "") + (f"; {hint}" if hint else ""))

    block = module.body_of_main
    terminator = block.terminator
    for name, argument in _chosen("input", inputs, dict(zip(input_names(module.main), block.arguments, strict=True))):
        if argument.quant is not None:
            continue
        casts = [op for op in argument.uses if is_cast(op) and _is_narrow(op.result)]
        if len(casts) == len(list(argument.uses)) and len({op.result.type for op in casts}) == 1:
            argument.type = casts[0].result.type
            for op in casts:
                op.result.replace_all_uses_with(argument)
                op.erase()
        elif inputs not in (ALL, True) or (argument.uses and isinstance(argument.element_or_none, FloatType)):
            near = (value for op in argument.uses for value in (*op.operands, *op.results))
            tell(f"input {name!r} cannot be taken as integers: it is not quantized as it comes in", (argument, *near),
                 inputs in (ALL, True))
    for name, value in _chosen("output", outputs, dict(zip(output_names(module.main), terminator.operands, strict=True))):
        maker = value.op
        if maker is not None and is_cast(maker) and _is_narrow(maker.operands[0]):
            for index, operand in enumerate(terminator.operands):
                if operand is value:
                    terminator.set_operand(index, maker.operands[0])
        elif not _is_narrow(value) and (outputs not in (ALL, True) or isinstance(value.element_or_none, FloatType)):
            tell(f"output {name!r} cannot be given as integers: it is computed with floats",
                 (value, *(maker.operands if maker is not None else ())), outputs in (ALL, True))
    update_function_type(module.main)
    return notes


def integers_at(module: Module, inputs: Which, outputs: Which) -> set[Value]:
    """The inputs and outputs of a module's main function that are to be integers. `UsageError` for a name that is none."""
    block = module.body_of_main
    return {value for _, value in (
        *_chosen("input", inputs, dict(zip(input_names(module.main), block.arguments, strict=True))),
        *_chosen("output", outputs, dict(zip(output_names(module.main), block.terminator.operands, strict=True))))}


def fixed_by(module: Module, groups: Groups, there: Collection[Value], inputs: Which, outputs: Which) -> set[Value]:
    """The groups that have to be integers for inputs and outputs to be such: theirs, and those of the ops that take or make them.

    Of the values that are `there`.
    """
    borders = {groups.root(value) for value in integers_at(module, inputs, outputs) if value in there}
    found = set(borders)
    for op in module.body_of_main:
        roots = {groups.root(value) for value in (*op.operands, *op.results) if value in there}
        if roots & borders:
            found |= roots
    return found


def join_casts(module: Module) -> None:
    """Casts from integers to floats and on to other integers, as they stand where a quantized model was quantized anew, as one.

    One cast scales integers, which is rounded once and the same everywhere; floats between differ by their last bits, which
    decide to which integer one is rounded.
    """
    for op in module.body_of_main:
        if not is_cast(op) or not _is_scaled(op.results[0]):
            continue
        maker = op.operands[0].op
        if maker is None or not is_cast(maker) or not _is_scaled(maker.operands[0]):
            continue
        if isinstance(op.operands[0].element_or_none, FloatType):
            op.set_operand(0, maker.operands[0])


def _is_scaled(value: Value) -> bool:
    """Whether a value is of integers of at most 16 bits with one scale."""
    type_ = value.quant
    return type_ is not None and type_.per_tensor and isinstance(type_.storage, IntegerType) and type_.storage.width <= 16


def _is_narrow(value: Value) -> bool:
    """Whether a value is of a quantized type, or of floats of 16 bits."""
    return value.quant is not None or value.element_or_none in (F16, BF16)


def _chosen(kind: str, which: Which, there: dict[str, Value]) -> list[tuple[str, Value]]:
    """Those of the inputs or outputs that are asked for."""
    if which in (ALL, True):
        return list(there.items())
    names = names_among([which], there) if isinstance(which, str) else list(which or ())  # type: ignore[arg-type]
    for name in names:
        if name not in there:
            raise UsageError(f"there is no {kind} {name!r}", hint=f"{kind}s: {', '.join(there)}")
    return [(name, there[name]) for name in names]
