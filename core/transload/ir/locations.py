"""Locations: where an op comes from. Names in them are the original tensor names of the framework."""

from __future__ import annotations

from .given import items_of, need_part

__all__ = [
    "FileLocation", "FusedLocation", "Location", "NamedLocation", "OpaqueLocation", "first_name", "located", "location_names",
    "without_places",
]


class FusedLocation:
    """Several locations as one: `loc(fused["a", "b"])`, with optional metadata `loc(fused<"m">["a"])`.

    Without metadata the names belong to the results, one each. With metadata the op is a *part* of
    what the framework's op of that name became, and its results carry no name of their own.
    """

    __slots__ = ("locations", "metadata")

    def __init__(self, locations: tuple[Location, ...], metadata: str | None = None) -> None:
        self.locations = locations if locations.__class__ is tuple else items_of(
            locations, object, "FusedLocation", "locations", "a location")
        self.metadata = metadata
        if metadata.__class__ is not str:
            need_part(metadata, str | None, "FusedLocation", "metadata", "a text or None")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FusedLocation) and (self.locations, self.metadata) == (other.locations, other.metadata)

    def __hash__(self) -> int:
        return hash((self.locations, self.metadata))

    def __repr__(self) -> str:
        return f"FusedLocation({self.locations!r}, {self.metadata!r})"


class FileLocation:
    """A place in a text file, `loc("file":line:column)`."""

    __slots__ = ("column", "file", "line")

    def __init__(self, file: str, line: int, column: int) -> None:
        need_part(file, str, "FileLocation", "file", "a text")
        for part, number in (("line", line), ("column", column)):
            need_part(number, int, "FileLocation", part, "a whole number")
        self.file = file
        self.line = line
        self.column = column

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileLocation) and (self.file, self.line, self.column) == (other.file, other.line, other.column)

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.column))

    def __repr__(self) -> str:
        return f"FileLocation({self.file!r}, {self.line}, {self.column})"


class NamedLocation(str):
    """A name with a location of its own below it, `loc("name"(child))`.

    It is a `str` like any plain name, and compares as its name alone.
    """

    __slots__ = ("child",)

    child: Location

    def __new__(cls, name: str, child: Location) -> NamedLocation:
        self = super().__new__(cls, name)
        self.child = child
        return self


class OpaqueLocation:
    """A location of another form (call site, ...), kept as the text between `loc(` and `)`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        need_part(text, str, "OpaqueLocation", "text", "a text")
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueLocation) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"OpaqueLocation({self.text!r})"


Location = str | FusedLocation | FileLocation | OpaqueLocation | None
"""Where an op comes from; a plain `str` is the original tensor name (MLIR's NameLoc)."""


def located(location: Location, whole: str) -> Location:
    """The location; `BuildError` where it is none."""
    need_part(location, Location, whole, "location", "a text or a location")
    return location


def location_names(location: Location) -> list[str]:
    """The tensor names in a location, in order."""
    if isinstance(location, str):
        return [location]
    if isinstance(location, FusedLocation):
        return [name for part in location.locations for name in location_names(part)]
    return []


def first_name(location: Location) -> str | None:
    """The first of the tensor names in a location."""
    if isinstance(location, str):
        return location
    if isinstance(location, FusedLocation):
        for part in location.locations:
            name = first_name(part)
            if name is not None:
                return name
    return None


def without_places(location: Location, known: dict[int, tuple[Location, Location]]) -> Location:
    """The names of a location alone, without the places in a program that lie below them, or that are all it says.

    It is the location itself where that has nothing else. What several share they share afterwards: `known` are those that were
    asked for before, and what they became, by identity.
    """
    if isinstance(location, FusedLocation):
        if id(location) not in known:
            parts = tuple(without_places(part, known) for part in location.locations)
            same = all(part is old for part, old in zip(parts, location.locations, strict=True))
            known[id(location)] = location, location if same else FusedLocation(parts, location.metadata)
        return known[id(location)][1]
    if isinstance(location, NamedLocation):
        return str(location)
    return location if isinstance(location, str) else None
