"""The verifier: does IR keep to the declarations of its ops, and is every value defined before use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..context import current
from ..errors import DIGITS, Finding, PluginFailure, TransloadError, VerifyError, merge_findings, written
from ..guard import failure, process_kept, said
from ..interrupts import is_interrupt
from ..kinds import need
from ..suggest import nearest
from . import registry
from .core import Block, Op, Value
from .declare import AttributeKind, OpDeclaration
from .forms import no_attribute, no_type
from .given import shown
from .locations import Location
from .quantization import misfit
from .types import NoneType, QuantType, TensorType, Type

__all__ = ["broken_rules", "check", "check_inference", "faults_of", "lacking", "lacking_regions", "same_shape",
    "unknown_attributes", "verify"]

Checker = Callable[[Op], "list[str] | None"]
"""What is wrong with one op; None where nothing is."""
MOST_NESTED = 300
"""Ops in the regions of others, one in the next: what copies, checks or runs them takes frames of Python's stack for each."""


def verify(root: Op) -> None:
    """Raise `VerifyError` with everything that is wrong with `root` and what is inside it."""
    need(root, Op, "verify", "module, or an op")
    findings = check(root)
    if findings:
        raise VerifyError(f"{root.name} is not valid: {len(findings)} finding(s)", findings)


@process_kept()
def check(root: Op, *, inferred: bool = True) -> list[Finding]:
    """All findings about `root` and what is inside it: values that are used before they are defined, ops that are not what they
    are declared to be, or that their dialect does not have, results of other shapes than follow from the operands.

    Without `inferred`, results are whatever is said of them: a file may say more, or what its format once allowed, and its reader
    knows which.
    """
    need(root, Op, "check", "module, or an op")
    findings: list[Finding] = []
    outside: set[Value] = set()
    _check_op(root, outside, findings, inferred, 0)
    return merge_findings(findings)


def faults_of(op: Op) -> list[str] | None:
    """What is wrong with one op by its declaration, what is inside its regions left out; None where nothing is."""
    declaration = registry.lookup(op.name)
    return None if declaration is None else _checker_of(declaration)(op)


def broken_rules(op: Op) -> list[str]:
    """What is wrong with an op whose results are not known yet: with its operands, attributes and what relates these."""
    declaration = registry.lookup(op.name)
    if declaration is None:
        return []
    _, operand_faults = _slots_checker("operand", declaration.operands)
    faults = operand_faults(op._operands) + _attribute_faults(declaration, op)
    if faults:
        return faults
    for constraint in declaration.constraints:
        try:
            outcome = constraint.check(op)
        except MemoryError as error:
            raise lacking(op, error) from error
        except BaseException as error:
            if is_interrupt(error):
                raise
            continue  # it asks for a result
        if outcome is not True and (fault := _fault(op, constraint.doc, outcome)) is not None:
            faults.append(fault)
    return faults


def lacking_regions(op: Op) -> list[str]:
    """That an op has fewer regions than it is declared with, as every op that is built by its operands and attributes alone."""
    declaration = registry.lookup(op.name)
    least = 0 if declaration is None else sum(not member.variadic for member in declaration.regions)
    return [f"has {len(op.regions)} regions, not {least}: `create(...)` takes regions"] if len(op.regions) < least else []


def _fault(op: Op, rule: str, outcome: Any) -> str | None:
    """What is wrong with an op where a rule of its declaration gives something else than True; None where that is numpy's."""
    if isinstance(outcome, bool | np.bool_):
        return None if outcome else rule
    if isinstance(outcome, str):
        return f"{rule}: {str.__str__(outcome)}"  # a class of texts of its own may say anything of itself, or fail to
    return f"{rule}: {_of_whom(op)}gives a {type(outcome).__name__}, where True, False or a reason is wanted"


def lacking(op: Op, error: MemoryError) -> PluginFailure:
    """The error for memory that what a dialect says itself of an op asks for; raises it as it is, where it is ours or told."""
    if isinstance(error, TransloadError):
        raise error
    return failure(current().host.owner("dialects", op.dialect), f"the declaration of {op.name}", error)


def _of_whom(op: Op) -> str:
    """Whose declaration is to blame, where it is one of others."""
    owner = current().host.owner("dialects", op.dialect)
    return "" if owner is None or owner.is_ours else f"{owner} "


