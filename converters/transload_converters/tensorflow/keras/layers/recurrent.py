"""Recurrent layers: a cell step by step.

The number of steps is known, so they are written out; an LSTM as most are is one op, `BlockLSTMV2`, whose gates lie in the order
of Keras's. What a cell computes of its input alone is computed of all steps at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transload.errors import Unsupported
from transload.ir import BOOL, F16, F32, I64, TensorType, Type, Value
from transload_hub import tables

from ..graph import Graph, Shape, shape_of
from ..layer import LAYERS, Call, Layer, flatten, mapped, snake
from .activations import activated
from .convolution import convolve

__all__ = ["Cell", "Step"]

Step = Callable[[Value, list[Value]], tuple[Value, list[Value]]]
"""Of what is given at a step, and the states, the output and the states after it."""


@dataclass
class Cell:
    """A cell at work: what it is given at each step, its states, and its step."""

    inputs: Sequence[Value]
    states: Sequence[Shape]
    step: Step
    elements: Sequence[Type]
    """The element types of the states."""


_DROPPED = ("dropout", "recurrent_dropout")
"""By which rates cells drop numbers in training."""
CELLS: dict[str, Callable[[Call, str, Value], Cell]] = {}


def cell_called(call: Call, x: Value, states: Any) -> Any:
    """A cell by itself, called for one step."""
    cell = cell_of(call, "", call.g.expand(x, 1))
    given = list(states) if isinstance(states, list | tuple) else [states]
    y, after = cell.step(cell.inputs[0], [call.g.cast(state, each) for state, each in zip(given, cell.elements, strict=True)])
    return y, after


def cell_of(call: Call, prefix: str, x: Value) -> Cell:
    maker = CELLS.get(call.layer.class_name)
    if maker is None:
        raise Unsupported(f"its cell is of class {call.layer.class_name!r}, which is not known here")
    call.refuse_trained()
    return maker(call, prefix, call.g.cast(x, call.element))


# --- layers


def recurrent(call: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
    """A layer of one cell."""
    return _run(call, call, "cell/", x, initial_state, mask)


@LAYERS.layer("RNN", parts=lambda config: [("cell", config["cell"])])
def rnn(call: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
    """A layer of a cell that is a layer."""
    made = _run(call, call.inner("cell"), "", x, initial_state, mask)
    return _as_outside(call, made)


def _as_outside(call: Call, made: Any) -> Any:
    """What the layers or cells inside give, which compute with their own types, in that of the layer, as it is in Keras 3."""
    def cast(value: Value) -> Value:
        outside = call.g.cast(value, call.element)
        if outside is not value:
            call.set_mask(outside, call.mask(value))
        return outside

    return mapped(made, cast) if call.g.keras >= 3 else made


def _run(call: Call, cell_call: Call, prefix: str, given: Any, initial: Any, mask: Any) -> Any:
    g = call.g
    x, *more = given if isinstance(given, list | tuple) else [given]
    passed = g.cast(mask, BOOL) if mask is not None else call.mask(x)
    states = _flat(initial if initial is not None else more)
    # Keras 3 hands a tensor's mask on only where the tensor is the one argument
    mask = passed if mask is not None or g.keras < 3 or not states else None
    if x.rank < 3:
        raise Unsupported(f"it is called with a tensor of shape {list(shape_of(x))}, which has no steps")
    if mask is not None and shape_of(mask) != shape_of(x)[:2]:
        raise Unsupported(f"its mask has the shape {list(shape_of(mask))}, and its input {list(shape_of(x))}")
    major = _steps_first(call.layer)
    if major:
        x, mask = _swapped(g, x), _swapped(g, mask) if mask is not None else None
    backward, sequences = bool(call.option("go_backwards", False)), bool(call.option("return_sequences", False))
    x = cell_call.floats(x)
    turned = g.reverse(x, 1) if backward else x
    if mask is None and _is_block(call, states):
        outputs, last, states = _block_lstm(call, prefix, turned, states)
    else:
        turned_mask = g.reverse(mask, 1) if mask is not None and backward else mask
        steps, states = _steps(call, cell_of(cell_call, prefix, turned), states, turned_mask)
        last = steps[-1]
        outputs = g.stack(steps, 1) if sequences else last
    y = last
    if sequences:
        y = _swapped(g, outputs) if major else outputs
        call.set_mask(y, passed)
    return [y, *states] if call.option("return_state", False) else y


def _steps_first(layer: Layer) -> bool:
    """Whether a layer's sequences are [steps, batch, ...], as layers of Keras 2 may have it; those of convolutions never do."""
    return bool(layer.config.get("time_major")) and not layer.class_name.startswith("ConvLSTM")


