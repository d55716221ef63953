"""Reading MLIR text: in generic form, and ops in their dialect's own form where a plugin says how these are read (`assembly`).

The text is hostile until read: whatever is wrong with it is a `TextError` with the place, and limits
hold on nesting, on what aliases stand for and on the sizes that types claim.

Most lines of a model's text look alike, so that what was read once is looked up by its source text
from then on: types, signatures, dictionaries of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ..context import current
from ..errors import ForeignContent, ReadError
from ..files import need_file
from ..ir import registry
from ..ir.attributes import Attribute, DenseArray, FloatAttr, IntAttr
from ..ir.constants import Dense
from ..ir.core import Block, Op, Region
from ..ir.declare import AttributeKind
from ..ir.module import Module
from ..ir.types import F64, I64, Type
from ..kinds import need
from ..suggest import nearest
from .assembly import AssemblyParser, form_of
from .attribute_parser import text_size
from .resources import Blob, Constants
from .strings import BARE_NAME, BLANK, STRING, SUFFIX_NAME

__all__ = ["parse_attribute", "parse_file", "parse_module", "parse_type", "unwrapped", "unwraps_of"]

_head = re.compile(
    rf'{BLANK}(?:((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=\s*)?"([^"\\\n]*(?:\\.[^"\\\n]*)*)"\s*\(([^()"\n]*)\)\s*').match
_results = re.compile(r"(?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?\s*=\s*")
_counts = re.compile(r"%[\w$.-]+(?::(\d{1,9}))?").findall
_value_name = re.compile(rf"%{SUFFIX_NAME}")
_label = re.compile(rf"\^{SUFFIX_NAME}")
_alias_definition = re.compile(rf"([#!]{SUFFIX_NAME})\s*=\s*(loc\s*(?=\())?").match
_location = re.compile(r"\s*loc\s*(?=\()").match
_quoted_word = re.compile(STRING)
_resource = re.compile(rf'{BLANK}(?:({BARE_NAME})|({STRING}))\s*:\s*"0x([0-9A-Fa-f]*)"').match
_ISOLATED = {"builtin.module", "func.func"}
_CACHED_TEXT = 2000  # longest signature, and longest dictionary of attributes, that is remembered by its text

_word = re.compile(r"[A-Za-z_][\w$]*(?:\.[\w$]+)*")
_GENERIC_ONLY = "no plugin says how {} is written: such ops are read in MLIR's generic form, \"dialect.op\"(%operands) ..."
_HOW_TO_PRINT = "print it so with the tool it comes from: mlir-opt, tosa-opt, stablehlo-opt or iree-opt --mlir-print-op-generic"


def _how_to_read(word: str) -> str:
    """What to do about an op in a form that is not known here: its dialect may have a reader of such files."""
    dialect = word.partition(".")[0]
    ways = [f"--format {reader.name} reads it, or " for reader in current().host.readers.values()
            if reader.dialect == dialect and ".mlir" in reader.suffixes]
    declared = registry.dialect(dialect)
    near = nearest(word, declared.ops) if declared is not None and word not in declared.ops else None
    return (f"the nearest op is {near!r}; " if near is not None else "") + "".join(ways[:1]) + _HOW_TO_PRINT


Unwraps = dict[str, Callable[[Attribute], Attribute] | None]


_shown = re.compile(r"\s*(<module)\b")
"""How `str(module)` begins (`transload.ir.readable`), and MLIR does not."""


def parse_module(
    text: str | bytes | memoryview, *, name: str = "<text>", constants: Mapping[str, Any] | str | Path | None = None,
) -> Module:
    """Read a module from MLIR text in generic form.

    `name` is what messages call the text. `constants` has the data of `dense_resource<key>` that is
    not in the text: a mapping of arrays by key, or the path of a `.npz` file. Ops outside a
    `builtin.module` are put into one. Raises `TextError` with line and column.
    """
    need(text, str | bytes | bytearray | memoryview, "parse_module", "text")
    parser = _Parser(_decoded(text, name), name, Constants(constants))
    if (shown := _shown.match(parser.text)) is not None:
        parser.error("this is how a module is shown, without its ops", shown.start(1),
                     "transload.save(module, path) writes them, and transload.text.print_module(module) has them as a text")
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
            raise ForeignContent(f"{name}: this is MLIR bytecode, not text", hint=_HOW_TO_PRINT)
        text = raw.decode("utf-8", "surrogateescape")
    if "\0" in text:
        at = text.index("\0")
        raise ForeignContent(f"{name}: this is no text: it has a zero byte at position {at}")
    return text


class _Parser(AssemblyParser):
    """Reads ops, blocks and regions."""

    def __init__(self, text: str, name: str, constants: Constants) -> None:
        super().__init__(text, name, constants)
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
                self.take_op(top)
        self.end_scope()
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

    def take_op(self, block: Block) -> Op:
        """One op, appended to `block`."""
        text = self.text
        match = _head(text, self.pos)
        if match is None:
            return self._take_written_op(block)
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
        operands = self.operands_named(operand_text, inputs, name, match.start(3)) if operand_text or inputs else ()
        op = self._make_op(name, operands, outputs, attributes, regions, start)
        if location is not None:
            if type(location) is str:
                op.location = location
            else:
                self.take_location_for(op)
        block.insert(op, None)
        if results:
            self.define_results(results, op, match.start(1))
        return op

    def _take_written_op(self, block: Block) -> Op:
        """One op in its dialect's own form, appended to `block`."""
        self.skip()
        start = self.pos
        results = self.try_match(_results)
        word = self.try_match(_word)
        found = form_of(word) if word is not None else None
        if found is None:
            self.pos = start
            self._explain_no_op()
        name, form = found
        at = self.pos
        outer, self.block, self.op_at = getattr(self, "block", block), block, start
        names = results.rpartition("=")[0].strip() if results is not None else ""
        self.n_named = sum(int(count or 1) for count in _counts(names))
        written = form(self, name)
        self.block = outer
        op = self._make_op(
            written.name or name, written.operands, tuple(written.results), written.attributes, written.regions, at)
        self.try_location(op)
        block.insert(op, None)
        if names:
            self.define_results(names, op, start, written.named)
        return op

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
            word = _word.match(self.text, self.pos)
            self.error(_GENERIC_ONLY.format(word[0] if word else "an op"), hint=_how_to_read(word[0] if word else ""))
        if not first:
            self.error("the text ends in the middle of a region")
        self.error(f"expected an op, found {self.found()}")

    # --- attributes

    def take_attributes(self, name: str, keyword: str = "") -> dict[str, Any]:
        if keyword:
            found = _word.match(self.text, self.pos) if self.peek() else None
            if found is None or found[0] != keyword:
                return {}
            self.pos = found.end()
        return self._take_attributes(name, "}") if keyword or self.peek() == "{" else {}

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
            unwraps = self.unwraps[name] = unwraps_of(name, as_written=True)
        if unwraps:
            for attribute in attributes:
                unwrap = unwraps.get(attribute)
                if unwrap is not None:
                    attributes[attribute] = unwrapped(unwrap, attributes[attribute])
        if self.immutable and self.pos == end + 1:
            self.dictionaries[key] = (attributes.copy(), end + 1 - start)
        self.immutable = outer
        return attributes

    # --- regions

    def _take_regions(self, op_name: str) -> list[Region]:
        take = self.take_isolated_region if op_name in _ISOLATED else self.take_region  # names mean nothing across its border
        self.take("(")
        regions = [take()]
        while self.try_take(","):
            regions.append(take())
        self.take(")", "after the regions")
        return regions

    def take_region(self, entry: Block | None = None, names: Sequence[str] = ()) -> Region:
        start = self.pos
        self.take("{", "to begin a region")
        self.enter()
        outer_defined, self.defined = self.defined, []  # names from outside are known inside, and not the other way round
        region = Region()
        if entry is not None:
            region = Region([entry])
            for name, argument in zip(names, entry.arguments, strict=True):
                self.define(name, argument, start)
            self._take_ops(entry, start)
        elif self.peek() not in ("^", "}"):
            self._take_ops(region.add_block(), start)
        labels: set[str] = set()
        while self.peek() == "^":
            label = self.take_match(_label, "the label of a block")
            if label in labels:
                self.error(f"block {label!r} is there twice")
            labels.add(label)
            self._take_labelled(region.add_block(), start)
        self.take("}", "at the end of the region")
        for name in self.defined:
            del self.values[name]
        self.defined = outer_defined
        self.leave()
        return region

    def _take_labelled(self, block: Block, start: int) -> None:
        """A block's arguments and ops, behind its label."""
        if self.try_take("("):
            if self.peek() != ")":
                self._take_block_argument(block)
                while self.try_take(","):
                    self._take_block_argument(block)
            self.take(")", "after the block's arguments")
        self.take(":", "after the block's label")
        self._take_ops(block, start)

    def _take_ops(self, block: Block, start: int) -> None:
        while True:
            char = self.peek()
            if char == "}" or char == "^":
                return
            if not char:
                self.error("the region that begins here is never closed", start)
            self.take_op(block)

    def _take_block_argument(self, block: Block) -> None:
        self.skip()
        start = self.pos
        name = self.take_match(_value_name, "the name of a block argument")
        self.take(":", "before the argument's type")
        value = block.add_argument(self.take_type())
        self.try_location(value)
        self.define(name, value, start)


