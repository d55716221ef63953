"""The runtimes that judge models of a format, and running a model's file by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ..contents import STRUCTURE, dialects_in
from ..errors import PluginFailure, RunError, Unfit
from ..guard import failure, noted
from ..ir import Cut, Module, TensorType, Type
from ..ir.constants import dtype_of
from ..outcomes import in_order, other_rank, wrong_outputs
from ..plugin import Runtime, resolve, unavailable
from ..plugin_host import host

__all__ = [
    "OtherShape", "judged_format", "other_runtimes", "run_of", "runtime_failed", "runtime_for", "told_otherwise",
    "warm_runtime"]


class OtherShape(RunError):
    """A runtime gives an output another number of dimensions than the model says: one of the two means it otherwise."""


def judged_format(source: Module) -> str | None:
    """The format whose runtimes judge a module: its file's.

    MLIR text in generic form, all of one dialect, is judged as what the reader of that dialect takes by the same suffix: a
    StableHLO program in whichever form it is printed; or as what a runtime is for that runs such text, too (`Runtime.text`). So
    are functions alone, of no dialect, where there is a runtime of the suffix.
    """
    readers = host().readers
    reader = readers.get(source.source_format or "")
    if reader is None or reader.dialect not in STRUCTURE:
        return source.source_format
    held = set(dialects_in(source))
    judged = {runtime.format for runtime in host().runtimes.values()}
    texts = {runtime.format for runtime in host().runtimes.values() if runtime.text and held}
    alike = [other.name for other in readers.values() if other.dialect not in STRUCTURE and held <= {other.dialect}
             and (other.name in texts or {*other.suffixes} & {*reader.suffixes})]
    return next((name for name in alike if held or name in judged), source.source_format)


def runtime_for(format: str | None) -> tuple[Runtime | None, str]:
    """The runtime that judges models of a format, with what failed of those asked before it, or None and why there is none."""
    candidates = [runtime for runtime in host().runtimes.values() if runtime.format == format and not runtime.of_target]
    if not candidates:
        return None, f"no runtime is registered for the format {format!r}"
    reasons, failed = list[str](), list[str]()
    for runtime in candidates:
        try:
            why = resolve(runtime.available)()
        except PluginFailure as error:  # it cannot judge; another may
            why = noted(error)
            failed.append(f"{runtime.name} could not judge: {why}")
        if why is None:
            return runtime, "; ".join(failed)
        reasons.append(f"{runtime.name}: {why}")
    return None, "; ".join(reasons)


def other_runtimes(format: str | None, target: str = "", function: str = "main") -> list[Runtime]:
    """Those that are here and run files of a format without defining what these mean (`Runtime.of_target`); or a target's.

    Of a function that is not the main one, those that run such ones.
    """
    return [
        runtime for runtime in host().runtimes.values()
        if runtime.format == format and runtime.of_target and target in ("", runtime.of_target)
        and (function == "main" or runtime.functions)
        and unavailable(runtime.available) is None]


def _contradicted(source: Module, made: Module | None) -> dict[str, TensorType]:
    """Outputs of which a file says another number of dimensions than what computes them gives, with the types of `made`."""
    if made is None or len(made.outputs) != len(source.outputs):
        return {}
    pairs = zip(source.outputs.items(), made.outputs.values(), strict=True)
    return {name: found for (name, told), found in pairs if isinstance(told, TensorType) and isinstance(found, TensorType)
            and told.shape is not None and found.shape is not None and len(told.shape) != len(found.shape)}


def told_otherwise(source: Module, made: Module | None) -> list[str]:
    """What is said of each of these (`_contradicted`)."""
    return [f"{name}: the file says that it is {source.outputs[name]}, and what computes it gives {found}, which is taken"
            for name, found in _contradicted(source, made).items()]


def run_of(runtime: Runtime, source: Module, made: Module | None = None) -> Callable[..., dict[str, np.ndarray]]:
    """What runs the file of a module, and gives what the module does: where that was cut, the tensors there.

    What the file says of its outputs may be wrong, and what was `made` of it know better (`_contradicted`). As it runs, it raises
    `RunError` where the runtime does not give these, `PluginFailure` where it gives other outputs than the model has, or numbers
    of another kind, and `OtherShape` where they have other dimensions: of a runtime of others' plugins that is a failure, too.
    """
    run = runtime.opened(source.source, source.beside, source.entry)
    if source.cut is not None:
        return partial(_run_cut, run, source.cut, runtime.fetches)
    if not all(isinstance(type_, TensorType) for type_ in source.outputs.values()):  # a sequence is given tensor by tensor
        return run
    owner, other = host().owner("runtimes", runtime.name), _contradicted(source, made)
    is_ours = owner is None or owner.is_ours
    told = islice(source.outputs.items(), len(source.outputs) - len(source.states))
    types = {name: type_.with_shape(other[name].shape) if name in other else type_ for name, type_ in told}  # type: ignore[attr-defined]

    def run_whole(given: Mapping[str, np.ndarray], keep: bool = False, **how: Any) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = run(given, keep=keep, **how) if keep else run(given, **how)
        if keep or how:
            return found
        wrong = wrong_outputs(found, types) if is_ours else wrong_outputs(found, types, wrong_form=other_rank)
        if wrong is not None:
            raise runtime_failed(runtime, wrong)
        for name, type_ in types.items():
            if isinstance(type_, TensorType) and other_rank(np.asarray(found[name]), type_):
                gives, says = _sizes(np.shape(found[name])), _sizes(type_.shape or ())
                raise OtherShape(f"{name}: {runtime.name} gives {gives}, the model says {says}")
        return in_order(found, types)

    return run_whole


def _sizes(shape: Sequence[int | None]) -> str:
    return str(["?" if size is None else size for size in shape]).replace("'", "")


def runtime_failed(runtime: Runtime, why: str) -> PluginFailure:
    """The error for a runtime that gives other outputs than the model has."""
    return failure(host().owner("runtimes", runtime.name), f"runtime {runtime.name!r} (open)", TypeError(why))


def _run_cut(
    run: Callable[..., dict[str, np.ndarray]], cut: Cut, fetches: bool, given: Mapping[str, np.ndarray], keep: bool = False,
) -> dict[str, np.ndarray]:
    how: dict[str, Any] = {"outputs": cut.outputs, "keep": keep} if fetches else {"keep": True}
    found = {**given, **run({**_zeros(cut.unused), **given}, **how)}
    missing = next((name for name in cut.outputs if name not in found), None)
    if missing is not None:
        raise RunError(f"it does not give the numbers of {missing!r}, where the model was cut")
    outputs = {name: found[name] for name in cut.outputs}
    return {**{name: array for name, array in found.items() if name not in outputs}, **outputs} if keep else outputs


def _zeros(types: Mapping[str, Type]) -> dict[str, np.ndarray]:
    """Zeros for inputs; none for one of text and the like, which a runtime gives something empty, or says that it is missing."""
    found = {}
    for name, type_ in types.items():
        with suppress(Unfit):
            if isinstance(type_, TensorType):
                found[name] = np.zeros([size or 0 for size in type_.shape or ()], dtype_of(type_.element))
    return found


def warm_runtime(format: str | None) -> None:
    """Have the runtime that judges models of a format start what takes time to start."""
    runtime, _ = runtime_for(format)
    if runtime is not None and runtime.warm is not None:
        resolve(runtime.warm)()
