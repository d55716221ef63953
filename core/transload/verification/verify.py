"""Verifying a conversion: the source in its own runtime, the result in ours, and how near they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..budget import VARIABLE, allowance
from ..engine.choice import work_of
from ..engine.memory import machine_bytes
from ..engine.room import allowed_of, memory_of, own_bytes
from ..engine.steps import elements_of
from ..errors import PluginFailure, RunError, TransloadError
from ..ir import Module
from ..plugin import Runtime
from .choosing import choosing_inputs
from .drawn import Drawn
from .further import further_inputs, many_inputs
from .halves import halves_inputs
from .information import Tried, attempts, attempts_at_steady, telling_first
from .inputs import checked_inputs, plain_integers, random_inputs
from .judge import Judge
from .larger import larger_inputs
from .reaching import reaching_inputs
from .running import OwnRuntime, Running, refusal_of_all
from .runtimes import OtherShape, judged_format, other_runtimes, run_of, runtime_for, told_otherwise
from .sampled import Sample, named
from .tolerance import Tolerance
from .turned import turned_inputs
from .verdict import Verification

if TYPE_CHECKING:
    from ..postprocess import Postprocess
    from ..samples.fused import Fused

__all__ = ["OwnRuntime", "Verification", "verify_conversion"]

_ONE_NUMBER = ("each of the inputs that it was judged on is one number throughout, which many programs that compute other things "
               "give the same for: give others")
SAMPLES = 8
"""Of those that are given, how many are looked through for one whose inputs vary, which is the first that a result is run on."""


def verify_conversion(
    source: Module, result: Module, *, hub: Module | None = None, tolerance: Tolerance | None = None,
    inputs: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None, engine: str = "auto", seed: int = 0,
    own: OwnRuntime | None = None, written: Module | None = None, fused: Fused | None = None, post: Postprocess | None = None,
    opened: Callable[..., dict[str, np.ndarray]] | None = None, every: bool = False,
) -> Verification:
    """Compare `result` with the file `source` was read from: what the target's `own` runtime gives, or else the engine.

    The engine runs what was `written` of the result, read back, where that is given.

    Where outputs say nothing on random inputs (`information`), others are tried. Skipped, with the reason, where the source's
    runtime is not installed or itself refuses the model. `inputs` are arrays by name, or several such, of which the first
    whose outputs say something are taken, those that vary before others (`telling_first`), or `every` one that may be paid
    for. With `fused` inputs the result is run on pixels, and the file on what it makes of them; with `post`, the result is
    judged by what that makes of the file's outputs. `opened` runs the file in its runtime, if that is ready. Where nothing
    can judge, the target's own runtime runs the result all the same. Raises `UsageError` where `inputs` do not fit the model,
    and `RunError` where nothing runs the result.
    """
    taken = source if fused is None else fused.outside
    most = _affordable(result) if every else SAMPLES
    checked = _checked(taken, inputs, most) if inputs is not None else None

    def unjudged(verdict: Verification, refusing: Runtime | None = None) -> Verification:
        if own is not None and not _too_much(source, result, inputs is not None):
            given = next(chain(checked if checked is not None else (), attempts(taken, hub, seed)))
            _run_alone(Running(result, engine, own, written), given, source, refusing)
        return verdict

    runtime, why = _who_judges(source)
    if runtime is None:
        return unjudged(Verification("skipped", why))
    hub = hub if hub is not None or source.source is None else _in_hub(source)
    failed = [*([why] if why else ()), *told_otherwise(source, hub)]
    if why := _too_much(source, result, inputs is not None):
        return Verification("skipped", why, runtime.name, engine, notes=failed)

    def judged(by: Runtime, signed: bool = True) -> tuple[Verification, bool]:
        running = Running(result, engine, own, written)
        judge = Judge(source, result, hub, by, tolerance or Tolerance(), engine, running, fused, post)
        judge.tried, judge.on_all = Tried.of(given=inputs is not None), every and not isinstance(inputs, Mapping | None)
        if inputs is None:
            _let_draw(judge, taken, hub, seed, signed)
        elif isinstance(inputs, Mapping) and checked is not None:
            judge.drawn.turned = turned_inputs(next(iter(checked)), result)
        judge.reference.take(opened if by is runtime else None)
        verdict = judge.verdict(_checked(taken, inputs, most) if inputs is not None else attempts(taken, hub, seed, signed))
        if verdict.passed and not judge.varied:
            verdict.notes.append(_ONE_NUMBER)
        return verdict, judge.refused

    verdict, refused = judged(runtime)
    if refused and inputs is None and hub is not None and plain_integers(hub):  # a shift by less than nothing, say
        verdict, refused = judged(runtime, signed=False)
    for other in other_runtimes(judged_format(source), function=source.entry) if refused else ():
        again, _ = judged(other)
        if again.status != "skipped":
            again.notes += [*failed, f"judged by {other.name}, as {' '.join(verdict.why.split())[:200]}"]
            return again
    verdict.notes += failed
    return unjudged(verdict, runtime) if refused else verdict


def _in_hub(source: Module) -> Module | None:
    """The hub's form of a model that did not go by the hub, as it stays in its format; None where no way leads there."""
    from ..api import at_hub

    with suppress(TransloadError):
        return at_hub(source)
    return None


