"""The pass `layout`: turn a function to NHWC or NCHW, with as few transposes as it takes.

Every layout-sensitive op (attribute `layout`) must run in the wanted layout; arguments and results of
the function keep theirs. Between these, most ops can run in any order of the dimensions (*form*, see
`layout_forms`), and which is best depends on what is around them. So nothing is inserted and pushed
about; instead each op's form is chosen:

1. forwards, list the options of every op, from the forms that its operands may have (`layout_rules`).
   A Permute is no op here: its result is its operand, seen through an order;
2. backwards, price every form of every value: what would have to be moved behind it;
3. forwards, take for each op the cheapest option, given the forms its operands exist in by now, and
   rewrite it in place. A Permute is made only where a value is needed in a form it does not exist in,
   once for all who need it; constants are permuted at once.

On a tree the choice is optimal; where values have several users, prices count what they share twice
and the choice may be off. Time is linear in the number of ops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from transload.errors import UsageError
from transload.ir import Block, FusedLocation, Module, Op, TensorType, Value, input_names, output_names
from transload.ir.borders import name_borders
from transload.ir.build import Builder, constant_of, part_location
from transload.ir.constants import Dense, LazyData, SplatData

from ..ops.infer import led_element, permuted_element
from .forms import (
    Form,
    Shape,
    after_permute,
    channels_first,
    channels_last,
    compose,
    is_plain,
    order_between,
    plain,
    same_memory,
    stored_shape,
    volume,
)
from .options import Option
from .rules import options_of

__all__ = ["change_layout"]

CANDIDATES = 6
"""How many forms of one value are considered."""
OVERHEAD = 4096
"""What a Permute costs besides the elements it moves, in elements: few of them matter more than small ones."""


def change_layout(module: Module, to: str = "NHWC") -> bool:
    """Turn every layout-sensitive `top` op to layout `to` ("NHWC" or "NCHW"); whether anything changed.

    Functions keep the types of their arguments and results, and the names of their results. An
    intermediate value whose dimensions are now in another order keeps its name, and one whose numbers are
    in an order that no order of its dimensions gives has none.
    """
    if to not in ("NHWC", "NCHW"):
        raise UsageError(f"layout {to!r} is not known", hint="to= is NHWC (channels last) or NCHW (channels first)")
    changed = False
    for function in module.functions.values():
        names = output_names(function)
        changed |= _FunctionLayout(function, to).run()
        name_borders(function, input_names(function), names)
    return changed


_Wanted = tuple[Form, Form | None]
"""A form of a base value, and for a broadcast operand the form that it then has at the result's rank."""


class _Need(NamedTuple):
    """A base value in a form that an op needs it in, see `_Wanted`."""

    base: Value
    form: Form
    tail: Form | None = None


