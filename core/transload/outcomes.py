"""What functions of plugins give back, looked at where the plugin is known.

`TAKES` and `TARGET_TAKES` say what is wrong with an outcome, or None; `READS` and `TARGET_READS` give what callers get in its
place; `MAKERS` are for functions that return others, `LENDS` for what these are given, `KEEPS` for what is to stay as it is
(`transload.guard.Guarded`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import fields
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any

from .classes import is_a
from .errors import Finding, class_name, written
from .guard import FOREIGN, PluginInfo, failure, goes_through, said
from .json_text import LEVELS, of_json_text, plain
from .kinds import is_iterable, is_truth
from .lending import copied, owned, read_only
from .plugin import Emitted, EmittedPart, Quantized

if TYPE_CHECKING:
    from .ir import Module

__all__ = [
    "KEEPS", "LENDS", "LETS", "MAKERS", "READS", "TARGET_KEEPS", "TARGET_LENDS", "TARGET_LETS", "TARGET_READS", "TARGET_TAKES",
    "a_kind", "in_order", "kind_of", "no_answer", "need_right_module", "other_rank", "other_shape", "plain_report", "taken",
    "wrong_options", "wrong_outputs", "wrong_report",
]

_OPTION = re.compile(r"[A-Za-z0-9_][\w-]*", re.ASCII)
_FEW = 8
"""Names that a message has."""
_ROUNDINGS = 1e-3
"""By how much, beside its size, a number may be beyond its bounds: it is summed up of many, perhaps in half precision, whose next
number above 1 is that far."""
_MOST = 1 << 20
"""Findings, or ops, that a function gives: there is no model with as many."""


def wrong_options(declared: Any) -> str | None:
    """What is wrong with declared options, or None."""
    if not isinstance(declared, Mapping):
        return f"options must be a dictionary, and are {a_kind(declared)}"
    for name, entry in declared.items():
        if isinstance(name, str) and not _OPTION.fullmatch(name):  # `--option name=value`, `conversion.name=value`
            return f"an option's name must be letters, digits and _ -, and one is {name!r:.100}"
        fits = isinstance(name, str) and isinstance(entry, tuple) and len(entry) == 3 and isinstance(entry[2], str)
        if not fits or not (entry[0] in (bool, int, float, str) or (
                isinstance(entry[0], tuple) and entry[0] and all(isinstance(word, str) for word in entry[0]))):
            return (f"option {written(name)} must be (type, default, what it does), the type bool, int, float, str or a tuple of "
                    f"words, and is {written(entry):.200}")
        kind, default = entry[:2]
        of_kind = default in kind if isinstance(kind, tuple) else type(default) in ((int, float) if kind is float else (kind,))
        if default is not None and not of_kind:
            return f"option {name!r} has the default {written(default):.100}, which is not of its type"
        if (wrong := wrong_report({name: default}, f"the default of option {name!r}")) is not None:
            return wrong
    return None


def a_kind(value: Any) -> str:
    """What something is, in a message."""
    return f"a {class_name(value)}" if value is not None else "None"


def wrong_report(report: Any, called: str = "report") -> str | None:
    """What is wrong with what a plugin reports, which is to be written as JSON, or None."""
    return _as_json(report, called)[1]


def plain_report(report: Any, called: str = "report") -> tuple[dict[str, Any], str | None]:
    """What a plugin reports, as is read again from JSON, and what is wrong with it, or None. It is asked once, and this kept."""
    text, wrong = _as_json(report, called)
    return (of_json_text(text), None) if wrong is None else ({}, wrong)  # with names as they were


def _as_json(report: Any, called: str) -> tuple[str, str | None]:
    """What a plugin reports, as JSON, and what is wrong with it, or None."""
    try:
        if not isinstance(report, Mapping) or not all(isinstance(key, str) for key in report):
            return "", f"{called} must be a dictionary by texts, and is {written(report):.200}"
        return json.dumps(plain(report, LEVELS)), None
    except FOREIGN as error:  # it has itself among its values, say
        if goes_through(error) or is_a(error, MemoryError):
            raise
        return "", f"{called} cannot be written as JSON: {said(error)}"


LETS: dict[tuple[str, str], tuple[type[BaseException], ...]] = {
    ("readers", "read"): (OSError, MemoryError), ("readers", "detect"): (OSError,), ("formats", "detect"): (OSError,),
    ("writers", "write"): (OSError,),
}
"""What a file or disk does, of which the caller has more to say."""


def _no_module(outcome: Any) -> str | None:
    from .ir import Module

    return None if is_a(outcome, Module) else f"gives {a_kind(outcome)}, where a Module is wanted"


def _no_reason(outcome: Any) -> str | None:
    return None if outcome is None or isinstance(outcome, str) else f"gives {a_kind(outcome)}, where None or a reason is wanted"


def _reason(outcome: str | None) -> str | None:
    """A reason, or None where there is none in an empty text."""
    text = "" if outcome is None else str.__str__(outcome)  # of a subclass, which may answer otherwise
    return text if text.strip() else None


def _no_findings(outcome: Any) -> str | None:
    return None if is_iterable(outcome) else f"gives {a_kind(outcome)}, where findings are wanted"


def _no_outputs(outcome: Any) -> str | None:
    if not isinstance(outcome, Mapping):
        return f"gives {a_kind(outcome)}, where outputs by name are wanted"
    for name, value in outcome.items():
        if not isinstance(name, str):
            return f"gives an output the name {written(name):.100}, where text is wanted"
        if not _holds_arrays(value):
            of = f" of {value.dtype}" if hasattr(value, "dtype") else ""
            return f"gives {a_kind(value)}{of} as output {name!r}, where an array of numbers is wanted"
    return None


def _holds_arrays(value: Any) -> bool:
    """Whether a value is an array of numbers, or a tuple of such (a value of a tuple type, as StableHLO has them)."""
    if isinstance(value, tuple):
        return all(map(_holds_arrays, value))
    if not hasattr(value, "dtype") or getattr(value.dtype, "kind", "") in "OSUTmM":
        return False
    import numpy as np

    if getattr(value.dtype, "type", None) is np.void:  # fields, or bytes that say no type; bfloat16's kind is "V", too
        return False
    return not np.ma.is_masked(value)  # behind a mask there are no numbers


def _arrays(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs as numpy's arrays: what only looks like one fails here, and not where it is compared."""
    return {name: _array(value) for name, value in outcome.items()}