def _swapped(g: Graph, x: Value) -> Value:
    """With batch and steps in each other's place."""
    return g.transpose(x, [1, 0, *range(2, x.rank)])


def _flat(states: Any) -> list[Value]:
    """States that are given."""
    given = [state for state in flatten(states) if state is not None]
    for state in given:
        if not isinstance(state, Value):
            raise Unsupported(f"it is given {state!r:.80} as a state, which is no tensor")
    return given


def _steps(call: Call, cell: Cell, states: list[Value], mask: Value | None) -> tuple[list[Value], list[Value]]:
    """The outputs of all steps and the last states. A masked step gives what that before it gave, and changes no state."""
    g, outputs = call.g, list[Value]()
    if not cell.inputs:
        raise Unsupported("it is called with a sequence of no steps")
    if not states:
        states = [g.constant(tables.zeros(shape), each) for shape, each in zip(cell.states, cell.elements, strict=True)]
    if [shape_of(state) for state in states] == [(len(cell.states), *cell.states[0])]:
        states = list(g.unstack(states[0], 0))  # a file of Keras 2 has several as one list of numbers
    if [shape_of(state) for state in states] != list(cell.states):
        raise Unsupported(f"it is given states of shapes {[list(shape_of(s)) for s in states]}, where "
                          f"{[list(shape) for shape in cell.states]} are needed")
    states = [g.cast(state, each) for state, each in zip(states, cell.elements, strict=True)]
    masks = g.unstack(mask, 1) if mask is not None else (None,) * len(cell.inputs)
    for given, there in zip(cell.inputs, masks, strict=True):
        y, after = cell.step(given, states)
        if there is not None:
            zeros = bool(call.option("zero_output_for_mask", False))
            before = outputs[-1] if outputs and not zeros else g.ZerosLike(y)
            y = g.select(_broad(g, there, y), y, before)
            after = [g.select(_broad(g, there, new), new, old) for new, old in zip(after, states, strict=True)]
        outputs.append(y)
        states = after
    return outputs, states


def _broad(g: Graph, there: Value, value: Value) -> Value:
    return g.reshape(there, [shape_of(there)[0], *[1] * (value.rank - 1)])


def _is_block(call: Call, states: list[Value]) -> bool:
    """Whether a layer is what `BlockLSTMV2` computes."""
    def plain(name: str, wanted: str) -> bool:
        named = call.config.get(name, wanted)
        return (named.get("config") if isinstance(named, Mapping) else named) == wanted

    return (call.layer.class_name == "LSTM" and plain("activation", "tanh") and plain("recurrent_activation", "sigmoid")
            and len(states) in (0, 2) and call.element in (F16, F32))


def _block_lstm(call: Call, prefix: str, x: Value, states: list[Value]) -> tuple[Value, Value, list[Value]]:
    """All steps of an LSTM in one op: outputs [N, T, H], the last one, and the states h and c."""
    g, (batch, steps, size), units = call.g, _sequence(x), int(call.config["units"])
    kernel = call.weight(f"{prefix}kernel", (size, 4 * units))
    recurrence = call.weight(f"{prefix}recurrent_kernel", (units, 4 * units))
    has_bias = call.has(f"{prefix}bias")
    bias = call.weight(f"{prefix}bias", (4 * units,)) if has_bias else g.constant(tables.zeros(4 * units), x.element)
    h, c = states or [g.constant(tables.zeros((batch, units)), x.element)] * 2
    peephole = g.constant(tables.zeros(units), x.element)
    made = TensorType((steps, batch, units), x.element)
    weights = g.concat([kernel, recurrence], 0)
    given = (g.constant(steps, I64), g.transpose(x, [1, 0, 2]), c, h, weights, peephole, peephole, peephole, bias)
    _, cells, *_, hidden = g.emit_many("BlockLSTMV2", given, (made,) * 7, use_peephole=False)
    last = [g.reshape(g.narrow(each, 0, steps - 1, steps), [batch, units]) for each in (hidden, cells)]
    return g.transpose(hidden, [1, 0, 2]), last[0], last


