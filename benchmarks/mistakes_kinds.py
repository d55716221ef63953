"""Mistakes as a wrong rule or pass makes them: one change of a module that stays valid, drawn by a name.

    mistake = make_mistake(module, "digits:tosa#17")     # in place; None where nothing was found to change

A kind is a function of an op and dice that changes the op and says what, or leaves it and gives None where it has nothing of that
kind. What is no longer valid then (`transload.ir.verify`) is drawn again. Nothing here knows a dialect: neighbours are words that
ops of any dialect have in their names, constants are ops that hold one, and the rest is operands and attributes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from transload.errors import TransloadError
from transload.ir import Dense, Module, Op, QuantType, TensorType, Value, registry, verify
from transload.ir.build import is_constant

__all__ = ["KINDS", "Mistake", "make_mistake"]

Dice = random.Random
Kind = Callable[[Op, Dice], "str | None"]

_TRIES = 24
"""Ops of which one is looked for that a mistake of a kind can be made in."""
_LARGEST = 1 << 22
"""Numbers of a constant that is changed: a copy is made of it."""
_NEIGHBOURS = tuple(frozenset(group.split()) for group in (
    "add sub subtract mul multiply div divide realdiv", "pow power mul multiply", "max maximum min minimum",
    "floor ceil round roundnearesteven", "relu relu6 relun1to1 abs", "tanh sigmoid logistic erf", "exp exponential tanh",
    "sin sine cos cosine", "rsqrt sqrt reciprocal", "abs neg negate identity cast", "silu hardswish gelu mish softplus",
    "elu selu celu leakyrelu", "reducesum reducemax reducemin reduceproduct reducemean reducel2 mean sum", "log log1p logplusone",
    "greater greaterequal less lessequal", "equal notequal", "logicaland logicalor logicalxor and or xor",
    "bitwiseand bitwiseor bitwisexor", "argmax argmin", "maxpool averagepool avgpool",
    "arithmeticrightshift logicalrightshift shiftrightarithmetic shiftrightlogical"))
"""Names of ops, lower-case letters and digits alone, that one takes for another."""


@dataclass(frozen=True)
class Mistake:
    """What was changed: the kind, the op as it was called, and what of it, in words."""

    kind: str
    op: str
    what: str


def make_mistake(module: Module, called: str, kinds: Sequence[str] = ()) -> Mistake | None:
    """Make the mistake of this name in a module, in place; one of some `kinds` alone, where they are given."""
    dice = Dice(called)
    names = list(kinds or KINDS)
    dice.shuffle(names)
    count = sum(1 for _ in module.ops())
    copy, ops = None, list[Op]()
    for name in names:
        for place in dice.sample(range(count), min(count, _TRIES)):
            if copy is None:
                copy = module.clone()
                ops = list(copy.ops())
            where = f"{ops[place].name} {ops[place].origin or ''}".strip()
            what = KINDS[name](ops[place], dice)
            if what is None:
                continue
            if _is_valid(copy):
                module.become(copy)
                return Mistake(name, where, what)
            copy = None
    return None


def _is_valid(module: Module) -> bool:
    try:
        verify(module)
    except (TransloadError, ValueError, TypeError, IndexError):  # shapes are computed of numbers that no op of ours has
        return False
    return True


# --- ops

def _normal(name: str) -> str:
    return name.partition(".")[2].lower().replace("_", "").removesuffix("2d")


def neighbour(op: Op, dice: Dice) -> str | None:
    """Another op in place of this one, which takes the same."""
    dialect = registry.dialect(op.dialect)
    alike = set[str]().union(*(group for group in _NEIGHBOURS if _normal(op.name) in group))
    others = [name for name in (dialect.ops if dialect is not None else ()) if name != op.name and _normal(name) in alike]
    if not others or op.regions:
        return None
    old, op.name = op.name, dice.choice(sorted(others))
    declared = dialect.ops[op.name].attributes if dialect is not None else {}
    op.attributes = {key: value for key, value in op.attributes.items() if key in declared}
    return f"{op.name} for {old}"


def dropped(op: Op, dice: Dice) -> str | None:
    """An operand in place of a result of the same type."""
    alike = [value for value in op.operands
             if len(op.results) == 1 and value.type == op.results[0].type and not is_constant(value)]
    if not alike or not op.results[0].uses:
        return None
    op.results[0].replace_all_uses_with(dice.choice(alike))
    return "left out"


def swapped(op: Op, dice: Dice) -> str | None:
    """Two operands of the same type in each other's places, where an op minds their order."""
    if op.declaration is not None and "commutative" in op.declaration.traits:
        return None
    operands = list(op.operands)
    pairs = [(a, b) for a in range(len(operands)) for b in range(a) if operands[a].type == operands[b].type
             and operands[a] is not operands[b]]
    if not pairs:
        return None
    a, b = dice.choice(pairs)
    operands[a], operands[b] = operands[b], operands[a]
    op.operands = tuple(operands)
    return f"operands {b} and {a} swapped"


