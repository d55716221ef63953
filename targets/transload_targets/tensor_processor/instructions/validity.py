"""What a well-formed program is: every number in it means something, and lies where it may.

Nothing is executed for it, and nothing here depends on what operations there are; that the program keeps to the rules of the
machine when it runs is checked by `transload_targets.tensor_processor.simulator.check`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from math import prod

from transload.errors import Finding, ReadError

from .elements import ELEMENTS
from .operands import LAYOUTS, Global, Local, Operand, Part
from .program import QUEUES, Instruction, Machine, Port, Program, Tensor, Weights

__all__ = ["invalidity", "need_valid"]

MANY = 100
"""Findings that are listed; a file that is wrong throughout has no more to say."""
MAX_RANK, MAX_EXTENT = 16, 1 << 32
"""Of an operand or tensor."""
MAX_BYTES = 1 << 40
"""Of a memory."""
MAX_ELEMENTS = (1 << 32) - 16
"""Of all tensors together: the checker numbers them in 32 bits."""
WINDOWS = ("pads", "padded", "kernel", "strides", "dilations")
"""Attributes that say where a window of elements lies; their numbers are small, as what computes may take steps for each."""
MAX_WINDOW = 1 << 16
LIMITS = {"lanes": 1 << 16, "local_bytes": 1 << 32, "banks": 64, "eu_bytes": 1 << 16, "cores": 1 << 10}


def need_valid(program: Program, name: str) -> None:
    """Raise `ReadError` with all that keeps a program that was read from `name` from being one."""
    findings = list(islice(invalidity(program), MANY))
    if findings:
        raise ReadError(f"{name} holds no program that can be executed", findings)


def invalidity(program: Program) -> Iterator[Finding]:
    """All that is wrong with a program's form."""
    machine = list(_machine(program))
    yield from machine
    tensors = list(_tensors(program.tensors))
    yield from tensors
    if machine or tensors:  # nothing else means anything then
        return
    yield from _queues(program)
    yield from _ports(program)
    sound: dict[tuple[Operand, bool], tuple[str, ...]] = {}
    for one in program.instructions:
        for finding in _instruction(one, program, sound):
            yield Finding(f"{one.label} {one.operation}", finding, (one.name,) if one.name else ())


def _machine(program: Program) -> Iterator[Finding]:
    machine = program.machine
    for name, limit in LIMITS.items():
        number = getattr(machine, name)
        if not 1 <= number <= limit:
            yield Finding("machine", f"{name} is {number}, and is to be from 1 to {limit:,}")
    if machine.banks > 0 and machine.local_bytes % machine.banks:
        yield Finding("machine", f"{machine.local_bytes} bytes of local memory are no {machine.banks} equal banks")
    if not 0 <= program.global_bytes <= MAX_BYTES:
        yield Finding("machine", f"global_bytes is {program.global_bytes}, and is to be from 0 to {MAX_BYTES:,}")


def _shape(shape: Sequence[int]) -> str:
    """What is wrong with a shape; nothing where it is one."""
    if len(shape) > MAX_RANK or any(not 0 <= extent <= MAX_EXTENT for extent in shape):
        return f"has shape {list(shape[:MAX_RANK + 1])}: up to {MAX_RANK} dimensions of 0 to {MAX_EXTENT:,} can be"
    return ""


def _tensors(tensors: Sequence[Tensor]) -> Iterator[Finding]:
    total = 0
    for number, tensor in enumerate(tensors):
        what = f"tensor %{number}"
        wrong = _shape(tensor.shape)
        if wrong:
            yield Finding(what, wrong, (tensor.name,))
        elif tensor.alias is None:
            total += prod(tensor.shape)
        elif not 0 <= tensor.alias < number:
            yield Finding(what, f"is a view of %{tensor.alias}, which does not stand before it", (tensor.name,))
        elif prod(tensors[tensor.alias].shape) != prod(tensor.shape):
            yield Finding(what, f"is a view of %{tensor.alias}, which has another number of elements", (tensor.name,))
    if total > MAX_ELEMENTS:
        yield Finding("tensors", f"have {total:,} elements, and {MAX_ELEMENTS:,} can be told apart")


def _queues(program: Program) -> Iterator[Finding]:
    """That ids count from 1 in each queue, and what is waited for is there."""
    counts = Counter((one.core, one.queue) for one in program.instructions)
    expected: Counter[tuple[int, str]] = Counter()
    for one in program.instructions:
        names = (one.name,) if one.name else ()
        what = f"{one.label} {one.operation}"
        if one.queue not in QUEUES or not 0 <= one.core < program.machine.cores:
            yield Finding(what, f"is for queue {one.queue!r} of core {one.core}, which the machine does not have", names)
            continue
        expected[one.core, one.queue] += 1
        if one.id != expected[one.core, one.queue]:
            number = expected[one.core, one.queue]
            yield Finding(what, f"stands where {one.queue}.{number} should: ids count from 1 in each queue", names)
        other = QUEUES[1 - QUEUES.index(one.queue)]
        if not 0 <= one.wait <= counts[one.core, other]:
            yield Finding(what, f"waits for {other}.{one.wait}, and there are {counts[one.core, other]}", names)


