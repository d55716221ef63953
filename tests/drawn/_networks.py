"""Small networks by number: a body on one kind of input, and an end of one kind, on random weights; and one with a mistake in it.

A `Net` is nodes of ONNX being written, with the shapes that heads ask for; `network` draws one, and `mistaken` makes of it what
a wrong reader or rule would: a weight moved, a step left out, an input or an output that is another.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from onnx import TensorProto, helper

from tests.support.onnx_models import make_model, node

__all__ = ["MISTAKES", "Net", "mistaken", "network"]

Arrays = dict[str, np.ndarray]


@dataclass
class Net:
    """Nodes being written, on random weights of an own generator."""

    rng: Generator
    batch: int = 1
    nodes: list[Any] = field(default_factory=list)
    constants: Arrays = field(default_factory=dict)
    drawn: dict[str, Callable[[Generator], np.ndarray]] = field(default_factory=dict)
    """What each input is drawn by."""
    outputs: list[str] = field(default_factory=list)
    name: str = ""

    def op(self, kind: str, *operands: Any, results: int = 1, **attributes: Any) -> Any:
        """A node of values and arrays; the name of its result, or names of several."""
        given = [each if isinstance(each, str) else self.constant(each) for each in operands]
        names = [f"v{len(self.nodes)}_{place}" for place in range(results)]
        self.nodes.append(node(kind, given, names, **attributes))
        return names if results > 1 else names[0]

    def constant(self, array: Any) -> str:
        array = np.asarray(array)
        name = f"c{len(self.constants)}"
        self.constants[name] = array.astype(np.float32) if array.dtype == np.float64 else array
        return name

    def weights(self, *shape: int, spread: float | None = None) -> np.ndarray:
        """Random weights, which keep the size of what they multiply."""
        fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        return self.rng.standard_normal(shape) * (1.4 / np.sqrt(fan) if spread is None else spread)

    def dense(self, x: str, size: int, out: int, relu: bool = False) -> str:
        y: str = self.op("Add", self.op("MatMul", x, self.weights(size, out)), self.weights(out, spread=0.2))
        return self.op("Relu", y) if relu else y  # type: ignore[no-any-return]

    def conv(self, x: str, size: int, out: int, kernel: int = 3, relu: bool = True, stride: int = 1) -> str:
        y: str = self.op("Conv", x, self.weights(out, size, kernel, kernel), self.weights(out, spread=0.2),
                         pads=[kernel // 2] * 4, strides=[stride] * 2)
        return self.op("Relu", y) if relu else y  # type: ignore[no-any-return]

    def takes(self, name: str, draw: Callable[[Generator], np.ndarray]) -> str:
        self.drawn[name] = draw
        return name

    def sample(self, rng: Generator) -> Arrays:
        """Inputs as the model is for."""
        return {name: draw(rng) for name, draw in self.drawn.items()}

    def file(self) -> bytes:
        ends = {f"y{place}": name for place, name in enumerate(self.outputs)}
        nodes = [*self.nodes, *(node("Identity", [name], [end]) for end, name in ends.items())]
        content: bytes = make_model(
            nodes, self.sample(np.random.default_rng(0)), [*ends], self.constants, opset=17).SerializeToString()
        return content


# --- bodies: what an input becomes, as a vector of twelve or a map of six channels

def _noise(*shape: int) -> Callable[[Generator], np.ndarray]:
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def picture(net: Net) -> tuple[str, str]:
    x = net.takes("x", _noise(net.batch, 3, 8, 8))
    return _of_picture(net, x)


def _of_picture(net: Net, x: str) -> tuple[str, str]:
    features = net.conv(net.conv(x, 3, 6), 6, 6, stride=2)
    pooled = net.op("Reshape", net.op("AveragePool", features, kernel_shape=[2, 2], strides=[2, 2]), np.array([net.batch, 24]))
    return net.dense(pooled, 24, 12, relu=True), features


def pixels(net: Net) -> tuple[str, str]:
    x = net.takes("x", lambda rng: rng.integers(0, 256, (net.batch, 3, 8, 8), dtype=np.uint8))
    centred = net.op("Sub", net.op("Cast", x, to=TensorProto.FLOAT), np.array(127.5))
    return _of_picture(net, net.op("Div", centred, np.array(64.0)))


def _map_of(net: Net, vector: str) -> str:
    return net.op("Reshape", net.dense(vector, 12, 96), np.array([net.batch, 6, 4, 4]))  # type: ignore[no-any-return]


def vector(net: Net) -> tuple[str, str]:
    made = net.dense(net.takes("x", _noise(net.batch, 16)), 16, 12, relu=True)
    return made, _map_of(net, made)


def two_inputs(net: Net) -> tuple[str, str]:
    both = net.op("Concat", net.takes("x", _noise(net.batch, 16)), net.takes("y", _noise(net.batch, 4)), axis=1)
    made = net.dense(both, 20, 12, relu=True)
    return made, _map_of(net, made)


def tokens(net: Net) -> tuple[str, str]:
    ids = net.takes("ids", lambda rng: rng.integers(0, 20, (net.batch, 6)))
    words = net.op("Gather", net.weights(20, 8, spread=1.0), ids)
    made = net.dense(net.op("Reshape", words, np.array([net.batch, 48])), 48, 12, relu=True)
    return made, _map_of(net, made)


def sequence(net: Net) -> tuple[str, str]:
    kind, gates = (("LSTM", 4), ("GRU", 3))[net.rng.integers(2)]
    x = net.takes("x", _noise(5, net.batch, 6))
    weights = [net.weights(1, gates * 12, size, spread=0.4) for size in (6, 12)]
    _, last = net.op(kind, x, *weights, net.weights(1, gates * 24, spread=0.2), results=2, hidden_size=12)
    made = net.dense(net.op("Squeeze", last, np.array([0])), 12, 12, relu=True)
    return made, _map_of(net, made)


def attention(net: Net) -> tuple[str, str]:
    x = net.takes("x", _noise(net.batch, 5, 8))
    query, key, value = (net.dense(x, 8, 8) for _ in range(3))
    scores = net.op("Softmax", net.op("Div", net.op("MatMul", query, net.op("Transpose", key, perm=[0, 2, 1])), np.array(2.8)))
    mixed = net.op("Reshape", net.op("Add", x, net.op("MatMul", scores, value)), np.array([net.batch, 40]))
    made = net.dense(mixed, 40, 12, relu=True)
    return made, _map_of(net, made)


def loop(net: Net) -> tuple[str, str]:
    """A recurrent state, which a loop of three rounds takes on."""
    x = net.dense(net.takes("x", _noise(net.batch, 16)), 16, 12)
    weights = net.constant(net.weights(12, 12))
    body = helper.make_graph(
        [node("MatMul", ["state", weights], ["m"]), node("Tanh", ["m"], ["t"]), node("Add", ["t", x], ["next"]),
         node("Identity", ["goes_on"], ["on"])], "round",
        [helper.make_tensor_value_info("round", TensorProto.INT64, []),
         helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, [net.batch, 12])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", TensorProto.FLOAT, [net.batch, 12])])
    made = net.op("Loop", np.array(3), np.array(True), x, body=body)
    return made, _map_of(net, made)


BODIES = (picture, picture, pixels, vector, vector, two_inputs, tokens, sequence, attention, loop)


# --- heads: the outputs, of the vector and the map

def _scores(net: Net, features: str) -> str:
    return net.dense(features, 12, 10)


def logits(net: Net, features: str, grid: str) -> list[str]:
    return [_scores(net, features)]


def chances(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Softmax", net.op("Mul", _scores(net, features), np.array(net.rng.choice([0.3, 1.0, 4.0]))))]


def label(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("ArgMax", _scores(net, features), axis=1, keepdims=0)]


def best(net: Net, features: str, grid: str) -> list[str]:
    return [*net.op("TopK", _scores(net, features), np.array([3]), results=2)]


def embedding(net: Net, features: str, grid: str) -> list[str]:
    made = _scores(net, features)
    return [net.op("Div", made, net.op("ReduceL2", made, axes=[1]))]


def steps(net: Net, features: str, grid: str) -> list[str]:
    return [net.op(str(net.rng.choice(["Round", "Floor", "Ceil"])), net.op("Mul", _scores(net, features), np.array(3.0)))]


def sure(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Sigmoid", net.op("Mul", _scores(net, features), np.array(net.rng.choice([8.0, 20.0, 60.0]))))]


def spread(net: Net, features: str, grid: str) -> list[str]:
    """E[x²] - m², beside a bias."""
    made = _scores(net, features)
    mean = net.op("ReduceMean", made, axes=[1])
    variance = net.op("Sub", net.op("ReduceMean", net.op("Mul", made, made), axes=[1]), net.op("Mul", mean, mean))
    return [net.op("Add", variance, np.array(net.rng.choice([0.0, 1.0, 50.0])))]


def edges(net: Net, features: str, grid: str) -> list[str]:
    """Truths and steps on which what is next to 0 decides: runtimes round to 0 sooner or later."""
    made = net.op("Mul", _scores(net, features), np.array(net.rng.choice([1.0, 20.0])))
    chance = net.op("Sigmoid", made)
    return [net.op("Greater", chance, np.array(0.0)) if net.rng.integers(2) else net.op("Floor", net.op("Mul", made, chance))]


def counter(net: Net, features: str, grid: str) -> list[str]:
    above = net.op("Cast", net.op("Greater", _scores(net, features), np.array(0.0)), to=TensorProto.INT64)
    return [net.op("ReduceSum", above, np.array([1]))]


def integers(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Cast", net.op("Mul", _scores(net, features), np.array(50.0)), to=TensorProto.INT32)]


def sized(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Mul", _scores(net, features), np.array(10.0 ** net.rng.integers(-7, 8)))]


def next_token(net: Net, features: str, grid: str) -> list[str]:
    place = net.op("ArgMax", net.dense(features, 12, 40), axis=1, keepdims=0)
    return [net.op("Gather", np.random.default_rng(1).permutation(1000)[:40], place)]


def truths(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Greater", _scores(net, features), np.array(0.0))]


def kelvin(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Add", net.op("Mul", net.op("Tanh", _scores(net, features)), np.array(2.0)), np.array(293.0))]


def one_chance(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Sigmoid", net.dense(features, 12, 1))]


def constant_beside(net: Net, features: str, grid: str) -> list[str]:
    return [_scores(net, features), net.op("Identity", np.arange(6.0).reshape(2, 3))]


def empty_beside(net: Net, features: str, grid: str) -> list[str]:
    made = _scores(net, features)
    return [made, net.op("Slice", made, np.array([0]), np.array([0]), np.array([1]))]


def heat(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("Sigmoid", net.conv(grid, 6, 3, 1, relu=False))]


def segments(net: Net, features: str, grid: str) -> list[str]:
    return [net.op("ArgMax", net.conv(grid, 6, 4, 1, relu=False), axis=1, keepdims=0)]


def mask(net: Net, features: str, grid: str) -> list[str]:
    inside = net.op("Greater", net.op("Sigmoid", net.conv(grid, 6, 1, relu=False)), np.array(0.5))
    return [net.op("Mul", net.op("Cast", inside, to=TensorProto.INT32), np.array(255, np.int32))]


def bytes_of(net: Net, features: str, grid: str) -> list[str]:
    scaled = net.op("Mul", net.op("Sigmoid", net.conv(grid, 6, 3, 1, relu=False)), np.array(255.0))
    return [net.op("Cast", scaled, to=TensorProto.UINT8)]


def _cells(net: Net) -> np.ndarray:
    rows, columns = np.mgrid[:4, :4].astype(np.float32)
    return np.stack([columns, rows]).reshape(1, 2, 4, 4)


def boxes(net: Net, features: str, grid: str) -> list[str]:
    offset = net.op("Mul", net.op("Tanh", net.conv(grid, 6, 2, 1, relu=False)), np.array(net.rng.choice([0.5, 0.05])))
    return [net.op("Mul", net.op("Add", offset, _cells(net)), np.array(net.rng.choice([1.0, 32.0])))]


def _yolo(net: Net, grid: str) -> tuple[str, str]:
    raw = net.conv(grid, 6, 6, 1, relu=False)
    place, size, chance = net.op("Split", raw, np.array([2, 2, 2]), results=3, axis=1)
    centre = net.op("Mul", net.op("Add", net.op("Sigmoid", place), _cells(net) - 0.5), np.array(32.0))
    extent = net.op("Mul", net.op("Exp", net.op("Mul", size, np.array(0.2))), np.array([30.0, 60.0]).reshape(1, 2, 1, 1))
    return net.op("Concat", centre, extent, axis=1), net.op("Sigmoid", chance)


def yolo(net: Net, features: str, grid: str) -> list[str]:
    both = net.op("Concat", *_yolo(net, grid), axis=1)
    return [net.op("Transpose", net.op("Reshape", both, np.array([net.batch, 6, 16])), perm=[0, 2, 1])]


def yolo_apart(net: Net, features: str, grid: str) -> list[str]:
    return [*_yolo(net, grid)]


def detections(net: Net, features: str, grid: str) -> list[str]:
    found, chance = _yolo(net, grid)
    rows = net.op("Transpose", net.op("Reshape", found, np.array([net.batch, 4, 16])), perm=[0, 2, 1])
    scores = net.op("Reshape", chance, np.array([net.batch, 2, 16]))
    return [net.op("NonMaxSuppression", rows, scores, np.array([4]), np.array([0.4], np.float32), np.array([0.3], np.float32),
                   center_point_box=1)]


def peaks(net: Net, features: str, grid: str) -> list[str]:
    made = net.op("Sigmoid", net.conv(grid, 6, 3, 1, relu=False))
    highest = net.op("MaxPool", made, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return [net.op("Mul", made, net.op("Cast", net.op("Equal", made, highest), to=TensorProto.FLOAT))]


HEADS = (logits, chances, label, best, embedding, steps, sure, spread, counter, integers, sized, next_token, truths, kelvin,
         one_chance, constant_beside, empty_beside, heat, segments, mask, bytes_of, boxes, yolo, yolo_apart, detections, peaks,
         edges)
STEADY = (boxes, yolo, yolo_apart, kelvin, sure, spread, label, chances, edges, next_token)
"""Of them little varies, or seldom: they are drawn as often as all others."""
LABELS = (label, best, counter, next_token, truths, segments, mask, detections, edges)
"""Of their integers none is near another."""


def network(rng: Generator) -> Net:
    """A body, a head, and now and then another one beside it."""
    net = Net(rng, batch=int(rng.choice([1, 1, 1, 2, 3])))
    body, known = BODIES[rng.integers(len(BODIES))], (HEADS, STEADY)[rng.integers(2)]
    heads = [known[each] for each in rng.permutation(len(known))[:rng.choice([1, 1, 1, 2])]]
    both = body(net)
    for head in heads:
        net.outputs += head(net, *both)
    net.name = f"{body.__name__} {'+'.join(head.__name__ for head in heads)}, batch {net.batch}"
    return net


# --- mistakes: in place, of what there is; False where there is nothing of that kind

def _floats(net: Net) -> list[str]:
    return [name for name, array in net.constants.items() if array.dtype.kind == "f" and array.size > 1]


def weight_moved(net: Net) -> bool:
    """Rows or columns of weights are moved on by one."""
    name = net.rng.choice(_floats(net))
    array = net.constants[name]
    net.constants[name] = np.roll(array, 1, int(net.rng.choice([axis for axis, size in enumerate(array.shape) if size > 1])))
    return True


def row_zero(net: Net) -> bool:
    name = net.rng.choice(_floats(net))
    net.constants[name] = array = net.constants[name].copy()
    axis = int(net.rng.choice([axis for axis, size in enumerate(array.shape) if size > 1]))
    np.moveaxis(array, axis, 0)[net.rng.integers(array.shape[axis])] = 0
    return True


def constant_off(net: Net) -> bool:
    """A number that is 10 % more, of a single one too, or of the other sign."""
    names = [name for name, array in net.constants.items() if array.dtype.kind == "f"]
    name = net.rng.choice(names)
    net.constants[name] = (net.constants[name] * net.rng.choice([1.1, -1.0])).astype(net.constants[name].dtype)
    return True


def _instead(net: Net, kinds: dict[str, str]) -> bool:
    places = [each for each in net.nodes if each.op_type in kinds]
    if places:
        made = places[net.rng.integers(len(places))]
        made.op_type = kinds[made.op_type]
    return bool(places)


def step_left_out(net: Net) -> bool:
    return _instead(net, dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Round", "Floor", "Ceil", "Softmax", "Exp"), "Identity"))


def neighbour(net: Net) -> bool:
    return _instead(net, {"Relu": "Abs", "Sigmoid": "Tanh", "Tanh": "Sigmoid", "Round": "Ceil", "Floor": "Round", "Ceil": "Floor",
                          "Add": "Sub", "Sub": "Add", "Mul": "Add", "Greater": "Less", "ArgMax": "ArgMin",
                          "ReduceMean": "ReduceMax", "ReduceL2": "ReduceL1", "Div": "Mul"})


def window_shifted(net: Net) -> bool:
    made = [each for each in net.nodes if each.op_type in ("Conv", "MaxPool") and max(net_pads(each))]
    if made:
        pads = next(each for each in made[net.rng.integers(len(made))].attribute if each.name == "pads")
        pads.ints[:] = [2, 0, 0, 2]
    return bool(made)


def net_pads(of: Any) -> list[int]:
    """The padding of a window."""
    return [*next((each.ints for each in of.attribute if each.name == "pads"), [0])]


def swapped(net: Net) -> bool:
    """Two operands are in each other's places."""
    made = [each for each in net.nodes if each.op_type in ("Sub", "Div", "Concat", "Greater") and len(each.input) == 2]
    if made:
        one = made[net.rng.integers(len(made))]
        one.input[:] = [*one.input][::-1]
    return bool(made)


