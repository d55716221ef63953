"""Operations, values, blocks and regions.

The structure is MLIR's, restricted to structured control flow: an operation has operands, results, attributes and regions; a
region has blocks; a block has arguments and a linked list of operations. Every value knows its uses, so that replacing it costs
what its uses cost.

Which operations exist, and what they mean, is the business of dialects (`transload.ir.declare`). An operation whose name no
dialect declares is legal here, in text and in rewrites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from ..errors import BuildError, Unfit
from . import registry
from .apart import Connected
from .attributes import Attribute, own_attributes
from .given import items_of, leave_regions, misfit_part, misused, need_free, need_part, take_regions, values_of, whole_of
from .locations import FusedLocation, Location, first_name, located
from .operands import MANY, ManyOperands, many_of
from .readable import block_text, called_text, function_text, op_text, value_text
from .types import BOOL, TYPES, FloatType, IntegerType, NoneType, QuantType, TensorType, Type

__all__ = ["Block", "Op", "Region", "Value", "blocks_of", "is_absent"]

_LISTS = (list, tuple)


class Value(Connected):
    """The result of an op, or the argument of a block.

    `owner` is the `Op` or `Block` that defines it, `index` its place among that owner's results or
    arguments. `uses` maps each using op to how many of its operands are this value.
    """

    __slots__ = ("index", "location", "owner", "type", "uses")

    def __init__(self, type: Type, owner: Op | Block, index: int, location: Location = None) -> None:
        if not isinstance(type, Type):
            raise misfit_part(owner.name if isinstance(owner, Op) else "a value", "type", type, "a type", TYPES)
        self.type = type
        self.owner = owner
        self.index = index
        self.location = location  # of block arguments; results take theirs from the op
        self.uses: dict[Op, int] = {}

    @property
    def op(self) -> Op | None:
        """The defining op; None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    @property
    def name(self) -> str | None:
        """The original tensor name, where there is one."""
        owner = self.owner
        if not isinstance(owner, Op):
            return self.location if isinstance(self.location, str) else None
        location = owner.location
        if isinstance(location, str):
            return location if len(owner.results) == 1 else f"{location}:{self.index}"
        if isinstance(location, FusedLocation) and location.metadata is None and len(location.locations) == len(owner.results):
            part = location.locations[self.index]
            return part if isinstance(part, str) else None
        return None

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The tensor's shape; raises `TypeError` where the rank is unknown or it is no tensor."""
        if isinstance(self.type, TensorType) and self.type.shape is not None:
            return self.type.shape
        raise Unfit(f"a value of type {self.type} has no shape of known rank")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element(self) -> Type:
        """The tensor's element type."""
        if isinstance(self.type, TensorType):
            return self.type.element
        raise Unfit(f"a value of type {self.type} has no elements")

    @property
    def tensor_type(self) -> TensorType:
        """The type, which must be a tensor's: raises `TypeError` where it is another."""
        if isinstance(self.type, TensorType):
            return self.type
        raise Unfit(f"a value of type {self.type} is no tensor")

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The tensor's sizes; raises `ValueError` where one is unknown, `TypeError` where it is no tensor."""
        return self.tensor_type.static_shape

    # Questions that every value answers; of one that is no tensor, with no.

    @property
    def element_or_none(self) -> Type | None:
        """The tensor's element type; None where it is no tensor."""
        return self.type.element if isinstance(self.type, TensorType) else None

    @property
    def shape_or_none(self) -> tuple[int | None, ...] | None:
        """The tensor's shape; None where its rank is unknown or it is no tensor."""
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def known_shape(self) -> tuple[int, ...] | None:
        """The tensor's sizes; None where one is unknown or it is no tensor."""
        shape = self.type.shape if isinstance(self.type, TensorType) else None
        return None if shape is None or None in shape else cast("tuple[int, ...]", shape)

    @property
    def quant(self) -> QuantType | None:
        """The tensor's element type where that is quantized, else None."""
        element = self.type.element if isinstance(self.type, TensorType) else None
        return element if isinstance(element, QuantType) else None

    @property
    def stored_element(self) -> Type | None:
        """What the tensor's elements are stored as: of `!quant.uniform<i8:...>`, `i8`; None where it is no tensor."""
        element = self.type.element if isinstance(self.type, TensorType) else None
        return element.storage if isinstance(element, QuantType) else element

    @property
    def is_float(self) -> bool:
        """Whether it is a tensor of floats (quantized ones are not)."""
        return isinstance(self.type, TensorType) and isinstance(self.type.element, FloatType)

    @property
    def is_integer(self) -> bool:
        """Whether it is a tensor of integers (`i1`, `index` and quantized ones are not)."""
        return isinstance(self.type, TensorType) and isinstance(self.type.element, IntegerType) and self.type.element != BOOL

    @property
    def is_bool(self) -> bool:
        """Whether it is a tensor of `i1`."""
        return isinstance(self.type, TensorType) and self.type.element == BOOL

    @property
    def is_quantized(self) -> bool:
        """Whether it is a tensor of quantized elements."""
        return isinstance(self.type, TensorType) and isinstance(self.type.element, QuantType)

    @property
    def is_static(self) -> bool:
        """Whether it is a tensor of which every size is known."""
        return isinstance(self.type, TensorType) and self.type.is_static

    def replace_all_uses_with(self, other: Value) -> None:
        """Make every user of this value use `other` instead."""
        if other is self:
            return
        if other.__class__ is not Value:
            need_part(other, Value, "replace_all_uses_with()", "other", "a value")
        uses = other.uses
        for user, count in self.uses.items():
            operands = user._operands
            if len(operands) > MANY:
                many_of(user).exchange(self, other)
            else:
                user._operands = tuple([other if operand is self else operand for operand in operands])
            uses[user] = uses.get(user, 0) + count
        self.uses = {}

    def __repr__(self) -> str:
        return f"<value {value_text(self)}>"