def _array(value: Any) -> Any:
    import numpy as np

    return tuple(map(_array, value)) if isinstance(value, tuple) else np.asarray(value)


def wrong_outputs(
    outcome: Any, types: Mapping[str, Any], others: bool = False, wrong_form: Callable[[Any, Any], bool] = lambda *_: False,
) -> str | None:
    """What is wrong with what was given of outputs of these types, by name; with `others`, more tensors may be there.

    `wrong_form(array, type)` says of numbers of the right kind whether they are of another form all the same.
    """
    wrong = _no_outputs(outcome)
    if wrong is not None:
        return wrong
    if len(outcome) != len(types) and not others:
        return f"gives {len(outcome)} outputs, where the model has {len(types)}"
    missing = next((name for name in types if name not in outcome), None)
    if missing is not None:
        there = ", ".join(map(repr, list(outcome)[:_FEW])) + (", ..." if len(outcome) > _FEW else "")
        return f"gives no output {missing!r}; it gives {there or 'nothing'}"
    return next(filter(None, (_other_kind(name, outcome[name], type_, wrong_form) for name, type_ in types.items())), None)


def _other_kind(name: str, value: Any, type_: Any, wrong_form: Callable[[Any, Any], bool]) -> str | None:
    """What is wrong with numbers that are of another kind than the type has: other widths are the same numbers."""
    from .ir import TensorType, dtype_of

    if not isinstance(type_, TensorType) or isinstance(value, tuple):
        return None
    if wrong_form(value, type_):
        return f"gives {value.dtype} of the sizes {list(value.shape)} as output {name!r}, which is {type_}"
    try:
        wanted = kind_of(dtype_of(type_.element))
    except ValueError:  # of a dialect's own
        return None
    return None if kind_of(value.dtype) == wanted else f"gives {value.dtype} as output {name!r}, which is {type_}"


def other_shape(value: Any, type_: Any) -> bool:
    """Whether an array has another shape than its type says, as far as that is known: no dimensions may be none that are said."""
    wanted, found = type_.shape, tuple(value.shape)
    return bool(wanted) and (
        len(found) != len(wanted) or any(size not in (None, there) for size, there in zip(wanted, found, strict=True)))


def other_rank(value: Any, type_: Any) -> bool:
    """Whether an array has another number of dimensions than its type says: sizes a file may not say as they will be,
    and where it says none, it may not know them."""
    return bool(type_.shape) and len(value.shape) != len(type_.shape)