def unwraps_of(op_name: str, as_written: bool = False) -> Unwraps:
    """By attribute: how its declaration makes a plain Python value of it.

    Numbers `as_written` keep a type that the dialect's text must not have, for the verifier to report.
    """
    declaration = registry.lookup(op_name)
    if declaration is None:
        return {}
    if as_written and declaration.exact:
        return {key: partial(_unwrap_exactly, a.kind) for key, a in declaration.attributes.items()
                if a.kind.unwrap is not None or a.kind.text_type is not None}
    return {key: a.kind.unwrap for key, a in declaration.attributes.items() if a.kind.unwrap is not None}


def _unwrap_exactly(kind: AttributeKind[Any], value: Attribute) -> Attribute:
    """The plain value of numbers in the type that a kind says; of others the value with its type."""
    if isinstance(value, Dense):
        other = value.type.element if kind.other_type(None, value.type.element) is not None else None
        return value if other is not None or kind.unwrap is None else kind.unwrap(value)
    plain = I64 if type(value) in (int, tuple) else F64 if type(value) is float else None
    if kind.other_type(value, plain) is None:
        return value if kind.unwrap is None else kind.unwrap(value)
    return DenseArray(value, I64) if type(value) is tuple else IntAttr(value) if type(value) is int else (
        FloatAttr(value) if type(value) is float else value)


def unwrapped(unwrap: Callable[[Attribute], Attribute], value: Attribute) -> Attribute:
    """The plain value; what is not of the declared kind stays as it is, for the verifier to report."""
    try:
        return unwrap(value)
    except (TypeError, ValueError, AttributeError, OverflowError, KeyError):
        return value
