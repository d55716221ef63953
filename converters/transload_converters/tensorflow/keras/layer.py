"""Layers: what a file says of one, how its class becomes ops, and the call in which it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np

from transload import host
from transload.errors import ReadError, TransloadError, Unsupported
from transload.facts import FactTable
from transload.ir import BF16, BOOL, F16, F32, F64, Dense, FloatType, Type, Value, dtype_of

from .graph import Graph, Shape
from .promotion import promoted

__all__ = [
    "BROKEN", "CALLS", "LAYERS", "MAX_DEPTH", "Call", "Layer", "LayerRule", "LayerTable", "Variable", "LayerFault",
    "broken_words", "call_layer", "element_named", "ends_masks", "flatten", "foreign", "mapped", "refuse_quantized", "rule_of",
    "snake"]

class LayerFault(ReadError):
    """A weight or an entry of a config that is not there, or not as its layer needs it: no size of a batch is the reason."""


class Arguments(dict[str, Any]):
    """Arguments of a call by name, which know the names that were asked for: those that nobody asks for are refused."""

    def __init__(self, given: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(given)
        self._read = read

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)


class Config(dict[str, Any]):
    """A layer's config in a call, which knows the entry that was asked for last: what an error is about, as far as is known."""

    last: str | None = None

    def __getitem__(self, key: str) -> Any:
        self.last = key
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        if key in self:  # what may be left out is no reason where it is
            self.last = key
        return super().get(key, default)


MAX_DEPTH = 32
"""How deep layers may lie in each other."""

CALLS = "keras-layer"
"""The kind of fact that a `LayerRule` is."""


@dataclass(frozen=True)
class Variable:
    """A variable of a layer: `cell/kernel` is the kernel of its sublayer `cell`."""

    path: str
    trainable: bool = True

    @property
    def owner(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class LayerRule:
    """How layers of a class become ops.

    `build(call, *arguments)` emits them and gives what the layer gives. `variables` are the layer's in the order in which Keras
    makes them: `"~x"` is not trained, `"x:use_bias"` is there where the config says `use_bias`, and where it says nothing.
    `parts(config)` are the layers inside, by attribute. `passes_mask`: what it gives has the mask of what it is given (a number:
    from that version of Keras on); what other layers give has none but what they set, as Keras has it with `supports_masking`.
    `ends_masks`: from which version of Keras on what it is given has no mask any more once it was called, wherever else it goes.
    `casts`: what it is given becomes numbers of the layer's own type. `trained_by`: entries of the config by which it computes
    something else while it is trained, where they are not 0. `tensors`: what it is called with are tensors, also those that a
    file has as numbers, and what no part of it asks for is refused; else it takes numbers, too, as shapes and dimensions, and
    looks after that itself.
    """

    build: Callable[..., Any]
    variables: Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]] = ()
    parts: Callable[[Mapping[str, Any]], Iterable[tuple[str, Any]]] | None = None
    passes_mask: bool | int = False
    ends_masks: tuple[int, int] | None = None
    casts: bool = True
    trained_by: Sequence[str] = ()
    tensors: bool = True

    def variables_of(self, config: Mapping[str, Any]) -> list[Variable]:
        """The variables that a layer of this config has."""
        names = self.variables(config) if callable(self.variables) else self.variables
        found = []
        for text in names:
            path, _, condition = text.partition(":")
            if not condition or config.get(condition, True):
                found.append(Variable(path.removeprefix("~"), not text.startswith("~")))
        return found


