"""Buffers to be placed in one memory: what a caller gives, checked, as arrays that every way of placing works on."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import Finding, UsageError
from ..kinds import is_iterable

__all__ = ["GREATEST", "Buffer", "Problem", "problem_of", "shown"]

GREATEST = 1 << 60
"""Steps and sizes, and the sum of all sizes, are below it: sums of them stay within 64 bits."""
FINDINGS = 20
"""How many buffers that cannot be are listed in one error."""


class Buffer(NamedTuple):
    """What needs `size` bytes from step `start` until before step `end`.

    One that starts where it ends is never alive, and one without bytes needs none: both are in nobody's way.
    """

    name: Hashable
    start: int
    end: int
    size: int
    alignment: int = 1
    """Its offset is a multiple of this."""
    offset: int | None = None
    """Where it has to lie; None where that is to be found."""
    shares: Hashable | None = None
    """The name of the buffer in whose place it is written: both get one offset, and may be alive at the same time."""


@dataclass(frozen=True)
class Problem:
    """Buffers as arrays, one number a buffer; those that share a place have one `group`, groups being numbered from 0."""

    names: Sequence[Hashable]
    start: np.ndarray
    end: np.ndarray
    size: np.ndarray
    """Bytes; 0 where a buffer is never alive."""
    alignment: np.ndarray
    """By group: a number that all alignments of the group divide."""
    fixed: np.ndarray
    """By group: the offset that is given; -1 where there is none."""
    group: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def groups(self) -> int:
        return len(self.fixed)

    def members(self) -> list[np.ndarray]:
        """The buffers of each group that need memory."""
        order = np.argsort(self.group, kind="stable")
        order = order[self.size[order] > 0]
        return np.split(order, np.searchsorted(self.group[order], np.arange(1, self.groups)))

    def boxes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First step, step after the last, and greatest size of each group: what holds it whole. Size 0 is never alive."""
        starts, ends = np.full(self.groups, GREATEST), np.full(self.groups, -GREATEST)
        sizes = np.zeros(self.groups, np.int64)
        alive = self.size > 0
        np.minimum.at(starts, self.group[alive], self.start[alive])
        np.maximum.at(ends, self.group[alive], self.end[alive])
        np.maximum.at(sizes, self.group, self.size)
        return np.where(sizes > 0, starts, 0), np.where(sizes > 0, ends, 0), sizes

    def only(self, groups: np.ndarray) -> Problem:
        """These groups alone, numbered in the order in which they are given."""
        number = np.full(self.groups, -1)
        number[groups] = np.arange(len(groups))
        kept = np.flatnonzero(number[self.group] >= 0)
        return Problem([self.names[each] for each in kept.tolist()], self.start[kept], self.end[kept], self.size[kept],
                       self.alignment[groups], self.fixed[groups], number[self.group[kept]])

    def peak(self, offsets: np.ndarray) -> int:
        """The bytes that are needed with these offsets, by group."""
        return int(np.max((offsets[self.group] + self.size)[self.size > 0], initial=0))


def problem_of(buffers: Iterable[Buffer | tuple[Any, ...]], alignment: int = 1) -> Problem:
    """Check what a caller gives and make arrays of it.

    `buffers` are tuples `(name, start, end, size)`, or longer ones in the order of `Buffer`; every offset is a multiple of
    `alignment`, besides. Raises `UsageError` with what is wrong with each of them.
    """
    if not is_iterable(buffers):
        raise UsageError(f"buffers are an iterable of (name, start, end, size), and not {_short(buffers)}")
    rows = [_row(each) for each in buffers]
    places = {row[0]: place for place, row in enumerate(rows)}
    whole = _whole(alignment)
    if whole is None or whole < 1:
        raise UsageError(f"{alignment!r} is no alignment: that is a number of bytes, 1 or more")
    findings = list(islice(_findings(rows, places), FINDINGS))
    if findings:
        more = " (the first of them)" if len(findings) == FINDINGS else ""
        raise UsageError(f"{len(findings)} buffer(s) cannot be{more}", findings)
    if sum(row.size for row in rows) >= GREATEST:
        raise UsageError(f"the buffers have {sum(row.size for row in rows):,} bytes together: less than 2^60 can be placed")
    group, groups = _groups(rows, places)
    aligned, fixed = _agreed(rows, group, groups, whole)
    if sum(aligned.tolist()) >= GREATEST:
        raise UsageError("the alignments are beyond what offsets below 2^60 can keep: one buffer upon the other would not do")
    start, end, size = (np.array([row[column] for row in rows], np.int64).reshape(-1) for column in (1, 2, 3))
    return Problem([row.name for row in rows], start, end, np.where(end > start, size, 0), aligned, fixed, group)


