"""LSTM, GRU and RNN, of several layers, and their cells."""

from __future__ import annotations

import math
from typing import Any

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter

from .movement import slice_along
from .table import AtenTable, Call, permute, reshape, shape_of, splat

TABLE = AtenTable()

_KINDS = {"lstm": ("top.LSTM", 4, (0, 3, 1, 2)), "gru": ("top.GRU", 3, (1, 0, 2)), "rnn_tanh": ("top.RNN", 1, (0,)),
          "rnn_relu": ("top.RNN", 1, (0,))}
"""The hub's op, its gates, and which of PyTorch's each of them is: of i, f, g, o as i, o, f, g; of r, z, n as z, r, n."""


@TABLE("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")
def recurrent(call: Call, rw: Rewriter) -> list[Value]:
    """Layers one above the other, each forward or both ways."""
    if call.train and float(call.dropout) > 0 and call.num_layers > 1:
        raise Unsupported("drops numbers at random, as in training", "export the network after model.eval()")
    value, first = call.input, call.batch_first
    single = len(shape_of(value)) == 2
    if not single:
        shape_of(value, 3)
    else:
        value = reshape(rw, value, (1, *shape_of(value)) if first else (shape_of(value)[0], 1, shape_of(value)[1]))
    value = permute(rw, value, (1, 0, 2)) if first else value
    states = call.hx if isinstance(call.hx, list) else [call.hx]
    directions = 2 if call.bidirectional else 1
    _check_states(call, value, states, single, directions)
    states = [_with_batch(rw, state) if single else state for state in states]
    per = _check_params(call, states, directions)
    ends: list[list[Value]] = []
    for layer in range(call.num_layers):
        own = [slice_along(rw, state, 0, layer * directions, (layer + 1) * directions) for state in states]
        weights = [call.params[(layer * directions + i) * per : (layer * directions + i + 1) * per] for i in range(directions)]
        value, last = _layer(call, rw, value, weights, own, directions)
        ends.append(last)
    value = permute(rw, value, (1, 0, 2)) if first else value
    finals = [parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=0) for parts in zip(*ends, strict=True)]
    if single:
        value = reshape(rw, value, (shape_of(value)[1 if first else 0], shape_of(value)[2]))
        finals = [reshape(rw, final, (shape_of(final)[0], shape_of(final)[2])) for final in finals]
    return [value, *finals]


def _check_states(call: Call, value: Value, states: list[Value], single: bool, directions: int) -> None:
    """There are as many states as the layer has, each [layers * directions, N, H], the batch left out where it is `single`."""
    due = 2 if call.base == "lstm" else 1
    if len(states) != due or call.num_layers < 1:
        raise Unsupported(f"has {len(states)} states and {call.num_layers} layers", f"there must be {due}, and one layer or more")
    batch = () if single else (shape_of(value, 3)[1],)
    layers = call.num_layers * directions
    for state in states:
        shape = shape_of(state)
        if len(shape) != 2 + len(batch) or shape[:-1] != (layers, *batch):
            raise Unsupported(f"has a state of shape {list(shape)} for {layers} layers and directions")


def _check_params(call: Call, states: list[Value], directions: int) -> int:
    """The weights fit the size of the states: [gates * H, I or H], with biases of gates * H; how many each direction has.

    An LSTM may have one more, [P, H], which makes a hidden state of P of one of H (proj_size).
    """
    per, rest = divmod(len(call.params), call.num_layers * directions)
    projects = per in (3, 5) and call.base == "lstm"
    if (per not in (2, 4) and not projects) or rest:
        raise Unsupported(f"has {len(call.params)} weights for {call.num_layers} layers of {directions} direction(s)")
    given, hidden = (shape_of(states[place])[-1] for place in (0, -1))
    if given != hidden and not projects:
        raise Unsupported(f"has a hidden state of {given} numbers and a cell of {hidden}")
    rows = _KINDS[call.base][1] * hidden
    for place, weight in enumerate(call.params):
        if projects and place % per == per - 1:
            if shape_of(weight) != (given, hidden):
                raise Unsupported(f"projects by weights of shape {list(shape_of(weight))}, and {[given, hidden]} is due")
            continue
        rank = 2 if place % per < 2 else 1
        if shape_of(weight, rank)[0] != rows:
            raise Unsupported(f"has weights of shape {list(shape_of(weight))}, and {rows} rows are due")
    return per


def _with_batch(rw: Rewriter, state: Value) -> Value:
    layers, hidden = shape_of(state)
    return reshape(rw, state, (layers, 1, hidden))


