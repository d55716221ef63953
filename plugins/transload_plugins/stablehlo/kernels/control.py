"""Kernels of control flow, tokens, tuples, calls and processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.run import Plan
from transload.errors import ConversionError, RunError
from transload.ir import Op, Value, new_module, set_results
from transload.ir.constants import dtype_of
from transload.journey import convert_to
from transload.roles import hub
from transload_hub.kernels.gather import best_places
from transload_hub.kernels.unary import FUNCTIONS

from ..dialect.call_forms import SPREADING, form_of, has_form
from ..dialect.control import function_called
from ..dialect.custom_call import function_of, gives_back, top_k_of
from ..parallel import current_process
from .elementwise import total_order
from .movement import check_shape
from .spreading import spread
from .table import Array, exact_dtype, fit, kernel

if TYPE_CHECKING:
    from ..dialect.control import (
        AfterAll,
        AsyncDone,
        AsyncStart,
        Case,
        Composite,
        CreateToken,
        GetTupleElement,
        If,
        Infeed,
        OptimizationBarrier,
        Outfeed,
        PartitionId,
        Recv,
        ReplicaId,
        Send,
        Tuple,
        While,
    )
    from ..dialect.custom_call import CustomCall

TOKEN = np.zeros((), np.bool_)
"""What stands for a token: only that there is one counts."""


@kernel("if", quantized="native")
def if_(op: If, pred: Array, run: Any) -> tuple[Array, ...]:
    return tuple(run(op.true_branch if bool(pred) else op.false_branch))


@kernel("case", quantized="native")
def case(op: Case, index: Array, run: Any) -> tuple[Array, ...]:
    number, branches = int(index), op.branches
    return tuple(run(branches[number if 0 <= number < len(branches) else -1]))


@kernel("while", quantized="native")
def while_(op: While, *state: Array, run: Any) -> tuple[Array, ...]:
    current: Any = state
    while bool(run(op.cond, *current)[0]):
        current = run(op.body, *current)
    return tuple(current)


@kernel("after_all", "create_token", quantized="native")
def token(op: AfterAll | CreateToken, *tokens: Array) -> Array:
    return TOKEN


@kernel("optimization_barrier", quantized="native")
def optimization_barrier(op: OptimizationBarrier, *values: Array) -> tuple[Array, ...]:
    return values


@kernel("tuple", quantized="native")
def tuple_(op: Tuple, *values: Array) -> tuple[tuple[Array, ...]]:
    return (values,)


@kernel("get_tuple_element", quantized="native")
def get_tuple_element(op: GetTupleElement, value: tuple[Array, ...]) -> tuple[Array]:
    return (value[op.attributes["index"]],)


@kernel("async_start", quantized="native")
def async_start(op: AsyncStart, *inputs: Array, run: Any) -> tuple[tuple[Array, ...]]:
    """Computed at once: when that happens between start and end is up to an implementation."""
    return (tuple(run(op.body, *inputs)),)


@kernel("async_done", quantized="native")
def async_done(op: AsyncDone, future: tuple[Array, ...]) -> tuple[Array, ...]:
    return future


@kernel("composite", quantized="native")
def composite(op: Composite, *inputs: Array, run: Any = None) -> tuple[Array, ...]:
    callee = function_called(op, op.decomposition)
    if callee is None:
        raise RunError(f"{op.called}: the module has no function @{op.decomposition}")
    plan = Plan(callee.regions[0], callee.parent_op)
    if plan.missing:
        raise RunError(f"@{op.decomposition}, which {op.attributes['name']} means, cannot be run", plan.missing)
    return tuple(plan.execute(inputs))


def _planned(op: Composite, plan: Plan) -> Any:
    """A composite in a plan: its decomposition, planned with what is around it, so that one that holds itself is seen."""
    return plan.called(op, op.decomposition, function_called(op, op.decomposition))


composite.plans = _planned  # type: ignore[attr-defined]


@kernel("custom_call", quantized="native")
def custom_call(op: CustomCall, *inputs: Array) -> Any:
    return _called(op, inputs, partial(_meaning, op))


def _planned_call(op: CustomCall, plan: Plan) -> Any:
    """A call in a plan: what it means is found out once, where it is run first, and not in each round of a loop."""
    meaning = cache(partial(_meaning, op))
    return lambda op, *inputs: _called(op, inputs, meaning)


custom_call.plans = _planned_call  # type: ignore[attr-defined]


def _called(op: CustomCall, inputs: tuple[Array, ...], meaning: Callable[[], Plan]) -> Any:
    if op.call_target_name == "shape_assertion" and has_form(op):  # of programs that JAX exports with symbolic shapes
        if not inputs[0]:
            message = str(op.attributes.get("error_message", "the shapes are not those that the program was exported for"))
            for index, value in enumerate(inputs[1:]):
                message = message.replace(f"{{{index}}}", str(value))
            raise RunError(message)
        return ()
    if gives_back(op):
        return inputs
    if op.call_target_name in SPREADING and has_form(op) and (part := spread(op, current_process(), inputs[0])) is not None:
        return part
    known = function_of(op)
    if known is not None:
        (x,) = inputs
        with np.errstate(all="ignore"):
            return fit(FUNCTIONS[known.capitalize()](x.astype(exact_dtype(x.dtype))), x.dtype)
    best = top_k_of(op)
    if best is not None:
        (x,) = inputs
        is_float = np.issubdtype(exact_dtype(x.dtype), np.floating)
        places = best_places(total_order(x) if is_float else x, *best)
        return np.take_along_axis(x, places, -1), places.astype(np.int32)
    return tuple(meaning().execute(inputs))


def _meaning(op: CustomCall) -> Plan:
    """The operations of the hub that a call of a library means (`raising.calls`)."""
    from ..raising.calls import is_known  # which needs the kernels

    refused = f"{op.called}: nothing here computes {op.call_target_name!r}"
    if not is_known(op):
        raise RunError(refused, hint=_way_out(op))
    module = new_module()
    for name in op.called_computations:
        called = function_called(op, name)
        if called is not None:
            module.body.append(called.clone())
    main = module.add_function("main", [value.type for value in op.operands])
    block = main.regions[0].block
    mapping: dict[Value, Value] = dict(zip(op.operands, block.arguments, strict=True))
    for value in op.operands:
        if value.op is not None and not value.op.operands and not value.op.regions:  # places, by which it is known
            block.append(value.op.clone(mapping))
    call = block.append(op.clone(mapping))
    set_results(main, call.results)
    try:
        convert_to(module, (hub().name,))
    except ConversionError as error:
        raise RunError(refused, error.findings) from None
    plan = Plan(module.main.regions[0], module)
    if plan.missing or any(inner.name == "top.Custom" for inner in module.walk()):
        raise RunError(refused, plan.missing, hint=_way_out(op))
    return plan


def _way_out(op: CustomCall) -> str:
    """What to do about a call that nothing computes."""
    called, form = op.call_target_name, form_of(op.call_target_name)
    if form is not None and not has_form(op):
        return f"{form}; give it that, or have a plugin rewrite it before the program runs"
    if called.startswith("stablehlo.dynamic_"):
        return "give the inputs their sizes: `transload run --shape NAME:3x4`, or `transload.load(path, inputs={name: (3, 4)})`"
    if called in SPREADING:
        return (
            "the program is spread over devices, as JAX's shard_map does: run_parallel of transload_plugins.stablehlo.parallel "
            "with as many partitions as there are devices runs it, where the call says how they share a tensor "
            "(mhlo.sharding), and else what each computes, the function that this call is for, on its part of the inputs; or "
            "export it for one device")
    return "it is known to the implementation that the program was made for; a plugin can rewrite it before the program runs"


# --- processes


@kernel("replica_id")
def replica_id(op: ReplicaId) -> Array:
    return np.array(current_process().replica, np.uint32)


@kernel("partition_id")
def partition_id(op: PartitionId) -> Array:
    return np.array(current_process().partition, np.uint32)


def _payload(op: Op, arrays: Any, what: str) -> tuple[Array, ...]:
    """Arrays from outside as the op's results, with a token behind them."""
    results = op.results[:-1]
    if len(arrays) != len(results):
        raise RunError(f"{op.called}: {what} gives {len(arrays)} tensors, not {len(results)}")
    out = [
        check_shape(op, np.asarray(array, dtype_of(result.element)), index)
        for index, (array, result) in enumerate(zip(arrays, results, strict=True))
    ]
    return (*out, TOKEN)


@kernel("infeed", quantized="native")
def infeed(op: Infeed, token: Array) -> tuple[Array, ...]:
    queue = current_process().infeed
    if not queue:
        raise RunError(f"{op.called}: the infeed is empty", hint="run_parallel(..., infeed=...) fills it")
    return _payload(op, queue.popleft(), "the infeed")


@kernel("outfeed", quantized="native")
def outfeed(op: Outfeed, *inputs: Array) -> Array:
    current_process().outfeed.append(list(inputs[:-1]))
    return TOKEN


@kernel("send", quantized="native")
def send(op: Send, *inputs: Array) -> Array:
    grid, channel = current_process().grid, op.channel_handle.handle
    grid.send(grid.to_host[channel] if op.is_host_transfer else grid.channels[channel], list(inputs[:-1]))
    return TOKEN


@kernel("recv", quantized="native")
def recv(op: Recv, token: Array) -> tuple[Array, ...]:
    process, channel = current_process(), op.channel_handle.handle
    grid = process.grid
    queue = grid.from_host[channel] if op.is_host_transfer else grid.channels[channel]
    return _payload(op, grid.receive(process, op, queue), f"channel {channel}")
