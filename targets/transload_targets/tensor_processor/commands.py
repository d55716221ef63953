"""`transload program ...`: a tensor processor's binaries, looked at, as text and back, checked, and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transload.cli.options import OUT, PATH, OwnGroup
from transload.cli.options import seed as seed_option

if TYPE_CHECKING:
    import numpy as np

    from .instructions import Program

__all__ = ["program"]

_FILE = click.argument("file", type=PATH, help="A binary (.tpu), or a program as text (.tptxt), by whatever name.")
TEXT = ".tptxt"
"""The suffix of programs as text."""


@click.group(cls=OwnGroup)
def program() -> None:
    """Look at, assemble, check, run a chip's program."""


def _opened(path: Path) -> Program:
    """The program of a file, a binary or a text; `ReadError` lists all that is wrong with it.

    Its beginning says which it is; where that says nothing, as of a text that is damaged, its suffix.
    """
    from transload.files import bytes_of, text_of

    from .instructions import assemble, deserialize, is_text, need_valid
    from .instructions.schema import IDENTIFIER

    data = bytes_of(path)
    if data[4:8] == IDENTIFIER or not (path.suffix == TEXT or is_text(data)):
        return deserialize(data, str(path))
    made = assemble(text_of(path, "a program's text"), str(path))
    need_valid(made, str(path))
    return made


@program.command()
@_FILE
def inspect(file: Path) -> int:
    """What a program is for, what goes in and comes out, and what it is made of."""
    from transload.cli.show import bytes_text, console, table

    from .instructions import Global, Local

    opened = _opened(file)
    machine, out = opened.machine, console()
    weights = sum(len(one.data) for one in opened.weights)
    sizes = {"lanes": machine.lanes, "cores": machine.cores, "banks": machine.banks,
             "local memory": f"{bytes_text(machine.local_bytes)} a lane", "global memory": bytes_text(opened.global_bytes),
             "weights": bytes_text(weights)}
    out.print(f"program {opened.name!r} for {machine.name}", markup=False)
    out.print(table(tuple(sizes), [tuple(map(str, sizes.values()))]))
    rows = [(side, port.name, port.dtype, "x".join(map(str, port.shape)) or "scalar", f"{port.address:#x}")
            for side, ports in (("input", opened.inputs), ("output", opened.outputs)) for port in ports]
    out.print(table(("", "tensor", "dtype", "shape", "address"), rows))
    counts = Counter((one.queue, one.operation) for one in opened.instructions)
    cores = Counter(one.core for one in opened.instructions)
    moved: Counter[tuple[str, str]] = Counter()
    for one in opened.instructions:
        ways = [(operand, type(operand)) for operand in (*one.inputs, *one.outputs) if operand is not None]
        if one.queue == "dma" and {kind for _, kind in ways} == {Local, Global}:
            moved[one.queue, one.operation] += sum(operand.size() for operand, _ in ways if isinstance(operand, Global))
    out.print(table(
        ("queue", "operation", "instructions", "bytes moved"),
        [(*key, f"{count:,}", f"{moved[key]:,}" if key in moved else "") for key, count in sorted(counts.items())],
        right=("instructions", "bytes moved")))
    if machine.cores > 1:
        out.print(table(("core", "instructions"), [(str(core), f"{cores[core]:,}") for core in range(machine.cores)],
                        right=("core", "instructions")))
    return 0


@program.command()
@_FILE
@click.option("--out", "-o", type=OUT, help="The text's file; without one it is printed.")
@click.option("--no-weights", is_flag=True, help="Leave the bytes of weights out; the text then cannot be assembled.")
def disassemble(file: Path, out: Path | None, no_weights: bool) -> int:
    """A binary as text, a line an instruction, which `assemble` turns back."""
    from transload.cli.answer import data_alone, print_data
    from transload.files import atomic_path

    from .instructions import disassemble as text_of

    if out is None:
        with data_alone():
            print_data(text_of(_opened(file), weights=not no_weights))
        return 0
    text = text_of(_opened(file), weights=not no_weights)
    with atomic_path(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return 0


@program.command()
@_FILE
@click.option("--out", "-o", type=OUT, required=True, help="The binary to write.")
def assemble(file: Path, out: Path) -> int:
    """A text as binary."""
    from .instructions import write

    write(_opened(file), out)
    return 0


@program.command()
@_FILE
def check(file: Path) -> int:
    """All rules of the machine that a program breaks: hazards, banks, what is read and was not written; 3 where there are any."""
    from transload.cli.show import console, show_findings

    from .simulator import check as findings_of

    opened, out = _opened(file), console()
    findings = findings_of(opened)
    if not findings:
        out.print(f"{len(opened.instructions)} instructions keep to the rules of {opened.machine.name}", markup=False)
        return 0
    show_findings(out, findings, verbose=True)
    return 3


@program.command()
@_FILE
@click.option("--input", "-i", "given", type=PATH, help="An .npz with the inputs, by name; without one they are random.")
@click.option("--out", "-o", type=OUT, help="An .npz to write the outputs to, or an .npy of one.")
@click.option("--all", "keep", is_flag=True, help="Every tensor that instructions write, not the outputs alone.")
@seed_option()
@click.option(
    "--order", type=click.IntRange(min=0),
    help="Execute in an order that this number chooses among those that queues allow.")
def run(file: Path, given: Path | None, out: Path | None, keep: bool, seed: int, order: int | None) -> int:
    """Execute a program in the simulator."""
    from transload.arrays import read_arrays, write_arrays
    from transload.cli.show import console, number, table
    from transload.verification.asked import need_random

    from .simulator import Simulator

    need_random(seed, given is None)
    simulator = Simulator(_opened(file))
    inputs = _random(simulator.program, seed) if given is None else {
        name: data.numpy() for name, data in read_arrays(given).items()}
    found = simulator.run(inputs, order, keep=keep)
    if out is not None:
        write_arrays(out, found)
    rows = [(name, array.dtype, "x".join(map(str, array.shape)) or "scalar", *map(number, _spread(array)))
            for name, array in found.items()]
    console().print(table(("tensor", "dtype", "shape", "min", "max", "mean"), rows, right=("min", "max", "mean")))
    return 0


def _spread(array: np.ndarray) -> Sequence[float]:
    numbers = array.astype(float)
    return (numbers.min(), numbers.max(), numbers.mean()) if array.size else (0.0, 0.0, 0.0)


def _random(opened: Program, seed: int) -> dict[str, np.ndarray]:
    """Inputs at random: integers of their whole range, floats around zero."""
    import numpy as np

    from .instructions import ELEMENTS

    chance, found = np.random.default_rng(seed), {}
    for port in opened.inputs:
        dtype = ELEMENTS[port.dtype].dtype
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            found[port.name] = chance.integers(limits.min, limits.max, port.shape, dtype, endpoint=True)
        else:
            found[port.name] = chance.normal(size=port.shape).astype(dtype) if dtype.kind != "b" else chance.integers(
                0, 2, port.shape).astype(bool)
    return found
