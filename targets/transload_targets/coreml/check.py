"""What of a module Core ML cannot take: everything at once, under the names that the user knows.

Two ask: the tables here, which know no call for an op or not for these attributes, and coremltools, which builds the program with
its own checks of types and shapes, call by call, and whose inferred types have to be those of the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transload.analysis.intervals import Intervals, inside, integer_of, limits, meet, result_intervals
from transload.contents import STRUCTURE
from transload.errors import Finding, OpenSizes, TargetError, Unsupported, merge_findings
from transload.ir import I32, UI32, Module, Op, TensorType, Value, output_names
from transload.ir.build import constant_of, is_constant
from transload.worker import ChildEnded, Limits, Worker

from . import calculations, casts, movements  # noqa: F401 - each registers what it writes
from .emitters import EMITTERS
from .program import Program, identifiers, mil_type

__all__ = ["Written", "written"]

COREML = Worker("coremltools", needs=("transload_targets", "numpy", "coremltools"), limits=Limits(file=1 << 34))
_NOTHING = ("top.Weight", "top.None")
_HELD = (0, int(I32.range[1]))
"""The numbers of ui32 that int32 has. Those that are given are of these, and so is what is made of them, as is looked at."""


@dataclass
class Written:
    """A program as it was built: what is in the way of it, or the files of the package by their paths in it."""

    findings: list[Finding]
    files: dict[str, bytes]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def written(module: Module, precision: str, build: bool = True) -> Written:
    """A module as a program. Without `build` no package is written, and only the findings are of use."""
    program, findings, owners = Program(), list[Finding](), list[Op]()
    inputs = identifiers(module.inputs)
    taken: list[dict[str, Any]] = []
    block = module.body_of_main
    intervals = Intervals()
    for name, argument in zip(module.inputs, block.arguments, strict=True):
        try:
            taken.append(_input(program, inputs[name], argument))
        except Unsupported as error:
            findings.append(Finding("an input", error.why, (name,), error.hint))
    for op in block:
        if op is block.terminator or op.name in _NOTHING or (op.results and all(map(is_constant, op.results))):
            continue
        why = _emitted(op, program) or _wrapping(op, intervals)
        if why is not None:
            findings.append(Finding(op.name, why.why, (op.origin,) if op.origin else (), why.hint))
        owners += [op] * (len(program.calls) - len(owners))
    names = identifiers(output_names(module.main))
    if findings:
        return Written(merge_findings(findings), {}, inputs, names)
    given = [_output(program, value, names[name])
             for name, value in zip(output_names(module.main), block.terminator.operands, strict=True)]
    try:
        made = COREML.call("transload_targets.coreml.runtime:build", taken, program.calls, given, precision, build)
    except ChildEnded as error:
        raise TargetError(f"target 'coreml' cannot take this model: {error.message}") from None
    for index, why in made["refused"]:
        owner = owners[index] if index < len(owners) else None
        findings.append(Finding(owner.name if owner is not None else "the model", f"coremltools says: {why}",
                                (owner.origin,) if owner is not None and owner.origin else ()))
    return Written(merge_findings(findings), made["files"], inputs, names)


def _wrapping(op: Op, intervals: Intervals) -> Unsupported | None:
    """Why numbers of an op would not be those of Core ML: small integers wrap round, and Core ML computes them in int32, which
    has the lower half of ui32 alone."""
    if not any(map(integer_of, op.operands)) or op.attributes.get("saturate", False):
        return None  # a cast from floats has its type's numbers by itself, and one that saturates
    given = [meet(intervals.of(each), _HELD) if integer_of(each) == UI32 else intervals.of(each) for each in op.operands]
    for value, exact in zip(op.results, result_intervals(op, given), strict=True):
        integer = integer_of(value)
        if integer == UI32 and not inside(exact, _HELD):
            return Unsupported(f"numbers of type {integer} may be beyond {_HELD[0]} to {_HELD[1]:,} here, and Core ML has int32 "
                               "for them", "limit them to these, or cast them to i32 or i64 before")
        if integer is not None and 1 < integer.width < 32 and not inside(exact, limits(value.type)):
            return Unsupported(f"numbers of type {integer} may wrap round here, and Core ML computes in int32, which does not",
                               "cast them to int32 before, or leave the op outside the model")
    return None


def _emitted(op: Op, program: Program) -> Unsupported | None:
    """Calls for an op, or why there are none. What an op gives stays known by its type, so that the rest is looked at, too."""
    before = len(program.calls)
    try:
        if op.name not in EMITTERS:
            raise Unsupported("is no operator of the hub" if op.dialect not in ("top", *STRUCTURE) else
                              "there is no call of Core ML for it")
        for value in (*op.operands, *op.results):
            _need_sound(value)
        made = EMITTERS[op.name](op, program)
        for value, wire in zip(op.results, made if isinstance(made, list) else [made], strict=True):
            program.expect(wire, value)
    except Unsupported as error:
        del program.calls[before:]
        for value in op.results:
            program.values[value] = program.wire()
        return error
    return None


def _need_sound(value: Value) -> None:
    type_ = value.type
    if not isinstance(type_, TensorType):
        return
    if not type_.is_static:
        raise OpenSizes(f"a tensor is of type {type_}: a size is known only at run time")
    if 0 in type_.static_shape:
        raise Unsupported(f"a tensor is of type {type_}: Core ML has no empty tensors")
    if constant_of(value) is None:
        if len(type_.static_shape) > 5:
            raise Unsupported(f"a tensor is of type {type_}: Core ML's have five dimensions at most")
        mil_type(type_.element)


def _input(program: Program, name: str, argument: Value) -> dict[str, Any]:
    """An input as Core ML takes it, floats or int32; what else the model takes is made of that."""
    _need_sound(argument)
    kind, shape = mil_type(argument.element), list(argument.static_shape)
    if not shape:
        raise Unsupported("is a single number, and Core ML's inputs have a dimension at least", "give it the shape [1]")
    wire = program.wire()
    outside = kind if kind in ("fp32", "fp16") else "int32"
    program.values[argument] = wire if outside == kind else program("cast", x=wire, dtype=kind)
    return {"name": name, "shape": shape, "type": outside, "wire": wire.number}


def _output(program: Program, value: Value, name: str) -> dict[str, Any]:
    wire = program.of(value)
    kind = mil_type(value.element)
    if kind not in ("fp32", "fp16", "int32"):
        wire = program("cast", x=wire, dtype="int32")
    wire = program("identity", x=wire)
    return {"name": name, "wire": wire.number}