def _other_form(value: Any, type_: Any) -> bool:
    """Whether an array is none of the type's own: of another shape, or element type. Integers of one width are the same bits:
    a border says whether they have a sign."""
    from .ir import dtype_of

    try:
        dtype = dtype_of(type_.element)
    except ValueError:  # of a dialect's own
        return other_shape(value, type_)
    same_bits = value.dtype.kind in "iu" and dtype.kind in "iu" and value.dtype.itemsize == dtype.itemsize
    return other_shape(value, type_) or not (same_bits or value.dtype == dtype)


def kind_of(dtype: Any) -> str:
    """Whether numbers are booleans, integers, complex, or real, as most of the types of others (bfloat16) are."""
    name = str(dtype)
    return next((kind for kind in ("bool", "int", "uint", "complex") if name.startswith(kind)), "float").removeprefix("u")


def need_right_module(module: Module, plugin: PluginInfo | None, place: str, gives: str, structure_alone: bool = False) -> None:
    """`PluginFailure` where a plugin gives a module that breaks the rules: what comes after would get the blame.

    With `structure_alone`, ops are not looked at, as of a reader: a file may hold what is wrong.
    """
    from .contents import STRUCTURE
    from .ir.verify import check

    if not module.functions:
        findings = [Finding("builtin.module", "holds no function")]
    elif "main" not in module.functions and structure_alone:
        findings = [Finding("builtin.module", "holds no function 'main'")]
    else:
        findings = check(module)
    for finding in findings:
        if not structure_alone or finding.what.partition(".")[0] in STRUCTURE:
            raise failure(plugin, place, ValueError(f"{gives} a module that is wrong: {finding}"))