class LayerTable(FactTable):
    """Rules by class; a plugin's are registered as `Facts("keras-layer", "keras", TABLE)`.

        @LAYERS.layer("Dense", variables=("kernel", "bias:use_bias"))
        def dense(call, x):
            ...
    """

    def layer(self, *classes: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add the function that it decorates as the rule of classes. `options` are members of `LayerRule`."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(LayerRule(function, **options), *classes)
            return function

        return add


LAYERS = LayerTable("keras")


def rule_of(class_name: str) -> LayerRule | None:
    """The rule of a class: ours, or a plugin's; None where there is none."""
    if not re.fullmatch(r"\w+", class_name, re.ASCII):
        return None
    found: LayerRule | None = host().facts(CALLS)[f"keras.{class_name}"]
    return found


_KERAS = ("keras", "keras_core", "tf_keras")
"""The packages that Keras has had."""
_MODULES = (*_KERAS, "tensorflow", "builtins")
"""Where what Keras has is defined: layers of Keras 2 and functions of TensorFlow, too; `builtins` is said of functions."""
_UPSTREAM = {("Addons", "GroupNormalization"), ("Addons", "SpectralNormalization"),
             ("keras_nlp", "ReversibleEmbedding"), ("keras_hub", "ReversibleEmbedding")}
"""Classes of other packages that are Keras's own since, as they were."""


def foreign(entry: Mapping[str, Any]) -> str:
    """By which name a serialized class or function is another's than Keras's, as its package and its module say; empty where it
    is Keras's. Files of all ages have `package>name`: as the class, as the function, or as `registered_name`."""
    function = entry.get("class_name") == "function"
    for key in ("registered_name", "config" if function else "class_name"):
        package, mark, name = str(entry.get(key)).rpartition(">")
        if mark and (package, name) in _UPSTREAM:
            return ""
        if mark and package not in _KERAS:
            return f"{package}>{name}"
    module = entry.get("module")
    if isinstance(module, str) and module.partition(".")[0] not in _MODULES:
        return f"{module}.{entry.get('config') if function else str(entry.get('class_name')).rpartition('>')[2]}"
    return ""


def snake(class_name: str) -> str:
    """A class name as paths of weights have it: `Conv2DTranspose` is `conv2d_transpose`."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", class_name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


_ELEMENTS = {"float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64, "mixed_float16": F16, "mixed_bfloat16": BF16}


def element_named(dtype: Any, what: str = "float32") -> Type | None:
    """The element type in which a dtype policy computes (a name, or a serialized policy); None where it is not known."""
    if isinstance(dtype, Mapping):  # a policy; one of quantized layers has no name
        config = dtype.get("config")
        dtype = (config.get("name") if isinstance(config, Mapping) else None) or "unnamed"
    return _ELEMENTS.get(dtype or what) if isinstance(dtype, str | None) else None


@dataclass
class Layer:
    """One layer of a file: what was said of it, the layers inside it, and its weights once they are found."""

    name: str
    class_name: str
    config: Mapping[str, Any]
    rule: LayerRule | None
    entry: Mapping[str, Any] = field(default_factory=dict)
    """What stands around the config: `inbound_nodes`, `build_config`."""
    parts: dict[str, Layer] = field(default_factory=dict)
    weights: dict[str, Dense] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    """What the file has in the place of weights that are no arrays of numbers."""
    constants: dict[str, Value] = field(default_factory=dict)

    @property
    def trainable(self) -> bool:
        return self.config.get("trainable", True) is not False

    def walk(self, path: str = "") -> Iterator[tuple[str, Layer]]:
        """This layer and those inside, by their path."""
        yield path, self
        for key, part in self.parts.items():
            yield from part.walk(f"{path}/{key}" if path else key)

    def variables(self, path: str = "", trained: bool = True) -> Iterator[tuple[Layer, Variable, str, bool]]:
        """All variables in the order in which Keras counts them: layer, variable, path, and whether it is trained."""
        trained = trained and self.trainable
        for variable in self.rule.variables_of(self.config) if self.rule else ():
            yield self, variable, f"{path}/{variable.path}" if path else variable.path, trained and variable.trainable
        for key, part in self.parts.items():
            yield from part.variables(f"{path}/{key}" if path else key, trained)

    def element(self) -> Type:
        """The element type of what the layer computes."""
        found = element_named(self.config.get("dtype"))
        if found is None:
            raise _no_numbers(self.config.get("dtype"))
        return found

    def stored(self) -> Type:
        """The element type of the layer's weights: of policies that mix types f32."""
        dtype = self.config.get("dtype")
        config = dtype.get("config") if isinstance(dtype, Mapping) else {"name": dtype}
        return F32 if isinstance(config, Mapping) and str(config.get("name")).startswith("mixed_") else self.element()


def _no_numbers(dtype: Any) -> Unsupported:
    """Why a layer of a dtype policy, a name or a serialized one, is not read."""
    known = "only floats of 16, 32 and 64 bits are known here"
    if not isinstance(dtype, Mapping):
        return Unsupported(f"it computes with numbers of type {str(dtype)[:80]}", known)
    config = dtype.get("config")
    called = config.get("name") if isinstance(config, Mapping) else None
    return Unsupported(f"it computes with numbers of the policy {str(called or dtype.get('class_name'))[:80]}", known)


def refuse_quantized(model: Layer) -> None:
    """Raise `ReadError` of a layer that Keras quantized: it has other variables than its class, of other types."""
    for _, part in model.walk():
        dtype = part.config.get("dtype")
        policy: Mapping[str, Any] = dtype if isinstance(dtype, Mapping) else {}
        config = policy.get("config")
        if isinstance(config, Mapping) and config.get("mode"):
            said = f"{str(policy.get('class_name'))[:80]}, {str(config['mode'])[:40]}"
            raise ReadError(
                f"layer {part.name!r} ({part.class_name}): it was quantized by Keras ({said})",
                hint="save the model as it was before `quantize`: `transload quantize` makes a quantized one of that")


def ends_masks(g: Graph, layer: Layer) -> bool:
    """Whether a layer ends the masks of what it is given (`LayerRule.ends_masks`) in the version of Keras that wrote the file."""
    since = layer.rule.ends_masks if layer.rule is not None else None
    return since is not None and g.since(*since)


class Call:
    """One call of a layer: what its rule sees.

    `g` emits ops, `config` is the layer's, `arguments` are those beside the first ones, by name.
    """

    def __init__(
        self, g: Graph, layer: Layer, masks: dict[Value, Value], arguments: Mapping[str, Any] | None = None,
        element: Type | None = None,
    ) -> None:
        self.g, self.layer, self.masks = g, layer, masks
        self.given_element = element
        self.config = Config(layer.config)
        self.read: set[str] = set()
        """The arguments that the rule asked for, and the entries of the config that an operation's did."""
        self.arguments = Arguments(arguments or {}, self.read)
        self.masked: set[Value] = set()
        """What a mask was set for in this call."""

    @property
    def element(self) -> Type:
        """The element type that the call computes with: the layer's own, but in `apply_within` that of the layer outside."""
        return self.given_element or self.layer.element()

    def floats(self, x: Value) -> Value:
        """A value as floats: integers and truth values become numbers of the layer's own type."""
        return x if isinstance(x.element, FloatType) else self.g.cast(x, self.element)

    def option(self, name: str, default: Any = None) -> Any:
        """An entry of the config; `default` where there is none, or null."""
        found = self.config.get(name)
        return default if found is None else found

    def has(self, name: str) -> bool:
        """Whether the layer has a weight, by its config."""
        rule = self.layer.rule
        return rule is not None and any(variable.path == name for variable in rule.variables_of(self.config))

    def weight(self, name: str, shape: Shape | None = None, element: Type | None = None) -> Value:
        """A weight as a constant, cast to what the layer computes with.

        Raises `ReadError` where it has another shape than the layer needs.
        """
        wanted = element or self.element
        key = f"{name}:{wanted}"
        if key not in self.layer.constants:
            dense = self.layer.weights.get(name)
            if dense is None:
                raise self._missing(name)
            if shape is not None and tuple(dense.shape) != tuple(shape):
                raise LayerFault(f"its weight {name!r} has the shape {list(dense.shape)}, where {list(shape)} is needed")
            value = self.g.constant(dense)
            value.op.location = f"{self.g.scope}/{name}"  # type: ignore[union-attr]
            self.layer.constants[key] = self.g.cast(value, wanted)
        return self.layer.constants[key]

    def array(self, name: str) -> np.ndarray:
        """A weight's numbers."""
        if name not in self.layer.weights:
            raise self._missing(name)
        return self.layer.weights[name].numpy()

    def _missing(self, name: str) -> LayerFault:
        found = self.layer.unread.get(name)
        why = f"{found}, and must be an array of real numbers" if found else "missing"
        return LayerFault(f"its weight {name!r} is {why}")

    def refuse_trained(self) -> None:
        """Refuse a layer that computes something else as in training, where it is called so."""
        rule = self.layer.rule
        for name in rule.trained_by if rule is not None and self.g.training else ():
            if self.layer.config.get(name, name == "trainable"):
                raise Unsupported("it is called with `training=True`, and computes by chance then, or by its whole batch",
                                  "save the model with this layer called without `training=True`")

    def mask(self, value: Any) -> Value | None:
        """The mask that goes with a value: one truth value for each step."""
        return self.masks.get(value) if isinstance(value, Value) else None

    def set_mask(self, value: Value, mask: Value | None) -> None:
        if mask is not None:
            self.masks[value] = self.g.cast(mask, BOOL)
            self.masked.add(value)

    def end_masks(self, *values: Value) -> None:
        """Take the masks off values, for all that is called from now on, where the layer's rule says so (`ends_masks`)."""
        if self.ends_masks:
            for value in values:
                self.masks.pop(value, None)

    @property
    def ends_masks(self) -> bool:
        """Whether the layer ends masks in the version of Keras that wrote the file."""
        return ends_masks(self.g, self.layer)

    def part(self, name: str) -> Layer:
        """A layer inside."""
        return self.layer.parts[name]

    def inner(self, name: str, arguments: Mapping[str, Any] | None = None) -> Call:
        """A call of a layer inside, for its weights and config."""
        return Call(self.g, self.part(name), self.masks, arguments)

    def apply(self, layer: Layer, *inputs: Any, **arguments: Any) -> Any:
        """Call a layer inside; gives what it gives."""
        return call_layer(self.g, layer, inputs, arguments, self.masks)

    def apply_within(self, layer: Layer, *inputs: Any) -> Any:
        """Call a layer inside by nothing but its `call`, as Keras 3 has it: it computes with the type of this layer.

        Weights are cast by a policy that has them in another type (`mixed_float16`) alone; beside others numbers meet them.
        """
        element = self.element
        if layer.rule is not None and layer.rule.variables_of(layer.config) and self.layer.stored() == element:
            element = promoted(np.zeros(0, dtype_of(element)), np.zeros(0, dtype_of(layer.stored())))
        return call_layer(self.g, layer, inputs, {}, self.masks, element=element)

    @property
    def channels_first(self) -> bool:
        """Whether channels are the second dimension; Keras 1 says it by another name."""
        return self.config.get("data_format") == "channels_first" or self.config.get("dim_ordering") == "th"

    def numbers(self, name: str, count: int, default: Any = 1) -> tuple[int, ...]:
        """An entry of the config that is a number for each of `count` dimensions, or one for all."""
        found = self.option(name, default)
        sizes = (found,) * count if isinstance(found, int) else tuple(found)
        if len(sizes) != count or not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
            raise Unsupported(f"its {name} {found!r} is no number for each of {count} dimensions")
        return sizes


# --- calling


BROKEN = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""What a config that Keras did not write leads to, where its numbers are used."""
_TOO_GREAT = "a number in it is greater than sizes, or what is computed with, can be"


def broken_words(error: Exception, config: Config | None = None) -> str:
    """What is said of a `config` that led to one of `BROKEN`: Python's own words are of what we do with it.

    The entry is that which was asked for last, where one was.
    """
    said = "its config is not one that Keras writes"
    key = config.last if config is not None else None
    if config is None or key is None:
        missing = f"{error.args[0]!r:.80} is missing" if isinstance(error, KeyError) and error.args else ""
        return f"{said}: {_TOO_GREAT if isinstance(error, OverflowError) else missing or 'a part of it is of another kind'}"
    if key not in config:
        return f"{said}: {key!r} is missing"
    why = f", {_TOO_GREAT}" if isinstance(error, OverflowError) else ""
    return f"{said}{why}: what was read last is {key!r}, which is {config[key]!r:.80}"


def call_layer(
    g: Graph, layer: Layer, positional: Sequence[Any], named: Mapping[str, Any], masks: dict[Value, Value],
    outermost: bool = False, element: Type | None = None,
) -> Any:
    """Emit a call of a layer; what it gives, as its rule says it. The name of the outermost is no part of the names inside.

    Raises `ReadError` with the layer's name where it cannot be called so.
    """
    rule = layer.rule
    if rule is None:
        raise ReadError(f"layer {layer.name!r} is of class {layer.class_name!r}, which is not known here")
    outer, training = g.scope, g.training
    g.scope = "" if outermost else f"{outer}/{layer.name}" if outer else layer.name
    call = Call(g, layer, masks, element=element)
    try:
        if rule.tensors:
            positional = [_as_tensors(g, item, numbers=True) for item in positional]
            named = {name: _as_tensors(g, item, numbers=name in _TENSORS) for name, item in named.items()}
        call = Call(g, layer, masks, named, element)
        if g.keras < 3 and call.arguments.get("training") is not None:  # Keras 3 runs all as at inference, whatever a call says
            g.training = bool(call.arguments["training"])
        call.refuse_trained()
        inputs = [_cast(call, item) for item in positional] if rule.casts else list(positional)
        given = rule.build(call, *inputs, **_named(call, rule, len(inputs)))
        if rule.tensors:
            _refuse_unread(call, rule)
        given = _masked(call, rule, inputs, given)
        _name(given, g)
        return given
    except Unsupported as error:
        raise ReadError(f"layer {layer.name!r} ({layer.class_name}): {error.why}", hint=error.hint) from None
    except ReadError as error:
        if error.message.startswith("layer "):
            raise
        kind = LayerFault if isinstance(error, LayerFault) else ReadError
        raise kind(f"layer {layer.name!r} ({layer.class_name}): {error.message}", error.findings, error.hint) from None
    except TransloadError:
        raise
    except BROKEN as error:
        raise LayerFault(f"layer {layer.name!r} ({layer.class_name}): {broken_words(error, call.config)}") from None
    finally:
        g.scope, g.training = outer, training


_TENSORS = frozenset((
    "mask", "query_mask", "value_mask", "key_mask", "attention_mask", "initial_state", "states", "constants", "count_weights"))
"""Arguments by which layers take tensors: what of these a file has as lists of numbers is none of sizes or dimensions."""
_OF_ALL = frozenset(("name", "training"))
"""Arguments that are no layer's own."""


def _as_tensors(g: Graph, item: Any, numbers: bool) -> Any:
    """An argument with constants in the place of arrays, wherever they lie in it; of numbers and lists of nothing else, too,
    where `numbers` says that these stand for tensors, as they do in files of Keras 2."""
    if isinstance(item, np.ndarray) or (numbers and _is_numbers(item)):
        return g.constant(item)
    if isinstance(item, Mapping):
        return {key: _as_tensors(g, each, numbers) for key, each in item.items()}
    if isinstance(item, list | tuple):
        return type(item)(_as_tensors(g, each, numbers) for each in item)
    return item


def _is_numbers(item: Any) -> bool:
    """Whether an argument is a number, or a list that holds nothing but numbers and truth values."""
    if not isinstance(item, list | tuple):
        return isinstance(item, int | float) and not isinstance(item, bool)
    leaves = list(flatten(item))
    return bool(leaves) and all(isinstance(leaf, int | float) for leaf in leaves)


def _refuse_unread(call: Call, rule: LayerRule) -> None:
    """Refuse an argument that neither the rule nor what passes masks on has looked at, if it says anything."""
    known = signature(rule.build).parameters.keys() | call.read | _OF_ALL | ({"mask"} if rule.passes_mask else set())
    for name, value in call.arguments.items():
        if name not in known and value is not None and value is not False:
            said = "" if isinstance(value, Value) else f"={str(value)[:80]}"
            raise Unsupported(f"its argument {name[:40]}{said} is not known here")


def _masked(call: Call, rule: LayerRule, inputs: Sequence[Any], given: Any) -> Any:
    """What a call gives, with the mask that it has behind the layer: that of the first input where the layer passes it.

    A layer that does not, and gives what it was given, gives it without the mask, as another value; what layers inside it give
    has their masks.
    """
    if rule.passes_mask and call.g.keras >= rule.passes_mask:
        explicit = call.arguments.get("mask")
        first = next((item for item in flatten(list(inputs)) if isinstance(item, Value)), None)
        mask = explicit if isinstance(explicit, Value) else call.mask(first)
        result = next(flatten(given), None)
        if isinstance(result, Value) and result not in call.masked and (result is first or result not in call.masks):
            call.set_mask(result, mask)
        return given
    if rule.parts is not None:
        return given
    held = {item for item in flatten(list(inputs)) if isinstance(item, Value) and item in call.masks} - call.masked
    return mapped(given, lambda item: call.g.unary("Identity", item) if isinstance(item, Value) and item in held else item)


def _named(call: Call, rule: LayerRule, count: int) -> dict[str, Any]:
    """The arguments beside the first `count` that a rule's function has parameters for."""
    known = list(signature(rule.build).parameters.values())[count + 1 :]
    return {each.name: _cast(call, call.arguments[each.name]) if rule.casts else call.arguments[each.name]
            for each in known if each.kind is Parameter.POSITIONAL_OR_KEYWORD and each.name in call.arguments}


def _cast(call: Call, item: Any) -> Any:
    """Arguments of another type of float become the layer's own type."""
    def cast(value: Any) -> Any:
        if not isinstance(value, Value) or not isinstance(value.element, FloatType) or value.element == call.element:
            return value
        made = call.g.cast(value, call.element)
        call.set_mask(made, call.mask(value))
        return made

    return mapped(item, cast) if isinstance(item, Value | list | tuple | dict) else item


def _name(given: Any, g: Graph) -> None:
    """Let the op that gives a layer's result have the layer's name, where it was made for it."""
    if isinstance(given, list | tuple) and given:
        given = given[0]
    op = given.op if isinstance(given, Value) and g.scope else None
    if op is not None and len(op.results) == 1 and str(op.location).startswith(f"{g.scope}/") and g.scope not in g.taken:
        g.taken.add(g.scope)
        op.location = g.scope


# --- structures of values


def flatten(structure: Any) -> Iterator[Any]:
    """The leaves of lists, tuples and dictionaries; of these in the order of their keys."""
    if isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from flatten(structure[key])
    elif isinstance(structure, list | tuple):
        for item in structure:
            yield from flatten(item)
    else:
        yield structure


def mapped(structure: Any, function: Callable[[Any], Any]) -> Any:
    """A structure with its leaves replaced."""
    if isinstance(structure, Mapping):
        return {key: mapped(item, function) for key, item in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(mapped(item, function) for item in structure)
    return function(structure)
