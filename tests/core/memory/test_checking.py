"""The judge of placements finds what pair by pair is found, too."""

from __future__ import annotations

import random

import pytest

from transload import memory
from transload.errors import UsageError
from transload.ir import new_module
from transload.memory import Buffer, check


def pairs(buffers: list[Buffer], offsets: dict[object, int]) -> bool:
    """Whether any two that are alive together overlap."""
    return any(
        one.start < other.end and other.start < one.end and one.shares != other.name
        and offsets[one.name] < offsets[other.name] + other.size and offsets[other.name] < offsets[one.name] + one.size
        and one.size and other.size and one.start < one.end and other.start < other.end
        for number, one in enumerate(buffers) for other in buffers[:number])


@pytest.mark.parametrize("seed", range(200))
def test_overlaps_are_found(seed: int) -> None:
    chance = random.Random(seed)
    buffers = []
    for number in range(chance.randint(1, 8)):
        start = chance.randrange(8)
        shares = f"b{chance.randrange(number)}" if number == 4 and chance.random() < 0.5 else None
        buffers.append(Buffer(f"b{number}", start, start + chance.randrange(4), chance.randrange(4), shares=shares))
    offsets: dict[object, int] = {each.name: chance.randrange(12) for each in buffers}
    for each in buffers:
        if each.shares is not None:
            offsets[each.name] = offsets[each.shares]
    assert bool(check(buffers, offsets)) == pairs(buffers, offsets)


@pytest.mark.parametrize(
    ("buffers", "offsets", "words"),
    [([("a", 0, 1, 8)], {}, "has no offset"), ([("a", 0, 1, 8)], {"a": -1}, "below 0"),
     ([("a", 0, 1, 8)], {"a": 9}, "beyond the capacity"),
     ([("a", 0, 1, 8, 4)], {"a": 2}, "no multiple"), ([("a", 0, 1, 8, 1, 4)], {"a": 2}, "that it was told"),
     ([("a", 0, 1, 8), ("b", 1, 2, 8, 1, None, "a")], {"a": 0, "b": 1}, "whose place it shares"),
     ([("a", 0, 2, 8), ("b", 1, 3, 8)], {"a": 0, "b": 7}, "both are alive at step 1")])
def test_each_rule_is_checked(buffers: list[tuple[object, ...]], offsets: dict[object, int], words: str) -> None:
    (finding,) = check(buffers, offsets, capacity=16)
    assert words in finding.why


@pytest.mark.parametrize(("offsets", "why"), [
    ({"a": "0", "b": 64}, "its offset is no integer"), ({"a": 0, "b": 64.9}, "its offset is no integer"),
    ({"a": None, "b": 64}, "its offset is no integer"), ({"a": 0, "b": 1 << 80}, "its offset is no integer"),
    ({"a": 0}, "it has no offset"), ({"a": 0, "b": 64, "c": 0}, "no buffer has the name of this offset")])
def test_offsets_that_are_none(offsets: dict[str, object], why: str) -> None:
    """A text or a fraction would be judged as another number, and what is called otherwise not at all."""
    (finding,) = check([("a", 0, 2, 64), ("b", 1, 3, 8)], offsets)  # type: ignore[arg-type]
    assert finding.why == why


def test_what_memory_is_given_by_mistake() -> None:
    with pytest.raises(UsageError, match="offsets are a dictionary"):
        check([("a", 0, 2, 64)], [0])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="takes a block of ops, and was given Module") as raised:
        memory.buffers_of(new_module())  # type: ignore[arg-type]
    assert "module.main.regions[0].block" in raised.value.hint
    with pytest.raises(UsageError, match="made of a plan"):
        memory.save_picture({"a": 0}, "x.svg")  # type: ignore[arg-type]
