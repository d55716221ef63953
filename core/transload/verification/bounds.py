"""Bounds of the difference where a model's framework quantizes when it runs, and our result does not.

A framework may multiply quantized weights by activations that it quantizes only then ("dynamic range"). Where such a model
was converted to plain floats, each product differs from the framework's by at most

    step * sum of |weight|     over the weights of that product,

with the step of the activations' quantization: the range of the activations over 255, or (half a step) their greatest
absolute value over 254 where it is symmetric. A hub op that stands for such a product says so by the attribute `DYNAMIC`.

The bound is one of the op, not of the model: through a deep network worst cases multiply, and would allow anything. So the
result is verified with the framework's own intermediate results. Every tensor that such a product decides, and that has a
name on both sides, is compared with its bound, and the framework's numbers go on in its place; all the rest of the
model is held to the usual tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.ir import FloatType, Module, Op, TensorType, Value, initial_states, input_names, output_names
from transload.ir.build import Builder, constant_of
from transload.ir.module import NAME, update_function_type
from transload.plugin import resolve
from transload.plugin_host import host

__all__ = ["DYNAMIC", "Bounded", "check_bounds", "has_bounds"]

DYNAMIC = "transload.dynamic_quantization"
"""Attribute of a hub op on real weights whose first operand the framework quantizes: "symmetric" or "asymmetric"."""

_ROUNDING = 2.0**-20
"""Part of the greatest activation that is added to a step: sums of float32 are taken in any order."""


@dataclass(frozen=True)
class Bounded:
    """A tensor with a bound: the greatest difference, the greatest bound, and whether every element keeps its own."""

    name: str
    max_abs: float
    bound: float
    kept: bool


def has_bounds(hub: Module) -> bool:
    """Whether ops of the module stand for products of activations that the framework quantizes."""
    return any(DYNAMIC in op.attributes for op in hub.body_of_main)


def check_bounds(
    result: Module, hub: Module, given: Mapping[str, Any], reference: Mapping[str, np.ndarray], engine: str,
) -> tuple[dict[str, np.ndarray], list[Bounded]]:
    """Run `result` with the framework's numbers in place of those that have a bound.

    `reference` are the framework's tensors by name, intermediate ones included. Returns the model's outputs, and what
    became of each bound.
    """
    fed = [*given.values(), *initial_states(hub).values()]
    known = _named(result, {name: array.shape for name, array in reference.items()})
    bounding, names = _bounding_module(hub, {name: reference[name] for name in known})
    cut, found = _cut_module(result, {name: reference[name].shape for name in names})
    bounds = _execute(bounding, [*fed, *(reference[name] for name in names)], "reference")
    outputs = _execute(cut, [*fed, *(reference[name].reshape(shape) for name, shape in found)], engine)
    n_outputs = len(outputs) - len(found)
    checked = []
    for (name, _), ours in zip(found, outputs[n_outputs:], strict=True):
        bound = bounds[names.index(name)].astype(np.float64).reshape(-1)
        off = np.abs(ours.astype(np.float64).reshape(-1) - reference[name].astype(np.float64).reshape(-1))
        checked.append(Bounded(name, float(off.max(initial=0)), float(bound.max(initial=0)), bool((off <= bound).all())))
    n_outputs -= len(result.states)
    return dict(zip(output_names(result.main)[:n_outputs], outputs[:n_outputs], strict=True)), checked


def _execute(module: Module, arrays: Sequence[Any], engine: str) -> list[np.ndarray]:
    execute = resolve(host().get("engines", engine).prepare)(module, "main")
    return list(execute(dict(zip(input_names(module.main), arrays, strict=True)), False).values())


# --- modules with tensors cut: each is an input, and what computes it an output

def _named(module: Module, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Value]:
    """The computed float tensors of the main function that have these names and, but for sizes of 1, shapes."""
    found = {}
    for op in module.body_of_main:
        for value in op.results:
            name, type_ = value.name, value.type
            if name is None or name not in shapes or constant_of(value) is not None or not isinstance(type_, TensorType):
                continue
            if isinstance(type_.element, FloatType) and _without_ones(value.shape) == _without_ones(shapes[name]):
                found[name] = value  # the last of a name is the tensor itself
    return found


def _cut_module(
    result: Module, shapes: Mapping[str, tuple[int, ...]],
) -> tuple[Module, list[tuple[str, tuple[int, ...]]]]:
    """A copy in which the tensors of these names and shapes are inputs, and what computes them outputs; what they are there."""
    module = result.clone()
    found = _named(module, shapes)
    for name, value in found.items():
        _cut(module, value, name)
    terminator = module.body_of_main.terminator
    terminator.operands = (*terminator.operands, *found.values())
    module.main.attributes.pop("res_attrs", None)
    update_function_type(module.main)
    return module, [(name, value.shape) for name, value in found.items()]  # type: ignore[misc]


def _without_ones(shape: Sequence[int | None]) -> list[int | None]:
    return [size for size in shape if size != 1]


def _cut(module: Module, value: Value, name: str) -> None:
    """Make `value` an input of the main function for all that uses it."""
    main = module.main
    names = input_names(main)
    value.replace_all_uses_with(module.body_of_main.add_argument(value.type, name))
    main.attributes["arg_attrs"] = [{NAME: each} for each in (*names, f"{name}:given")]


def _bounding_module(hub: Module, reference: Mapping[str, np.ndarray]) -> tuple[Module, list[str]]:
    """A copy that computes bounds instead of the outputs; the names of the tensors that they are bounds of, its last inputs."""
    module = hub.clone()
    block = module.body_of_main
    errors: dict[Value, Value] = {}
    names: list[str] = []
    outputs: list[Value] = []
    for op in list(block):
        made = _errors_of(op, errors, Builder(block, op.next))
        for value, error in zip(op.results, made, strict=False):
            name = value.name
            if name is not None and name in reference and reference[name].shape == value.shape:
                names.append(name)
                outputs.append(error)
                _cut(module, value, name)
            else:
                errors[value] = error
    block.terminator.operands = outputs
    module.main.attributes.pop("res_attrs", None)
    module.states = ()
    update_function_type(module.main)
    return module, names


# --- how errors go through an op

def _errors_of(op: Op, errors: Mapping[Value, Value], build: Builder) -> Sequence[Value]:
    """The bounds of the errors of an op's results; nothing where there are none, or nothing is known of the op."""
    own = [errors.get(operand) for operand in op.operands]
    if DYNAMIC in op.attributes:
        return [_product(op, build, _step(op, build, own[0]))]
    rule = _RULES.get(op.name)
    if rule is None or not any(own):
        return ()
    made = rule(op, build, own)
    return (made,) if isinstance(made, Value) else made


