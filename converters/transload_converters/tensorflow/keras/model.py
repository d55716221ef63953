"""Models: layers that call each other, functional and sequential, inside each other too.

What calls what is said in three dialects of JSON: Keras 3 writes the arguments of every call with `__keras_tensor__` where a
tensor was, Keras 1 and 2 lists `[layer, call, result, arguments]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from transload.budget import VARIABLE, allowance, more_than
from transload.errors import ReadError, Unsupported
from transload.ir import Value

from .layer import LAYERS, MAX_DEPTH, Call, Layer, ends_masks, flatten, foreign, mapped, rule_of, snake

__all__ = ["Ref", "calls_of", "input_layers", "layer_tree", "output_refs"]


@dataclass(frozen=True)
class Ref:
    """A tensor: result `result` of call `call` of the layer `layer`."""

    layer: str
    call: int
    result: int


@dataclass
class LayerCall:
    """A call of a layer as the config has it: tensors are `Ref`s."""

    layer: Layer
    number: int
    positional: list[Any]
    named: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        return self.layer.name, self.number

    def needed(self) -> list[tuple[str, int]]:
        """The calls whose results it is given, in the order of its arguments."""
        return [(ref.layer, ref.call) for ref in flatten([self.positional, self.named]) if isinstance(ref, Ref)]


# --- the tree of layers


_LISTED = 4
"""How many layers each that a file lists may stand for: one that goes both ways is made twice, with all that is in it."""
_OPS_OF_A_LAYER = 16
"""Of the ops that a run may make, for how many there may be a layer where the file lists few."""


def layer_tree(entry: Any) -> Layer:
    """A serialized layer, and those inside it. Classes without a rule have `rule` None.

    `ReadError` where they are many more than the file lists: of layers both ways in each other each level has twice as many.
    """
    most = max(allowance().ops // _OPS_OF_A_LAYER, _LISTED * _listed(entry))
    return _tree(entry, 0, iter(range(most)), most)


def _listed(entry: Any) -> int:
    """How many objects there are in a config that have a class."""
    count, pending = 0, [entry]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            count += "class_name" in item
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
    return count


def _tree(entry: Any, depth: int, left: Iterator[int], most: int) -> Layer:
    """The same of a layer that lies so deep in others; each takes one of what is left of the `most` that there may be."""
    if next(left, None) is None:
        raise ReadError(f"its layers hold more than {most:,} others, where those that go both ways hold what is in them twice",
                        hint=f"{VARIABLE}=ops={more_than(_OPS_OF_A_LAYER * most)} allows more")
    if not isinstance(entry, Mapping) or not isinstance(entry.get("class_name"), str):
        raise ReadError(f"a layer is described by {str(entry)[:80]!r}")
    if depth > MAX_DEPTH:
        raise ReadError(f"layers lie more than {MAX_DEPTH} deep in each other")
    config = entry.get("config")
    if isinstance(config, list):  # a Sequential model of Keras 1 and of 2 up to 2.2.2
        config = {"layers": config}
    if not isinstance(config, Mapping):
        if not class_of(entry).startswith("operation_"):
            raise ReadError(f"layer {str(entry.get('name'))[:80]!r} ({class_of(entry)[:80]}) has the config {str(config)[:80]!r}")
        config = {}
    config = {key: _number(value) for key, value in config.items()}
    class_name = class_of(entry)
    name = config.get("name") or entry.get("name") or snake(class_name)
    layer = Layer(str(name), class_name, config, rule_of(class_name), entry)
    if layer.rule is not None and layer.rule.parts is not None:
        for key, part in layer.rule.parts(config):
            layer.parts[key] = _tree(part, depth + 1, left, most)
    return layer


def _number(value: Any) -> Any:
    """A number that Keras 2 took for an array, `{"type": "ndarray", "value": 0.1}`, as what it is; others as they are."""
    return value["value"] if isinstance(value, Mapping) and value.get("type") == "ndarray" and "value" in value else value


def class_of(entry: Mapping[str, Any]) -> str:
    """The class of a serialized layer; that of an operation (`keras.ops.add`) is told apart by its module.

    One's own class that is called as one of Keras's has its package before it, `my>ReLU`: it is none that is known here, where
    no plugin has said what it computes.
    """
    class_name = str(entry["class_name"])
    if elsewhere := foreign(entry):
        own = class_name.rpartition(">")[2]
        rule = rule_of(own)
        return elsewhere if rule is not None and rule is LAYERS.get(f"keras.{own}") else own
    module = entry.get("module")
    if isinstance(module, str) and module.startswith(("keras.src.ops.", "keras.ops", "keras.src.activations.")):
        return f"operation_{class_name}"
    config = entry.get("config")
    nodes = entry.get("inbound_nodes")
    called = isinstance(nodes, list) and nodes and isinstance(nodes[0], Mapping)
    if module is None and called and isinstance(config, Mapping) and not {"trainable", "layers"} & set(config):
        named = f"operation_{class_name}"  # in `.h5` files of Keras 3 operations have no module, and layers have these
        if rule_of(named) is not None and ("dtype" not in config or rule_of(class_name) is None):
            return named
    return class_name.rpartition(">")[2]


_PATHS = {"Model": "functional", "GroupQueryAttention": "grouped_query_attention"}
"""Classes that have another name where they are defined, by which their weights are found."""


def members(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The layers of a model by the path of their weights."""
    layers = config.get("layers")
    if not isinstance(layers, list):
        raise ReadError("a model has no list of layers")
    counts: Counter[str] = Counter()
    for entry in layers:
        named = class_of(entry) if isinstance(entry, Mapping) and entry.get("class_name") else "layer"
        kind = "operations" if named.startswith("operation_") else "layers"
        key = f"{kind}/{_PATHS.get(named) or snake(named.removeprefix('operation_'))}"
        count = counts[key]
        counts[key] += 1
        yield key + (f"_{count}" if count else ""), entry