class Op(Connected):
    """One operation.

    Declared operands, attributes and regions are read by name: `op.filter`, `op.strides` (its default where absent), `op.bias`
    (None where absent). Where a declared name is also a member of this class (`name`, `results`, ...), use `op.operand("name")`
    and `op.attribute("name")`.
    """

    __slots__ = ("_operands", "attributes", "location", "name", "next", "parent", "prev", "regions", "results")

    def __init__(
        self, name: str, operands: Sequence[Value] = (), result_types: Sequence[Type] = (),
        attributes: dict[str, Attribute] | None = None, regions: Iterable[Region] = (), location: Location = None,
    ) -> None:
        self.name = name
        self._operands: tuple[Value, ...] | ManyOperands = ()
        if name.__class__ is not str:
            need_part(name, str, "an op", "name", "a text", "as 'dialect.Op'")
        if attributes.__class__ is not dict:
            need_part(attributes, dict | None, name, "attributes", "a dictionary", '{"axis": 1}')
        try:
            if len(result_types) == 1:  # as nearly always
                self.results = [Value(result_types[0], self, 0)]
            else:
                self.results = [Value(type_, self, index) for index, type_ in enumerate(result_types)]
        except (TypeError, KeyError):
            raise misfit_part(name, "result types", result_types, "a list of types") from None
        self.attributes = {} if attributes is None else attributes
        self.regions: list[Region] = []
        self.location = location if location.__class__ is str or location is None else located(location, name)
        self.parent: Block | None = None
        self.prev: Op | None = None
        self.next: Op | None = None
        if regions.__class__ is not tuple or regions:
            take_regions(self, items_of(regions, Region, name, "regions", "a region"))
        try:
            operands = tuple(operands)
            for operand in operands:
                uses = operand.uses
                uses[self] = uses.get(self, 0) + 1
        except (AttributeError, TypeError):
            leave_regions(self)
            self._refuse_operands(operands)
            raise
        self._operands = operands

    # --- operands and results

    @property
    def operands(self) -> tuple[Value, ...]:
        held = self._operands
        if held.__class__ is not tuple:
            held = self._operands = tuple(held)
        return held

    @operands.setter
    def operands(self, operands: tuple[Value, ...]) -> None:
        held = self._operands
        if held:
            self._drop_uses()
        try:
            operands = tuple(operands)
            for operand in operands:
                uses = operand.uses
                uses[self] = uses.get(self, 0) + 1
        except (AttributeError, TypeError):
            self._refuse_operands(operands, held)
            raise
        self._operands = operands

    def _refuse_operands(self, given: Any, held: Iterable[Value] = ()) -> None:
        """`BuildError` for operands that are no values: those that were held stay, and those that were counted are no uses."""
        for operand in given if isinstance(given, tuple) else ():
            if operand.__class__ is Value:
                operand.uses.pop(self, None)
        self.operands = tuple(held)
        values_of(f"{self.name} has as operands", given, Value)

    def set_operand(self, index: int, value: Value) -> None:
        """Replace one operand. `BuildError` where there is no such one, or what it is to be is no value."""
        operands = list(self._operands)
        try:
            operands[index] = value
        except (IndexError, TypeError):
            raise BuildError(f"{self.name} has {len(operands)} operands, and no operand {index!r:.100}") from None
        self.operands = tuple(operands)

    def _drop_uses(self) -> None:
        for operand in self._operands:
            count = operand.uses.get(self, 0)
            if count <= 1:
                operand.uses.pop(self, None)
            else:
                operand.uses[self] = count - 1
        self._operands = ()

    @property
    def result(self) -> Value:
        """The only result."""
        if len(self.results) != 1:
            raise TypeError(f"{self.name} has {len(self.results)} results, not one")
        return self.results[0]

    # --- what the declaration gives names to

    @property
    def declaration(self) -> Any:
        """The op's declaration (`transload.ir.declare.OpDeclaration`), or None where no dialect declares it."""
        return registry.lookup(self.name)

    def operand(self, name: str) -> Any:
        """A declared operand by name: a `Value`, None where an optional one is absent, a tuple where variadic."""
        declaration = self.declaration
        if declaration is None or name.__class__ is not str or name not in declaration.getters:
            raise misfit_part(f"operand() of {self.name}", "name", name, "the name of an operand that the op's declaration has")
        return declaration.get_operand(self, name)

    def attribute(self, name: str, default: Attribute = None) -> Attribute:
        """An attribute by name, or its declared default, or `default`."""
        if name.__class__ is not str:
            need_part(name, str, "attribute()", "name", "a text")
        if name in self.attributes:
            return self.attributes[name]
        declaration = self.declaration
        if declaration is not None and name in declaration.attributes:
            declared = declaration.getters[name](self)
            return default if declared is None else declared
        return default

    def __getattr__(self, name: str) -> Any:
        return _reader(name)(self)

    # --- place

    @property
    def parent_op(self) -> Op | None:
        """The op in whose region this one lies."""
        return self.parent.parent.parent if self.parent is not None and self.parent.parent is not None else None

    @property
    def dialect(self) -> str:
        """The dialect's name: `acme` of `acme.add`."""
        return self.name.partition(".")[0]

    @property
    def origin(self) -> str | None:
        """The original tensor name to report this op by: its own, or that of the op it is a part of."""
        return first_name(self.location)

    called = property(called_text)

    def add_region(self, region: Region | None = None) -> Region:
        """Append a region (a new one with no block if none is given)."""
        region = Region() if region is None else region
        need_part(region, Region, "add_region()", "region", "a region")
        take_regions(self, (region,))
        return region

    def walk(self) -> Iterator[Op]:
        """This op and all inside it, outer before inner, in order.

        The op that was just yielded may be erased or moved; others may not while the walk runs.
        """
        yield self
        pending: list[Block | Op | None] = blocks_of(self)
        while pending:
            place = pending.pop()
            op = place.first if isinstance(place, Block) else place
            while op is not None:
                following = op.next
                yield op
                if op.regions:
                    pending.append(following)
                    pending += blocks_of(op)
                    break
                op = following

    def erase(self) -> None:
        """Remove the op from its block, and drop what it uses. Its results lose their owner; `BuildError` if they are used."""
        for result in self.results:
            if result.uses:
                users = ", ".join(sorted({user.name for user in result.uses}))
                raise misused(f"cannot erase {self.name}: its result {result.name or result.index} is used by {users}")
        self._drop_uses()
        if self.regions:
            self.drop_references()
        if self.parent is not None:
            self.parent.remove(self)
        for result in self.results:
            result.owner = _GONE  # without this circle the op is freed at once

    def drop_references(self) -> None:
        """Stop using any value, here and in the regions."""
        self._drop_uses()
        for region in self.regions:
            for block in region.blocks:
                for op in block:
                    op.drop_references()

    def replace_with(self, values: Sequence[Value]) -> None:
        """Make users of the results use `values`, then erase the op."""
        for value in values if values.__class__ in _LISTS else (None,):
            if value.__class__ is not Value:
                values = values_of(f"{self.name} is replaced by", values, Value)
        if len(values) != len(self.results):
            raise misused(f"{self.name} has {len(self.results)} results; {len(values)} replacements were given")
        if len(values) < 2 or any(value.owner is self for value in values):
            for result, value in zip(self.results, values, strict=True):
                result.replace_all_uses_with(value)
        else:
            self._hand_over(values)
        self.erase()

    def _hand_over(self, values: Sequence[Value]) -> None:
        """Make users of the results use `values`, none of which is a result: each user once, however many it uses."""
        others: dict[Value, Value] = dict(zip(self.results, values, strict=True))
        users: dict[Op, None] = {}
        for result, other in others.items():
            for user, count in result.uses.items():
                if len(user._operands) > MANY:
                    many_of(user).exchange(result, other)
                else:
                    users[user] = None
                other.uses[user] = other.uses.get(user, 0) + count
            result.uses = {}
        for user in users:
            user._operands = tuple([others.get(operand, operand) for operand in user._operands])

    def clone(self, mapping: dict[Value, Value] | None = None) -> Op:
        """A copy, regions included; constants are shared.

        Operands found in `mapping` are replaced by what it maps them to; copied results and block arguments are entered there.
        """
        mapping = {} if mapping is None else mapping
        if mapping.__class__ is not dict:
            need_part(mapping, dict, "clone()", "mapping", "a dictionary")
        get = mapping.get
        copy = Op(
            self.name, [get(operand, operand) for operand in self._operands],
            [result.type for result in self.results], own_attributes(self.attributes), (), self.location)
        for old, new in zip(self.results, copy.results, strict=True):
            mapping[old] = new
        for region in self.regions:
            region.clone_into(copy.add_region(), mapping)
        return copy

    def __repr__(self) -> str:
        return f"<{function_text(self) if self.name == 'func.func' else op_text(self)}>"