def _before(net: Net, name: str, kind: str, *operands: Any, **attributes: Any) -> bool:
    """Have an input go through an op first."""
    inner = Net(net.rng, constants=net.constants)
    changed = inner.op(kind, name, *operands, **attributes)
    for each in net.nodes:
        each.input[:] = ["changed" if value == name else value for value in each.input]
    inner.nodes[0].output[:] = ["changed" for _ in (changed,)]
    net.nodes.insert(0, inner.nodes[0])
    return True


def input_turned(net: Net) -> bool:
    """A dimension of an input, channels of a picture most often, is in another order."""
    name = str(net.rng.choice([*net.drawn]))
    shape = net.drawn[name](np.random.default_rng(0)).shape
    axis = int(net.rng.choice([axis for axis, size in enumerate(shape) if size > 1][:3]))
    order = np.roll(np.arange(shape[axis]), 1) if net.rng.integers(2) else np.arange(shape[axis])[::-1].copy()
    return _before(net, name, "Gather", order, axis=axis)


def input_ignored(net: Net) -> bool:
    name = str(net.rng.choice([*net.drawn]))
    return _before(net, name, "Mul", np.zeros((), net.drawn[name](np.random.default_rng(0)).dtype))


def _outputs(net: Net) -> list[np.ndarray]:
    """What a network gives of one input."""
    import onnxruntime

    session = onnxruntime.InferenceSession(net.file(), providers=["CPUExecutionProvider"])
    given: list[np.ndarray] = session.run(None, net.sample(np.random.default_rng(99)))
    return given