# --- who calls whom


def calls_of(layer: Layer) -> list[LayerCall]:
    """The calls of a layer that its entry in a functional model lists."""
    nodes = layer.entry.get("inbound_nodes")
    if not isinstance(nodes, list):
        return []
    return [_call(layer, number, node) for number, node in enumerate(nodes)]


def _call(layer: Layer, number: int, node: Any) -> LayerCall:
    if isinstance(node, Mapping):  # Keras 3
        given, named = node.get("args"), node.get("kwargs")
        positional = [_restored(item) for item in (given if isinstance(given, list) else [])]
        return LayerCall(layer, number, positional, {
            str(key): _restored(item) for key, item in (named or {}).items() if key != "name"})
    if not isinstance(node, list):
        raise ReadError(f"layer {layer.name!r}: a call of it is described by {str(node)[:80]!r}")
    named = {}
    inputs: list[Any] = []
    single = len(node) in (3, 4) and isinstance(node[0], str) and isinstance(node[1], int)
    for item in [node] if single else node:
        first, more = _old_tensor(layer, item)
        inputs.append(first)
        named.update(more)
    alone = len(inputs) == 1 and layer.class_name not in _OF_LISTS
    return LayerCall(layer, number, [inputs[0] if alone else inputs] if inputs else [], named)


_OF_LISTS = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "Merge")


def _old_tensor(layer: Layer, item: Any) -> tuple[Any, dict[str, Any]]:
    """A tensor as Keras 1 and 2 write it, and the other arguments of the call, which stand beside it."""
    if isinstance(item, Mapping):
        return {key: _old_tensor(layer, entry)[0] for key, entry in item.items()}, {}
    if not isinstance(item, list) or len(item) < 3 or not isinstance(item[0], str) or not isinstance(item[1], int):
        if isinstance(item, list) and item and all(isinstance(each, list) for each in item):
            found = [_old_tensor(layer, each) for each in item]
            return [first for first, _ in found], {key: value for _, more in found for key, value in more.items()}
        raise ReadError(f"layer {layer.name!r}: a call of it is described by {str(item)[:80]!r}")
    more = item[3] if len(item) > 3 and isinstance(item[3], Mapping) else {}
    named = {str(key): _old_value(value) for key, value in more.items() if key != "name"}
    if item[0] == "_CONSTANT_VALUE":
        return item[2], named
    return Ref(item[0], int(item[1]), _whole(item[2])), named


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ReadError(f"a tensor is described by {str(value)[:80]!r}")
    return int(value)


