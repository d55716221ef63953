"""Programs written by hand: what they compute, in any order, and what of the machine's rules their variants break."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.errors import RunError
from transload_targets.tensor_processor.instructions import Program, assemble, disassemble
from transload_targets.tensor_processor.simulator import Order, Simulator, check

from .programs import CORES, inputs_of, looked_up, may_overwrite, operation, product, programs

NAMES = ["slices", "cores", "tables"]


def nibbles(data: bytes) -> np.ndarray:
    """Signed elements of four bits, the lower half of a byte first."""
    return np.array([(half ^ 8) - 8 for byte in data for half in (byte & 15, byte >> 4)], np.int8)


def expected(name: str, inputs: dict[str, np.ndarray], program: Program) -> dict[str, np.ndarray]:
    """What the programs compute, without a machine."""
    if name == "slices":
        return {"y": inputs["x"] * np.arange(1, 7, dtype=np.int8).reshape(1, 6, 1, 1)}
    if name == "cores":
        return {"sum": 3 * inputs["x"]}
    weights, table = (np.asarray(bytearray(held.data), np.uint8) for held in program.weights)
    found = product(inputs["image"].transpose(0, 3, 1, 2), nibbles(weights.tobytes()).reshape(5, 4, 1, 1), dtype="int8")
    return {"result": looked_up(found, table.view(np.int8), dtype="int8").reshape(20)}


@pytest.mark.parametrize("name", NAMES)
def test_a_program_computes_what_it_says_in_any_order(name: str):
    program = programs()[name]
    simulator, inputs = Simulator(program, operation, may_overwrite), inputs_of(program)
    wanted = expected(name, inputs, program)
    for seed in (None, *range(20)):
        found = simulator.run(inputs, seed)
        assert found.keys() == wanted.keys()
        for key, array in wanted.items():
            assert found[key].dtype == array.dtype
            np.testing.assert_array_equal(found[key], array)


def test_seeds_give_other_orders_and_the_same_seed_the_same():
    order = Order(programs()["slices"])
    orders = {tuple(order.schedule(seed)) for seed in range(30)}
    assert len(orders) > 3 and tuple(order.schedule(7)) in orders
    assert tuple(order.schedule(7)) == tuple(order.schedule(7))
    assert list(order.schedule()) == list(range(7))


def test_each_instruction_can_be_watched():
    program = programs()["slices"]
    seen: list[tuple[str, Any]] = []
    Simulator(program, operation, may_overwrite).run(
        inputs_of(program), observe=lambda one, arrays: seen.append((one.label, arrays[0].shape)))
    assert seen[2] == ("tiu.1", (1, 6, 2, 4)) and len(seen) == 7


def test_tensors_are_put_together_of_their_parts():
    program = programs()["slices"]
    assert list(Simulator(program, operation, may_overwrite).run(inputs_of(program), keep=True)) == ["y"]
    program = programs()["tables"]
    found = Simulator(program, operation, may_overwrite).run(inputs := inputs_of(program), keep=True)
    np.testing.assert_array_equal(found["image/planes"], inputs["image"].transpose(0, 3, 1, 2))
    assert list(found) == ["image/planes", "product", "result"] and found["product"].shape == (1, 5, 2, 2)


def changed(program: Program, label: str, **fields: Any) -> Program:
    """The program with one instruction otherwise."""
    return dataclasses.replace(program, instructions=tuple(
        dataclasses.replace(one, **fields) if one.label == label else one for one in program.instructions))


def moved(program: Program, label: str, number: int, address: int) -> Program:
    """The program with an input of an instruction elsewhere."""
    (one,) = (one for one in program.instructions if one.label == label)
    inputs = list(one.inputs)
    inputs[number] = dataclasses.replace(inputs[number], address=address)  # type: ignore[type-var]
    return changed(program, label, inputs=tuple(inputs))


Change = Callable[[Program], Program]
BARRIERS = "1:dma.3 wait 0 barrier () -> ()\n", "dma.2 wait 0 barrier () -> ()\n"
"""The two in the second program."""


def rewritten(*changes: tuple[str, str]) -> Change:
    """The program with other words in its text."""

    def change(program: Program) -> Program:
        text = disassemble(program)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        return assemble(text)

    return change


WITHOUT_BARRIERS = rewritten(
    *((line, "") for line in BARRIERS), ("\ndma.3", "\ndma.2"), ("\ndma.4", "\ndma.3"), ("tiu.1 wait 3", "tiu.1 wait 2"))
UNWRITTEN = "bytes to which nothing was written"

OF_SLICES: list[tuple[Change, str]] = [
    (lambda p: changed(p, "tiu.1", wait=1), "tiu.1 scaled at 'y': reads bytes at 0x40 while dma.2 load (for 'x') may be writing"),
    (lambda p: changed(p, "tiu.1", wait=0), "tiu.1 scaled at 'y': reads bytes at 0x0 while dma.1 load (for 'factor') may"),
    (lambda p: changed(p, "dma.4", wait=0), "tiu.1 scaled at 'y': writes bytes at 0x50 while dma.4 store (for 'y') may be re"),
    (lambda p: changed(p, "tiu.2", wait=2), "tiu.2 scaled at 'y': reads bytes at 0x80 while dma.3"),
    (lambda p: moved(p, "tiu.2", 0, 0xA0), f"tiu.2 scaled at 'y': input 0 reads 48 {UNWRITTEN}: element (0, 0, 2, 0) of 'x'"),
    (lambda p: moved(p, "tiu.2", 1, 0x40), "reads 6 bytes that should hold element (0) of 'factor', and in place of that find"),
    (lambda p: moved(p, "tiu.2", 0, 0x81), "reads 48 bytes that should hold element (0, 0, 2, 0) of 'x'"),
    (lambda p: moved(p, "dma.3", 0, 0x4), "dma.3 load at 'x': input 0 reads 48 bytes that should hold element (0, 0, 2, 0)"),
    (lambda p: dataclasses.replace(p, weights=()), f"dma.1 load at 'factor': input 0 reads 6 {UNWRITTEN}"),
    (lambda p: dataclasses.replace(p, instructions=p.instructions[:-1]), f"output at 'y': reads 48 {UNWRITTEN}"),
    (lambda p: changed(p, "dma.2", wait=1), "dma.2 load at 'x': never starts: it waits for what waits for it"),
    (lambda p: changed(p, "tiu.1", operation="scald"), "no operation 'scald' is known"),
    (rewritten(("(L[0x0] int8 6 channels %1) \"f", "(L[0x0] int8 5 channels) \"f")), "moves 6 elements to 5"),
    (lambda p: changed(p, "tiu.1", attributes={"kernel": (1 << 40, 1)}), "and its numbers are from 0 to 65,535"),
    (lambda p: changed(p, "dma.1", operation="store"), "its operands lie in the wrong memory"),
    (lambda p: changed(p, "dma.1", operation="fill"), "has 1 inputs and 1 outputs, not 0 and 1"),
    (lambda p: changed(p, "dma.1", attributes={"x": 1}), "has attributes x, not none"),
    (lambda p: dataclasses.replace(p, machine=dataclasses.replace(p.machine, lanes=1 << 30)), "can be simulated"),
]
OF_CORES: list[tuple[Change, str]] = [
    (rewritten((BARRIERS[0], "")), "cores have different numbers of barriers"),
    (WITHOUT_BARRIERS, "dma.2 load at 'y': reads bytes at 0x20 while 1:dma.2 store (for 'y') may be writing them"),
]
OVER = "tiu.2 looked_up at 'result': writes over its input 0 at 0x20: their elements do not lie at the same places"
OF_TABLES: list[tuple[Change, str]] = [
    (rewritten(("(L[0x20] int8 1x5x2x2 compact %5) \"", f"(L[{address}] int8 1x5x2x2 {layout} %5) \"")), OVER)
    for address, layout in (("0x24", "compact"), ("0x20", "compact lane=1"), ("0x1c", "compact"))] + [
    (rewritten(("(L[0x20] int8 1x5x2x2 compact %5) \"", "(L[0x40] int8 1x5x2x2 compact %5) \"")),
     "tiu.2 looked_up at 'result': writes over its input 1 at 0x40: their elements do not"),
    (rewritten(("-> (L[0x20] int8 1x5x2x2 compact %4)", "-> (L[0x0] int8 1x5x2x2 compact %4)")),
     "tiu.1 product at 'product': writes over its input 0 at 0x0: nothing says that it reads an element before it writes there"),
    (rewritten(("looked_up", "scaled")), "tiu.2 scaled at 'result': writes over its input 0 at 0x20: nothing says that it reads"),
]
BROKEN = [("slices", *one) for one in OF_SLICES] + [("cores", *one) for one in OF_CORES] + [("tables", *one) for one in OF_TABLES]


@pytest.mark.parametrize(("name", "change", "why"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_rule_is_told_by_instruction_and_tensor(name: str, change: Change, why: str):
    with pytest.raises(RunError) as caught:
        Simulator(change(programs()[name]), operation, may_overwrite)
    assert any(why in str(finding) for finding in caught.value.findings), str(caught.value)


def test_all_rules_that_are_broken_are_told_at_once():
    program = changed(changed(programs()["slices"], "tiu.1", wait=0), "dma.4", wait=0)
    program = moved(program, "tiu.2", 1, 0x40)
    told = " ".join(map(str, check(program)))
    assert "tiu.1 scaled at 'y': reads bytes" in told and "while dma.4" in told and "tiu.2 scaled at 'y': input 1" in told


def test_a_bank_serves_one_queue_at_a_time():
    near = rewritten(("L[0x80]", "L[0x70]"))(programs()["slices"])  # loaded beside what is computed
    (finding,) = (one for one in check(near) if "dma.3" in one.why)
    assert str(finding) == (
        "tiu.1 scaled at 'y': uses bank 1 while dma.3 load (for 'x') may be using it\n"
        "      → one has to wait for the other, or to use another bank")
    waiting = rewritten(("dma.3 wait 0", "dma.3 wait 1"))(near)
    assert not [one for one in check(waiting) if "dma.3" in one.why]


def test_a_move_must_not_write_over_what_it_reads():
    text = CORES.partition("dma.1")[0] + """