def in_order(outcome: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What was given, with the outputs of these names last, in their order."""
    last = {name: outcome[name] for name in names}
    return {**{name: value for name, value in outcome.items() if name not in last}, **last}


def no_answer(outcome: Any) -> str | None:
    return None if is_truth(outcome) else f"gives {a_kind(outcome)}, where True or False is wanted"


def _no_tolerances(outcome: Any) -> str | None:
    if isinstance(outcome, list | tuple) and all(isinstance(each, str) for each in outcome):
        return None
    return f"gives {a_kind(outcome)}, where a list of texts like 'cos=0.99' is wanted"


def _texts(outcome: Iterable[str]) -> list[str]:
    return list(map(str.__str__, outcome))


def _no_ops(outcome: Any) -> str | None:
    return None if is_iterable(outcome) else f"gives {a_kind(outcome)}, where ops are wanted"


def _no_summary(outcome: Any) -> str | None:
    return None if isinstance(outcome, Mapping) else f"gives {a_kind(outcome)}, where a dictionary is wanted"


def _nothing_emitted(outcome: Any) -> str | None:
    return None if isinstance(outcome, Emitted) else f"gives {a_kind(outcome)}, where an Emitted is wanted"


def _no_number(outcome: Any) -> str | None:
    if not isinstance(outcome, Real):
        return f"gives {a_kind(outcome)}, where a number is wanted"
    float(outcome)  # an integer may be beyond all floats
    return None


def _no_numbers(outcome: Any) -> str | None:
    """Of a score that sums up itself what it measured, or measures row by row: lists of numbers will do."""
    if isinstance(outcome, list | tuple):
        return next((wrong for each in outcome if (wrong := _no_numbers(each)) is not None), None)
    return _no_number(outcome)


def _ours(outcome: Any) -> Any:
    """Numbers as JSON has them, whatever library they are of."""
    if isinstance(outcome, list | tuple):
        return [_ours(each) for each in outcome]
    return outcome if isinstance(outcome, int) else float(outcome)


def _no_change(outcome: Any) -> str | None:
    """A pass that is written as a generator, say, did nothing."""
    done = outcome is None or isinstance(outcome, int) or is_truth(outcome)
    return None if done else f"gives {a_kind(outcome)}, where is wanted whether it changed the module"


def _nothing_quantized(outcome: Any) -> str | None:
    from .ir import Module

    if is_a(outcome, Module):
        return None
    if not is_a(outcome, Quantized):
        return f"gives {a_kind(outcome)}, where a Module or a Quantized is wanted"
    if not is_a(outcome.module, Module) or not is_a(outcome.source, (Module, NoneType)):
        wrong = outcome.source if is_a(outcome.module, Module) else outcome.module
        return f"gives a Quantized of {a_kind(wrong)}, where a Module is wanted"
    floats = {} if outcome.floats is None else outcome.floats
    for member, told in (("floats", floats), ("report", outcome.report), ("wide", outcome.wide)):
        if (wrong := wrong_report(told, member)) is not None:
            return f"gives a Quantized whose {wrong}"
    return _wrong_details(outcome.report)


def _wrong_details(report: Mapping[str, Any]) -> str | None:
    """What is wrong with what others look up in a quantizer's report, or None."""
    layers = report.get("layers", {})
    if not isinstance(layers, Mapping) or not all(isinstance(word, str) for each in layers.items() for word in each):
        return f"gives a Quantized whose report has layers that are no texts by names, but {written(layers):.100}"
    for key in ("notes", "nothing quantized"):
        told = report.get(key, ())
        if not isinstance(told, list | tuple) or not all(isinstance(each, str) for each in told):
            return f"gives a Quantized whose report has {key!r} that is no list of texts, but {written(told):.100}"
    return None


def _functions(outcome: Any) -> list[Any]:
    """Functions of a module, as a conversion's `entries` gives them."""
    from .ir import Op

    found = list(_all_of(outcome, Op, "among the functions of the module, where an Op"))
    if not found:
        raise TypeError("gives no function, and nothing would be left of the module")
    return found


def _no_text(outcome: Any) -> str | None:
    return None if isinstance(outcome, str) else f"gives {a_kind(outcome)}, where text is wanted"


def _no_padding(outcome: Any) -> str | None:
    if isinstance(outcome, Mapping) and all(each is None or isinstance(each, int | float) for each in outcome.values()):
        return None
    return f"gives {a_kind(outcome)}, where numbers by name, or None, are wanted"


def _nothing_calibrated(outcome: Any) -> str | None:
    saves = callable(getattr(outcome, "save", None))
    return None if saves else f"gives {a_kind(outcome)}, where something with save(path) is wanted"


def _no_function(outcome: Any) -> str | None:
    return None if callable(outcome) else f"gives {a_kind(outcome)}, where a function is wanted"


def _nothing_executed(outcome: Any) -> str | None:
    """Of an engine: a function, and what it has to say of its numbers."""
    notes = getattr(outcome, "notes", ())
    if callable(outcome) and not (isinstance(notes, list | tuple) and all(isinstance(note, str) for note in notes)):
        return f"gives a function whose notes are {a_kind(notes)}, and no list of texts"
    return _no_function(outcome)


def _no_functions(outcome: Any) -> str | None:
    if not isinstance(outcome, Mapping):
        return f"gives {a_kind(outcome)}, where functions by name are wanted"
    return next((wrong for each in outcome.values() if (wrong := _no_function(each)) is not None), None)


def _outputs_of(module: Module, function: str = "main") -> tuple[Check, Read]:
    """For what an engine gives of a function of a module: all its outputs are wanted, of their types, last and in order."""
    from .ir import output_names, output_types

    called = module.function(function)
    types = dict(zip(output_names(called), output_types(called), strict=True))
    return (lambda outcome: wrong_outputs(outcome, types, True, _other_form)), (lambda outcome: in_order(_arrays(outcome), types))


def _any_outputs(*arguments: Any, **options: Any) -> tuple[Check, Read]:
    return _no_outputs, _arrays


def _kept(value: Any) -> Any:
    """What somebody else's function may read, and whose owner goes on with it as it is: of a module a copy, which shares the
    constants, and of samples and the like what raises `ValueError` where it is written to."""
    from .ir import Module

    if isinstance(value, Module):
        return value.clone()
    if hasattr(type(value), "lent"):  # samples that are read from somewhere
        return value.lent()
    return type(value)(map(read_only, value)) if type(value) in (list, tuple) else read_only(value)


def _artifact(value: Any) -> Any:
    """What was written, of its own for who is to read it: lists, dictionaries and what is reported are its caller's."""
    if isinstance(value, list):
        return [_artifact(each) for each in value]
    if not isinstance(value, Emitted | EmittedPart):
        return value
    made = copy(value)
    for each in fields(made):
        held = getattr(value, each.name)
        setattr(made, each.name, _artifact(held) if each.name == "parts" else owned(held))
    return made


Check = Callable[[Any], str | None]
Read = Callable[[Any], Any]
MAKERS: dict[tuple[str, str], Callable[..., tuple[Check, Read]]] = {
    ("engines", "prepare"): _outputs_of, ("runtimes", "open"): _any_outputs, ("runtimes", "alternatives"): _any_outputs}
"""Members that return functions of the plugin's, or a dictionary of them: the `takes` and the `reads` of those."""
TAKES: dict[tuple[str, str], Callable[[Any], str | None]] = {
    ("readers", "read"): _no_module, ("metrics", "measure"): _no_number, ("conversions", "unfit"): _no_reason,
    ("engines", "prepare"): _nothing_executed, ("runtimes", "open"): _no_function, ("runtimes", "alternatives"): _no_functions,
    ("engines", "available"): _no_reason, ("runtimes", "available"): _no_reason,
    ("runtimes", "undefined"): _no_text, ("runtimes", "padded"): _no_padding, ("runtimes", "rounds_alone"): no_answer,
    ("scores", "available"): _no_reason,
    ("scores", "measure"): _no_number, ("scores", "total"): _no_number,
    ("scores", "least"): _no_number, ("passes", "run"): _no_change,
    ("quantizers", "run"): _nothing_quantized, ("calibrators", "run"): _nothing_calibrated}
LENDS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("metrics", "measure"): read_only, ("scores", "measure"): read_only, ("engines", "prepare"): copied,
    ("runtimes", "open"): copied, ("runtimes", "alternatives"): copied}