class _FunctionLayout:
    """One function's values, options and prices; implements `options.Surroundings`."""

    def __init__(self, function: Op, to: str) -> None:
        self.function = function
        self.to = to
        self.shapes: dict[Value, Shape] = {}
        self.elements: dict[Value, Any] = {}
        self.constants: dict[Value, Dense] = {}
        self.aliases: dict[Value, tuple[Value, Form]] = {}
        self.permutes: dict[tuple[Value, Form], Op] = {}
        self.candidates: dict[Value, list[Form]] = {}
        self.options: dict[Op, list[Option]] = {}
        self.order: list[Op] = []
        self.moved_behind: dict[Value, dict[Form, int]] = {}
        self.asked: dict[Value, dict[Form, set[_Wanted]]] = {}
        self.certain: dict[Value, set[Form]] = {}
        self.scopes: list[dict[Value, dict[_Wanted, Value]]] = []
        self.permutes_in_order: list[Op] = []
        self.passed: set[Op] = set()
        self.settled: set[Op] = set()
        """Ops that stay as they are, since nothing before them can be had in another form."""
        self.changed = False
        self.turns = False
        self._target = channels_last if to == "NHWC" else channels_first
        self._wishes: dict[int, list[Form]] = {}

    def run(self) -> bool:
        block = self.function.regions[0].block
        ops = list(self.function.walk())
        self.turns = any(_turns(op, self.to) for op in ops)
        if not self.turns and "top.Permute" not in {op.name for op in ops}:
            for op in ops:
                self._set_layout(op)
            return self.changed
        self._collect(block)
        self._price()
        self._rewrite(block)
        for permute in reversed(self.permutes_in_order):
            if not permute.result.uses:
                permute.erase()
                self.changed = True
        for value in self.constants:
            if not value.uses and value.op is not None and value.op.parent is not None:
                value.op.erase()
        return self.changed

    def _set_layout(self, op: Op) -> None:
        """Give a layout-sensitive op of too low a rank to have a layout the wanted attribute all the same."""
        if _has_other_layout(op, self.to):
            op.attributes["layout"] = self.to
            self.changed = True

    # --- what rules ask

    def shape(self, value: Value) -> Shape | None:
        return self.shapes.get(value)

    def target(self, rank: int) -> Form:
        return self._target(rank)

    def wishes(self, rank: int) -> list[Form]:
        known = self._wishes.get(rank)
        if known is None:
            known = [plain(rank)]
            if self.turns and rank > 2:
                known.append(self.target(rank))
            self._wishes[rank] = known
        return known

    def forms(self, value: Value) -> list[Form]:
        shape = self.shapes[value]
        base, order = self._resolve(value)
        own = dict.fromkeys(self.wishes(len(shape))[:1])
        own.update(dict.fromkeys(after_permute(form, order) for form in self.candidates.get(base, ())))
        own.update(dict.fromkeys(self.wishes(len(shape))))
        return list(own)[:CANDIDATES]

    def _resolve(self, value: Value) -> tuple[Value, Form]:
        """The value of which `value` is a Permute, and the order; itself and the identity if it is none."""
        found = self.aliases.get(value)
        return found if found is not None else (value, plain(len(self.shapes[value])))

    # --- 1. options

    def _note(self, value: Value) -> None:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            self.shapes[value] = value.type.shape
            self.elements[value] = value.element

    def _collect(self, block: Block) -> None:
        for argument in block.arguments:
            self._note(argument)
            if argument in self.shapes:
                self.candidates[argument] = [plain(len(self.shapes[argument]))]
        for op in block:
            for result in op.results:
                self._note(result)
            dense = constant_of(op.results[0]) if len(op.results) == 1 else None
            if dense is not None and op.results[0] in self.shapes:
                self.constants[op.results[0]] = dense
                continue
            if op.name == "top.Permute" and op.operands[0] in self.shapes:
                self._collect_permute(op)
                continue
            if self._is_settled(op):
                self.settled.add(op)
                self.candidates.update(
                    (result, [plain(len(self.shapes[result]))]) for result in op.results if result in self.shapes)
                continue
            options = options_of(op, self)
            self.options[op] = options
            self.order.append(op)
            for index, result in enumerate(op.results):
                if result in self.shapes:
                    forms = (option.results[index] for option in options)
                    self.candidates[result] = list(dict.fromkeys(form for form in forms if form is not None))
            if len(options) == 1:
                for operand, form in zip(op.operands, options[0].operands, strict=True):
                    if form is not None:
                        need = self._need(operand, form)
                        self.certain.setdefault(need.base, set()).add(need.form)
            for region in op.regions:
                for inner in region.blocks:
                    self._collect(inner)

    def _is_settled(self, op: Op) -> bool:
        """Whether an op runs in the plain form whatever its surroundings: nothing turns, and it is behind no Permute."""
        return not self.turns and not op.regions and not _has_other_layout(op, self.to) and all(
            operand not in self.aliases and all(map(is_plain, self.candidates.get(operand, ()))) for operand in op.operands)

    def _collect_permute(self, op: Op) -> None:
        base, order = self._resolve(op.operands[0])
        order = compose(order, tuple(axis % len(op.order) for axis in op.order))
        self.aliases[op.result] = (base, order)
        self.permutes.setdefault((base, order), op)
        self.permutes_in_order.append(op)

    def _need(self, value: Value, form: Form) -> _Need:
        base, order = self._resolve(value)
        if len(form) > len(order):
            return _Need(base, order, form)
        return _Need(base, compose(order, form))

    # --- 2. prices

    def _price(self) -> None:
        for op in reversed(self.order):
            options = self.options[op]
            behind = [self._price_of_results(op, option) for option in options]
            needs = [self._needs_by_base(op, option) for option in options]
            bases = dict.fromkeys(base for some in needs for base in some if base not in self.constants)
            for base in bases:
                moved = self.moved_behind.setdefault(base, {})
                asked = self.asked.setdefault(base, {})
                for form in self.candidates.get(base, ()):
                    best: tuple[int, int, list[_Need]] | None = None
                    for price, some in zip(behind, needs, strict=True):
                        mine = some.get(base, [])
                        total = price + sum(self._conversion(form, need) for need in mine)
                        if best is None or total < best[0]:
                            best = total, price, mine
                    if best is not None:
                        moved[form] = moved.get(form, 0) + best[1]
                        asked.setdefault(form, set()).update((need.form, need.tail) for need in best[2])

    def _needs_by_base(self, op: Op, option: Option) -> dict[Value, list[_Need]]:
        found: dict[Value, list[_Need]] = {}
        for need in self._needs(op, option):
            found.setdefault(need.base, []).append(need)
        return found

    def _needs(self, op: Op, option: Option) -> list[_Need]:
        return [
            self._need(operand, form)
            for operand, form in zip(op.operands, option.operands, strict=True) if form is not None and operand in self.shapes
        ]

    def _price_of_results(self, op: Op, option: Option) -> int:
        return sum(
            self._price_of(result, form) for result, form in zip(op.results, option.results, strict=True) if form is not None)

    def _price_of(self, value: Value, form: Form) -> int:
        """What is to be paid behind `value` if it is made in `form`: each conversion once, however many ask for it."""
        price = self.moved_behind.get(value, {}).get(form, 0)
        for wanted, tail in self.asked.get(value, {}).get(form, ()):
            price += self._conversion(form, _Need(value, wanted, tail))
        return price

    def _conversion(self, form: Form, need: _Need) -> int:
        """What it costs to meet a need from the base value in `form`: nothing, or the elements to be moved and the overhead."""
        if need.base in self.constants:
            return 0
        shape = self.shapes[need.base]
        price = 0 if same_memory(shape, form, need.form) else volume(shape) + OVERHEAD
        if need.tail is not None:
            own = _padded(stored_shape(shape, need.form), len(need.tail))
            price += 0 if same_memory(own, plain(len(own)), need.tail) else volume(shape) + OVERHEAD
        return price

    # --- 3. choice

    def _rewrite(self, block: Block) -> None:
        self.scopes.append({})
        for argument in block.arguments:
            if argument in self.shapes:
                self._keep(_Need(argument, plain(len(self.shapes[argument]))), argument)
        for op in list(block):
            if op in self.settled:
                for result in op.results:
                    if result in self.shapes:
                        self._keep(_Need(result, plain(len(self.shapes[result]))), result)
                continue
            options = self.options.get(op)
            if options is None:  # a constant or a Permute
                self.passed.add(op)
                continue
            self._apply(op, self._cheapest(op, options))
            for region in op.regions:
                for inner in region.blocks:
                    self._rewrite(inner)
        self.scopes.pop()

    def _cheapest(self, op: Op, options: list[Option]) -> Option:
        """The option of least price; of equal ones that which puts off new Permutes, then the first."""
        return options[0] if len(options) == 1 else min(options, key=lambda option: self._price_now(op, option))

    def _price_now(self, op: Op, option: Option) -> tuple[int, int]:
        """What is to be paid for the operands and behind the results; how many Permutes must be made now."""
        price, made = self._price_of_results(op, option), 0
        paid: set[Any] = set()
        for need in self._needs(op, option):
            if need.base in self.constants or need in paid or self._find(need) is not None:
                continue
            paid.add(need)
            if need.tail is None and need.form in self.certain.get(need.base, ()):
                continue
            moved = min(self._conversion(form, need) for form in self._existing(need.base))
            price += moved
            made += moved > 0 and (need.base, need.form) not in self.permutes
        return price, made

    def _find(self, need: _Need) -> Value | None:
        """What meets the need already, in this block or one around it."""
        for scope in reversed(self.scopes):
            found = scope.get(need.base, _NOTHING).get((need.form, need.tail))
            if found is not None:
                return found
        return None

    def _existing(self, base: Value) -> Iterator[Form]:
        """The forms in which `base` exists by now."""
        return (form for scope in self.scopes for form, tail in scope.get(base, _NOTHING) if tail is None)

    def _keep(self, need: _Need, value: Value) -> None:
        self.scopes[-1].setdefault(need.base, {})[need.form, need.tail] = value

    def _apply(self, op: Op, option: Option) -> None:
        operands = [
            operand if form is None or operand not in self.shapes else self._obtain(self._need(operand, form), op)
            for operand, form in zip(op.operands, option.operands, strict=True)
        ]
        if any(new is not old for new, old in zip(operands, op.operands, strict=True)):
            op.operands = tuple(operands)
            self.changed = True
        if not option.keeps:
            self.changed = True
            if option.name is not None and option.name != op.name:
                op.name = option.name
                op.attributes = dict(option.attributes)
            else:
                op.attributes.update(option.attributes)
        if option.then is not None:
            option.then()
        for result, form in zip(op.results, option.results, strict=True):
            if form is not None and result in self.shapes:
                result.type = self._stored_type(result, form)
                self._keep(_Need(result, form), result)

    def _stored_type(self, value: Value, form: Form) -> TensorType:
        return TensorType(stored_shape(self.shapes[value], form), permuted_element(self.elements[value], form))

    def _obtain(self, need: _Need, before: Op) -> Value:
        """The value that a need asks for, made in front of `before` where it does not exist yet."""
        found = self._find(need)
        if found is not None:
            return found
        if need.base in self.constants:
            value = self._constant(need, before)
        elif need.tail is not None:
            value = self._extend(need, before)
        else:
            value = self._convert(need, before)
        self._keep(need, value)
        return value

    def _constant(self, need: _Need, before: Op) -> Value:
        base = need.base
        if need.tail is None and is_plain(need.form):
            return base
        dense = self.constants[base]
        tail = need.tail or plain(len(need.form))
        padded: tuple[int, ...] = _padded(stored_shape(dense.shape, need.form), len(tail))  # type: ignore[assignment]
        shape: tuple[int, ...] = stored_shape(padded, tail)  # type: ignore[assignment]
        element = _permuted_padded(permuted_element(self.elements[base], need.form), len(tail) - len(need.form), tail)
        if isinstance(dense.data, SplatData):
            data: Any = SplatData(dense.data.value, shape)
        else:
            def permuted() -> np.ndarray:
                return np.ascontiguousarray(dense.numpy().transpose(need.form).reshape(padded).transpose(tail))

            data = LazyData(permuted, shape, dense.data.dtype)
        maker: Op = base.op  # type: ignore[assignment]
        new = Dense(data, TensorType(shape, dense.type.element))
        builder = Builder(before.parent, before, maker.location)  # type: ignore[arg-type]
        return builder.create(maker.name, (), (TensorType(shape, element),), {"value": new}).result

    def _extend(self, need: _Need, before: Op) -> Value:
        """A broadcast operand, reshaped to the rank of the result and put into its form."""
        value = self._obtain(_Need(need.base, need.form), before)
        tail: Form = need.tail  # type: ignore[assignment]
        shape = _padded(stored_shape(self.shapes[need.base], need.form), len(tail))
        builder = self._builder(need.base, before)
        self.changed = True
        if same_memory(shape, plain(len(shape)), tail):
            return builder.emit("top.Reshape", value, shape=_for_reshape(stored_shape(shape, tail)))
        return builder.emit("top.Permute", builder.emit("top.Reshape", value, shape=_for_reshape(shape)), order=tail)

    def _convert(self, need: _Need, before: Op) -> Value:
        """A Permute of the base value (a Reshape where only dimensions of size 1 move)."""
        base = need.base
        shape = self.shapes[base]
        form = min(self._existing(base), key=lambda have: self._conversion(have, need))
        source: Value = self._find(_Need(base, form))  # type: ignore[assignment]
        order = order_between(form, need.form)
        old = self.permutes.get((base, need.form))
        if old is not None and source is base and old.parent is before.parent:
            # The model has this very Permute, which may stand behind `before`.
            if old not in self.passed:
                before.parent.insert(before.parent.remove(old), before)  # type: ignore[union-attr]
                self.passed.add(old)
            if old.operands != (source,) or tuple(old.order) != order:
                old.operands = (source,)
                old.attributes["order"] = order
                self.changed = True
            return old.result
        builder = self._builder(base, before)
        self.changed = True
        if same_memory(shape, form, need.form) and None not in shape:
            value = builder.emit("top.Reshape", source, shape=stored_shape(shape, need.form))
            value.type = self._stored_type(base, need.form)
        else:
            value = builder.emit("top.Permute", source, order=order)
        if old is not None:
            value.op.location = old.location
        elif is_plain(need.form):
            _hand_on_name(base, value)
        return value

    def _builder(self, base: Value, before: Op) -> Builder:
        named = base.op.location if base.op is not None else base.location
        return Builder(before.parent, before, part_location(named, "layout"))  # type: ignore[arg-type]


