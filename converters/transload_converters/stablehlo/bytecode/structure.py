"""Operations, regions and blocks of a bytecode file.

The section is a list of numbers: names, types and attributes are those of the file's tables, values are numbered in the
order in which a region defines them, after those of the regions around it (unless an operation is isolated from them).
"""

from __future__ import annotations

from typing import Any

from transload.ir.core import Block, Op, Region, Value
from transload.ir.module import Module
from transload.ir.types import NONE, Type
from transload.text.parser import unwrapped, unwraps_of

from . import upgrade
from .container import ELIDED_LOCATIONS, IR, LAZY_REGIONS, USE_LISTS, Container, take_section
from .cursor import Cursor, UnknownConstruct
from .entries import ABSENT, Entries, Entry, EntryCursor
from .operations import PROPERTIES

__all__ = ["Structure", "Successors"]

MAX_DEPTH = 100
_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USE_LISTS, _PROPERTIES = (1 << bit for bit in range(7))
"""What an operation has besides name and location."""

Successors = dict[Op, list[Block]]
"""By operation: the blocks where it may go on. Our IR has no room for them; `control_flow` turns them into regions."""

_OF_SHARDINGS = {
    "sdy.mesh": (("mesh", False), ("sym_name", False)),
    "sdy.manual_computation": (("in_shardings", False), ("manual_axes", False), ("out_shardings", False)),
}
"""Properties of the ops by which `shard_map` cuts tensors."""