dma.1 wait 0 copy (G[0x0] int16 2x3 %0) -> (G[{to}] int16 2x3 %0)
dma.2 wait 0 copy (G[{to}] int16 2x3 %0) -> (G[0x40] int16 2x3 %2)
"""
    for to, count in (("0x4", 1), ("0xc", 0), ("0x3c", 1)):
        found = [one.why for one in check(assemble(text.format(to=to))) if "writes over its input 0" in one.why]
        assert len(found) == count, to


def test_a_value_fills_all_of_an_operand():
    text = CORES.partition("dma.1")[0].replace('input "x" int16 2x3 at 0x0 %0\n', "")
    program = assemble(text + """
dma.1 wait 0 fill () -> (L[0x0] int16 2x3 aligned %2) {"value": -7}
dma.2 wait 0 store (L[0x0] int16 2x3 aligned %2) -> (G[0x40] int16 2x3 %2)
dma.3 wait 0 copy (G[0x40] int16 2x3 %2) -> (G[0x60] int16 3x2)
""")
    np.testing.assert_array_equal(Simulator(program, operation, may_overwrite).run({})["sum"], np.full((2, 3), -7, np.int16))


@pytest.mark.parametrize(("change", "why"), [
    ({"attributes": {"offset": "a"}}, "cannot be computed: .*Error"),
    ({"attributes": {"x": 1}}, "cannot be computed: TypeError"),
    ({"attributes": {"dtype": "int8"}}, "cannot be computed: TypeError"),
    ({"attributes": {"pads": (60000, 60000, 60000, 60000)}}, "its pads make 86,"),
    ({"operation": "plus"}, "cannot be computed: ValueError"),
    ({"operation": "product"}, "cannot be computed: IndexError"),
])
def test_what_cannot_be_computed_is_told(change: dict[str, Any], why: str):
    program = changed(programs()["slices"], "tiu.1", **change)
    with pytest.raises(RunError, match=why) as caught:
        Simulator(program, operation, may_overwrite).run(inputs_of(program))
    assert caught.value.findings[0].names == ("y",)


def test_results_of_another_shape_or_type_are_told():
    def transposed(x: np.ndarray, factor: np.ndarray, dtype: str) -> np.ndarray:
        return x.transpose(0, 1, 3, 2)

    program = programs()["slices"]
    with pytest.raises(RunError, match=r"gives int8 \[1, 6, 4, 2\], and its output is int8 \[1, 6, 2, 4\]"):
        Simulator(program, lambda name: transposed).run(inputs_of(program))
    with pytest.raises(RunError, match="gives 2 results, and has 1 outputs"):
        Simulator(program, lambda name: lambda x, factor, dtype: (x, x)).run(inputs_of(program))


def test_inputs_that_do_not_fit_are_told_at_once():
    program = programs()["cores"]
    simulator = Simulator(program, operation, may_overwrite)
    for given, why in (({}, "is not given"), ({"x": np.zeros((3, 2), np.int16)}, r"int16 \[3, 2\], not int16 \[2, 3\]")):
        with pytest.raises(RunError, match=why):
            simulator.run(given)


def test_lanes_that_hold_different_copies_are_told():
    def drawn(x: np.ndarray, dtype: str) -> np.ndarray:
        return np.arange(x.size, dtype=dtype).reshape(x.shape)

    program = assemble("""
program "copies" global_bytes=16
machine "two lanes" lanes=2 local_bytes=16 banks=1 eu_bytes=1 cores=1
dma.1 wait 0 fill () -> (L[0x0] int8 1x2x1x2 aligned) {"value": 1}
tiu.1 wait 1 drawn (L[0x0] int8 1x2x1x2 aligned) -> (L[0x4] int8 1x2x1x2 aligned) "x"
tiu.2 wait 0 drawn (L[0x4] int8 2 copies) -> (L[0x8] int8 2 copies) "y"
""")
    with pytest.raises(RunError, match=r"tiu.2 drawn at 'y': .* different copies in different lanes"):
        Simulator(program, lambda name: drawn).run({})
