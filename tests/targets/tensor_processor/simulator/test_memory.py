"""Operands of every kind in memory: what is written is read back, and covers the bytes that it says and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transload_targets.tensor_processor.instructions import ELEMENTS, LAYOUTS, Global, Local, Machine, Operand
from transload_targets.tensor_processor.simulator.footprint import Footprint
from transload_targets.tensor_processor.simulator.memory import Memory

SIZE = 1 << 14  # more than the largest operand drawn


@st.composite
def operands(draw: st.DrawFn, machine: Machine) -> Operand:
    """An operand that lies in the memory: of any layout, at any address, with strides of its own or not."""
    element = ELEMENTS[draw(st.sampled_from(sorted(ELEMENTS)))]
    extents = st.integers(1, 4)
    if draw(st.booleans()):
        shape = draw(st.lists(extents, max_size=4).map(tuple))
        strides, step = [], element.size(1)
        for axis, extent in reversed(list(enumerate(shape))):
            if element.packed and axis == len(shape) - 1:
                strides.append(1)
                step = element.size(extent) + draw(st.integers(0, 2))
            else:
                strides.append(step)
                step = step * extent + draw(st.integers(0, 5))
        operand: Operand = Global(draw(st.integers(0, 99)), shape, element.name, draw(st.none() | st.just(tuple(strides[::-1]))))
    else:
        layout = draw(st.sampled_from(LAYOUTS))
        shape = draw(st.lists(extents, max_size=5).map(tuple))
        operand = Local(draw(st.integers(0, 99)), shape, element.name, layout, None, draw(st.integers(0, machine.lanes - 1)))
        if layout in ("aligned", "compact") and draw(st.booleans()):
            _, c, h, w = operand.seen()
            hs = element.size(w) + draw(st.integers(0, 3))
            cs = max(h * hs, element.size(h * w)) + draw(st.integers(0, 5))
            ns = -(-(operand.lane + c) // machine.lanes) * cs + draw(st.integers(0, 5))
            operand = Local(operand.address, shape, element.name, layout, (ns, cs, hs), operand.lane)
    return operand


MACHINES = st.integers(1, 4).map(lambda lanes: Machine("m", lanes, SIZE, 4, 8))


def values(operand: Operand, seed: int) -> np.ndarray:
    """Numbers of the operand's type that use all of its bits."""
    element, chance = ELEMENTS[operand.dtype], np.random.default_rng(seed)
    if element.packed:
        low, high = (-8, 8) if element.dtype.kind == "i" else (0, 16)
        return chance.integers(low, high, operand.shape).astype(element.dtype)
    if element.name == "bool":
        return chance.integers(0, 2, operand.shape).astype(bool)
    return np.frombuffer(chance.bytes(int(np.prod(operand.shape)) * element.dtype.itemsize), element.dtype).reshape(operand.shape)


def memory_of(operand: Operand, machine: Machine, cell: Any = np.uint8) -> Memory:
    return Memory(machine, SIZE * (machine.lanes if isinstance(operand, Local) else 1), cell)


@given(st.data(), MACHINES, st.integers(0, 99))
def test_what_is_written_is_read_back(data: Any, machine: Machine, seed: int):
    operand = data.draw(operands(machine))
    memory, array = memory_of(operand, machine), values(operand, seed)
    memory.write(operand, array)
    found = memory.read(operand)
    assert found.dtype == array.dtype and found.shape == array.shape
    assert found.tobytes() == array.tobytes()
    if isinstance(operand, Local) and operand.layout == "copies":
        assert memory.lanes_agree(operand)
        memory.cells[operand.address] ^= 1
        assert machine.lanes == 1 or not memory.lanes_agree(operand)


def touched(operand: Operand, machine: Machine) -> set[int]:
    """The bytes that writing an operand changes, found by writing it on bytes of 0 and of 255."""
    found: set[int] = set()
    for before in (0, 255):
        for value in (0, 1):
            memory = memory_of(operand, machine)
            memory.cells[:] = before
            element = ELEMENTS[operand.dtype]
            size = int(np.prod(operand.shape))
            filling = 15 if element.packed else 1 if element.name == "bool" else 255
            bytes_ = np.full(size * element.dtype.itemsize, filling * value, np.uint8)
            memory.write(operand, bytes_.view(element.dtype).reshape(operand.shape))
            found |= set(np.flatnonzero(memory.cells != before).tolist())
    return found


@given(st.data(), MACHINES)
def test_a_footprint_is_what_writing_changes(data: Any, machine: Machine):
    operand = data.draw(operands(machine))
    footprint, bytes_ = Footprint(operand, machine), touched(operand, machine)
    assert {at for low, high in footprint.cells.tolist() for at in range(low, high)} == bytes_
    within = {at % SIZE for at in bytes_}
    assert {at for low, high in footprint.rows.tolist() for at in range(low, high)} == within
    assert (footprint.low, footprint.high) == (min(within), max(within) + 1)
    assert footprint.banks == sum(1 << bank for bank in {at // (SIZE // 4) for at in within})


@given(st.data(), MACHINES)
def test_operands_overlap_where_they_share_a_byte(data: Any, machine: Machine):
    one, other = data.draw(operands(machine)), data.draw(operands(machine))
    if type(one) is type(other):
        sharing = bool(touched(one, machine) & touched(other, machine))
        assert Footprint(one, machine).overlaps(Footprint(other, machine)) == sharing


def test_rows_between_each_other_do_not_overlap():
    machine = Machine("m", 2, 256, 4, 8)
    upper, lower = (Local(address, (1, 4, 1, 4), "int8", strides=(16, 8, 4)) for address in (0, 4))
    assert not Footprint(upper, machine).overlaps(Footprint(lower, machine))
    assert Footprint(upper, machine).overlaps(Footprint(Local(3, (1, 4, 1, 4), "int8", strides=(16, 8, 4)), machine))


def test_lanes_of_their_own_do_not_overlap():
    machine = Machine("m", 4, 256, 4, 8)
    left, right = (Local(0, (1, 2, 1, 4), "int8", lane=lane) for lane in (0, 2))
    assert not Footprint(left, machine).overlaps(Footprint(right, machine))
    assert Footprint(left, machine).overlaps(Footprint(Local(0, (1, 2, 1, 4), "int8", lane=1), machine))


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_an_odd_element_of_four_bits_leaves_its_neighbour(name: str):
    machine = Machine("m", 1, 16, 1, 1)
    memory = Memory(machine, 16)
    memory.cells[:] = 0xAB
    memory.write(Global(0, (3,), name), np.array([1, 2, 3], ELEMENTS[name].dtype))
    assert memory.cells[:3].tolist() == [0x21, 0xA3, 0xAB]
