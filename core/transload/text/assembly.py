"""Ops in their dialect's own form, `acme.mix %a, %b : tensor<4xf32>`, which MLIR's tools print unless asked for the generic one.

How an op is written its dialect's plugin says, by a fact of kind "assembly": a function that is given an `AssemblyParser`, behind
the op's name, reads what is there and returns it as a `Written`.

    @FORMS("acme.mix")
    def mix(parser: AssemblyParser, name: str) -> Written:
        operands = parser.take_uses()
        attributes = parser.take_attributes(name)
        parser.take(":")
        type_ = parser.take_type()
        return Written(operands, [type_], attributes)

The fact of `acme.*` is for those of a dialect's ops that have none of their own. All that a `Scanner` and the parsers of types
and attributes read a form can use, too (`take`, `try_take`, `take_type`, `take_attribute`, `take_symbol_name`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..context import current
from ..ir.core import Block, Op, Region, Value
from ..ir.types import Type
from .strings import SUFFIX_NAME
from .value_parser import ValueParser

__all__ = ["AssemblyParser", "Form", "Written", "form_of"]

_use = re.compile(rf"%{SUFFIX_NAME}(?:#\d+)?")
_location = re.compile(r"\s*loc\s*(?=\()").match
_SHORT = ("builtin", "func")
"""Dialects whose ops may be written without it: `module`, `func`, `return`."""


@dataclass
class Written:
    """What the text of an op says of it."""

    operands: Sequence[Value] = ()
    results: Sequence[Type] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    named: Sequence[int] | None = None
    """The numbers of the results that the names before the op are, where these are not all."""
    name: str = ""
    """The op that is meant, where the text calls it otherwise."""


Form = Callable[["AssemblyParser", str], Written]
"""Reads an op of a name, from behind the name on."""


def form_of(word: str) -> tuple[str, Form] | None:
    """The name of the op that a text calls so, and how it is read; None where no plugin says it."""
    forms = current().host.facts("assembly")
    for name in (word,) if "." in word else [f"{dialect}.{word}" for dialect in _SHORT]:
        found = forms[name] or forms[name.partition(".")[0] + ".*"]
        if found is not None:
            return name, found
    return None


class AssemblyParser(ValueParser):
    """What the form of an op is read with."""

    block: Block
    """The block whose ops are being read."""
    n_named = 0
    """How many names for results stand before the op that is being read."""

    def take_use(self) -> Value:
        """A value by its name, which is defined before."""
        self.skip()
        start = self.pos
        name = self.take_match(_use, "the name of a value")
        value = self.values.get(name)
        if value is None:
            self.error(f"{name[:40]!r} is not defined", start)
        return value

    def take_uses(self) -> list[Value]:
        """Values by their names, with commas between; there may be none."""
        if self.peek() != "%":
            return []
        found = [self.take_use()]
        while self.try_take(","):
            found.append(self.take_use())
        return found

    def take_types(self) -> list[Type]:
        """Types with commas between."""
        found = [self.take_type()]
        while self.try_take(","):
            found.append(self.take_type())
        return found

    def take_results(self) -> list[Type]:
        """What stands behind `->`: a type, or several in parentheses."""
        if not self.try_take("("):
            return [self.take_type()]
        found = [] if self.peek() == ")" else self.take_types()
        self.take(")", "after the types")
        return found

    def try_location(self, owner: Any) -> None:
        """`loc(...)`, where it is there, as the location of an op or of a block's argument."""
        match = _location(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
            self.take_location_for(owner)

    def insert(self, op: Op) -> Op:
        """Add an op before the one that is being read: what its text says without a name."""
        return self.block.append(op)

    def take_attributes(self, name: str, keyword: str = "") -> dict[str, Any]:
        """`{...}` of an op of that name, where it is there, behind a keyword where one is given."""
        raise TypeError("a parser of ops derives from this class")

    def take_op(self, block: Block) -> Op:
        """A whole op, which is added to a block."""
        raise TypeError("a parser of ops derives from this class")

    def take_region(self, entry: Block | None = None, names: Sequence[str] = ()) -> Region:
        """`{ ops }`. Where an entry is given, it is the first block, and its arguments have these names in the region."""
        raise TypeError("a parser of ops derives from this class")

    def take_isolated_region(self, entry: Block | None = None, names: Sequence[str] = ()) -> Region:
        """A region in which no value of outside is known."""
        outside = self.values, self.forward
        self.values, self.forward = {}, {}
        region = self.take_region(entry, names)
        self.end_scope()
        self.values, self.forward = outside
        return region