# --- cells


def _recurrent(name: str, *names: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a cell and the layer of it: `LSTMCell`, and `LSTM` whose weights are those of its part `cell`."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CELLS[f"{name}Cell"] = CELLS[name] = function
        options.setdefault("trained_by", _DROPPED)
        LAYERS.layer(f"{name}Cell", variables=names, **options)(cell_called)
        LAYERS.layer(name, variables=tuple(f"cell/{each}" for each in names), **options)(recurrent)
        return function

    return add


def _products(call: Call, x: Value, kernel: Value, bias: Value | None) -> Sequence[Value]:
    """The products of the inputs of all steps, [N, T, I], with a kernel: one for each step."""
    g, (batch, steps, size) = call.g, shape_of(x)
    y = g.matmul(g.reshape(x, [batch * steps, size]), kernel)
    if bias is not None:
        y = g.emit("BiasAdd", (y, bias), shape_of(y), data_format="NHWC")
    return g.unstack(g.reshape(y, [batch, steps, shape_of(y)[-1]]), 1)


def _sequence(x: Value) -> Shape:
    if x.rank != 3:
        raise Unsupported(f"it is called with a tensor of shape {list(shape_of(x))}, where [batch, steps, numbers] is needed")
    return shape_of(x)


@_recurrent("SimpleRNN", "kernel", "recurrent_kernel", "bias:use_bias")
def simple_rnn(call: Call, prefix: str, x: Value) -> Cell:
    g, (batch, _, size), units = call.g, _sequence(x), int(call.config["units"])
    kernel = call.weight(f"{prefix}kernel", (size, units))
    recurrence = call.weight(f"{prefix}recurrent_kernel", (units, units))
    bias = call.weight(f"{prefix}bias", (units,)) if call.has(f"{prefix}bias") else None

    def step(given: Value, states: list[Value]) -> tuple[Value, list[Value]]:
        h = activated(call, g.AddV2(given, g.matmul(states[0], recurrence)))
        return h, [h]

    return Cell(_products(call, x, kernel, bias), [(batch, units)], step, [x.element])


@_recurrent("LSTM", "kernel", "recurrent_kernel", "bias:use_bias")
def lstm(call: Call, prefix: str, x: Value) -> Cell:
    """Gates i, f, c, o."""
    g, (batch, _, size), units = call.g, _sequence(x), int(call.config["units"])
    kernel = call.weight(f"{prefix}kernel", (size, 4 * units))
    recurrence = call.weight(f"{prefix}recurrent_kernel", (units, 4 * units))
    bias = call.weight(f"{prefix}bias", (4 * units,)) if call.has(f"{prefix}bias") else None

    def step(given: Value, states: list[Value]) -> tuple[Value, list[Value]]:
        return _lstm_step(call, g.AddV2(given, g.matmul(states[0], recurrence)), states[1], -1)

    return Cell(_products(call, x, kernel, bias), [(batch, units)] * 2, step, [x.element] * 2)


def _lstm_step(call: Call, z: Value, c: Value, axis: int) -> tuple[Value, list[Value]]:
    """The rest of an LSTM's step, of the sum of both products and the cell state."""
    g = call.g
    i, f, candidate, o = g.split(z, 4, axis)
    gate = "recurrent_activation"
    c = g.AddV2(g.Mul(activated(call, f, gate), c), g.Mul(activated(call, i, gate), activated(call, candidate)))
    h = g.Mul(activated(call, o, gate), activated(call, c))
    return h, [h, c]


@_recurrent("GRU", "kernel", "recurrent_kernel", "bias:use_bias")
def gru(call: Call, prefix: str, x: Value) -> Cell:
    """Gates z, r, h; with `reset_after`, r is applied to the product with h, which has a bias of its own."""
    g, (batch, _, size), units = call.g, _sequence(x), int(call.config["units"])
    after = bool(call.option("reset_after", g.keras >= 3))
    kernel = call.weight(f"{prefix}kernel", (size, 3 * units))
    name = f"{prefix}recurrent_kernel"
    recurrence = call.weight(name, (units, 3 * units))
    first = second = None
    if call.has(f"{prefix}bias"):
        bias = call.weight(f"{prefix}bias", (2, 3 * units) if after else (3 * units,))
        first, second = g.unstack(bias, 0) if after else (bias, None)
    gates, last = (recurrence, None) if after else (
        g.narrow(recurrence, 1, 0, 2 * units), g.narrow(recurrence, 1, 2 * units, 3 * units))

    def step(given: Value, states: list[Value]) -> tuple[Value, list[Value]]:
        h = states[0]
        xz, xr, xh = g.split(given, 3, -1)
        inner = g.matmul(h, gates)
        if second is not None:
            inner = g.AddV2(inner, second)
        parts = g.split(inner, 3 if after else 2, -1)
        z = activated(call, g.AddV2(xz, parts[0]), "recurrent_activation")
        r = activated(call, g.AddV2(xr, parts[1]), "recurrent_activation")
        more = g.Mul(r, parts[2]) if last is None else g.matmul(g.Mul(r, h), last)
        candidate = activated(call, g.AddV2(xh, more))
        h = g.AddV2(g.Mul(z, h), g.Mul(g.Sub(1.0, z), candidate))
        return h, [h]

    return Cell(_products(call, x, kernel, first), [(batch, units)], step, [x.element])


def conv_lstm(call: Call, prefix: str, x: Value) -> Cell:
    """An LSTM whose products are convolutions."""
    g, filters = call.g, int(call.config["filters"])
    rank = int(re.search(r"([123])D|$", call.layer.class_name)[1] or call.option("rank", 2))  # type: ignore[index]
    shape, first = shape_of(x), call.channels_first
    if len(shape) != rank + 3:
        raise Unsupported(f"it is called with a tensor of shape {list(shape)}, where {rank + 3} dimensions are needed")
    sizes = [call.numbers(name, rank) for name in ("kernel_size", "strides", "dilation_rate")]
    channels = shape[2] if first else shape[-1]
    kernel = call.weight(f"{prefix}kernel", (*sizes[0], channels, 4 * filters))
    recurrence = call.weight(f"{prefix}recurrent_kernel", (*sizes[0], filters, 4 * filters))
    padding, ones = str(call.option("padding", "valid")).upper(), (1,) * rank
    images = g.reshape(x, [shape[0] * shape[1], *shape[2:]])
    y = convolve(g, "Conv", images, kernel, sizes[1], padding, sizes[2], first, 4 * filters)
    if call.has(f"{prefix}bias"):
        y = g.AddV2(y, g.reshape(call.weight(f"{prefix}bias", (4 * filters,)), [4 * filters, *[1] * (rank if first else 0)]))
    made = list(shape_of(y)[1:])
    inputs = g.unstack(g.reshape(y, [*shape[:2], *made]), 1)
    made[0 if first else -1] = filters

    def step(given: Value, states: list[Value]) -> tuple[Value, list[Value]]:
        inner = convolve(g, "Conv", states[0], recurrence, ones, "SAME", ones, first, 4 * filters)
        return _lstm_step(call, g.AddV2(given, inner), states[1], 1 if first else -1)

    return Cell(inputs, [(shape[0], *made)] * 2, step, [x.element] * 2)


def _cells(config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    counts: dict[str, int] = {}
    for entry in config["cells"]:
        key = snake(str(entry["class_name"]))
        count = counts[key] = counts.get(key, -1) + 1
        yield f"cells/{key}" + (f"_{count}" if count else ""), entry


@LAYERS.layer("StackedRNNCells", parts=_cells)
def stacked_called(call: Call, x: Value, states: Any) -> Any:
    return cell_called(call, x, states)


def stacked(call: Call, prefix: str, x: Value) -> Cell:
    """Cells on top of each other: the first is given what is given, each other what that below it gives."""
    g, names = call.g, list(call.layer.parts)
    calls = [call.inner(name) for name in names]
    if not calls:
        raise Unsupported("it has no cells")
    inputs = g.unstack(x, 1)
    made: list[Cell] = []
    below = x
    for each in calls:  # shapes of states, by a cell on nothing but a shape
        made.append(cell_of(each, "", _one_step(g, below)))
        below = _like(g, below, made[-1].states[0])

    def step(given: Value, states: list[Value]) -> tuple[Value, list[Value]]:
        after: list[Value] = []
        for each in calls:
            cell = cell_of(each, "", g.expand(given, 1))
            count, at = len(cell.states), len(after)
            given, new = cell.step(cell.inputs[0], states[at : at + count])
            after += new
        return given, after

    elements = [each for cell in made for each in cell.elements]
    return Cell(inputs, [shape for cell in made for shape in cell.states], step, elements)


def _one_step(g: Graph, x: Value) -> Value:
    return g.narrow(x, 1, 0, 1)


def _like(g: Graph, x: Value, state: Shape) -> Value:
    """Zeros as a cell with such a state gives them, for one step."""
    return g.constant(tables.zeros((state[0], 1, *state[1:])), x.element)


CELLS["StackedRNNCells"] = stacked
for _rank in ("1D", "2D", "3D"):
    CELLS[f"ConvLSTM{_rank}"] = conv_lstm
    LAYERS.layer(f"ConvLSTM{_rank}", variables=("cell/kernel", "cell/recurrent_kernel", "cell/bias:use_bias"),
                 trained_by=_DROPPED)(recurrent)
CELLS["ConvLSTMCell"] = conv_lstm
LAYERS.layer("ConvLSTMCell", variables=("kernel", "recurrent_kernel", "bias:use_bias"), trained_by=_DROPPED)(cell_called)


# --- both ways


def _both(config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The layer forward, and the one backward: a given one, or the same again."""
    layer = config["layer"]
    inner = dict(layer["config"])
    name = str(inner.get("name", snake(str(layer["class_name"]))))
    forward = {**layer, "config": {**inner, "name": f"forward_{name.removeprefix('forward_')}"}}
    given = config.get("backward_layer")
    backward = given if given is not None else {**layer, "config": {
        **inner, "name": f"backward_{name.removeprefix('backward_')}", "go_backwards": not inner.get("go_backwards", False)}}
    for entry in (forward, backward):
        zeros = {"zero_output_for_mask": bool(entry["config"].get("return_sequences", False))}
        yield ("forward_layer" if entry is forward else "backward_layer"), {**entry, "config": {**entry["config"], **zeros}}


@LAYERS.layer("Bidirectional", parts=_both)
def bidirectional(call: Call, x: Any, initial_state: Any = None, mask: Any = None) -> Any:
    """A layer that goes forward and one that goes backward, joined."""
    g = call.g
    x, *more = x if isinstance(x, list | tuple) else [x]
    if isinstance(initial_state, Value):  # those of both ways, where a file of Keras 2 has them as a list of numbers
        initial_state = g.unstack(initial_state, 0)
    states = _flat(initial_state if initial_state is not None else more)
    named = {"mask": mask} if mask is not None else {}
    half = len(states) // 2
    results = []
    for name, given in (("forward_layer", states[:half]), ("backward_layer", states[half:])):
        made = call.apply(call.part(name), x, **named, **({"initial_state": given} if given else {}))
        results.append(list(made) if isinstance(made, list | tuple) else [made])
    (forward, *after), (backward, *more_after) = results  # states stay of the type that they are computed with
    forward, backward = _as_outside(call, [forward, backward])
    one = call.part("forward_layer")
    sequences = bool(one.config.get("return_sequences", False))
    if sequences:
        backward = g.reverse(backward, 0 if _steps_first(one) else 1)
    joined = _joined(g, call.config.get("merge_mode", "concat"), forward, backward)
    if sequences:
        for value in joined:
            call.set_mask(value, mask if mask is not None else call.mask(x))
    made = [*joined, *after, *more_after]
    return made[0] if len(made) == 1 else made


def _joined(g: Graph, mode: Any, forward: Value, backward: Value) -> list[Value]:
    if mode is None:
        return [forward, backward]
    ways: dict[str, Callable[[], Value]] = {
        "concat": lambda: g.concat([forward, backward], -1), "sum": lambda: g.AddV2(forward, backward),
        "mul": lambda: g.Mul(forward, backward), "ave": lambda: g.Mul(g.AddV2(forward, backward), 0.5)}
    if mode not in ways:
        raise Unsupported(f"its merge_mode {mode!r} is none that Keras has")
    return [ways[mode]()]