class Structure:
    """Reads the operations of a file into a module.

    After `read`, `successors` has the operations that name blocks to go on at.
    """

    def __init__(self, container: Container, entries: Entries) -> None:
        self.container = container
        self.entries = entries
        self.version = container.version
        start, end = container.sections[IR]
        self.cursor = Cursor(bytes(container.data[start:end]), what="section of operations")
        self.successors: Successors = {}
        self.values: list[Value | None] = []
        self.next = 0  # the number of the value that is defined next
        self.targets: list[tuple[Op, list[int]]] = []  # operations of the region being read that name blocks
        self.waiting: dict[int, Value] = {}  # numbers that were used before they were defined: stand-ins
        self.claimed = 0
        self.depth = 0
        self.made: dict[tuple[int, int | None, int | None], tuple[str, dict[str, Any], tuple[str, ...]]] = {}

    def read(self) -> Module:
        """The module."""
        top = Block()
        self._block(top, None)
        if self.targets:
            self.cursor.error("an operation outside of any region goes on at a block")
        self.cursor.need_end()
        self._end_scope(0)
        only = top.first
        if only is not None and only is top.last and isinstance(only, Module):
            top.remove(only)
            return only
        module = Module()
        for op in top:
            top.remove(op)
            module.body.append(op)
        return module

    # --- blocks

    def _block(self, block: Block, parent: str | None) -> None:
        """A block: how many operations, its arguments, the operations."""
        cursor = self.cursor
        count, has_arguments = cursor.flagged()
        if count > cursor.left:
            cursor.error(f"a block claims {count} operations")
        if has_arguments:
            for _ in range(cursor.count("arguments")):
                index, location = cursor.varint(), None
                if self.version >= ELIDED_LOCATIONS:
                    index, located = index >> 1, index & 1
                    location = self._location(cursor.varint()) if located else None
                else:
                    location = self._location(cursor.varint())
                self._define(block.add_argument(self._type(index), location))
            if self.version >= USE_LISTS and cursor.byte():
                self._skip_use_lists(len(block.arguments))
        for _ in range(count):
            self._op(block, parent)

    def _skip_use_lists(self, count: int) -> None:
        """The order in which values are used, which our IR does not keep."""
        cursor = self.cursor
        for _ in range(1 if count == 1 else cursor.count("orders of uses")):
            if count > 1:
                cursor.varint()
            number, _ = cursor.flagged()
            if number > cursor.left:
                cursor.error(f"an order of {number} uses")
            for _ in range(number):
                cursor.varint()

    # --- operations

    def _op(self, block: Block, parent: str | None) -> None:
        cursor = self.cursor
        name_index = cursor.varint()
        mask = cursor.byte()
        location = self._location(cursor.varint())
        attributes = cursor.varint() if mask & _ATTRIBUTES else None
        properties = cursor.varint() if mask & _PROPERTIES else None
        name, held = self._attributes(name_index, attributes, properties)
        if name == "stablehlo.return" and parent == "func.func":
            name = "func.return"
        types = [self._type(cursor.varint()) for _ in range(cursor.count("results"))] if mask & _RESULTS else ()
        operands = [self._use(cursor.varint()) for _ in range(cursor.count("operands"))] if mask & _OPERANDS else ()
        following = [cursor.varint() for _ in range(cursor.count("successors"))] if mask & _SUCCESSORS else ()
        if mask & _USE_LISTS:
            self._skip_use_lists(len(types))
        regions: list[Region] = []
        op: Op | None = None
        if name != "builtin.module":
            op = Op(name, operands, types, held, (), location)
            block.append(op)
            for result in op.results:
                self._define(result)
            if following:
                self.targets.append((op, following))
        if mask & _REGIONS:
            count, isolated = cursor.flagged()
            if count > cursor.left:
                cursor.error(f"an operation claims {count} regions")
            regions = self._regions(name, count, isolated)
        if op is None:
            block.append(self._module(held, regions, location, operands, types))
        else:
            for region in regions:
                op.add_region(region)

    def _module(self, held: dict[str, Any], regions: list[Region], location: Any, operands: Any, types: Any) -> Module:
        if len(regions) == 1 and regions[0].is_empty:
            regions[0].add_block()
        if operands or types or len(regions) != 1 or len(regions[0].blocks) != 1 or regions[0].blocks[0].arguments:
            self.cursor.error("a builtin.module is not one region of one block without arguments")
        module = Module(held, location)
        module.regions = []
        module.add_region(regions[0])
        return module

    # --- regions

    def _regions(self, parent: str, count: int, isolated: bool) -> list[Region]:
        """The regions of an operation; those that know nothing of the values around them lie in a section of their own."""
        if self.depth >= MAX_DEPTH:
            self.cursor.error(f"regions lie more than {MAX_DEPTH} deep in each other")
        if not isolated:
            self.depth += 1
            regions = [self._region(parent) for _ in range(count)]
            self.depth -= 1
            return regions
        outer, saved = self.cursor, (self.values, self.waiting, self.next)
        if self.version >= LAZY_REGIONS:
            kind, start, end = take_section(outer)
            if kind != IR:
                outer.error("regions lie in a section of another kind")
            self.cursor = Cursor(outer.data, start, end, outer.what)
        self.values, self.waiting, self.next = [], {}, 0
        regions = self._regions(parent, count, isolated=False)
        self._end_scope(0)
        if self.cursor is not outer:
            self.cursor.need_end()
        self.cursor = outer
        self.values, self.waiting, self.next = saved
        return regions

    def _region(self, parent: str) -> Region:
        region = Region()
        cursor = self.cursor
        number = cursor.count("blocks")
        if not number:
            return region
        claimed = cursor.varint()
        self.claimed += claimed
        if claimed > cursor.left or self.claimed > len(cursor.data):
            cursor.error(f"a region claims {claimed} values")
        start = len(self.values)
        outer_next, self.next = self.next, start
        self.values.extend([None] * claimed)
        blocks = [region.add_block() for _ in range(number)]
        outer_targets, self.targets = self.targets, []
        for block in blocks:
            self._block(block, parent)
        for op, following in self.targets:
            if any(index >= number for index in following):
                cursor.error("an operation goes on at a block that is not there")
            self.successors[op] = [blocks[index] for index in following]
        self.targets = outer_targets
        if self.next != start + claimed:
            cursor.error(f"a region claims {claimed} values, and defines {self.next - start}")
        self._end_scope(start)
        del self.values[start:]
        self.next = outer_next
        return region

    # --- values

    def _define(self, value: Value) -> None:
        index = self.next
        if index >= len(self.values):
            self.cursor.error("a region defines more values than it claims")
        self.values[index] = value
        self.next = index + 1
        if self.waiting and index in self.waiting:
            self.waiting.pop(index).replace_all_uses_with(value)

    def _use(self, index: int) -> Value:
        if index >= len(self.values):
            self.cursor.error(f"value {index} of {len(self.values)}")
        value = self.values[index]
        if value is None:
            value = self.waiting.get(index)
            if value is None:
                value = self.waiting[index] = Value(NONE, Block(), 0)
        return value

    def _end_scope(self, start: int) -> None:
        if any(index >= start for index in self.waiting):
            self.cursor.error("a value is used, and never defined")

    def _type(self, index: int) -> Type:
        return self.entries.type(index, self.cursor)

    def _location(self, index: int) -> Any:
        return self.entries.location(index, self.cursor)

    # --- attributes

    def _attributes(self, name_index: int, attributes: int | None, properties: int | None) -> tuple[str, dict[str, Any]]:
        """An operation's name and attributes, as its declaration has them; VHLO is StableHLO from here on."""
        key = (name_index, attributes, properties)
        known = self.made.get(key)
        if known is None:
            known = self.made[key] = self._make(*key)
        name, held, mutable = known
        copy = held.copy()
        for each in mutable:
            copy[each] = _copied(copy[each])
        return name, copy

    def _make(
        self, name_index: int, attributes: int | None, properties: int | None
    ) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        cursor = self.cursor
        if name_index >= len(self.container.ops):
            cursor.error(f"operation {name_index} of {len(self.container.ops)}")
        entry = self.container.ops[name_index]
        name = entry.name
        held: dict[str, Any] = {}
        if properties is not None:
            held.update(self._read_properties(name, entry.dialect, properties))
        if attributes is not None:
            more = self.entries.attributes_of_op(attributes, cursor)
            if not isinstance(more, dict):
                cursor.error(f"the attributes of {name} are no dictionary")
            for each, value in more.items():
                held.setdefault(each, value)
        if entry.dialect == "vhlo":
            name, held = upgrade.upgraded(name, held)
        for each, unwrap in unwraps_of(name).items():
            if unwrap is not None and each in held:
                held[each] = unwrapped(unwrap, held[each])
        return name, held, tuple(each for each, value in held.items() if isinstance(value, (list, dict)))

    def _read_properties(self, name: str, dialect: str, index: int) -> dict[str, Any]:
        if index >= len(self.container.properties):
            self.cursor.error(f"properties {index} of {len(self.container.properties)}")
        start, end = self.container.properties[index]
        r = EntryCursor(self.entries, Entry(dialect, start, end, True), f"properties of {name}")
        if dialect == "sdy" and name not in _OF_SHARDINGS:
            return {}
        table = upgrade.properties_of(name) if dialect == "vhlo" else _OF_SHARDINGS.get(name) or PROPERTIES.get(name)
        if table is None:
            raise UnknownConstruct(f"the properties of {name} in bytecode are not known")
        held: dict[str, Any] = {}
        for key, optional in table:
            value = r.optional() if optional else r.attribute()
            if value is not ABSENT:
                held[key] = value
        if not r.at_end:
            raise UnknownConstruct(f"{name} has more properties in bytecode than are known")
        return held


def _copied(value: Any) -> Any:
    """A list or dictionary of the operation's own."""
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return value