def blocks_of(op: Op) -> list[Block | Op | None]:
    """The blocks inside an op, the last one first: where a walk that takes from the end of a list has to go yet."""
    blocks: list[Block | Op | None] = [block for region in op.regions for block in region.blocks]
    blocks.reverse()
    return blocks


def _reader(name: str) -> Callable[[Op], Any]:
    """How to read what an op's declaration calls by this name."""

    def read(op: Op) -> Any:
        declaration = registry.lookup(op.name)
        getter = None if declaration is None else declaration.getters.get(name)
        if getter is not None:
            return getter(op)
        raise AttributeError(f"{op.name} declares no operand, result, attribute or region {name!r}")

    return read


def make_readable(name: str) -> None:
    """Let `op.<name>` be found at once: some declaration has a member of that name.

    It could be read without this, by `__getattr__`, but only after a look-up that fails, and that takes four times as long.
    What the name means, if anything, is still what the declaration of the op at hand says.
    """
    if not hasattr(Op, name):
        setattr(Op, name, property(_reader(name)))


class Block(Connected):
    """Arguments and a linked list of ops. Iterating allows erasing the op just yielded."""

    __slots__ = ("arguments", "first", "last", "parent")

    def __init__(self, argument_types: Iterable[Type] = (), locations: Sequence[Location] = ()) -> None:
        self.arguments: list[Value] = []
        self.first: Op | None = None
        self.last: Op | None = None
        self.parent: Region | None = None
        if argument_types.__class__ is not tuple or argument_types:
            names = items_of(locations, object, "a block", "locations", "a location")
            for index, type_ in enumerate(items_of(argument_types, Type, "a block", "argument types", "a type")):
                self.add_argument(type_, names[index] if index < len(names) else None)

    def add_argument(self, type: Type, location: Location = None) -> Value:
        value = Value(type, self, len(self.arguments), location)
        self.arguments.append(value)
        return value

    def erase_argument(self, index: int) -> None:
        """Remove an argument that has no uses; `BuildError` if it has."""
        if not 0 <= whole_of(index, "erase_argument()", "index") < len(self.arguments):
            raise misfit_part("erase_argument()", "index", index, f"the number of one of {len(self.arguments)} arguments")
        if self.arguments[index].uses:
            raise misused(f"cannot erase argument {index}: it is used", "replace_all_uses_with() before")
        del self.arguments[index]
        for place, argument in enumerate(self.arguments):
            argument.index = place

    def __iter__(self) -> Iterator[Op]:
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def append(self, op: Op) -> Op:
        return self.insert(op, None)

    def insert(self, op: Op, before: Op | None) -> Op:
        """Put a detached op before another one of this block, or at the end where `before` is None."""
        if not isinstance(op, Op):
            raise misfit_part("insert()", "op", op, "an op")
        if before is not None and (not isinstance(before, Op) or before.parent is not self):
            raise misfit_part("insert()", "before", before, "an op of the block, or None")
        if op.parent is not None or op.regions:
            need_free(op, self)
        op.parent = self
        op.next = before
        prev = op.prev = self.last if before is None else before.prev
        if prev is None:
            self.first = op
        else:
            prev.next = op
        if before is None:
            self.last = op
        else:
            before.prev = op
        return op

    def remove(self, op: Op) -> Op:
        """Take an op out, keeping what it uses."""
        if not isinstance(op, Op) or op.parent is not self:
            raise misfit_part("remove()", "op", op, "an op of the block")
        prev, following = op.prev, op.next
        if prev is None:
            self.first = following
        else:
            prev.next = following
        if following is None:
            self.last = prev
        else:
            following.prev = prev
        op.parent = op.prev = op.next = None
        return op

    @property
    def terminator(self) -> Op:
        """The last op."""
        if self.last is None:
            raise ValueError("the block is empty: it has no terminator")
        return self.last

    @property
    def parent_op(self) -> Op | None:
        return self.parent.parent if self.parent is not None else None

    def __repr__(self) -> str:
        return f"<{block_text(self)}>"