def _ports(program: Program) -> Iterator[Finding]:
    """That inputs, outputs and weights lie in global memory, and what lies there at the start does not overlap."""
    used: list[tuple[int, int, str]] = []
    for what, held in (("input", program.inputs), ("output", program.outputs), ("weights", program.weights)):
        names = Counter(one.name for one in held)
        for one in held:
            wrong = _port(one, program)
            if wrong:
                yield Finding(what, wrong, (one.name,))
            elif what != "output":
                used.append((one.address, one.address + _port_size(one), one.name))
            if what != "weights" and names[one.name] > 1:
                yield Finding(what, "is there more than once", (one.name,))
    used = sorted(one for one in used if one[1] > one[0])
    for (_, end, before), (start, _, name) in pairwise(used):
        if start < end:
            yield Finding("global memory", f"bytes from {start:#x} on are of two at the start", (before, name))


def _port_size(port: Port | Weights) -> int:
    return len(port.data) if isinstance(port, Weights) else Global(0, port.shape, port.dtype).size()


def _port(port: Port | Weights, program: Program) -> str:
    if port.dtype not in ELEMENTS:
        return f"has elements of type {port.dtype!r}"
    wrong = _shape(port.shape) if isinstance(port, Port) else ""
    if wrong:
        return wrong
    size = _port_size(port)
    if port.address < 0 or port.address + size > program.global_bytes:
        return f"lies at {port.address:#x} to {port.address + size:#x}, and global memory ends at {program.global_bytes:#x}"
    if port.tensor is None:
        return ""
    if not 0 <= port.tensor < len(program.tensors):
        return f"is tensor %{port.tensor}, and there are {len(program.tensors)}"
    elements, shape = ELEMENTS[port.dtype], program.tensors[port.tensor].shape
    fits = prod(port.shape) == prod(shape) if isinstance(port, Port) else size == elements.size(prod(shape))
    return "" if fits else f"has not the elements of tensor %{port.tensor}, whose shape is {list(shape)}"


def _instruction(one: Instruction, program: Program, sound: dict[tuple[Operand, bool], tuple[str, ...]]) -> Iterator[str]:
    """What is wrong with an instruction's operands and attributes; `sound` holds what is known of operands."""
    for what, writes, operands in (("input", False, one.inputs), ("output", True, one.outputs)):
        for number, operand in enumerate(operands):
            if operand is None:
                continue
            if one.queue == "tiu" and isinstance(operand, Global):
                yield f"{what} {number} lies in global memory, where this queue does not reach"
            key = operand, writes
            if key not in sound:
                sound[key] = tuple(_operand(operand, program, writes))
            yield from (f"{what} {number} {why}" for why in sound[key])
    for name, value in one.attributes.items():
        values = value if isinstance(value, tuple) else (value,)
        if name in WINDOWS and any(isinstance(number, int) and not 0 <= number < MAX_WINDOW for number in values):
            yield f"attribute {name!r} is {value!r:.60}, and its numbers are from 0 to {MAX_WINDOW - 1:,}"
        kinds = {type(number) for number in values}
        if any(isinstance(number, int) and not -(1 << 63) <= number < 1 << 63 for number in values):
            yield f"attribute {name!r} is beyond 64 bits"
        if len(kinds) > 1 or not kinds <= ({int, float} if isinstance(value, tuple) else {bool, int, float, str}):
            yield f"attribute {name!r} is neither a number, a text nor numbers of one type: {value!r:.60}"


def _operand(operand: Operand, program: Program, writes: bool) -> Iterator[str]:
    """All that is wrong with where an operand lies, what it is, and of which tensor."""
    if operand.dtype not in ELEMENTS:
        yield f"has elements of type {operand.dtype!r}"
        return
    wrong = _shape(operand.shape)
    if wrong:
        yield wrong
        return
    shown, machine = ELEMENTS[operand.dtype].size(prod(operand.shape)), program.machine
    if shown > max(program.global_bytes, machine.lanes * machine.local_bytes):  # strides may be 0
        yield f"has {shown:,} bytes, more than there are"
        return
    places = list(_local(operand, program.machine) if isinstance(operand, Local) else _global(operand, program))
    yield from places
    if writes and not places:
        yield from _apart(operand, program.machine)
    if operand.part is not None:
        yield from _part(operand.part, operand.shape, program.tensors)


