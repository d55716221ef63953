"""The verifier: does IR keep to the declarations of its ops, and is every value defined before use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Finding, VerifyError, merge_findings
from . import registry
from .core import Op, Value
from .declare import OpDeclaration
from .types import NoneType

__all__ = ["check", "verify"]

def verify(root: Op) -> None:
    """Raise `VerifyError` with everything that is wrong with `root` and what is inside it."""
    findings = check(root)
    if findings:
        raise VerifyError(f"{root.name} is not valid: {len(findings)} finding(s)", findings)


def check(root: Op) -> list[Finding]:
    """All findings about `root` and what is inside it."""
    findings: list[Finding] = []
    outside: set[Value] = set()
    _check_op(root, outside, findings)
    return merge_findings(findings)


def _check_op(op: Op, visible: set[Value], findings: list[Finding]) -> None:
    declaration = registry.lookup(op.name)
    if declaration is not None:
        checker = declaration.checker
        if checker is None:
            checker = declaration.checker = _make_checker(declaration)

        def report(why: str) -> None:
            findings.append(Finding(op.name, why, (op.origin,) if op.origin else ()))

        checker(op, report)
    for region in op.regions:
        for block in region.blocks:
            # A value is visible in the block that defines it, after its definition, and in the regions
            # of later ops of that block; so what a block adds is taken out again at its end.
            added: list[Value] = list(block.arguments)
            visible.update(added)
            inner = block.first
            while inner is not None:
                for operand in inner._operands:
                    if operand not in visible:
                        findings.append(Finding(
                            inner.name, f"uses {operand!r} before it is defined, or outside the region that defines it",
                            (inner.origin,) if inner.origin else ()))
                if inner.parent is not block:
                    findings.append(Finding(inner.name, "is in a block that it does not name as its parent"))
                _check_op(inner, visible, findings)
                added.extend(inner.results)
                visible.update(inner.results)
                inner = inner.next
            visible.difference_update(added)


def _make_checker(declaration: OpDeclaration) -> Callable[[Op, Callable[[str], None]], None]:
    """A function that checks one op against its declaration."""
    check_operands = _slots_checker("operand", declaration.operands)
    check_results = _slots_checker("result", declaration.results)
    attributes = [(key, a.kind, a.optional) for key, a in declaration.attributes.items()]
    required = declaration.required
    constraints = [(c.doc, c.check) for c in declaration.constraints]
    any_regions = any(member.variadic for member in declaration.regions)
    n_regions = len(declaration.regions) - any_regions

    def checker(op: Op, report: Callable[[str], None]) -> None:
        fits = check_operands(op._operands, report) and check_results(op.results, report)
        held = op.attributes
        for key in required:
            if key not in held:
                report(f"attribute {key!r} is missing")
                fits = False
        if held:
            for key, kind, optional in attributes:
                if key in held:
                    value = held[key]
                    if not kind.accepts(value) and not (optional and value is None):
                        report(f"attribute {key!r} must be {kind}, and is {value!r}")
                        fits = False
        if len(op.regions) != n_regions and not (any_regions and len(op.regions) > n_regions):
            report(f"has {len(op.regions)} regions, not {n_regions}")
            fits = False
        if not fits:
            return  # constraints may rely on all of the above
        for message, holds in constraints:
            try:
                outcome = holds(op)
            except Exception as error:
                outcome = f"it cannot be checked ({type(error).__name__}: {error})"
            if outcome is not True:
                report(message if outcome is False else f"{message}: {outcome}")

    return checker


def _slots_checker(kind: str, slots: list[Any]) -> Callable[[Any, Callable[[str], None]], bool]:
    """A function that checks the number and types of operands or results."""
    at = next((index for index, slot in enumerate(slots) if slot.variadic), None)
    least = sum(not slot.variadic and not slot.optional for slot in slots)
    most = len(slots) if at is None else None
    accepts = [slot.type.accepts for slot in slots]

    def fits_type(slot: Any, accept: Callable[[Any], bool], value: Value, report: Callable[[str], None]) -> bool:
        if accept(value.type) or (slot.optional and isinstance(value.type, NoneType)):
            return True
        report(f"{kind} {slot.name!r} must be {slot.type}, and is {value.type}")
        return False

    def checker(values: Any, report: Callable[[str], None]) -> bool:
        n = len(values)
        if n < least or (most is not None and n > most):
            expected = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            report(f"has {n} {kind}s, not {expected}")
            return False
        if at is None:
            return all([fits_type(slots[i], accepts[i], value, report) for i, value in enumerate(values)])  # noqa: C419 - report them all
        after = len(slots) - at - 1
        pairs = [*zip(slots[:at], values[:at], strict=False), *((slots[at], value) for value in values[at : n - after]),
                 *(zip(slots[at + 1 :], values[n - after :], strict=False) if after else ())]
        return all([fits_type(slot, slot.type.accepts, value, report) for slot, value in pairs])  # noqa: C419

    return checker
