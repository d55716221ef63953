"""What of a module is not TOSA: everything at once, under the names the user knows."""

from __future__ import annotations

from collections.abc import Iterator

from transload.errors import Finding, UsageError
from transload.ir import Module, Op, TensorType, Type
from transload.ir.types import DialectType, QuantType

from .level import MAX_RANK, level_reasons

__all__ = ["findings_of", "op_findings"]


def findings_of(module: Module, version: str = "1.0", level: str = "8k") -> list[Finding]:
    """Everything in `module` that a TOSA file of this version cannot hold, or its tools do not take."""
    number: tuple[int, int] = (1, 1) if version == "1.1" else (1, 0)
    findings: list[Finding] = []
    for op in module.body:
        if op.name not in ("func.func", "tosa.variable"):
            findings.append(_finding(op, "stands beside the functions, where TOSA has variables only"))
    main = None
    try:
        main = module.main
    except UsageError as error:
        findings.append(Finding("the module", error.message, hint=error.hint or ""))
    for name, function in module.functions.items():
        if function is not main:
            findings.append(Finding(f"function {name!r}", "a TOSA file holds one graph", hint="inline the functions into main"))
            continue
        block = function.regions[0].block
        for argument in block.arguments:
            findings += [
                Finding(f"input {argument.name or argument.index}", why, hint=hint)
                for why, hint in _type_reasons(argument.type, level)]
    for op in module.ops():
        if op.name not in ("func.return", "tosa.variable"):
            findings += op_findings(op, number, level)
    return findings


def _finding(op: Op, why: str, hint: str = "") -> Finding:
    return Finding(op.name, why, (op.origin,) if op.origin else (), hint)


def op_findings(op: Op, version: tuple[int, int], level: str) -> Iterator[Finding]:
    """What a TOSA file of this version and level cannot hold of one op: its name, element types and sizes."""
    declaration = op.declaration
    if op.dialect != "tosa" or declaration is None:
        yield _finding(op, "is no operator of TOSA", "`transload coverage` says which conversions are there")
        return
    if op.name == "tosa.apply_scale":
        yield _finding(op, "belongs to code generation and is no operator of the specification")
    if getattr(declaration.definition, "since", "1.0") == "1.1" and version < (1, 1):
        yield _finding(op, "came with TOSA 1.1", "ask for tosa_version=1.1")
    reasons = list(dict.fromkeys(reason for value in op.results for reason in _type_reasons(value.type, "none")))
    yield from (_finding(op, why, hint) for why, hint in reasons)
    if level != "none":
        for why in dict.fromkeys(level_reasons(op)):
            yield _finding(op, why, "merge dimensions, or ask for level=none" if "rank" in why else "ask for level=none")
    datatypes = getattr(declaration.definition, "datatypes", None)
    if datatypes is not None and not reasons:
        why = datatypes.refuse(op, version)
        if why:
            yield _finding(op, why, "cast or rescale to a supported type")


def _type_reasons(type_: Type, level: str) -> Iterator[tuple[str, str]]:
    """Why a value's type is not one of TOSA's, each with a hint."""
    if isinstance(type_, DialectType) and type_.text.startswith("tosa.shape<"):
        return
    if not isinstance(type_, TensorType):
        yield f"gives {type_}, where TOSA has tensors and shapes", ""
        return
    if not type_.is_static:
        yield "has sizes that are known only when the model runs", "give the inputs static shapes: --shape NAME:1x224x224x3"
    elif level != "none" and (type_.rank or 0) > MAX_RANK:
        yield f"has rank {type_.rank}, and level 8K ends at {MAX_RANK}", "merge dimensions, or ask for level=none"
    element = type_.element
    if isinstance(element, QuantType):
        yield f"still has the quantized type {element}", "run strip-quant-types"
    elif str(element) not in _ELEMENTS:
        hint = "unsigned tensors are rescaled to signed ones" if str(element).startswith("ui") else ""
        yield f"has elements of {element}, which TOSA does not have", hint


_ELEMENTS = frozenset(["i1", "i4", "i8", "i16", "i32", "i48", "i64", "f16", "bf16", "f32", "f8E4M3FN", "f8E5M2"])