def _old_value(value: Any) -> Any:
    """An argument of Keras 2: a list `[layer, call, result]` stands for a tensor."""
    if isinstance(value, list):
        if len(value) in (3, 4) and isinstance(value[0], str) and [type(each) for each in value[1:3]] == [int, int]:
            return value[2] if value[0] == "_CONSTANT_VALUE" else Ref(value[0], value[1], value[2])
        return [_old_value(item) for item in value]
    if isinstance(value, Mapping):
        if set(value) == {"start", "stop", "step"}:
            return slice(*(_old_value(value[key]) for key in ("start", "stop", "step")))
        if value.get("class_name") == "__ellipsis__":
            return Ellipsis
        if value.get("class_name") == "TypeSpec" or ("dtype" in value and len(value) == 1):
            return value.get("dtype")
        return {key: _old_value(item) for key, item in value.items()}
    return value


def _restored(value: Any) -> Any:
    """An argument of Keras 3."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    config = value.get("config")
    kind = value.get("class_name")
    if kind is None or "config" not in value:
        return {key: _restored(item) for key, item in value.items()}
    if kind == "__keras_tensor__" and isinstance(config, Mapping):
        history = config.get("keras_history")
        if not isinstance(history, list) or len(history) != 3:
            raise ReadError(f"a tensor is described by {str(value)[:80]!r}")
        return Ref(str(history[0]), _whole(history[1]), _whole(history[2]))
    if kind == "__tuple__" and isinstance(config, Mapping | list):
        return tuple(_restored(config if isinstance(config, list) else config.get("value", [])))
    if kind == "__slice__" and isinstance(config, Mapping):
        return slice(*(_restored(config.get(key)) for key in ("start", "stop", "step")))
    if kind == "__ellipsis__":
        return Ellipsis
    if kind in ("__numpy__", "__tensor__") and isinstance(config, Mapping):
        import numpy as np

        return np.array(config.get("value"), config.get("dtype"))
    if kind == "__lambda__":
        raise ReadError("an argument of a call is a function of Python, which is not run")
    return dict(value)


def input_layers(model: Layer) -> list[Layer]:
    """The layers that stand for what a model is given, in order."""
    if model.class_name == "Sequential":
        return [part for part in model.parts.values() if part.class_name == "InputLayer"][:1]
    by_name = {part.name: part for part in model.parts.values()}
    found = []
    for ref in flatten(_refs(model.config.get("input_layers"))):
        if not isinstance(ref, Ref) or ref.layer not in by_name:
            raise ReadError(f"model {model.name!r}: has the input {ref}, which is none of its layers")
        found.append(by_name[ref.layer])
    return found


def output_refs(model: Layer) -> Any:
    """What a functional model gives: a structure of `Ref`s.

    Of a functional model inside, Keras 3 counts its own making as call 0 here, and here alone.
    """
    inside = {part.name for part in model.parts.values() if part.class_name in ("Functional", "Model")
              and isinstance(next(iter(part.entry.get("inbound_nodes") or ()), None), Mapping)}

    def counted(leaf: Any) -> Any:
        return replace(leaf, call=leaf.call - 1) if isinstance(leaf, Ref) and leaf.layer in inside and leaf.call else leaf

    return mapped(_refs(model.config.get("output_layers")), counted)


def _refs(structure: Any) -> Any:
    if isinstance(structure, list):
        if len(structure) == 3 and isinstance(structure[0], str):
            return Ref(structure[0], _whole(structure[1]), _whole(structure[2]))
        return [_refs(item) for item in structure]
    if isinstance(structure, Mapping):
        if structure.get("class_name") == "__tuple__":
            return [_refs(item) for item in _restored(structure)]
        return {key: _refs(item) for key, item in structure.items()}
    raise ReadError(f"a tensor is described by {str(structure)[:80]!r}")


# --- models as layers


@LAYERS.layer("Functional", "Model", parts=members, casts=False)
def functional(call: Call, *given: Any) -> Any:
    """A functional model: its layers are called in an order in which what they are given is there."""
    model = call.layer
    inputs = input_layers(model)
    tensors = [value for value in flatten(list(given)) if isinstance(value, Value)]
    if len(tensors) != len(inputs):
        raise Unsupported(f"it has {len(inputs)} inputs, and is called with {len(tensors)}")
    _mask_given(call, tensors)
    values: dict[Ref, Value] = {}
    for layer, value in zip(inputs, tensors, strict=True):
        values[Ref(layer.name, 0, 0)] = value
    outputs = output_refs(model)

    def value_of(leaf: Any) -> Any:
        if isinstance(leaf, Ref) and leaf not in values:
            raise Unsupported(f"result {leaf.result} of call {leaf.call} of {leaf.layer!r} is used, and there is none such")
        return values[leaf] if isinstance(leaf, Ref) else leaf

    calls = _in_order(model, set(values), [ref for ref in flatten(outputs) if isinstance(ref, Ref)])
    if any(ends_masks(call.g, part) for _, part in model.walk()):
        calls = iter(_by_depth(list(calls)))
    for each in calls:
        made = call.apply(each.layer, *mapped(each.positional, value_of), **mapped(each.named, value_of))
        for number, value in enumerate(flatten(made)):
            values[Ref(each.layer.name, each.number, number)] = value
    if call.g.keras < 3 and isinstance(outputs, list) and len(outputs) == 1:
        (outputs,) = outputs  # these write one output as a list, too, and never give one
    return mapped(outputs, value_of)


def _mask_given(call: Call, tensors: Iterable[Value]) -> None:
    """Let what a model is given have the masks that it is called with (`mask`), whatever it had."""
    for value, mask in zip(tensors, flatten(call.arguments.get("mask")), strict=False):
        call.set_mask(value, mask if isinstance(mask, Value) else None)


def _in_order(model: Layer, there: set[Ref], outputs: Iterable[Ref]) -> Iterator[LayerCall]:
    """The calls that the outputs need, each after those whose results it uses."""
    known = {(ref.layer, ref.call) for ref in there}
    outputs, calls = list(outputs), _numbered(model, outputs)
    state: dict[tuple[str, int], int] = {}
    for output in outputs:
        stack = [(output.layer, output.call)]
        while stack:
            key = stack[-1]
            if key in known or state.get(key) == 2:
                stack.pop()
                continue
            if key not in calls:
                raise Unsupported(f"call {key[1]} of its layer {key[0]!r} is used, and there is no such call")
            open_ = [other for other in calls[key].needed() if other not in known and state.get(other) != 2]
            if not open_:
                state[key] = 2
                stack.pop()
                yield calls[key]
                continue
            if state.get(key) == 1:
                raise Unsupported(f"its layers call each other in a circle, {key[0]!r} among them")
            state[key] = 1
            stack += reversed(open_)


def _by_depth(calls: list[LayerCall]) -> list[LayerCall]:
    """Calls, each after those it needs, in the order in which Keras runs them, which matters where a layer ends masks.

    What the most calls follow each other behind comes first; all calls of a layer are as deep as the deepest that was met before.
    Of calls as deep as each other those come first that are met first, from the last one on.
    """
    there = {call.key: call for call in calls}
    depths: dict[tuple[str, int], int] = {}
    of_layer: dict[str, int] = {}
    for call in reversed(calls):
        depth = max(depths.get(call.key, 0), of_layer.get(call.layer.name, 0))
        depths[call.key] = of_layer[call.layer.name] = depth
        for other in call.needed():
            if other in there:
                depths[other] = max(depths.get(other, 0), depth + 1)
    return [there[key] for key in sorted(depths, key=lambda key: -depths[key])]


def _numbered(model: Layer, outputs: Iterable[Ref]) -> dict[tuple[str, int], LayerCall]:
    """The calls of all layers by layer and number.

    Of a model inside, Keras 1 and 2 count its own making as call 0, mostly: where nothing refers to that, calls begin with 1.
    """
    calls = {part.name: calls_of(part) for part in model.parts.values()}
    used: dict[str, set[int]] = {}
    for leaf in (*flatten([[call.positional, call.named] for several in calls.values() for call in several]), *outputs):
        if isinstance(leaf, Ref):
            used.setdefault(leaf.layer, set()).add(leaf.call)
    for part in model.parts.values():
        nodes = part.entry.get("inbound_nodes")
        if part.class_name in _MODELS and used.get(part.name) and 0 not in used[part.name] and isinstance(nodes[0], list):  # type: ignore[index]
            for call in calls[part.name]:
                call.number += 1
    return {call.key: call for several in calls.values() for call in several}


_MODELS = ("Functional", "Model", "Sequential")


@LAYERS.layer("Sequential", parts=members, casts=False)
def sequential(call: Call, x: Any) -> Any:
    """One layer after the other."""
    _mask_given(call, [x])
    for layer in call.layer.parts.values():
        if layer.class_name != "InputLayer":
            x = call.apply(layer, x)
    return x


@LAYERS.layer("InputLayer", passes_mask=True)
def input_layer(call: Call, x: Value) -> Value:
    """What a model is given."""
    return x