def check_inference(root: Op) -> list[Finding]:
    """Those findings of `check` that are about ops inside whose results are not of the shapes that their declarations infer."""
    findings: list[Finding] = []
    for op in root.walk():
        declaration = op.declaration
        if declaration is not None and declaration.infer is not None and op.results:
            _check_results(op, declaration.infer, findings)
    return merge_findings(findings)


def _failing(op: Op, error: BaseException) -> str:
    """What a part of a declaration raised, and whose it is, where it is others'."""
    whose = _of_whom(op)
    return f"{whose}{'failed: ' * bool(whose)}{said(error)}"


def _check_results(op: Op, infer: Callable[[Any], Any], findings: list[Finding]) -> None:
    """The results of an op are as many, and of such sizes, as its declaration infers."""
    try:
        types = registry.result_types(op, infer)
    except MemoryError:
        raise
    except TransloadError as error:
        findings += error.findings or [_finding(op, error.message)]
        return
    except BaseException as error:
        if is_interrupt(error):
            raise
        findings.append(_finding(op, f"the shape of its result cannot be inferred ({_failing(op, error)})"))
        return
    if len(types) != len(op.results):
        findings.append(_finding(op, f"has {len(op.results)} results, and has to have {len(types)}"))
    for value, type_ in zip(op.results, types, strict=False):
        if not same_shape(value.type, type_):
            findings.append(_finding(op, f"its result is {str(value.type)[:200]}, and has to be {str(type_)[:200]}"))


def same_shape(declared: Type, inferred: Type) -> bool:
    """Whether two types, as far as they are known, have the same sizes."""
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return True
    a, b = declared.shape, inferred.shape
    return a is None or b is None or (
        len(a) == len(b) and all(None in (one, other) or one == other for one, other in zip(a, b, strict=True)))


def _checker_of(declaration: OpDeclaration) -> Checker:
    checker = declaration.checker
    if checker is None:
        checker = declaration.checker = _make_checker(declaration)
    return checker


def _check_op(op: Op, visible: set[Value], findings: list[Finding], inferred: bool, depth: int) -> None:
    declaration = registry.lookup(op.name)
    if declaration is None:
        findings += [_finding(op, why) for why in _undeclared(op.name)]
        findings += [_finding(op, why) for why in _formless(op.attributes)]
    else:
        faults = (declaration.checker or _checker_of(declaration))(op)
        if faults is not None:
            findings.extend([_finding(op, why) for why in faults])
        elif inferred and declaration.infer is not None and op.results:
            _check_results(op, declaration.infer, findings)
        if op.next is not None and "terminator" in declaration.traits:  # engines end there
            findings.append(_finding(op, f"ends a block, and {op.next.name} stands behind it"))
    location = op.location
    if location.__class__ is not str and location is not None and not isinstance(location, Location):
        findings.append(_finding(op, f"has a location that is none: {shown(location)}"))
    for value in op.results:
        if (why := no_type(value.type)) is not None:
            findings.append(_finding(op, f"the type of its result {why}"))
        if type(value.type) is TensorType and type(value.type.element) is QuantType:
            _check_scales(op, value, findings)
    if depth == MOST_NESTED and op.regions:
        findings.append(_finding(op, f"has regions, and lies {MOST_NESTED} deep in those of others"))
        return
    for region in op.regions:
        if region.parent is not op:
            findings.append(_finding(op, "has a region that does not name it as its parent: an op's regions are its own"))
        for block in region.blocks:
            for value in block.arguments:
                _check_scales(op, value, findings)
                _check_sizes(op, value, findings)
            _check_block(block, visible, findings, inferred, depth + 1)


def _undeclared(name: str) -> list[str]:
    """That a dialect which declares its ops has none that is called so.

    Nothing of dialects that are not registered, of custom ops (`Dialect.custom`), and of ops that a plugin executes
    by their names, undeclared.
    """
    dialect = registry.dialect(name.partition(".")[0])
    if dialect is None or not dialect.ops or dialect.custom or current().host.facts("kernel")[name] is not None:
        return []
    near = nearest(name, dialect.ops)
    return [f"dialect {dialect.name!r} has no such op" + (f"; the nearest is {near!r}" if near is not None else "")]


