"""Reading MLIR text in generic form.

The text is hostile until read: whatever is wrong with it is a `TextError` with the place, and limits
hold on nesting, on what aliases stand for and on the sizes that types claim.

Most lines of a model's text look alike, so that what was read once is looked up by its source text
from then on: types, signatures, dictionaries of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..errors import ReadError
from ..files import need_file
from ..ir import registry
from ..ir.attributes import Attribute
from ..ir.core import Block, Op, Region, Value
from ..ir.module import Module
from ..ir.types import Type
from .attribute_parser import text_size
from .location_parser import LocationParser
from .resources import Blob, Constants
from .strings import BARE_NAME, BLANK, STRING, SUFFIX_NAME

__all__ = ["parse_attribute", "parse_file", "parse_module", "parse_type", "unwrapped", "unwraps_of"]

_head = re.compile(
    rf'{BLANK}(?:((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=\s*)?"([^"\\\n]*(?:\\.[^"\\\n]*)*)"\s*\(([^()"\n]*)\)\s*').match
_results = re.compile(r"(?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?\s*=\s*")
_result = re.compile(rf"(%{SUFFIX_NAME})(?::(\d+))?").fullmatch
_use = re.compile(rf"%{SUFFIX_NAME}(?:#\d+)?").fullmatch
_value_name = re.compile(rf"%{SUFFIX_NAME}")
_label = re.compile(rf"\^{SUFFIX_NAME}")
_alias_definition = re.compile(rf"([#!]{SUFFIX_NAME})\s*=\s*(loc\s*(?=\())?").match
_location = re.compile(r"\s*loc\s*(?=\()").match
_quoted_word = re.compile(STRING)
_resource = re.compile(rf'{BLANK}(?:({BARE_NAME})|({STRING}))\s*:\s*"0x([0-9A-Fa-f]*)"').match
_ISOLATED = {"builtin.module", "func.func"}
_CACHED_TEXT = 2000  # longest signature, and longest dictionary of attributes, that is remembered by its text

_GENERIC_ONLY = "only MLIR's generic form is read, in which an op is written \"dialect.op\"(%operands) ..."
_HOW_TO_PRINT = "print it so with the tool it comes from: mlir-opt, tosa-opt, stablehlo-opt or iree-opt --mlir-print-op-generic"

Unwraps = dict[str, Callable[[Attribute], Attribute] | None]


def parse_module(
    text: str | bytes | memoryview, *, name: str = "<text>", constants: Mapping[str, Any] | str | Path | None = None,
) -> Module:
    """Read a module from MLIR text in generic form.

    `name` is what messages call the text. `constants` has the data of `dense_resource<key>` that is
    not in the text: a mapping of arrays by key, or the path of a `.npz` file. Ops outside a
    `builtin.module` are put into one. Raises `TextError` with line and column.
    """
    parser = _Parser(_decoded(text, name), name, Constants(constants))
    try:
        return parser.take_module()
    except RecursionError:
        parser.error("nested too deep")


def parse_file(path: str | Path, *, constants: Mapping[str, Any] | str | Path | None = None) -> Module:
    """Read a module from a file, see `parse_module`."""
    need_file(Path(path))
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ReadError(f"cannot read {path}: {error.strerror}") from None
    module = parse_module(data, name=str(path), constants=constants)
    module.source = Path(path)
    return module


def parse_type(text: str) -> Type:
    """Read one type, as `tensor<1x2xf32>`."""
    parser = _Parser(_decoded(text, "<type>"), "<type>", Constants(None))
    try:
        type_ = parser.take_type()
    except RecursionError:
        parser.error("nested too deep")
    parser.expect_end()
    return type_


def parse_attribute(text: str) -> Attribute:
    """Read one attribute, as `[1, "a", dense<0> : tensor<2xi8>]`."""
    parser = _Parser(_decoded(text, "<attribute>"), "<attribute>", Constants(None))
    try:
        attribute = parser.take_attribute()
    except RecursionError:
        parser.error("nested too deep")
    parser.expect_end()
    parser.fill_resources()
    return attribute


def _decoded(text: str | bytes | memoryview, name: str) -> str:
    if isinstance(text, (bytes, bytearray, memoryview)):
        raw = bytes(text)
        if raw[:4] == b"ML\xefR":
            raise ReadError(f"{name}: this is MLIR bytecode, not text", hint=_HOW_TO_PRINT)
        text = raw.decode("utf-8", "surrogateescape")
    if "\0" in text:
        at = text.index("\0")
        raise ReadError(f"{name}: this is no text: it has a zero byte at position {at}")
    return text


class _Parser(LocationParser):
    """Reads ops, blocks and regions."""

    def __init__(self, text: str, name: str, constants: Constants) -> None:
        super().__init__(text, name, constants)
        self.values: dict[str, Value] = {}
        self.forward: dict[str, tuple[Value, int]] = {}  # used and not yet defined: stand-in, first use
        self.defined: list[str] = []  # in the region being read
        self.signatures: dict[str, tuple[tuple[Type, ...], tuple[Type, ...]]] = {}
        self.dictionaries: dict[tuple[str, str], tuple[dict[str, Any], int]] = {}
        self.unwraps: dict[str, Unwraps] = {}

    # --- the whole text

    def take_module(self) -> Module:
        top = Block()
        while True:
            first = self.peek()
            if first in "#!" and first:
                self._take_alias()
            elif self.text.startswith("{-#", self.pos):
                self._take_resources()
            elif not first:
                break
            elif first == "}":
                self.error("'}' closes nothing here")
            else:
                self._take_op(top)
        self._end_scope()
        self.resolve_locations()
        self.fill_resources()
        only = top.first
        if only is not None and only is top.last and isinstance(only, Module):
            top.remove(only)
            return only
        module = Module()
        for op in top:
            top.remove(op)
            module.body.append(op)
        return module

    def expect_end(self) -> None:
        """Raise where something is left."""
        if self.peek():
            self.error(f"expected the end, found {self.found()}")

    def _take_alias(self) -> None:
        start = self.pos
        match = _alias_definition(self.text, start)
        if match is None:
            self.error("expected the definition of an alias, '#name = ...' or '!name = ...'")
        symbol = match[1]
        name = symbol[1:]
        if "." in name:
            self.error("the name of an alias cannot have a '.' in it", start)
        if symbol in self.alias_sizes:
            self.error(f"alias {symbol!r} is defined twice", start)
        self.pos = match.end()
        if match[2]:
            self.take_alias_location(name)
            self.alias_sizes[symbol] = 0
            return
        if symbol[0] == "!":
            self.type_aliases[name] = type_ = self.take_type()
            self.alias_sizes[symbol] = len(str(type_))
        else:
            self.attribute_aliases[name] = value = self.take_attribute()
            self.alias_sizes[symbol] = text_size(value)

    def _take_resources(self) -> None:
        """`{-# dialect_resources: { builtin: { key: "0x..." } } #-}`."""
        start = self.pos
        self.take("{-#")
        while self.peek() != "#":
            section = self.take_match(re.compile(BARE_NAME), "the name of a section")
            self.take(":")
            self.take("{")
            while self.peek() not in ("}", ""):
                owner = self.take_match(re.compile(rf"{BARE_NAME}|{STRING}"), "the name of a dialect")
                self.take(":")
                self._take_resource_entries(keep=section == "dialect_resources" and owner == "builtin")
                if not self.try_take(","):
                    break
            self.take("}", "after the section")
            if not self.try_take(","):
                break
        if not self.try_take("#-}"):
            self.error("the resource section, which begins here, is not closed by '#-}'", start)

    def _take_resource_entries(self, keep: bool) -> None:
        self.take("{")
        while self.peek() not in ("}", ""):
            start = self.pos
            match = _resource(self.text, start)
            if match is None:  # other sections hold numbers and words
                self.take_match(re.compile(rf"{BARE_NAME}|{STRING}"), "the key of a resource")
                self.take(":", "after the key")
                self.take_match(re.compile(rf"{STRING}|[\w.-]+"), "a value")
                if keep:
                    self.error('the data of a resource is a string of hexadecimal digits, "0x..."', start)
            else:
                self.pos = match.end()
                if keep:
                    self._keep_resource(match)
            if not self.try_take(","):
                break
        self.take("}", "after the resources")

    def _keep_resource(self, match: re.Match[str]) -> None:
        key = match[1] or self.unquoted(match[2], match.start(2))
        blob = self.blobs.setdefault(key, Blob(key))
        if blob.is_set:
            self.error(f"resource {key!r} is given twice", match.start())
        begin, end = match.span(3)
        if (end - begin) % 2 or end - begin < 8:
            self.error(f"resource {key!r} must have two digits a byte, the alignment in the first four bytes", begin)
        alignment = int.from_bytes(bytes.fromhex(self.text[begin : begin + 8]), "little")
        if alignment == 0 or alignment & (alignment - 1):
            self.error(f"resource {key!r} has alignment {alignment}, which is no power of two", begin)
        blob.set_text(self.text, begin + 8, end)

    # --- ops

    def _take_op(self, block: Block) -> None:
        """One op, appended to `block`."""
        text = self.text
        match = _head(text, self.pos) or self._explain_no_op()
        results, name, operand_text = match.groups()
        start = match.start(2) - 1
        if "\\" in name:
            name = self.unquoted(f'"{name}"', start)
        if not name:
            self.error("an op has no name", start)
        self.pos = match.end()
        attributes = None
        regions: list[Region] = []
        char = text[self.pos : self.pos + 1]
        if char != ":":
            if char == "[":
                self.error(f"{name} names blocks to go on at; only structured control flow (regions) is read")
            if char == "<" and text.startswith("<{", self.pos):
                self.pos += 1
                attributes = self._take_attributes(name, "}>")
                self.take(">", "after the properties")
                char = self.peek()
            if char == "(":
                regions = self._take_regions(name)
                char = self.peek()
            if char == "{":
                more = self._take_attributes(name, "}")
                if attributes:
                    for key in more:
                        if key in attributes:
                            self.error(f"attribute {key!r} of {name} is given twice")
                    attributes.update(more)
                else:
                    attributes = more
        inputs, outputs, location = self._take_tail()
        operands = self._operands(operand_text, inputs, name, match.start(3)) if operand_text or inputs else ()
        op = self._make_op(name, operands, outputs, attributes, regions, start)
        if location is not None:
            if type(location) is str:
                op.location = location
            else:
                self.take_location_for(op)
        block.insert(op, None)
        if results:
            self._define_results(results, op, match.start(1))

    def _make_op(
        self, name: str, operands: Any, outputs: tuple[Type, ...], attributes: dict[str, Any] | None, regions: list[Region],
        at: int,
    ) -> Op:
        if name != "builtin.module":
            return Op(name, operands, outputs, attributes, regions)
        if len(regions) == 1 and regions[0].is_empty:
            regions[0].add_block()
        if operands or outputs or len(regions) != 1 or len(regions[0].blocks) != 1 or regions[0].blocks[0].arguments:
            self.error("a builtin.module has one region of one block without arguments, and neither operands nor results", at)
        module = Module(attributes)
        module.regions = []
        module.add_region(regions[0])
        return module

    def _take_tail(self) -> tuple[tuple[Type, ...], tuple[Type, ...], Any]:
        """`: (types) -> types loc(...)`; the location is its name, None, or True where it is still to be read."""
        text = self.text
        start = self.pos
        end = text.find("\n", start, start + _CACHED_TEXT)
        line = text[start:end] if end >= 0 else ""
        at = line.find(" loc(")
        known = self.signatures.get(line if at < 0 else line[:at])
        if known is None:
            self.take(":", "before the types of operands and results")
            known = self.take_signature()
            if self.pos < start + _CACHED_TEXT and (text.startswith(" loc(", self.pos) or self.pos == end):
                self.signatures[text[start : self.pos]] = known
        elif at < 0:
            self.pos = end
        else:
            self.pos = start + at
            if line.endswith('")') and line.startswith('"', at + 5):
                location = line[at + 6 : -2]
                if '"' not in location and "\\" not in location:
                    self.pos = end
                    return known[0], known[1], location
        match = _location(text, self.pos)
        if match is None:
            return known[0], known[1], None
        self.pos = match.end()
        return known[0], known[1], True

    def _explain_no_op(self) -> NoReturn:
        """Say why there is no op in generic form here."""
        self.try_match(_results)
        first = self.peek()
        if first == '"':
            self.take_string()
            self.take("(", "after the op's name")
            self.error("expected the names of values and ')'")
        if first.isalpha():
            self.error(_GENERIC_ONLY, hint=_HOW_TO_PRINT)
        if not first:
            self.error("the text ends in the middle of a region")
        self.error(f"expected an op, found {self.found()}")

    # --- attributes

    def _take_attributes(self, name: str, closing: str) -> dict[str, Any]:
        """`{...}` of an op, as what its declaration says they are in Python."""
        text, start = self.text, self.pos
        end = text.find(closing, start, start + _CACHED_TEXT)
        key = (name, text[start:end])
        if end >= 0:
            known = self.dictionaries.get(key)
            if known is not None:
                self.pos = known[1] + start
                return known[0].copy()
        outer, self.immutable = self.immutable, True
        self.take("{")
        attributes: dict[str, Any] = {}
        self.take_entries(attributes)
        self.take("}", "after the attributes")
        unwraps = self.unwraps.get(name)
        if unwraps is None:
            unwraps = self.unwraps[name] = unwraps_of(name)
        if unwraps:
            for attribute in attributes:
                unwrap = unwraps.get(attribute)
                if unwrap is not None:
                    attributes[attribute] = unwrapped(unwrap, attributes[attribute])
        if self.immutable and self.pos == end + 1:
            self.dictionaries[key] = (attributes.copy(), end + 1 - start)
        self.immutable = outer
        return attributes

    # --- values

    def _operands(self, names: str, types: tuple[Type, ...], op_name: str, at: int) -> list[Value]:
        values = self.values
        operands = []
        count = 0
        if names and not names.isspace():
            for name in names.split(","):
                value = values.get(name)
                if value is None:
                    name = name.strip()
                    value = values.get(name)
                    if value is None:
                        if count >= len(types):
                            break
                        value = self._forward_reference(name, types[count], at)
                operands.append(value)
                count += 1
            count = names.count(",") + 1
        if count != len(types):
            self.error(f"{op_name} has {count} operands and {len(types)} types for them", at)
        for value, type_ in zip(operands, types, strict=True):
            if value.type is not type_ and value.type != type_:
                self.error(f"an operand of {op_name} is of type {value.type} where it is defined, and of {type_} here", at)
        return operands

    def _forward_reference(self, name: str, type_: Type, at: int) -> Value:
        """A stand-in for a value that is used before its definition."""
        match = _use(name)
        if match is None:
            self.error(f"{name[:40]!r} names no value", at)
        base, _, number = name.partition("#")
        if base in self.values:
            owner = self.values[base].owner
            count = len(owner.results) if isinstance(owner, Op) else 1
            self.error(f"{name!r} is not defined: {base!r} has {count} result(s)", at)
        if number:
            if len(number) > 9:
                self.error(f"{name[:40]!r} names no value", at)
            name = f"{base}#{int(number)}"
        value = Value(type_, Block(), 0)
        self.forward[name] = (value, at)
        self.values[name] = value
        return value

    def _define(self, name: str, value: Value, at: int) -> None:
        if self.forward and name in self.forward:
            standin = self.forward.pop(name)[0]
            if standin.type != value.type:
                self.error(f"{name!r} is of type {value.type} where it is defined, and of {standin.type} where it is used", at)
            standin.replace_all_uses_with(value)
        elif name in self.values:
            self.error(f"{name!r} is defined twice", at)
        self.values[name] = value
        self.defined.append(name)

    def _define_results(self, names: str, op: Op, at: int) -> None:
        results = op.results
        if len(results) == 1 and names not in self.values and _result(names) and ":" not in names:
            self.values[names] = results[0]
            self.defined.append(names)
            if self.forward:
                self._define_group(names, results, at)
            return
        position = 0
        for part in names.split(","):
            match = _result(part.strip())
            if match is None:
                self.error(f"{part.strip()[:40]!r} names no value", at)
            count = 1 if match[2] is None else int(match[2]) if len(match[2]) < 9 else 1 << 30
            if count < 1 or position + count > len(results):
                break
            self._define(match[1], results[position], at)
            self._define_group(match[1], results[position : position + count], at)
            position += count
        else:
            if position == len(results):
                return
        self.error(f"{op.name} has {len(results)} results; {names.strip()[:60]!r} names another number of them", at)

    def _define_group(self, base: str, results: list[Value], at: int) -> None:
        """`%0#1` of `%0:2`."""
        if len(results) > 1 or self.forward:
            for number, result in enumerate(results):
                name = f"{base}#{number}"
                if number or len(results) > 1 or name in self.forward:
                    self._define(name, result, at)

    def _end_scope(self) -> None:
        """Complain of values that are used and never defined."""
        if self.forward:
            name, (_, at) = next(iter(self.forward.items()))
            more = f" (nor are {len(self.forward) - 1} others)" if len(self.forward) > 1 else ""
            self.error(f"{name!r} is not defined{more}", at)

    # --- regions

    def _take_regions(self, op_name: str) -> list[Region]:
        isolated = op_name in _ISOLATED
        if isolated:  # names mean nothing across its border
            outside = self.values, self.forward
            self.values, self.forward = {}, {}
        self.take("(")
        regions = [self._take_region()]
        while self.try_take(","):
            regions.append(self._take_region())
        self.take(")", "after the regions")
        if isolated:
            self._end_scope()
            self.values, self.forward = outside
        return regions

    def _take_region(self) -> Region:
        """`{ ops }`; names defined inside are unknown outside, those from outside known inside."""
        start = self.pos
        self.take("{", "to begin a region")
        self.enter()
        outer_defined, self.defined = self.defined, []
        region = Region()
        labels: set[str] = set()
        if self.peek() not in ("^", "}"):
            self._take_ops(region.add_block(), start)
        while self.peek() == "^":
            label = self.take_match(_label, "the label of a block")
            if label in labels:
                self.error(f"block {label!r} is there twice")
            labels.add(label)
            block = region.add_block()
            if self.try_take("("):
                if self.peek() != ")":
                    self._take_block_argument(block)
                    while self.try_take(","):
                        self._take_block_argument(block)
                self.take(")", "after the block's arguments")
            self.take(":", "after the block's label")
            self._take_ops(block, start)
        self.take("}", "at the end of the region")
        for name in self.defined:
            del self.values[name]
        self.defined = outer_defined
        self.leave()
        return region

    def _take_ops(self, block: Block, start: int) -> None:
        while True:
            char = self.peek()
            if char == "}" or char == "^":
                return
            if not char:
                self.error("the region that begins here is never closed", start)
            self._take_op(block)

    def _take_block_argument(self, block: Block) -> None:
        self.skip()
        start = self.pos
        name = self.take_match(_value_name, "the name of a block argument")
        self.take(":", "before the argument's type")
        value = block.add_argument(self.take_type())
        match = _location(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
            self.take_location_for(value)
        self._define(name, value, start)


def unwraps_of(op_name: str) -> Unwraps:
    """By attribute: how its declaration makes a plain Python value of it."""
    declaration = registry.lookup(op_name)
    if declaration is None:
        return {}
    return {key: a.kind.unwrap for key, a in declaration.attributes.items() if a.kind.unwrap is not None}


def unwrapped(unwrap: Callable[[Attribute], Attribute], value: Attribute) -> Attribute:
    """The plain value; what is not of the declared kind stays as it is, for the verifier to report."""
    try:
        return unwrap(value)
    except (TypeError, ValueError, AttributeError, OverflowError, KeyError):
        return value