def _behind(net: Net, change: Callable[[str, np.ndarray], Any]) -> bool:
    """Have one of the outputs, that is not empty, changed behind the network."""
    found = _outputs(net)
    place = int(net.rng.choice([place for place, array in enumerate(found) if array.size]))
    changed = change(net.outputs[place], found[place])
    if changed is not None:
        net.outputs[place] = changed
    return changed is not None


def output_constant(net: Net) -> bool:
    return _behind(net, lambda _, found: net.op("Identity", found))


def output_turned(net: Net) -> bool:
    def turned(name: str, found: np.ndarray) -> Any:
        axes = [axis for axis, size in enumerate(found.shape) if size > 1]
        if not axes:
            return None
        axis = int(net.rng.choice(axes))
        ways = np.arange(found.shape[axis])[::-1].copy(), np.roll(np.arange(found.shape[axis]), 1)
        return net.op("Gather", name, ways[net.rng.integers(2)], axis=axis)

    return _behind(net, turned)


def output_moved(net: Net) -> bool:
    """What is added to an output is as large as it is, or a tenth."""
    def moved(name: str, found: np.ndarray) -> Any:
        by = np.abs(found.astype(np.float64)).mean() * net.rng.choice([1.0, 0.1])
        added = np.array(by if found.dtype.kind == "f" else max(by, 1), found.dtype)
        return None if found.dtype == bool else net.op("Add", name, added)

    return _behind(net, moved)