_GONE = Block()
"""The owner of the results of erased ops."""


class Region(Connected):
    """A list of blocks inside an op; structured control flow has one block each."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.blocks: list[Block] = []
        self.parent: Op | None = None
        for block in blocks if blocks.__class__ in _LISTS else items_of(blocks, Block, "a region", "blocks", "a block"):
            self.add_block(block)

    def add_block(self, block: Block | None = None) -> Block:
        block = Block() if block is None else block
        need_part(block, Block, "add_block()", "block", "a block")
        block.parent = self
        self.blocks.append(block)
        return block

    @property
    def block(self) -> Block:
        """The only block."""
        if len(self.blocks) != 1:
            raise TypeError(f"the region has {len(self.blocks)} blocks, not one")
        return self.blocks[0]

    @property
    def is_empty(self) -> bool:
        return not self.blocks

    def clone_into(self, target: Region, mapping: dict[Value, Value]) -> None:
        """Append copies of the blocks to `target`, see `Op.clone`."""
        for block in self.blocks:
            copy = target.add_block()
            for argument in block.arguments:
                mapping[argument] = copy.add_argument(argument.type, argument.location)
            op = block.first
            while op is not None:
                copy.insert(op.clone(mapping), None)
                op = op.next

    def __repr__(self) -> str:
        return f"<region of {', '.join(map(block_text, self.blocks)) or 'no blocks'}>"


def is_absent(value: Value | None) -> bool:
    """Whether a value stands for an operand that is not there."""
    if value is not None and value.__class__ is not Value:
        need_part(value, Value, "is_absent()", "value", "a value or None")
    return value is None or isinstance(value.type, NoneType)
