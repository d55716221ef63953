"""Moves in front of elementwise ops: a reshape, a permute or a slice of what these make.

It gives the same as these ops on what is reshaped, permuted or sliced before. Of an input or a constant that costs nothing, as a
load takes elements by strides; in the lanes it would be a copy, for which computing waits. Before a cast to a wider type there
are fewer bytes to move. A slice leaves less to compute, wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from transload.ir import Block, Op, TensorType, Value, is_absent
from transload.ir.build import Builder, constant_of

from ..chip import Chip
from ..shapes import local_shape
from .joining import is_joined
from .reductions import ANY_ORDER
from .values import MOVES, bits_of, by_channel, elements_of, is_elementwise, is_move

__all__ = ["move_first", "slice_each_part", "slice_first", "slice_flat", "widen_late"]


def slice_first(block: Block, chip: Chip) -> bool:
    """Slice before reshapes of which the slice takes every so many-th index of each dimension as it was, and of what is joined
    only the tensor that has it.
    """
    changed = False
    for op in list(block):
        moved: Op | None = op
        while moved is not None:
            moved = _slice_before(moved, block)
            changed = changed or moved is not None
    return changed


def _slice_before(op: Op, block: Block) -> Op | None:
    """The slice that stands in front of the maker of what `op` slices, in its place; None where it stays."""
    maker = op.operands[0].op if op.name == "tpu.slice" and op.results[0].uses else None
    if maker is None or maker.name not in ("tpu.reshape", "tpu.concat") or 0 in op.results[0].static_shape:
        return None
    if any(by_channel(value) or value.element != op.results[0].element for value in (op.operands[0], *maker.operands)):
        return None
    return (_before_reshape if maker.name == "tpu.reshape" else _of_one_part)(op, maker, block)


def slice_each_part(block: Block, chip: Chip) -> bool:
    """Slice each of the tensors that are joined, where nothing but slices reads all of them together, and takes some of each.

    So these need not be put together, to be taken apart again.
    """
    changed = False
    for op in list(block):
        concat = op.operands[0].op if op.name == "tpu.slice" and op.results[0].uses else None
        if concat is None or concat.name != "tpu.concat" or 0 in op.results[0].static_shape:
            continue
        axis, taken = concat.attribute("axis"), _taken(op)
        start, count, step = taken[axis]
        if step < 1 or count == concat.results[0].static_shape[axis]:
            continue
        if any(user.name != "tpu.slice" for user in concat.results[0].uses):
            continue
        if any(by_channel(value) or value.element != op.results[0].element for value in concat.operands):
            continue
        build, parts = Builder(block, op, op.location), []
        for part in concat.operands:
            size = part.static_shape[axis]
            each = max(min(-(-(size - start) // step), count), 0)
            if each:
                parts.append(_sliced(build, part, [*taken[:axis], (start, each, step), *taken[axis + 1:]]))
            start, count = start + each * step - size, count - each
        op.results[0].replace_all_uses_with(build.emit("tpu.concat", *parts, axis=axis))
        changed = True
    return changed


def slice_flat(block: Block, chip: Chip) -> bool:
    """Take what is a row of a slice of a loaded tensor from the tensor as a row: by strides, at once."""
    changed = False
    for op in list(block):
        source = op.operands[0].op if op.name == "tpu.reshape" and op.results[0].uses else None
        if source is None or source.name != "tpu.slice" or not _is_loaded(source.operands[0]):
            continue
        whole, shape = source.operands[0], op.results[0].static_shape
        taken = [(place, *along) for place, along in enumerate(_taken(source)) if along[1] != 1]
        wide = [place for place, size in enumerate(shape) if size != 1]
        if len(taken) != 1 or len(wide) != 1 or taken[0][3] < 1 or by_channel(whole) or whole.element != op.results[0].element:
            continue
        steps = [prod(whole.static_shape[place + 1:]) for place in range(whole.rank)]
        place, _, count, step = taken[0]
        first = sum(start * each for (start, _, _), each in zip(_taken(source), steps, strict=True))
        row = tuple(prod(whole.static_shape) if each == wide[0] else 1 for each in range(len(shape)))
        build = Builder(block, op, op.location)
        along = [(first, count, step * steps[place]) if each == wide[0] else (0, 1, 1) for each in range(len(shape))]
        op.results[0].replace_all_uses_with(_sliced(build, build.emit("tpu.reshape", whole, shape=row), along))
        changed = True
    return changed


def _before_reshape(op: Op, reshape: Op, block: Block) -> Op | None:
    """The slice in front of a reshape; None where that is none."""
    source = reshape.operands[0]
    asked = _sliced_before(source.static_shape, op.operands[0].static_shape, _taken(op))
    if asked is None:
        return None
    build = Builder(block, op, op.location)
    made = _sliced(build, source, asked)
    op.results[0].replace_all_uses_with(build.emit("tpu.reshape", made, shape=op.results[0].static_shape))
    return made.op


def _of_one_part(op: Op, concat: Op, block: Block) -> Op | None:
    """The slice of the only tensor of those joined that it takes anything of; where that is all of it, the tensor itself."""
    axis, taken = concat.attribute("axis"), _taken(op)
    start, count, step = taken[axis]
    low, high = sorted((start, start + (count - 1) * step))
    for part in concat.operands:
        size = part.static_shape[axis]
        if low >= 0 and high < size:
            break
        low, high, start = low - size, high - size, start - size
    else:
        return None
    taken[axis] = start, count, step
    if taken == [(0, size, 1) for size in part.static_shape]:
        op.results[0].replace_all_uses_with(part)
        return op
    made = _sliced(Builder(block, op, op.location), part, taken)
    op.results[0].replace_all_uses_with(made)
    return made.op


def _taken(op: Op) -> list[Along]:
    """What a slice takes along each dimension."""
    return list(zip(op.attribute("starts"), op.attribute("sizes"), op.attribute("steps"), strict=True))


def _sliced(build: Builder, source: Value, taken: Sequence[Along]) -> Value:
    starts, sizes, steps = zip(*taken, strict=True) if taken else ((), (), ())
    made: Value = build.emit("tpu.slice", source, starts=starts, sizes=sizes, steps=steps)
    return made


Along = tuple[int, int, int]
"""What a slice takes along a dimension: the first, how many, and how far the next is."""


def _sliced_before(before: Sequence[int], after: Sequence[int], taken: Sequence[Along]) -> list[Along] | None:
    """What a slice of a reshape from `before` to `after` takes of each dimension that was before; None where that is no slice.

    Dimensions that have as many elements together before and after are looked at together, as few at once as there can be.
    """
    asked: list[Along] = []
    if 0 in after:
        return None
    low = begin = 0
    while low < len(before) or begin < len(after):
        high, end = min(low + 1, len(before)), min(begin + 1, len(after))
        while prod(before[low:high]) != prod(after[begin:end]):
            if prod(before[low:high]) < prod(after[begin:end]):
                high += 1
            else:
                end += 1
        found = _along(before[low:high], after[begin:end], taken[begin:end])
        if found is None:
            return None
        asked += found
        low, begin = high, end
    return asked


def _along(before: Sequence[int], after: Sequence[int], taken: Sequence[Along]) -> list[Along] | None:
    """The same of dimensions that have as many elements together: all of each, or of one dimension those at equal distances."""
    if all(count == size and step == 1 for size, (_, count, step) in zip(after, taken, strict=True)):
        return [(0, size, 1) for size in before]
    wide = [size for size in before if size > 1]
    if len(wide) != 1:
        return None
    first, total, distance, each = 0, 1, 1, 1
    for size, (start, count, step) in reversed(list(zip(after, taken, strict=True))):
        first += start * each
        if count > 1:
            if step < 0 or (total > 1 and step * each != total * distance):
                return None
            distance = distance if total > 1 else step * each
            total *= count
        each *= size
    return [(first, total, distance) if size > 1 else (0, 1, 1) for size in before]


def move_first(block: Block, chip: Chip) -> bool:
    """Put moves in front of elementwise ops where that costs less."""
    changed = False
    for op in list(block):
        if is_move(op) and op.results[0].uses:
            changed = _Raising(op, block, chip).done() or _Raising(op, block, chip, most=1).done() or changed
    return changed


def widen_late(block: Block, chip: Chip) -> bool:
    """Put elementwise ops that make more bytes than they read right before what reads them: between groups less is stored."""
    changed = False
    places = {op: number for number, op in enumerate(block)}
    for op in reversed(list(block)):
        users = [user for user in op.results[0].uses if user in places] if is_elementwise(op) else []
        if not users or by_channel(op.results[0]):
            continue
        bits = sum(prod(each.static_shape) * bits_of(each) for each in op.operands if not is_absent(each))
        first = min(users, key=places.__getitem__)
        behind = op.next
        while behind is not first and behind is not None and behind.results and first in behind.results[0].uses:
            behind = behind.next  # as late as this one
        if bits < prod(op.results[0].static_shape) * bits_of(op.results[0]) and behind is not first:
            block.remove(op)
            block.insert(op, first)
            places[op] = places[first]
            changed = True
    return changed


class _Raising:
    """A move, and `members`: the elementwise ops in front of which it can go. Their results have all one shape."""

    def __init__(self, move: Op, block: Block, chip: Chip, most: int | None = None) -> None:
        self.move, self.block, self.chip, self.most = move, block, chip, most
        self.source = move.operands[0]
        self.shape = self.source.static_shape
        self.members: dict[Op, None] = {}
        self.edge: dict[Value, None] = {}
        """Tensors of that shape that members read, and that none of them makes."""
        self.made: dict[Value, Value] = {}
        """What stands for a value behind the move."""

    def done(self) -> bool:
        """Put the move in front of the members; False where that cannot be."""
        if by_channel(self.source) or not self._backward() or not self._sideways() or not self._pays():
            return False
        for op in [op for op in self.block if op in self.members]:
            self._again(op)
        self._hand_over()
        return True

    # --- what it goes in front of

    def _backward(self) -> bool:
        """Collect the ops between the move and where its elements come from; whether it can go in front of them."""
        open_ = [self.source]
        while open_:
            value = open_.pop()
            op = value.op
            full = self.most is not None and len(self.members) >= self.most
            if op is None or constant_of(value) is not None or not self._is_elementwise(op) or (full and op not in self.members):
                self.edge[value] = None
            elif op not in self.members:
                if any(not self._goes_along(each) for each in op.operands[elements_of(op):] + self._smaller(op)):
                    return False
                self.members[op] = None
                open_ += [each for each in op.operands[:elements_of(op)] if each.static_shape == self.shape]
        return bool(self.members) and not any(map(by_channel, self.edge))

    def _is_elementwise(self, op: Op) -> bool:
        return is_elementwise(op) and op.results[0].static_shape == self.shape and not by_channel(op.results[0])

    def _pays(self) -> bool:
        """Whether it takes less to move what is not loaded anyway, and compute on that, than to compute and move the result.

        What is computed and only joined then is stored where it is joined.
        """
        if self.move.name == "tpu.slice":
            return True
        if is_joined(self.move.results[0]) and not any(map(_is_loaded, self.edge)):
            return False
        after = self.move.results[0].static_shape
        moved = sum(self._copied(value) for value in self.edge if not _is_loaded(value))
        return moved + sum(self._cycles(op, after) for op in self.members) <= self._copied(self.source) + sum(
            self._cycles(op, self.shape) for op in self.members)

    def _copied(self, value: Value) -> float:
        """Cycles of a copy in the lanes."""
        return self.chip.dma_latency + prod(self.shape) * bits_of(value) / 8 / self.chip.dma_bytes

    def _cycles(self, op: Op, shape: Sequence[int]) -> int:
        """Cycles of an op on a tensor of this shape, beside those in which it starts."""
        n, c, h, w = local_shape(shape)
        bits = max(bits_of(value) for value in (*op.operands, *op.results) if not is_absent(value))
        return n * -(-c // self.chip.lanes) * -(-h * w * bits // (8 * self.chip.vector_bytes))

    def _smaller(self, op: Op) -> tuple[Value, ...]:
        """The operands that an op repeats along some dimension."""
        return tuple(each for each in op.operands[:elements_of(op)] if each.static_shape != self.shape)

    def _goes_along(self, value: Value) -> bool:
        """Whether a smaller operand can be had behind the move, too."""
        if is_absent(value) or all(size == 1 for size in value.static_shape):
            return True
        return constant_of(value) is not None and (
            self.move.name != "tpu.reshape" or len(value.static_shape) != len(self.shape)) and not by_channel(value)

    def _sideways(self) -> bool:
        """Whether all that members make is used by members, moved likewise, or reduced to a number; collects what is on the way
        to that.
        """
        # what is loaded would be loaded twice where others read it as it was
        loaded = [value for value in self.edge if _is_loaded(value) and constant_of(value) is None]
        open_: list[Op | Value] = [*self.members, *loaded]
        while open_:
            each = open_.pop()
            value = each.results[0] if isinstance(each, Op) else each
            for user in value.uses:
                if user in self.members or self._is_same(user) or (self.move.name != "tpu.slice" and self._is_number(user)):
                    continue
                if self.move.name == "tpu.slice":
                    if isinstance(each, Op):
                        return False
                    continue
                if not self._is_elementwise(user) or not all(map(self._is_number, user.results[0].uses)):
                    return False
                if any(value.static_shape == self.shape and value is not each and value not in self.edge
                       for value in user.operands if value.op not in self.members):
                    return False
                if any(not self._goes_along(each) for each in user.operands[elements_of(user):] + self._smaller(user)):
                    return False
                self.members[user] = None
        return True

    def _is_same(self, op: Op) -> bool:
        """Whether an op moves the members' last result as the move does."""
        return op.name == self.move.name and op.operands[0] is self.source and op.attributes == self.move.attributes

    def _is_number(self, op: Op) -> bool:
        """Whether an op makes one number of a tensor of that shape, whatever the order of its elements."""
        return (op.name == "tpu.reduce" and op.attribute("function") in ANY_ORDER
                and all(size == 1 for size in op.results[0].static_shape))

    # --- what comes of it

    def _moved(self, value: Value, build: Builder) -> Value:
        """An operand of a member behind the move."""
        if value not in self.made:
            self.made[value] = self._moved_now(value, build)
        return self.made[value]

    def _moved_now(self, value: Value, build: Builder) -> Value:
        before, after = value.static_shape, self.move.results[0].static_shape
        made: Value = value
        if before == self.shape:
            made = build.emit(self.move.name, value, **self.move.attributes)
        elif len(before) != len(self.shape):
            pass
        elif self.move.name == "tpu.permute":
            made = build.emit("tpu.permute", value, order=self.move.attribute("order"))
        elif self.move.name == "tpu.reshape":
            made = value if len(after) == len(before) else build.emit("tpu.reshape", value, shape=(1,) * len(after))
        else:
            starts, sizes, steps = (tuple(number if size == whole else one for number, size, whole in zip(
                self.move.attribute(name), before, self.shape, strict=True))
                for name, one in (("starts", 0), ("sizes", 1), ("steps", 1)))
            made = build.emit("tpu.slice", value, starts=starts, sizes=sizes, steps=steps)
        return made

    def _again(self, op: Op) -> None:
        """A member of what is moved."""
        build = Builder(self.block, op, op.location)
        count = elements_of(op)
        moved = [each if is_absent(each) else self._moved(each, build) for each in op.operands[:count]]
        operands = [*moved, *op.operands[count:]]
        type_ = TensorType(self.move.results[0].static_shape, op.results[0].element)
        made = Op(op.name, operands, [type_], op.attributes.copy(), (), op.location)
        self.block.insert(made, op)
        self.made[op.results[0]] = made.results[0]

    def _hand_over(self) -> None:
        """What the move gave, and what numbers are made of, comes from the new members; the old ones are not used any more."""
        for op in self.members:
            for user in list(op.results[0].uses):
                if self._is_same(user):
                    user.results[0].replace_all_uses_with(self.made[self.source])
                elif user not in self.members:
                    self._number_of(user)
        for value in self.edge:
            if value in self.made and constant_of(value) is None:
                numbers = [user for user in value.uses if self._is_number(user)]
                self._put_before(self.made[value].op, numbers)
                for user in numbers:
                    self._number_of(user)

    def _put_before(self, made: Op | None, users: Sequence[Op]) -> None:
        """What is moved of an edge stands in front of the first member that reads it: put it in front of these, too."""
        if made is None or not users:
            return
        first = next(op for op in self.block if op is made or op in users)
        if first is not made:
            self.block.remove(made)
            self.block.insert(made, first)

    def _number_of(self, op: Op) -> None:
        """A reduction of all elements, of those that are moved."""
        build = Builder(self.block, op, op.location)
        moved = self.made[op.operands[0]]
        number = build.emit("tpu.reduce", moved, function=op.attribute("function"), axes=tuple(range(moved.rank)))
        shape = op.results[0].static_shape
        op.results[0].replace_all_uses_with(number if number.static_shape == shape else build.emit(
            "tpu.reshape", number, shape=shape))


def _is_loaded(value: Value) -> bool:
    """Whether a tensor is loaded, and so may lie in any order: a constant, an input, or one of these moved before."""
    while value.op is not None and value.op.name in MOVES:
        value = value.op.operands[0]
    return value.op is None or constant_of(value) is not None