_NOTHING: dict[_Wanted, Value] = {}


def _turns(op: Op, to: str) -> bool:
    """Whether a layout-sensitive op has the other layout than the wanted one."""
    type_ = op.operands[0].type if op.operands else None
    return isinstance(type_, TensorType) and type_.shape is not None and len(type_.shape) > 2 and _has_other_layout(op, to)


def _has_other_layout(op: Op, to: str) -> bool:
    """Whether an op has another layout than the wanted one, which it could have."""
    declared = op.declaration.attributes.get("layout") if op.declaration is not None else None
    return declared is not None and op.layout != to and declared.kind.accepts(to)


def _padded(shape: Shape, rank: int) -> Shape:
    """`shape` with leading dimensions of size 1 up to `rank`."""
    return (1,) * (rank - len(shape)) + tuple(shape)


def _permuted_padded(element: Any, added: int, form: Form) -> Any:
    """The element type of a tensor that got `added` leading dimensions and was then put into `form`."""
    return permuted_element(led_element(element, added), form)


def _for_reshape(shape: Shape) -> tuple[int, ...]:
    """A shape as a Reshape's attribute; one unknown size is -1."""
    return tuple(-1 if size is None else size for size in shape)


def _hand_on_name(base: Value, value: Value) -> None:
    """A value that exists in the plain form, too, gives its name to that: it is the tensor the user knows."""
    name = base.name
    maker = base.op
    if name is None or maker is None or value.op is None or len(maker.results) != 1 or isinstance(maker.location, FusedLocation):
        return
    value.op.location = name
    maker.location = part_location(name, "layout")