def _step(op: Op, build: Builder, error: Value | None) -> Value:
    """The error of each activation of a dynamically quantized product, the one that it had before included."""
    x = op.operands[0]
    if op.name != "top.MatMul":
        axes = tuple(range(1, x.rank))
    else:
        axes = (x.rank - 2 if op.attribute("left_transpose") else x.rank - 1,)

    def greatest(value: Value) -> Value:
        if error is not None:
            value = build.emit("top.Add", value, error)
        return build.emit("top.Reduce", value, axes=axes, keepdims=True, mode="ReduceMax")

    size = greatest(build.emit("top.Abs", x))
    if op.attributes[DYNAMIC] == "symmetric":
        step = build.emit("top.MulConst", size, const_val=1 / 254)
    else:
        above, below = greatest(build.emit("top.Relu", x)), greatest(build.emit("top.Relu", build.emit("top.Neg", x)))
        step = build.emit("top.MulConst", build.emit("top.Add", above, below), const_val=1 / 255)
    step = build.emit("top.Add", step, build.emit("top.MulConst", size, const_val=_ROUNDING))
    step = build.emit("top.Expand", step, shape=x.shape)
    return step if error is None else build.emit("top.Add", step, error)


def _product(op: Op, build: Builder, error: Value) -> Value:
    """A convolution or matrix product of errors with the absolute values of the weights, without bias and activation."""
    kept = {key: value for key, value in op.attributes.items() if key not in (DYNAMIC, "do_relu", "relu_limit")}
    return build.emit(op.name, error, build.emit("top.Abs", op.operands[1]), **kept)


Rule = Callable[[Op, Builder, list[Value | None]], Any]
_RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return add


@_rule("top.Conv", "top.Deconv", "top.MatMul")
def _weighted(op: Op, build: Builder, errors: list[Value | None]) -> Any:
    """Products with weights that have no error."""
    return _product(op, build, errors[0]) if errors[0] is not None and not any(errors[1:]) else ()


@_rule("top.Relu", "top.Tanh", "top.Clip", "top.Abs", "top.Neg")
def _steepness_of_one(op: Op, build: Builder, errors: list[Value | None]) -> Value:
    """Functions that are nowhere steeper than 1."""
    return errors[0]  # type: ignore[return-value]


@_rule("top.Sigmoid")
def _sigmoid(op: Op, build: Builder, errors: list[Value | None]) -> Value:
    """Nowhere steeper than 1/4, times its scale."""
    return build.emit("top.MulConst", errors[0], const_val=abs(op.attribute("scale", 1.0)) / 4)


@_rule("top.Add", "top.Sub")
def _sum(op: Op, build: Builder, errors: list[Value | None]) -> Value:
    """Errors add up."""
    given = [error for error in errors if error is not None]
    total = given[0] if len(given) == 1 else build.emit("top.Add", *given)
    return build.emit("top.Expand", total, shape=op.results[0].shape)


@_rule("top.Mul")
def _times(op: Op, build: Builder, errors: list[Value | None]) -> Any:
    """`|a| e(b) + |b| e(a) + e(a) e(b)`."""
    if len(op.operands) != 2:
        return ()
    (a, b), (error_a, error_b) = op.operands, errors
    parts = [build.emit("top.Mul", build.emit("top.Abs", value), error)
             for value, error in ((a, error_b), (b, error_a)) if error is not None]
    if error_a is not None and error_b is not None:
        parts.append(build.emit("top.Mul", error_a, error_b))
    return parts[0] if len(parts) == 1 else build.emit("top.Add", *parts)


@_rule("top.Reduce")
def _reduced(op: Op, build: Builder, errors: list[Value | None]) -> Any:
    """Of sums the sum of the errors."""
    return build.emit(op.name, errors[0], **op.attributes) if op.attribute("mode") in ("ReduceSum", "ReduceMean") else ()


@_rule(
    "top.Reshape", "top.Squeeze", "top.Unsqueeze", "top.Permute", "top.Slice", "top.Reverse", "top.Split", "top.Unpack",
    "top.Pack", "top.Concat", "top.Expand", "top.Tile")
def _moved(op: Op, build: Builder, errors: list[Value | None]) -> Any:
    """Errors go where the numbers go."""
    given = [
        build.constant(np.zeros(operand.shape, np.float32)) if error is None else error  # type: ignore[arg-type]
        for operand, error in zip(op.operands, errors, strict=True)]
    return build.emit(op.name, *given, **{key: value for key, value in op.attributes.items() if not key.startswith("do_relu")})