"""Members, or what they make, that are given arrays which others go on using: nobody writes into these."""
KEEPS: dict[tuple[str, str], Callable[[Any], Any]] = dict.fromkeys((
    ("engines", "prepare"), ("writers", "write"), ("quantizers", "run"), ("calibrators", "run"), ("conversions", "unfit"),
    ("runtimes", "undefined"), ("runtimes", "padded"), ("runtimes", "rounds_alone")), _kept)
"""Members that read a module, or samples, which are their caller's: they are to leave these as they are."""
READS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("scores", "measure"): _ours, ("scores", "total"): _ours, ("scores", "least"): _ours, ("scores", "available"): _reason,
    ("engines", "available"): _reason, ("runtimes", "available"): _reason, ("conversions", "unfit"): _reason,
    ("readers", "detect"): bool, ("formats", "detect"): bool, ("conversions", "entries"): _functions}
"""Members whose outcome is looked into where its plugin is known."""
TARGET_LETS: dict[str, tuple[type[BaseException], ...]] = {"emit": (OSError,)}
TARGET_LENDS: dict[str, Callable[[Any], Any] | None] = {"run": copied}
TARGET_KEEPS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("check", "by_hub", "rounds_alone", "near_enough"), _kept),
    **dict.fromkeys(("run", "cannot_run", "summary"), _artifact)}
TARGET_TAKES: dict[str, Check] = {
    "options": wrong_options, "available": _no_reason, "runs_here": _no_reason, "cannot_run": _no_reason,
    "check": _no_findings, "emit": _nothing_emitted, "run": _no_outputs, "takes": no_answer,
    "leaves": _no_ops, "summary": _no_summary, "by_hub": no_answer, "rounds_alone": no_answer, "near_enough": _no_tolerances}


def taken(kind: str, member: str, item: Any) -> Callable[[Any], str | None] | None:
    sums_up = kind == "scores" and member == "measure" and (item.total is not None or item.by_row)
    takes = _no_numbers if sums_up else TAKES.get((kind, member))
    if takes is None or (kind, member) not in (("metrics", "measure"), ("scores", "total")) or item.bounds is None:
        return takes
    least, most = item.bounds
    return lambda outcome: takes(outcome) or _beyond(float(outcome), least, most)


def _beyond(number: float, least: float, most: float) -> str | None:
    """What is wrong with a number beyond the bounds that there are, by more than roundings; NaN is beyond none."""
    if number < least - _ROUNDINGS * max(1.0, abs(least)) or number > most + _ROUNDINGS * max(1.0, abs(most)):
        return f"gives {number:g}, where its bounds are {least:g} and {most:g}"
    return None


def _findings(outcome: Any) -> tuple[Finding, ...]:
    return _all_of(outcome, Finding, "among its findings, where a Finding")


def _ops(outcome: Any) -> tuple[Any, ...]:
    from .ir import Op

    return _all_of(outcome, Op, "among the ops, where an Op")


def _all_of(outcome: Any, kind: type, where: str) -> tuple[Any, ...]:
    """What a plugin's function gives, one after the other, each of a kind."""
    found = []
    for each in outcome:
        if not isinstance(each, kind):
            raise TypeError(f"gives {a_kind(each)} {where} is wanted")
        found.append(each)
        if len(found) > _MOST:
            raise TypeError(f"gives more than {_MOST:,} of them, as what never ends does")
    return tuple(found)


TARGET_READS: dict[str, Read] = {
    "check": _findings, "leaves": _ops, "run": _arrays, "summary": dict, "near_enough": _texts,
    "available": _reason, "runs_here": _reason, "cannot_run": _reason}