def _row(given: Any) -> Buffer:
    """A buffer with plain integers, where they are integers; what they are not stays as it is, for `_findings`."""
    try:
        name, start, end, size, alignment, offset, shares = Buffer(*given)
        hash(name), hash(shares)
    except TypeError as error:
        raise UsageError(
            f"a buffer is (name, start, end, size), with a name that can be a key of a dict, and not {_short(given)}",
            hint="alignment, offset and shares may follow: see transload.memory.Buffer") from error
    numbers = [_whole(number) for number in (start, end, size, alignment)]
    if None in numbers or (offset is not None and _whole(offset) is None):
        raise UsageError(f"buffer {_short(name)} has numbers that are no integers: {_short(given)}")
    return Buffer(name, *numbers, None if offset is None else _whole(offset), shares)  # type: ignore[arg-type, call-arg]


def _whole(number: Any) -> int | None:
    """A number as a plain integer; None where it is no integer."""
    if type(number) is int:
        return number
    try:
        return operator.index(number)
    except TypeError:
        return None


def shown(name: Hashable) -> str:
    """A buffer's name for people: what is a value of the IR has the name of its tensor."""
    return str(getattr(name, "name", None) or name)


def _short(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _findings(rows: Sequence[Buffer], places: dict[Hashable, int]) -> Iterator[Finding]:
    """What is wrong with buffers one by one."""
    for place, row in enumerate(rows):
        if (places[row.name] == place and 0 <= row.size < GREATEST and -GREATEST < row.start <= row.end < GREATEST
                and row.alignment == 1 and row.offset is None and row.shares is None):
            continue
        for why in _reasons(row, places):
            yield Finding("buffer", why, (shown(row.name),))
        if places[row.name] != place:
            yield Finding("buffer", "another buffer has the same name", (shown(row.name),))


def _reasons(row: Buffer, places: dict[Hashable, int]) -> Iterator[str]:
    if row.size < 0:
        yield f"its size is {row.size:,}: a size is 0 bytes or more"
    if row.end < row.start:
        yield f"it ends at step {row.end}, before it starts at step {row.start}"
    if row.size >= GREATEST or not -GREATEST < row.start < GREATEST or not -GREATEST < row.end < GREATEST:
        yield "its numbers are beyond 2^60"
    if not 1 <= row.alignment < GREATEST:
        yield f"its alignment is {row.alignment}: that is a number of bytes, 1 or more"
    if row.offset is not None and not 0 <= row.offset < GREATEST:
        yield f"it is to lie at offset {row.offset}: offsets are 0 or more, below 2^60"
    if row.shares is not None and row.shares not in places:
        yield f"it shares the place of {row.shares!r}, and no buffer has that name"


def _groups(rows: Sequence[Buffer], places: dict[Hashable, int]) -> tuple[np.ndarray, int]:
    """Which group each buffer is of, and how many there are: buffers that share a place, directly or by others, are one."""
    leader = list(range(len(rows)))

    def found(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for place, row in enumerate(rows):
        if row.shares is not None:
            leader[found(place)] = found(places[row.shares])
    numbers: dict[int, int] = {}
    group = [numbers.setdefault(found(place), len(numbers)) for place in range(len(rows))]
    return np.array(group, np.int64), len(numbers)


def _agreed(rows: Sequence[Buffer], group: np.ndarray, groups: int, alignment: int) -> tuple[np.ndarray, np.ndarray]:
    """Alignment and fixed offset of each group; raises `UsageError` where its buffers contradict each other."""
    aligned, fixed = [alignment] * groups, [-1] * groups
    findings = []
    for row, number in zip(rows, group.tolist(), strict=True):
        if row.alignment != 1:
            aligned[number] = math.lcm(aligned[number], row.alignment)
        if row.offset is not None:
            if fixed[number] not in (-1, row.offset):
                findings.append(Finding("buffer", f"it is to lie at {row.offset}, and what it shares its place with at "
                                        f"{fixed[number]}", (shown(row.name),)))
            fixed[number] = row.offset
    for row, number in zip(rows, group.tolist(), strict=True):
        if row.offset is not None and row.offset % aligned[number]:
            findings.append(Finding("buffer", f"it is to lie at {row.offset}, which is no multiple of its alignment, "
                                    f"{aligned[number]}", (shown(row.name),)))
        if aligned[number] >= GREATEST:
            findings.append(Finding("buffer", "no offset below 2^60 has the alignments that it is to have", (shown(row.name),)))
    if findings:
        raise UsageError(f"{len(findings)} buffer(s) cannot lie where they are to lie", findings[:FINDINGS])
    return np.array(aligned, np.int64), np.array(fixed, np.int64)
