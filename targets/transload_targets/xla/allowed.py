"""What of a program may reach XLA: one process, and the calls of other libraries that are known here.

XLA looks custom calls up by their names in a table of its own, in which stand functions that trust what they are given
(`TopK`, `__onednn$matmul`): given other operands than they expect, they end the process. What talks to a host, or to other
processes, waits for those for ever, or computes as if it were all of them. So each is refused before XLA sees it, unless it is
known to do no harm.
"""

from __future__ import annotations

from collections.abc import Callable

from transload.errors import Finding, merge_findings
from transload.ir import I32, Module, Op, TensorType
from transload_hub.library_calls import known_calls

__all__ = ["findings_of", "has_known_calls"]


def _gives_back(op: Op) -> bool:
    """Whether the results have the operands' types, in order."""
    return len(op.operands) == len(op.results) and all(a.type == b.type for a, b in zip(op.operands, op.results, strict=True))


def _function(op: Op) -> bool:
    return len(op.operands) == 1 and _gives_back(op)


def _top_k(op: Op) -> bool:
    """Values, and places of i32, both of the operand's shape but for the last dimension."""
    if len(op.operands) != 1 or len(op.results) != 2:
        return False
    (x,), (values, places) = op.operands, op.results
    types = [value.type for value in (x, values, places)]
    if not all(isinstance(type_, TensorType) and type_.is_static and type_.rank for type_ in types):
        return False
    most, *rest = (tuple(value.shape) for value in (x, values, places))
    return (
        rest[0] == rest[1] and most[:-1] == rest[0][:-1] and rest[0][-1] <= most[-1]  # type: ignore[operator]
        and values.element == x.element and places.element == I32)


CALLS: dict[str, Callable[[Op], bool]] = {
    **dict.fromkeys((  # annotations, which give a value back
        "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint",
        "MoveToHost", "MoveToDevice", "PinToDevice", "InspectSharding", "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"), _gives_back),
    **dict.fromkeys((f"mhlo.{name}" for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "sinh", "tan")), _function),
    "mhlo.topk": _top_k,
}
"""Custom calls that XLA itself takes apart, and the form that each must have."""

_PARALLEL = "transload_plugins.stablehlo.parallel.run_parallel runs them all"
_FEEDS = frozenset(("stablehlo.infeed", "stablehlo.outfeed"))
_CHANNELS = frozenset(("stablehlo.send", "stablehlo.recv"))
_GROUPED = frozenset(f"stablehlo.{name}" for name in (
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "cross-replica-sum", "reduce_scatter"))


def findings_of(module: Module) -> list[Finding]:
    """A finding for each kind of op that may not reach XLA."""
    return merge_findings([
        Finding(op.name, why, (op.origin,) if op.origin else (), hint)
        for op in module.walk() for why, hint in _reasons(op)])


def has_known_calls(module: Module) -> bool:
    """Whether a program calls what may not reach XLA and the hub knows: LAPACK, approximate extremes."""
    return any(_reasons(op) for op in known_calls(module))


def _reasons(op: Op) -> list[tuple[str, str]]:
    if op.name == "stablehlo.custom_call":
        name = str(op.attributes.get("call_target_name"))
        fits = CALLS.get(name)
        if fits is None:
            return [(f"calls {name!r}, which is not among the calls that are known to be safe in XLA",
                     "a plugin can rewrite it before the program runs")]
        return [] if fits(op) else [(f"calls {name!r} with other operands or results than it has", "")]
    if op.name in _FEEDS or (op.name in _CHANNELS and op.attribute("is_host_transfer")):
        return [("talks to a host, and none is here: it would wait for ever",
                 "transload_plugins.stablehlo.parallel.run_parallel runs it, with what the host gives and takes")]
    numbers: list[int] = []
    if op.name in _CHANNELS:
        return [("talks to another process, and one runs here: it would wait for ever", _PARALLEL)]
    if op.name in _GROUPED:
        numbers = op.attributes["replica_groups"].numpy().reshape(-1).tolist()
    elif op.name == "stablehlo.collective_permute":
        numbers = op.attributes["source_target_pairs"].numpy().reshape(-1).tolist()
    if any(number > 0 for number in numbers):
        return [("is of several processes, and one runs here", _PARALLEL)]
    return []
