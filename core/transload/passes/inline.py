"""Replacing calls by what they call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from ..budget import VARIABLE, budget, more_than, text_fault
from ..dialects.func import misfit
from ..errors import Finding, PassError
from ..ir import Module, Op, Symbol, Value, location_names
from ..limits import forget_places, text_length, text_lengths

__all__ = ["calls_itself", "inline_calls", "named_functions", "reached_functions", "rename_function"]


def inline_calls(module: Module) -> bool:
    """Replace every `func.call` by a copy of the function's ops, then remove private functions that nothing names any more.

    Functions are finished innermost first, so that each is copied as it ends up. Raises `PassError` for calls of
    functions that are not there, that call themselves, or that would become too many ops, or ops with too much text.
    """
    functions = module.functions
    calls = {name: [op for op in function.walk() if op.name == "func.call"] for name, function in functions.items()}
    findings: list[Finding] = []
    done: dict[str, tuple[int, int]] = {}
    own = text_length(module) if any(calls.values()) else 0
    for name in (each for each in functions if calls[each]):
        _finish(name, functions, calls, done, own, findings)
    if findings:
        raise PassError("calls cannot be replaced by what they call", findings)
    removed = _remove_unnamed(module)
    return removed or any(calls.values())


def _finish(
    start: str, functions: dict[str, Op], calls: dict[str, list[Op]], done: dict[str, tuple[int, int]], own: int,
    findings: list[Finding],
) -> None:
    """Replace the calls in a function, and in those it calls first; without recursion, for chains may be long.

    `done` gets the ops of each that is finished, and the characters of their text; `own` are those of the whole module before.
    Where the places in a program that ops come from are what is too long of it, they are left out.
    """
    path = {start: iter(calls[start])}  # each with the calls that have not been looked at
    most = budget().ops
    while path:
        name, rest = next(reversed(path.items()))
        if name in done:
            path.popitem()
            continue
        pending = None
        for call in rest:
            callee = call.attribute("callee")
            why, hint = _fault_of(call, functions.get(callee), callee in path)
            if why:
                findings.append(Finding(f"func.call @{callee}", why, tuple(location_names(call.location)[:1]), hint))
            elif callee not in done:
                pending = str(callee)
                break
        if findings:
            return
        if pending is not None:
            path[pending] = iter(calls[pending])
            continue
        copied, text = _made(calls[name], done)
        if text_fault(text, own)[0] and sum(map(forget_places, functions.values())):
            done.update((each, _size(functions[each])) for each in done)
            copied, text = _made(calls[name], done)
        why, hint = text_fault(text, own)
        if copied > most:
            why, hint = (f"would become more than {most:,} ops larger",
                         f"let functions call fewer others; {VARIABLE}=ops={more_than(most)} allows more")
        if why:
            findings.append(Finding(f"@{name}", why, (), hint))
            return
        for call in calls[name]:
            _inline(call, functions[str(call.attribute("callee"))])
        done[name] = _size(functions[name])
        path.popitem()


def _size(function: Op) -> tuple[int, int]:
    """The ops of a function, and the characters of their text."""
    lengths = list(text_lengths(function.walk()))
    return len(lengths), sum(lengths)


def _made(calls: Iterable[Op], done: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """The same of all that takes the place of calls, together."""
    sizes = [done[str(call.attribute("callee"))] for call in calls]
    return sum(ops for ops, _ in sizes), sum(text for _, text in sizes)


def calls_itself(names: Iterable[str], functions: Mapping[str, Op]) -> str:
    """A function among those that some reach which reaches itself, by calls or by what ops name; empty where there is none."""
    state: dict[str, bool] = {}  # False: on the way
    pending = [(name, False) for name in names]
    while pending:
        name, left = pending.pop()
        if left:
            state[name] = True
        elif name not in state and name in functions:
            state[name] = False
            pending.append((name, True))
            for callee in named_functions(functions[name]):
                if state.get(callee) is False:
                    return callee
                pending.append((callee, False))
    return ""


def _fault_of(call: Op, callee: Op | None, is_around: bool) -> tuple[str, str]:
    """Why a call cannot be replaced, and what to do about it; empty where it can. Its function may be one of those around it."""
    if callee is None or not callee.regions[0].blocks:
        return "calls a function that the module does not have", "give a module that is complete"
    if is_around:
        return "calls a function that calls itself", "write the recursion as a loop"
    return misfit(call, callee), "give a function what it takes, and take what it returns"


def _inline(call: Op, callee: Op) -> None:
    """A copy of the function's ops before the call, whose results are what the function returns."""
    block = callee.regions[0].block
    mapping: dict[Value, Value] = dict(zip(block.arguments, call.operands, strict=True))
    for op in block:
        if op is block.last:
            break
        call.parent.insert(op.clone(mapping), call)  # type: ignore[union-attr]
    call.replace_with([mapping.get(value, value) for value in block.terminator.operands])


def _remove_unnamed(module: Module) -> bool:
    """Remove private functions whose name no attribute holds."""
    removed = False
    while True:
        named = named_functions(module)
        gone = [
            function for name, function in module.functions.items()
            if function.attribute("sym_visibility") == "private" and name not in named]
        if not gone:
            return removed
        for function in gone:
            function.erase()
        removed = True


def named_functions(root: Op) -> set[str]:
    """The names that attributes of ops within refer to: of functions that are called, or stand for what an op computes."""
    named: set[str] = set()
    for op in root.walk():
        _symbols_in(list(op.attributes.values()), named)
    return named


def reached_functions(module: Module, start: Op) -> dict[str, Op]:
    """A function of a module, those that it names, and those that these name, by name."""
    functions, pending = module.functions, [start]
    reached = {str(start.attributes["sym_name"]): start}
    while pending:
        for name in named_functions(pending.pop()) & functions.keys() - reached.keys():
            reached[name] = functions[name]
            pending.append(functions[name])
    return reached


def _symbols_in(values: list[Any], found: set[str]) -> None:
    for value in values:
        if isinstance(value, Symbol):
            found.add(str(value).partition("::")[0])
        elif isinstance(value, dict):
            _symbols_in(list(value.values()), found)
        elif isinstance(value, list | tuple):
            _symbols_in(list(value), found)


def rename_function(module: Module, name: str) -> None:
    """Give a function of the module a name that nothing has yet, where it is named, too."""
    taken = {op.attributes.get("sym_name") for op in module.walk()}
    fresh = next(each for number in count(1) if (each := f"{name}_{number}") not in taken)
    module.functions[name].attributes["sym_name"] = fresh
    for op in module.walk():
        for key, value in list(op.attributes.items()):
            op.attributes[key] = _renamed(value, name, fresh)


def _renamed(value: Any, name: str, fresh: str) -> Any:
    """What an attribute holds, where it refers to a function that has another name now."""
    if isinstance(value, Symbol):
        return Symbol(fresh) if value == name else value
    if isinstance(value, dict):
        return {key: _renamed(each, name, fresh) for key, each in value.items()}
    return [_renamed(each, name, fresh) for each in value] if isinstance(value, list) else value