def misled(op: Op, dice: Dice) -> str | None:
    """An operand that is another value of the same type, computed before."""
    if op.parent is None or not op.operands:
        return None
    place = dice.randrange(len(op.operands))
    wanted, before = op.operands[place], list[Value](op.parent.arguments)
    for other in op.parent:
        if other is op:
            break
        before += other.results
    alike = [value for value in before if value.type == wanted.type and value is not wanted
             and is_constant(value) == is_constant(wanted)]
    if not alike:
        return None
    other = dice.choice(alike)
    op.set_operand(place, other)
    return f"operand {place} is {other.name or 'another'} instead of {wanted.name or 'its own'}"


# --- attributes

def number(op: Op, dice: Dice) -> str | None:
    """An integer one off, a float a little off, halved, or of the other sign; a bound moved."""
    keys = [key for key, value in op.attributes.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    if not keys:
        return None
    key = dice.choice(keys)
    old = op.attributes[key]
    made = _other_number(old, dice)
    op.attributes[key] = made
    return f"{key} is {made} instead of {old}"


def _other_number(old: int | float, dice: Dice) -> int | float:
    if isinstance(old, int):
        return int(old) + dice.choice((-1, 1))
    if not np.isfinite(old):
        return dice.choice((6.0, 1.0)) if old > 0 else dice.choice((-1.0, 0.0))
    return dice.choice((old * 1.01, old / 2, -old, 0.0)) if old else dice.choice((1.0, -1.0, 0.01))


def listed(op: Op, dice: Dice) -> str | None:
    """An entry of a list one off, two entries swapped, or all in the other order."""
    keys = [key for key, value in op.attributes.items()
            if isinstance(value, tuple) and value and all(isinstance(each, int | float) for each in value)]
    if not keys:
        return None
    key = dice.choice(keys)
    old = tuple(op.attributes[key])
    place, other = dice.randrange(len(old)), dice.randrange(len(old))
    off = not old[place] if isinstance(old[place], bool) else _other_number(old[place], dice)
    swapped = {place: old[other], other: old[place]}
    ways = [tuple(swapped.get(at, each) for at, each in enumerate(old)), old[::-1], (*old[:place], off, *old[place + 1:])]
    made = dice.choice([way for way in ways if way != old])
    op.attributes[key] = made
    return f"{key} is {made} instead of {old}"


def chosen(op: Op, dice: Dice) -> str | None:
    """True for false, or another of the words that an attribute may be."""
    declaration = op.declaration
    ways = []
    for key, value in op.attributes.items():
        declared = declaration.attributes.get(key) if declaration is not None else None
        if isinstance(value, bool):
            ways.append((key, [not value]))
        elif isinstance(value, str) and declared is not None:
            words = [word.strip("'") for word in declared.kind.name.split(" or ")]
            ways.append((key, [word for word in words if word != value and declared.kind.accepts(word)]))
    ways = [(key, others) for key, others in ways if others]
    if not ways:
        return None
    key, others = dice.choice(ways)
    old = op.attributes[key]
    op.attributes[key] = dice.choice(others)
    return f"{key} is {op.attributes[key]} instead of {old}"


def scale(op: Op, dice: Dice) -> str | None:
    """A quantized type whose scale is 1 % off, or whose zero point is one off."""
    results = [value for value in op.results if isinstance(value.type, TensorType) and value.quant is not None]
    if not results:
        return None
    value = dice.choice(results)
    old = value.type.element
    assert isinstance(old, QuantType)
    by, step = dice.choice(((1.01, 0), (1.0, 1), (1.0, -1)))
    made = QuantType(
        old.storage, old.expressed, tuple(each * by for each in old.scales), tuple(each + step for each in old.zero_points),
        old.axis, old.storage_min, old.storage_max, old.blocks)
    value.type = TensorType(value.type.shape, made)
    return f"scale {by} times, zero point {step:+d}"


# --- constants

def _constant(op: Op) -> tuple[str, np.ndarray] | None:
    """The attribute of an op that holds a constant, and a copy of its numbers."""
    key = next((key for key, value in op.attributes.items() if isinstance(value, Dense)), None)
    if key is None or not 0 < op.attributes[key].type.num_elements <= _LARGEST:
        return None
    array = np.array(op.attributes[key].numpy())
    return (key, array) if array.dtype.kind in "iuf" and array.dtype.itemsize <= 8 else None


def _changing(change: Callable[[np.ndarray, Dice], tuple[np.ndarray, str] | None]) -> Kind:
    """A kind that makes another constant of one."""
    def kind(op: Op, dice: Dice) -> str | None:
        held = _constant(op)
        made = change(held[1], dice) if held is not None else None
        if held is None or made is None or np.array_equal(made[0], op.attributes[held[0]].numpy()):
            return None
        op.attributes[held[0]] = Dense(np.array(made[0], order="C"), op.attributes[held[0]].type)
        return made[1]

    return kind


def _part(array: np.ndarray, dice: Dice) -> tuple[tuple[slice | int, ...], str] | None:
    """One place of one dimension, where there are others."""
    axes = [axis for axis, size in enumerate(array.shape) if size > 1]
    if not axes:
        return None
    axis = dice.choice(axes)
    place = dice.randrange(array.shape[axis])
    return (*(slice(None) for _ in range(axis)), place), f"place {place} of dimension {axis} of {list(array.shape)}"


def one_number(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """One number has the other sign, half its size, or its neighbour's value; an integer is one off."""
    flat = array.reshape(-1)
    place = dice.randrange(flat.size)
    old = flat[place]
    if array.dtype.kind == "f":
        flat[place] = dice.choice((-old, old / 2, flat[place - 1]))
    else:
        flat[place] = _within(int(old) + dice.choice((-1, 1)), array.dtype)
    return array, f"number {place} of {flat.size} is {flat[place]} instead of {old}"


def _within(number: int, dtype: np.dtype) -> int:
    return int(np.clip(number, np.iinfo(dtype).min, np.iinfo(dtype).max))


def one_row(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """A row or a channel is zero, or its neighbour's."""
    part = _part(array, dice)
    if part is None:
        return None
    where, words = part
    way = dice.choice(("zero", "its neighbour's"))
    place = where[-1]
    assert isinstance(place, int)
    array[where] = 0 if way == "zero" else array[(*where[:-1], place - 1)]
    return array, f"{words} is {way}"


def sign(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """All numbers, or those of a row or a channel, have the other sign."""
    if array.dtype.kind == "u":
        return None
    where, words = _part(array, dice) or ((), "all") if dice.randrange(2) else ((), "all")
    least = np.iinfo(array.dtype).min + 1 if array.dtype.kind == "i" else -np.inf
    array[where] = -np.maximum(array[where], np.asarray(least, array.dtype))
    return array, f"{words}: the other sign"


def scaled(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """All numbers, or those of a row or a channel, are 1 % more; of integers, rounded."""
    where, words = _part(array, dice) or ((), "all") if dice.randrange(2) else ((), "all")
    found = array[where].astype(np.float64) * 1.01
    if array.dtype.kind != "f":
        found = np.clip(np.rint(found), np.iinfo(array.dtype).min, np.iinfo(array.dtype).max - 512 * (array.dtype.itemsize == 8))
    array[where] = found.astype(array.dtype)
    return array, f"{words}: 1 % more"


def permuted(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """Two rows or channels swapped, all in the other order, all moved on by one, or two equal dimensions transposed."""
    axes = [axis for axis, size in enumerate(array.shape) if size > 1]
    if not axes:
        return None
    axis = dice.choice(axes)
    equal = [other for other in axes if other != axis and array.shape[other] == array.shape[axis]]
    way = dice.choice(("swapped", "reversed", "moved on", *(["transposed"] if equal else [])))
    if way == "swapped":
        order = list(range(array.shape[axis]))
        a, b = dice.sample(order, 2)
        order[a], order[b] = order[b], order[a]
        made = np.take(array, order, axis)
    elif way == "reversed":
        made = np.flip(array, axis)
    elif way == "moved on":
        made = np.roll(array, 1, axis)
    else:
        made = np.swapaxes(array, axis, dice.choice(equal))
    return made, f"dimension {axis} of {list(array.shape)} {way}"


def shifted(array: np.ndarray, dice: Dice) -> tuple[np.ndarray, str] | None:
    """All integers one more or one less: an index, a start, a padding, a shift, a zero point."""
    if array.dtype.kind == "f":
        return None
    by = dice.choice((-1, 1))
    wide = np.clip(array.astype(object) + by, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
    return wide.astype(array.dtype), f"all {by:+d}"


KINDS: dict[str, Kind] = {
    "neighbour": neighbour, "dropped": dropped, "swapped": swapped, "misled": misled, "number": number, "list": listed,
    "choice": chosen, "scale": scale, "one number": _changing(one_number), "row": _changing(one_row), "sign": _changing(sign),
    "scaled": _changing(scaled), "permuted": _changing(permuted), "shifted": _changing(shifted)}
"""The kinds of mistakes, by name."""