def _local(operand: Local, machine: Machine) -> Iterator[str]:
    if operand.layout not in LAYOUTS:
        yield f"has layout {operand.layout!r}"
        return
    if not 0 <= operand.lane < machine.lanes:
        yield f"begins in lane {operand.lane}, and there are {machine.lanes}"
        return
    if operand.layout == "copies" and (operand.lane or operand.strides):
        yield "has a lane or strides, and lies in every lane"
        return
    steps = operand.steps(machine.lanes, machine.eu_bytes)
    if (operand.strides is not None and len(operand.strides) != 3) or min(steps) < 0:
        yield f"has strides {list(operand.strides or steps)}, and three of 0 and more are needed"
        return
    yield from _within(operand.address, operand.size(machine.lanes, machine.eu_bytes), machine.local_bytes, "local memory")
    yield from _aligned(operand, steps)


def _global(operand: Global, program: Program) -> Iterator[str]:
    if operand.strides is not None and (len(operand.strides) != len(operand.shape) or min(operand.strides, default=0) < 0):
        yield f"has strides {list(operand.strides)}, and {len(operand.shape)} of 0 and more are needed"
        return
    yield from _within(operand.address, operand.size(), program.global_bytes, "global memory")
    yield from _aligned(operand, operand.seen()[1])


def _within(address: int, size: int, end: int, memory: str) -> Iterator[str]:
    if address < 0 or address + size > end:
        yield f"lies at {address:#x} to {address + size:#x}, and {memory} ends at {end:#x}"


def _aligned(operand: Operand, steps: Sequence[int]) -> Iterator[str]:
    size = ELEMENTS[operand.dtype].size(1)
    if operand.address % size or any(step % size for step in steps):
        yield f"is not aligned to its elements of {size} bytes: it lies at {operand.address:#x}, with strides {list(steps)}"


def _apart(operand: Operand, machine: Machine) -> Iterator[str]:
    """That no two elements of what is written share a byte: each stride steps over all that the smaller ones span."""
    element = ELEMENTS[operand.dtype]
    if isinstance(operand, Global):
        shape, steps = operand.seen()
        span = element.size(shape[-1]) if element.packed else element.size(1)
        pairs = list(zip(steps, shape, strict=True))[: -1 if element.packed else None]
    else:
        n, c, h, w = operand.seen()
        ns, cs, hs = operand.steps(machine.lanes, machine.eu_bytes)
        slots = 1 if operand.layout == "copies" else -(-(operand.lane + c) // machine.lanes)
        span = element.size(h * w if element.packed else w)
        pairs = [(ns, n), (cs, slots), *([] if element.packed else [(hs, h)])]
    for step, extent in sorted((step, extent) for step, extent in pairs if extent > 1):
        if step < span:
            yield f"is written, and its elements lie on each other: a stride of {step} over {span} bytes"
            return
        span += (extent - 1) * step


def _part(part: Part, shape: tuple[int, ...], tensors: Sequence[Tensor]) -> Iterator[str]:
    """That a part lies in its tensor."""
    if not 0 <= part.tensor < len(tensors):
        yield f"is a part of tensor %{part.tensor}, and there are {len(tensors)}"
        return
    whole = tensors[part.tensor].shape
    if part.offset and len(part.offset) != len(whole):
        yield f"begins at {list(part.offset)} of tensor %{part.tensor}, whose shape is {list(whole)}"
    elif part.steps is not None:
        own = [prod(whole[axis + 1 :]) for axis in range(len(whole))]
        first = sum(index * step for index, step in zip(part.offset, own, strict=False))
        last = first + sum((extent - 1) * step for extent, step in zip(shape, part.steps, strict=False))
        negative = any(number < 0 for number in (*part.steps, *part.offset))
        beyond = all(shape) and last >= prod(whole)
        if len(part.steps) != len(shape) or negative or beyond:
            yield f"has steps {list(part.steps)} through tensor %{part.tensor}, beyond its shape {list(whole)}"
    elif not part.offset and prod(shape) == prod(whole):
        return  # all of its elements, in dimensions that may be others
    elif len(shape) == len(whole):
        offset = part.offset or (0,) * len(shape)
        if any(start < 0 or start + extent > limit for start, extent, limit in zip(offset, shape, whole, strict=True)):
            yield f"is {list(shape)} at {list(offset)} of tensor %{part.tensor}, beyond its shape {list(whole)}"
    else:
        yield f"has shape {list(shape)}, which is no part of tensor %{part.tensor}, whose shape is {list(whole)}"