def _check_scales(op: Op, value: Value, findings: list[Finding]) -> None:
    """The scales of a quantized tensor lie along its dimensions, and are as many as it has indices or blocks there."""
    type_ = value.type
    if isinstance(type_, TensorType) and isinstance(type_.element, QuantType) and not type_.element.per_tensor:
        why = misfit(type_.element, type_.shape)
        if why is not None:
            findings.append(_finding(op, f"{value!r} is of type {type_!s:.120}: {why}"))


def _check_sizes(op: Op, value: Value, findings: list[Finding]) -> None:
    """No declaration looks at the sizes of what is given from outside."""
    type_ = value.type
    if isinstance(type_, TensorType) and type_.shape and min(filter(None, type_.shape), default=0) < 0:
        findings.append(_finding(
            op, f"{value!r} is of type {type_!s:.120}, which has a size below 0; None stands for one that is not known"))


def _check_block(block: Block, visible: set[Value], findings: list[Finding], inferred: bool, depth: int) -> None:
    """Check the ops of a block; a value is visible behind its definition, in its block and in the regions of later ops of it."""
    added: list[Value] = list(block.arguments)
    visible.update(added)
    for op in block:
        for operand in op._operands:
            if operand not in visible:
                findings.append(_finding(op, f"uses {operand!r} before it is defined, or outside the region that defines it"))
        if op.parent is not block:
            findings.append(_finding(op, "is in a block that it does not name as its parent"))
        _check_op(op, visible, findings, inferred, depth)
        results = op.results
        added += results
        visible.update(results)
    visible.difference_update(added)


def _finding(op: Op, why: str) -> Finding:
    return Finding(op.name, why, (op.origin,) if op.origin else ())


def _make_checker(declaration: OpDeclaration) -> Checker:
    """A function that checks one op against its declaration."""
    operands_fit, operand_faults = _slots_checker("operand", declaration.operands)
    results_fit, result_faults = _slots_checker("result", declaration.results)
    attributes_fit = _attributes_checker(declaration)
    constraints = [(c.doc, c.check) for c in declaration.constraints]
    any_regions = any(member.variadic for member in declaration.regions)
    n_regions = len(declaration.regions) - any_regions

    def form_faults(op: Op) -> list[str]:
        """What is not there that the constraints rely on."""
        faults = operand_faults(op._operands) + result_faults(op.results) + _attribute_faults(declaration, op)
        if len(op.regions) != n_regions and not (any_regions and len(op.regions) > n_regions):
            faults.append(f"has {len(op.regions)} regions, not {n_regions}")
        return faults

    def checker(op: Op) -> list[str] | None:
        try:
            is_formed = (
                operands_fit(op._operands) and results_fit(op.results) and attributes_fit(op.attributes)
                and len(op.regions) == n_regions)
            faults: list[str] = [] if is_formed else form_faults(op)
        except MemoryError as error:
            raise lacking(op, error) from error
        except BaseException as error:  # of what a dialect says itself of types and attributes
            if is_interrupt(error):
                raise
            return [f"its operands, results and attributes cannot be checked ({_failing(op, error)})"]
        if faults:
            return faults
        for message, holds in constraints:
            try:
                outcome = holds(op)
            except MemoryError as error:
                raise lacking(op, error) from error
            except BaseException as error:
                if is_interrupt(error):
                    raise
                outcome = f"it cannot be checked ({_failing(op, error)})"
            if outcome is not True and (fault := _fault(op, message, outcome)) is not None:
                faults.append(fault)
        return faults or None

    return checker