def _let_draw(judge: Judge, taken: Module, hub: Module | None, seed: int, signed: bool) -> None:
    """Have a judge try what is drawn of all that a model takes, beside its first inputs; `signed` as in `attempts`."""
    judge.drawn = Drawn(
        (random_inputs(taken, hub, seed + 1 + more) for more in range(9)), attempts_at_steady(taken, hub, seed),
        further_inputs(taken, hub, judge.result, seed, signed),
        choosing=choosing_inputs(taken, hub, judge.result, judge.kinds.chosen, seed, signed))
    if judge.reference.fused is None:
        judge.drawn.reaching = reaching_inputs(taken, hub, judge.result, seed, floats=judge.is_of_floats)
        judge.drawn.halves = halves_inputs(taken, hub, judge.result, seed) if judge.is_of_floats else ()
        judge.drawn.many = many_inputs(taken, hub, judge.result, seed, signed) if judge.is_of_floats else ()
        judge.drawn.larger = larger_inputs(taken, hub, judge.result, seed, pictures=not judge.tolerance.is_of_sizes)


def _who_judges(source: Module) -> tuple[Runtime | None, str]:
    """The runtime that runs a module's file, and why it is not another; or None, and why nothing does."""
    if source.source is None:
        return None, "the model was not read from a file"
    runtime, why = runtime_for(judged_format(source))
    if source.entry != "main" and runtime is not None and not runtime.functions:
        return None, f"{runtime.name} runs the function main, and {source.entry!r} was converted"
    return runtime, why


def _run_alone(running: Running, given: Mapping[str, np.ndarray], source: Module, refusing: Runtime | None) -> None:
    """Run a result that nothing judges. What the model's own runtime, which refuses these inputs, never runs does not have to run
    in the same format either: a variable without a value."""
    own = running.own
    try:
        running.alone(given)
    except RunError:
        if refusing is not None and own is not None and own.target == judged_format(source):
            with suppress(PluginFailure, OtherShape):  # it runs, and gives other shapes than its file says
                if refusal_of_all(run_of(refusing, source), given) is not None:
                    return
        raise


def _checked(
    source: Module, inputs: Mapping[str, Any] | Iterable[Mapping[str, Any]], most: int,
) -> Iterable[Mapping[str, np.ndarray]]:
    """One input, looked at now, or several, `most` of them, each when it is used."""
    if isinstance(inputs, Mapping):
        return [checked_inputs(source, inputs)]
    pending = (Sample(name, checked_inputs(source, each)) for name, each in islice(named(inputs), most))
    return chain(telling_first(islice(pending, SAMPLES)), pending)


def _affordable(result: Module) -> int:
    """On how many inputs a result may be run, one at least: together they cost what a single run may."""
    most = allowance()
    costs = ((elements_of(result), most.elements), (work_of(result).products, most.products))
    return max(min(allowed // max(count, 1) for count, allowed in costs), 1)


def _too_much(source: Module, result: Module, given: bool) -> str:
    """Why running a module on inputs, `given` or drawn, would cost more than verification may; empty where it does not."""
    most, work = allowance(), work_of(result)
    needed, there = memory_of(result), machine_bytes()
    both = max(needed, memory_of(source))
    ends = len(result.body_of_main.arguments) + len(result.body_of_main.terminator.operands)
    own = own_bytes(source, result.body_of_main, given)
    for count, allowed, what, name in (
            (ends, most.ends, "fill and compare {:,} inputs and outputs", "ends"),
            (max(map(elements_of, (result, source))), most.elements, "compute {:,} numbers", "elements"),
            (work.products, most.products, "multiply {:,} times", "products"),
            (both, allowed_of(own), "take {:,} bytes at one time", "memory")):
        if count > allowed:
            count = min(count, 10**80)  # Python does not write numbers of thousands of digits
            return f"it would {what.format(count)}, and {allowed:,} are allowed: {VARIABLE}={name}={count} allows them"
    return f"it would take {needed:,} bytes at one time, and this machine has {there:,}" if needed > there else ""
