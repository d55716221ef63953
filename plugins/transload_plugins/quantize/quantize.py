"""From a float module and ranges to a module of ops on quantized numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from transload.ir import (
    F32,
    I8,
    I16,
    FloatType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    update_function_type,
)
from transload.ir.build import Builder, constant_of
from transload.verification.bounds import DYNAMIC

from .borders import Which, integers_at
from .groups import Groups, rule_of
from .observe import observed
from .rules import Rule
from .scheme import Scheme, held_as, need_finite, real, stored
from .sums import summed
from .thresholds import Fixed, Range

__all__ = ["quantize_module", "types_of"]

ROOM = 1.5
"""How much farther than on the samples a tensor of 16 bits may reach: their steps are fine enough, and what saturates is lost."""
GREATEST_BIAS = 2.0**30
"""In steps of the products: half of what 32 bits hold."""
DEAD_BIAS = 2.0**20
"""The same of a channel whose weights are all zero: fine enough for any result, and its multiplier is none that kernels lack."""


def quantize_module(
    module: Module, scheme: Scheme, ranges: Mapping[str, Range], floats: Collection[str] = (), wide: Collection[str] = (),
    weights: Mapping[str, np.ndarray] | None = None, inputs: Which = None, outputs: Which = None,
) -> Module:
    """A new module whose ops compute with integers where there is a rule for them; inputs and outputs stay float.

    `ranges` are by tensor name, as `observed` names them; `floats` names tensors that stay float, and the ops that make or take
    them; `wide` those that get 16 bits. `weights` are those that were rounded otherwise than to the nearest (`rounding`).
    `inputs` and `outputs` are going to be integers: what but moves their numbers moves integers.
    """
    result = module.clone()
    named = observed(result)
    groups = Groups(result, {named[name] for name in floats}, integers_at(result, inputs, outputs))
    types = types_of(scheme, groups, named, ranges, wide)
    _Quantizing(result, scheme, groups, types, {named[name]: array for name, array in (weights or {}).items()}).run()
    return result


def types_of(
    scheme: Scheme, groups: Groups, named: Mapping[str, Value], ranges: Mapping[str, Range], wide: Collection[str] = (),
) -> dict[Value, QuantType]:
    """The type of each group of tensors, by its root."""
    exact = {groups.root(value) for value in named.values() if value.op is not None and _is_exact(value.op)}
    roots = {groups.root(named[name]) for name in wide} - exact
    widened = scheme.widened()

    def type_of(scheme: Scheme, kept: Range) -> QuantType:
        room = ROOM if scheme.activations.width > 8 and not isinstance(kept, Fixed) else 1.0
        return scheme.activation_type(kept if room == 1.0 else (kept[0] * room, kept[1] * room))

    return {
        root: type_of(widened if root in roots else scheme, kept)
        for root, kept in groups.ranges({value: ranges[name] for name, value in named.items()}).items()}


def _is_exact(op: Op) -> bool:
    """Whether what an op gives are the integers that it takes: more bits would hold nothing more."""
    rule = rule_of(op)
    return rule is not None and rule.retypes


class _Quantizing:
    """The change of one module, op by op: operands are cast where they come from, or go to, ops that stay float."""

    def __init__(
        self, module: Module, scheme: Scheme, groups: Groups, types: Mapping[Value, QuantType],
        weights: Mapping[Value, np.ndarray],
    ) -> None:
        self.module = module
        self.scheme = scheme
        self.groups = groups
        self.types = types
        self.weights = weights
        self.quantized: dict[Value, Value] = {}
        """The quantized form of a float tensor, where one was made."""
        self.real: dict[Value, Value] = {}
        """The float form of a quantized tensor, where one was made."""
        self.numbers: dict[Value, np.ndarray] = {}
        """What the constants that were made of others stand for, unrounded."""
        self.floats: dict[Value, Type] = {}
        """The element type that a tensor had, which is quantized now."""

    def run(self) -> None:
        chosen = self.groups.chosen
        for op in list(self.module.body_of_main):
            if op in chosen:
                self._quantize(op)
            elif op.results or op.name == "func.return":
                for user in op.walk():  # branches and bodies of loops take values from around them
                    for index, value in enumerate(user.operands):
                        if value in self.floats:
                            user.set_operand(index, self._as_real(value, op))
        update_function_type(self.module.main)

    def _quantize(self, op: Op) -> None:
        rule = rule_of(op) or Rule()
        own = rule.own(op)
        for index, value in enumerate(op.operands):
            if index not in (own, rule.bias) and _is_float(value):
                op.set_operand(index, self._as_quantized(value, op, index == rule.slopes))
        weights = self._weights(op, rule) if own is not None else None
        held = {result: self.types[self.groups.root(result)] for result in op.results}
        fixed = rule.slopes if rule.slopes is not None and constant_of(op.operands[rule.slopes]) is not None else None
        data = [index for index, value in enumerate(op.operands)
                if value.quant is not None and value is not weights and index != fixed]
        storages = {type_.storage for type_ in (*held.values(), *_types(op.operands[index] for index in data))}
        lifted = not rule.retypes and len(storages) > 1
        if lifted:
            for index in data:
                op.set_operand(index, self._lifted(op.operands[index], op, exactly=weights is not None))
        if fixed is not None and any(storage.width > 8 for storage in storages):
            self._signed(op, fixed)
        if rule.narrow and own is None and I16 in storages:
            self._narrowed(op, rule.weights)  # type: ignore[arg-type]
        if rule.bias is not None and len(op.operands) > rule.bias and _is_float(op.operands[rule.bias]):
            self._bias(op, rule)
        for name, value in {**rule.attributes(op), DYNAMIC: None}.items():  # DYNAMIC: as its framework computed the float op
            if value is not None:
                op.attributes[name] = value
            else:
                op.attributes.pop(name, None)
        if (word := rule.rounding(op)) is not None:
            op.attributes["rounding"] = word
        for result, type_ in held.items():
            self.floats[result] = result.element
            if rule.retypes and type_.storage.width > 8:
                self._retyped(op, result, type_)
                continue
            kind = self._wide(type_, rule.fixed) if lifted else self._fixed(type_, rule.fixed)
            result.type = TensorType(result.tensor_type.shape, kind)
            if result.quant != type_:
                self._lowered(result, type_)

    def _retyped(self, op: Op, result: Value, type_: QuantType) -> None:
        """Integers of 8 bits in a wider type by way of signed ones, from which runtimes know how to widen."""
        own = op.operands[0].quant
        assert own is not None
        shift = own.storage.range[0] - I8.range[0]
        result.type = TensorType(result.tensor_type.shape, QuantType(I8, F32, own.scales, (own.zero_point - shift,)))
        self._lowered(result, type_)

    def _wide(self, type_: QuantType, fixed: Fixed | None = None) -> QuantType:
        """A type of 16 bits that holds the range of a type, or the `fixed` one of an op's result."""
        if fixed is not None:
            return self.scheme.widened().activation_type(fixed)
        if type_.storage == I16:
            return type_
        low, high = ((end - type_.zero_point) * type_.scale for end in (type_.storage_min, type_.storage_max))
        return self.scheme.widened().activation_type((low, high))

    def _fixed(self, type_: QuantType, fixed: Fixed | None) -> QuantType:
        """A type, or the one that an op's kernel gives alone, where what the result is joined with reaches elsewhere."""
        if fixed is None:
            return type_
        scheme = self.scheme if type_.storage == self.scheme.activations else self.scheme.widened()
        return scheme.activation_type(fixed) if scheme.activations == type_.storage else type_

    def _lifted(self, value: Value, user: Op, exactly: bool) -> Value:
        """A quantized operand in 16 bits, since operands and results are of one width; `exactly`, in steps of its own scale."""
        quant = value.quant
        assert quant is not None
        if quant.storage == I16:
            return value
        build = Builder(user.parent, before=user, location=value.name)  # type: ignore[arg-type]
        if not exactly and value in self.numbers and self.numbers[value].any():  # 16 bits hold more of them
            return self._constant(build, self.numbers[value], self.scheme.widened().constant_type(self.numbers[value]))
        type_ = QuantType(I16, F32, quant.scales, (0,)) if exactly else self._wide(quant)
        dense = constant_of(value)
        if dense is not None:
            return self._constant(build, real(dense.numpy(), value.quant).astype(np.float64), type_)  # type: ignore[arg-type]
        return build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, type_)])

    def _lowered(self, result: Value, type_: QuantType) -> None:
        """The result of an op in 16 bits, in the type that its users see."""
        assert result.op is not None
        build = Builder(result.op.parent, before=result.op.next, location=result.name)  # type: ignore[arg-type]
        users = list(result.uses)
        narrow = build.emit("top.Cast", result, types=[TensorType(result.tensor_type.shape, type_)])
        self.floats[narrow] = self.floats[result]
        for user in users:
            user.operands = tuple(narrow if operand is result else operand for operand in user.operands)

    def _as_quantized(self, value: Value, user: Op, slopes: bool = False) -> Value:
        """A float value in the type of its group, by a cast that is made once; a constant as a constant."""
        if value not in self.quantized:
            dense = constant_of(value)
            build = Builder(user.parent, before=user, location=value.name)  # type: ignore[arg-type]
            if dense is not None:
                numbers = dense.numpy().astype(np.float64)
                type_ = self.scheme.slope_type(numbers) if slopes else self._constant_type(numbers, user)
                constant = self._constant(build, numbers, type_)
                self.numbers[constant] = numbers
                return constant
            made = build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, self.types[self.groups.root(value)])])
            self.quantized[value], self.floats[made] = made, value.element
        return self.quantized[value]

    def _constant_type(self, numbers: np.ndarray, user: Op) -> QuantType:
        """The type of a constant. Zeros alone have no range: theirs is that of what is made of them, whose steps kernels like."""
        if numbers.any() or not user.results or (made := self.types.get(self.groups.root(user.results[0]))) is None:
            return self.scheme.constant_type(numbers)
        return made

    def _signed(self, op: Op, index: int) -> None:
        """A constant of 8 bits as signed bytes: beside 16 bits, LiteRT's kernel reads no others."""
        numbers = self.numbers[op.operands[index]]
        build = Builder(op.parent, before=op, location=op.operands[index].name)  # type: ignore[arg-type]
        op.set_operand(index, self._constant(build, numbers, replace(self.scheme, activations=I8).constant_type(numbers)))

    def _narrowed(self, op: Op, index: int) -> None:
        """A computed operand of 16 bits in 8, of the same range."""
        value = op.operands[index]
        quant = value.quant
        assert quant is not None
        narrow = QuantType(I8, F32, (quant.scale * I16.range[1] / I8.range[1],), (0,))
        build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
        op.set_operand(index, build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, narrow)]))

    def _as_real(self, value: Value, user: Op) -> Value:
        """A quantized value as floats, by a cast that is made once, with a name of its own: it is no part of what it casts."""
        if value not in self.real:
            name = f"{value.name}/float" if value.name else None
            build = Builder(user.parent, before=user, location=name)  # type: ignore[arg-type]
            self.real[value] = build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, self.floats[value])])
        return self.real[value]

    def _weights(self, op: Op, rule: Rule) -> Value:
        """The op's constant weights made integers."""
        assert rule.weights is not None
        dense = constant_of(op.operands[rule.weights])
        assert dense is not None
        numbers = self.weights.get(op.results[0], dense.numpy()).astype(np.float64)
        build = Builder(op.parent, before=op, location=op.operands[rule.weights].name)  # type: ignore[arg-type]
        type_ = self.scheme.of_sums(summed(op)).weight_type(numbers, rule.channels(op))
        op.set_operand(rule.weights, self._constant(build, numbers, self._with_room(type_, numbers, op, rule)))
        return op.operands[rule.weights]

    def _with_room(self, type_: QuantType, weights: np.ndarray, op: Op, rule: Rule) -> QuantType:
        """The type of weights in which the bias, in steps of the products, leaves their sums room in 32 bits.

        Weights that are all but zero have steps so small that it would not: a channel that says but its bias. Of weights that are
        zero throughout a step may be any, and is one that leaves the bias `DEAD_BIAS` steps.
        """
        bias = constant_of(op.operands[rule.bias]) if rule.bias is not None and len(op.operands) > rule.bias else None
        activations = op.operands[0].quant
        if bias is None or activations is None or not activations.per_tensor:
            return type_
        numbers, made = bias.numpy().astype(np.float64).ravel(), op.results[0].name or op.name
        need_finite(numbers, f"the bias of {made}", made)
        least = np.abs(numbers) / (activations.scale * GREATEST_BIAS)
        least = least if least.size == len(type_.scales) else np.full(len(type_.scales), least.max(initial=0.0))
        dead = ~np.any(np.moveaxis(weights, type_.axis or 0, 0).reshape(len(type_.scales), -1), axis=1)
        least = np.where(dead, least * (GREATEST_BIAS / DEAD_BIAS), least)
        roomy = type_.replace(scales=tuple(
            held if held >= needed and not is_dead else self.scheme.rounded(needed)
            for held, needed, is_dead in zip(type_.scales, least.tolist(), dead, strict=True)))
        return self.scheme.fitted(roomy, activations.scale)

    def _bias(self, op: Op, rule: Rule) -> None:
        """The op's bias in the scale of its products."""
        assert rule.bias is not None and rule.weights is not None
        value = op.operands[rule.bias]
        dense = constant_of(value)
        if dense is None:
            return
        numbers = dense.numpy().astype(np.float64)
        left, right = op.operands[0].quant, op.operands[rule.weights].quant
        assert left is not None and right is not None
        build = Builder(op.parent, before=op, location=value.name)  # type: ignore[arg-type]
        if not numbers.ndim and right.axis is not None:  # one number for all channels, each of which has steps of its own
            numbers = np.full(len(right.scales), float(numbers))
        groups = numbers.size // len(right.scales) if numbers.ndim else 1
        op.set_operand(rule.bias, self._constant(build, numbers, self.scheme.bias_type(left, right, numbers.ndim - 1, groups)))

    def _constant(self, build: Builder, numbers: np.ndarray, type_: QuantType) -> Value:
        return build.constant(held_as(stored(numbers, type_), type_.storage), element=type_)


def _types(values: Iterable[Value]) -> list[QuantType]:
    return [value.quant for value in values if value.quant is not None]


def _is_float(value: Value) -> bool:
    return isinstance(value.element_or_none, FloatType)