def _attributes_checker(declaration: OpDeclaration) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the attributes of an op fit, quickly; where that is not known it says no, and `_attribute_faults` what is wrong."""
    accepts = declaration.accepts
    needed = declaration.needed

    def fit(held: Mapping[str, Any]) -> bool:
        for key, value in held.items():
            accept = accepts.get(key)
            if accept is None or not accept(value):
                return False
        return held.keys() >= needed

    return fit


def _attribute_faults(declaration: OpDeclaration, op: Op) -> list[str]:
    """What is wrong with the attributes of an op."""
    held = op.attributes
    known = declaration.attributes
    faults = []
    if not held.keys() <= known.keys():
        faults = unknown_attributes(held, declaration) or _formless({key: held[key] for key in held if key not in known})
    if not declaration.needed <= held.keys():
        faults += [f"attribute {key!r} is missing" for key in declaration.required if key not in held]
    for key, declared in known.items():
        if key not in held:
            continue
        if not declared.kind.accepts(held[key]):
            faults.append(_wrong_kind(key, declared.kind, held[key]))
        elif declaration.exact and (other := declared.kind.other_type(held[key])) is not None:
            faults.append(f"attribute {key!r} must be {declared.kind}, and is of type {other}")
    return faults


def _formless(held: Mapping[str, Any]) -> list[str]:
    """A fault for each attribute that is no declared one and holds what no attribute can be, or has no name."""
    faults = [f"an attribute is called {shown(key)}, and names are texts" for key in held if not isinstance(key, str) or not key]
    return faults + [f"attribute {key!r} {why}" for key, value in held.items()
                     if isinstance(key, str) and (why := no_attribute(value)) is not None]


_NOTES = "leave it out, or mark it as a tool's note, with a dialect's name before it: 'tool.{}'"


def unknown_attributes(held: Iterable[str], declaration: OpDeclaration) -> list[str]:
    """A fault for each attribute that the declaration does not have, and that carries no dialect's prefix as others' notes do."""
    faults = []
    for key in held if not declaration.open else ():
        if key not in declaration.attributes and "." not in key:
            near = nearest(key, declaration.attributes)
            known = ", ".join(map(repr, declaration.attributes)) or "none"
            instead = f"it has {known}; {_NOTES.format(key)}" if near is None else f"the nearest is {near!r}"
            faults.append(f"there is no attribute {key!r}; {instead}")
    return faults


def _wrong_kind(key: str, kind: AttributeKind[Any], value: Any) -> str:
    """That an attribute holds what it cannot, and what to write in place of a value of nearly the right type."""
    plain = value
    if isinstance(value, np.ndarray | np.generic) and value.size <= 64:
        plain = value.tolist()
    elif isinstance(value, tuple) and len(value) <= 64 and any(isinstance(each, np.generic) for each in value):
        plain = tuple(each.item() if isinstance(each, np.generic) else each for each in value)
    plain = tuple(plain) if isinstance(plain, list) else plain
    instead = f": give {plain!r}" if plain is not value and kind.accepts(plain) else ""
    if isinstance(value, tuple) and (large := [each for each in value if isinstance(each, int) and each.bit_length() > DIGITS]):
        return f"attribute {key!r} must be {kind}, and has {written(max(large))}"
    return f"attribute {key!r} must be {kind}, and is {written(value)}{instead}"


def _slots_checker(
    kind: str, slots: list[Any],
) -> tuple[Callable[[Sequence[Value]], bool], Callable[[Sequence[Value]], list[str]]]:
    """Two functions about the number and types of operands or results: whether they fit, and what is wrong with them.

    The first is quick; where it does not know, it says no, and the second may find nothing.
    """
    at = next((index for index, slot in enumerate(slots) if slot.variadic), None)
    least = sum(not slot.variadic and not slot.optional for slot in slots)
    most = len(slots) if at is None else None
    accepts = [slot.type.accepts for slot in slots]

    def fault(slot: Any, value: Value) -> str | None:
        if slot.type.accepts(value.type) or (slot.optional and isinstance(value.type, NoneType)):
            return None
        why = slot.type.why(value.type) if slot.type.why is not None else ""
        return f"{kind} {slot.name!r} must be {slot.type}, and is {value.type}{f': {why}' if why else ''}"

    def fit(values: Sequence[Value]) -> bool:
        if most is None or not least <= len(values) <= most:
            return False
        for index, value in enumerate(values):  # noqa: SIM110 - a generator would take twice as long
            if not accepts[index](value.type):
                return False
        return True

    def alike_fit(values: Sequence[Value]) -> bool:
        accept = accepts[0]
        for value in values:
            if not accept(value.type):
                return False
        return len(values) >= least

    def faults(values: Sequence[Value]) -> list[str]:
        n = len(values)
        if n < least or (most is not None and n > most):
            expected = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            return [f"has {n} {kind}s, not {expected}"]
        after = 0 if at is None else len(slots) - at - 1
        declared = slots if at is None else [*slots[:at], *[slots[at]] * (n - at - after), *slots[len(slots) - after :]]
        return [why for slot, value in zip(declared, values, strict=False) if (why := fault(slot, value)) is not None]

    return alike_fit if most is None and len(slots) == 1 else fit, faults