def _layer(
    call: Call, rw: Rewriter, value: Value, weights: list[list[Value]], states: list[Value], directions: int,
) -> tuple[Value, list[Value]]:
    """One layer of [T, N, I]: its outputs [T, N, D*H] and last states."""
    name, gates, order = _KINDS[call.base]
    hidden = shape_of(states[-1])[2]
    inputs, recurrences = ([_reordered(rw, each[i], gates, order) for each in weights] for i in (0, 1))
    projections = [each[-1] for each in weights] if len(weights[0]) % 2 else []
    first: Value | None = states[0]
    if projections:
        given = rw.constant_of(states[0])
        if given is None or given.any():
            value, inputs = _with_first_state(rw, value, states[0], inputs, recurrences)
        first = None
        recurrences = [rw.emit("top.MatMul", *pair) for pair in zip(recurrences, projections, strict=True)]
    bias = None
    if len(weights[0]) >= 4:
        bias = _stacked(rw, [rw.emit("top.Concat", *(_reordered(rw, each[i], gates, order) for i in (2, 3)), axis=0)
                             for each in weights])
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
    if call.base == "gru":
        attributes["linear_before_reset"] = True
    if call.base == "rnn_relu":
        attributes["activations"] = ["Relu"] * directions
    made = rw.emit(name, value, _stacked(rw, inputs), _stacked(rw, recurrences), bias, first, *states[1:], **attributes)
    if projections:
        made = [_projected(rw, made[0], 1, projections), _projected(rw, made[1], 0, projections), made[2]]
        hidden = shape_of(made[0])[3]
    time, _, batch, _ = shape_of(made[0])
    together = reshape(rw, permute(rw, made[0], (0, 2, 1, 3)), (time, batch, directions * hidden))
    return together, list(made[1:])


def _with_first_state(
    rw: Rewriter, value: Value, state: Value, inputs: list[Value], recurrences: list[Value],
) -> tuple[Value, list[Value]]:
    """A layer without a first state that adds the same to its gates: the state is an input of the step that has it.

    `value` [T, N, I] and the weights [gates * H, I] of each direction are as wide as I + D*P, of a `state` [D, N, P]. A layer
    that projects has no other place for it: what its recurrence is given there is the state before it is projected.
    """
    (time, batch, _), (directions, _, size) = shape_of(value), shape_of(state)
    rows, columns = [value], [[each] for each in inputs]
    for direction in range(directions):
        own = slice_along(rw, state, 0, direction, direction + 1)
        if time > 1:
            rest = splat(rw, 0.0, (time - 1, batch, size), state.element)
            own = rw.emit("top.Concat", *((rest, own) if direction else (own, rest)), axis=0)
        rows.append(own)
        for place, weight in enumerate(recurrences):
            columns[place].append(weight if place == direction else splat(rw, 0.0, shape_of(weight), weight.element))
    return rw.emit("top.Concat", *rows, axis=2), [rw.emit("top.Concat", *each, axis=1) for each in columns]


def _projected(rw: Rewriter, value: Value, axis: int, projections: list[Value]) -> Value:
    """[.., D, N, H] times [P, H] of each direction, which are dimension `axis`: [.., D, N, P]."""
    made = []
    for direction, weight in enumerate(projections):
        own = slice_along(rw, value, axis, direction, direction + 1)
        shape, (size, hidden) = shape_of(own), shape_of(weight)
        flat = rw.emit("top.MatMul", reshape(rw, own, (math.prod(shape[:-1]), hidden)), weight, right_transpose=True)
        made.append(reshape(rw, flat, (*shape[:-1], size)))
    return made[0] if len(made) == 1 else rw.emit("top.Concat", *made, axis=axis)


def _reordered(rw: Rewriter, weight: Value, gates: int, order: tuple[int, ...]) -> Value:
    """[gates * H, ..] with its gates in another order."""
    if gates == 1:
        return weight
    size = shape_of(weight)[0] // gates
    parts = [slice_along(rw, weight, 0, gate * size, (gate + 1) * size) for gate in order]
    return rw.emit("top.Concat", *parts, axis=0)


def _stacked(rw: Rewriter, parts: list[Value]) -> Value:
    return rw.emit("top.Pack", *parts, axis=0)


@TABLE("lstm_cell.default", "gru_cell.default", "rnn_tanh_cell.default", "rnn_relu_cell.default")
def cell(call: Call, rw: Rewriter) -> list[Value]:
    """One step of a layer."""
    kind = call.base.removesuffix("_cell")
    name, gates, order = _KINDS[kind]
    states = call.hx if isinstance(call.hx, list) else [call.hx]
    parts = [_stacked(rw, [_reordered(rw, weight, gates, order)]) for weight in (call.w_ih, call.w_hh)]
    bias = None
    if call.b_ih is not None:
        bias = _stacked(rw, [rw.emit("top.Concat", *(_reordered(rw, b, gates, order) for b in (call.b_ih, call.b_hh)), axis=0)])
    attributes: dict[str, Any] = {"hidden_size": shape_of(states[0])[-1]}
    if kind == "gru":
        attributes["linear_before_reset"] = True
    if kind == "rnn_relu":
        attributes["activations"] = ["Relu"]
    inputs = [reshape(rw, each, (1, *shape_of(each))) for each in (call.input, *states)]
    made = rw.emit(name, inputs[0], *parts, bias, *inputs[1:], **attributes)
    return [reshape(rw, last, shape_of(states[0])) for last in made[1:]]