def output_cut(net: Net) -> bool:
    """An output is saturated from its middle on."""
    def cut(name: str, found: np.ndarray) -> Any:
        is_cut = found.dtype not in (bool, np.uint8)
        return net.op("Min", name, np.array(np.median(found), found.dtype)) if is_cut else None

    return _behind(net, cut)


def outputs_swapped(net: Net) -> bool:
    found = _outputs(net)
    kinds = [(array.shape, array.dtype) for array in found]
    pairs = [(a, b) for a in range(len(found)) for b in range(a) if kinds[a] == kinds[b]]
    for a, b in pairs[:1]:
        net.outputs[a], net.outputs[b] = net.outputs[b], net.outputs[a]
    return bool(pairs)


def mean_of_places(net: Net) -> bool:
    """An output is its mean throughout."""
    def mean(name: str, found: np.ndarray) -> Any:
        if found.dtype.kind != "f" or found.size < 2:
            return None
        zeros = net.op("Mul", name, np.zeros((), found.dtype))
        return net.op("Add", zeros, net.op("ReduceMean", name))

    return _behind(net, mean)


MISTAKES = (weight_moved, weight_moved, row_zero, constant_off, step_left_out, neighbour, window_shifted, swapped, input_turned,
            input_turned, input_ignored, output_constant, output_constant, output_turned, output_moved, output_cut,
            outputs_swapped, mean_of_places)


def mistaken(net: Net) -> tuple[Net, str] | None:
    """The network with one mistake in it, and which; None where it has none of the kind that is drawn."""
    made = copy.deepcopy(net)
    mistake = MISTAKES[net.rng.integers(len(MISTAKES))]
    return (made, mistake.__name__) if mistake(made) else None
