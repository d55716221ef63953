"""Reading locations, and aliases that are defined after their use."""

from __future__ import annotations

import re
from typing import Any

from ..ir.locations import FileLocation, FusedLocation, Location, NamedLocation, OpaqueLocation
from .attribute_parser import AttributeParser
from .attribute_text import attribute_text, location_text
from .strings import STRING, SUFFIX_NAME

__all__ = ["LocationParser"]

MAX_LOCATION_DEPTH = 100
MAX_LOCATION_SIZE = 1 << 22
"""Characters that a location may have once its aliases are put in."""

_alias = re.compile(rf"#{SUFFIX_NAME}")
_file = re.compile(rf"({STRING})\s*:\s*(\d{{1,10}})\s*:\s*(\d{{1,10}})").match
_range = re.compile(r"\s*to\s*(?:\d*\s*:\s*)?\d+").match
_number = re.compile(r":\s*\d+(?:\s*:\s*\d+)?(?:\s*to\s*(?:\d*\s*:\s*)?\d+)?").match
_metadata_string = re.compile(rf"<\s*({STRING})\s*>").match


class _Alias:
    """Stands for a location alias that is not defined yet."""

    __slots__ = ("at", "name")

    def __init__(self, name: str, at: int) -> None:
        self.name = name
        self.at = at


class LocationParser(AttributeParser):
    """Reads what stands between `loc(` and `)`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._waiting: list[tuple[Any, Any]] = []
        self._pending = False
        self._resolved: dict[str, tuple[Location, int, int]] = {}

    def take_location_for(self, owner: Any) -> None:
        """Read `loc(...)`, at the `(`, and make it the location of an op or block argument."""
        self._pending = False
        self.take("(", "after 'loc'")
        location = self._take_location()
        self.take(")", "after the location")
        if self._pending:
            self._waiting.append((owner, location))
        else:
            owner.location = location

    def take_alias_location(self, name: str) -> None:
        """Read the definition of a location alias, at the `(`."""
        self.take("(", "after 'loc'")
        self.location_aliases[name] = self._take_location()
        self.take(")", "after the location")

    def resolve_locations(self) -> None:
        """Put in the aliases that were used before their definition."""
        for owner, location in self._waiting:
            owner.location = self._resolve(location, [])[0]
        self._waiting = []

    def take_location_text(self) -> str:
        location = self._take_location()
        return location_text(self._resolve(location, [])[0])

    def location_alias_text(self, name: str, at: int) -> str:
        return location_text(self._resolve(_Alias(name, at), [])[0])

    def _take_location(self) -> Any:
        """A location; an `_Alias` may be anywhere in it."""
        first = self.peek()
        if first == "#":
            start = self.pos
            name = self.take_match(_alias, "the name of a location")[1:]
            if "." in name or self.text.startswith("<", self.pos):
                body = self.take_body() if self.text.startswith("<", self.pos) else ""
                return OpaqueLocation(f"#{name}{body}")
            self._pending = True
            return _Alias(name, start)
        if first == '"':
            return self._take_named()
        if self.try_take("unknown"):
            return None
        self.enter()
        if self.try_take("callsite"):
            self._pending = True
            self.take("(")
            callee = self._take_location()
            self.take("at", "between callee and caller")
            location: Any = FusedLocation((callee, self._take_location()), _CALLSITE)
            self.take(")")
        elif self.try_take("fused"):
            location = self._take_fused()
        else:
            self.error(f"expected a location, found {self.found()}")
        self.leave()
        return location

    def _take_named(self) -> Any:
        match = _file(self.text, self.pos)
        if match is not None and not _range(self.text, match.end()):
            self.pos = match.end(1)
            name = self.unquote_at(match, 1)
            self.pos = match.end()
            return FileLocation(name, int(match[2]), int(match[3]))
        start = self.pos
        name = self.take_string()
        number = _number(self.text, self.pos)
        if number is not None:  # a range of places
            self.pos = number.end()
            return OpaqueLocation(self.text[start : self.pos])
        if not self.try_take("("):
            return name
        self.enter()
        child = self._take_location()
        self.leave()
        self.take(")", "after the location below a name")
        return name if child is None else NamedLocation(name, child)

    def _take_fused(self) -> Any:
        metadata: Any = None
        opaque = ""
        if self.peek() == "<":
            match = _metadata_string(self.text, self.pos)
            if match is not None:
                metadata = self.unquote_at(match, 1)
                self.pos = match.end()
            else:
                self._pending = True
                self.take("<")
                opaque = attribute_text(self.take_attribute())
                self.take(">")
        self.take("[", "before the fused locations")
        parts = []
        if self.peek() != "]":
            parts.append(self._take_location())
            while self.try_take(","):
                parts.append(self._take_location())
        self.take("]", "after the fused locations")
        return FusedLocation(tuple(parts), _Metadata(opaque) if opaque else metadata)

    def unquote_at(self, match: re.Match[str], group: int) -> str:
        """The string literal that a group of `match` is."""
        self.pos = match.start(group)
        return self.take_string()

    # --- aliases

    def _resolve(self, location: Any, path: list[str]) -> tuple[Location, int, int]:
        """A location with its aliases put in, how many characters it has, and how deep its parts lie."""
        if isinstance(location, _Alias):
            known = self._resolved.get(location.name)
            if known is None:
                if location.name not in self.location_aliases:
                    self.error(f"location alias '#{location.name}' is not defined", location.at)
                if location.name in path:
                    self.error(f"location alias '#{location.name}' is defined by itself", location.at)
                if len(path) >= MAX_LOCATION_DEPTH:
                    self.error(f"locations lie more than {MAX_LOCATION_DEPTH} deep in each other", location.at)
                path.append(location.name)
                known = self._resolved[location.name] = self._resolve(self.location_aliases[location.name], path)
                path.pop()
            self._check_size(known, location.at)
            return known
        if isinstance(location, FusedLocation):
            resolved = [self._resolve(part, path) for part in location.locations]
            size = 10 + len(location.metadata or "") + sum(part[1] for part in resolved)
            depth = 1 + max((part[2] for part in resolved), default=0)
            parts = tuple(part[0] for part in resolved)
            joined: Location = FusedLocation(parts, location.metadata)
            self._check_size((None, size, depth), self.pos)
            if isinstance(location.metadata, _Metadata):
                self.count_expansion(size)
                if location.metadata is _CALLSITE:
                    joined = OpaqueLocation(f"callsite({location_text(parts[0])} at {location_text(parts[1])})")
                else:
                    joined = OpaqueLocation(f"fused<{location.metadata}>[{', '.join(map(location_text, parts))}]")
                depth = 1
            return joined, size, depth
        if isinstance(location, NamedLocation):
            child, size, depth = self._resolve(location.child, path)
            return (str(location) if child is None else NamedLocation(str(location), child)), size + len(location), depth + 1
        return location, len(location) if isinstance(location, str) else len(location_text(location)), 1

    def _check_size(self, resolved: tuple[Location, int, int], at: int) -> None:
        if resolved[1] > MAX_LOCATION_SIZE or resolved[2] > MAX_LOCATION_DEPTH:
            self.error("the location's aliases stand for too long or too deep a text", at)


class _Metadata(str):
    """Metadata of a fused location that is no string, as text."""

    __slots__ = ()


_CALLSITE = _Metadata("callsite")
