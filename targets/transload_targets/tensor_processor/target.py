"""The targets: a tensor processor each, of those that come with Transload or of a plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transload.contents import constant_bytes, op_counts
from transload.errors import Finding
from transload.forks import thread_lock
from transload.ir import Module, NoneType, Op, TensorType, Value
from transload.partitioning import work_of
from transload.plugin import Emitted, Options, Target
from transload.quantization import floats_in, has_floats
from transload.read_again import quantizing
from transload.rewrite import names_of

from .chip import Chip, load_chip

if TYPE_CHECKING:
    import numpy as np

    from .simulator import Simulator

__all__ = ["TensorProcessor", "layers_in_line", "of_small_multipliers"]

UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""By how much of itself a number is rounded at most in floats of 16 bits."""
LAYERS = 32
"""Layers in line of the networks by which it is judged what is near enough, where all that they round adds up."""
WIDE_MULTIPLIERS = 32
"""Bits of factors with which integers of 8 bits are scaled as sources have it."""
BINARY = ".tpu"
KEPT = 8
"""Binaries whose simulators are kept, for who runs them on many samples."""


def _off_by(error: float) -> tuple[str, str]:
    """The limits of an output of which `error`, a part of it, is wrong: what is at right angles to it costs the most cosine."""
    return f"cos={sqrt(1 - error * error):.5f}", f"euclid={1 - error:.5f}"


def of_small_multipliers(bits: int) -> tuple[str, ...]:
    """What is near enough of integers of 8 bits whose factors have so many bits.

    The nearest factor, a bit of which is the sign and the highest of the others set, is off by half of the last one at most: by
    2^(1 - bits) of itself. It is so in each layer anew, and each rounds its results by half a step.
    """
    error = LAYERS * 2.0 ** (1 - bits)
    return (f"integer={ceil(255 * error + LAYERS / 2)}", *_off_by(error))


def layers_in_line(module: Module) -> int:
    """How many ops that scale and round sums come one after the other in `main`, on the longest way from an input to an output.

    Beside `LAYERS` it says whether a network is deeper than those by which it is judged what is near enough.
    """
    depth: dict[Value, int] = {}
    for op in module.main.regions[0].block:
        declaration = op.declaration
        rounds = op.dialect == "tpu" and declaration is not None and "rounding" in declaration.attributes
        before = max((depth.get(value, 0) for value in op.operands), default=0)
        depth.update(dict.fromkeys(op.results, before + rounds))
    return max(depth.values(), default=0)


class TensorProcessor(Target):
    """A chip that a file describes.

        register(TensorProcessor(Path(__file__).parent / "acme.toml", "acme"))

    What it can compute becomes dialect `tpu` and a program of the chip's instructions, `STEM.tpu`, which the simulator runs; the
    rest stays on the host.
    """

    keeps = True

    def __init__(
        self, file: str | Path, name: str, doc: str = "", dialects: Sequence[str] = (), tolerance: Sequence[str] = (),
    ) -> None:
        """`file` is the name of a chip that comes along, or a path of a TOML file, which is read when it is needed.

        `dialects` are those of instructions of its own; `tolerance` is what is near enough where the chip cannot compute what the
        source's runtime does (`Target.tolerance`), if that is something else than what small multipliers bring.
        """
        self.accepts = ("top", "tpu", *dialects)
        self.tolerance = tuple(tolerance)
        self.file = file
        self.name = name
        self.doc = doc or f"The tensor processor {name}."
        self._simulators: dict[tuple[Path, int, int], Simulator] = {}
        self._lock = thread_lock()
        quoted = json.dumps(str(file), ensure_ascii=False)
        self.pipeline = (
            'inline,unroll-recurrent,write-out-einsums,write-out-normalizations,plain-biases,layout{to=NCHW},'
            f'lower-to-tpu{{chip={quoted}}},narrow-floats{{to=$floats,chip={quoted}}},'
            f'arrange-for-lanes{{chip={quoted}}},dce,cse,order-for-memory')

    @cached_property
    def chip(self) -> Chip:
        """What the file says."""
        return load_chip(self.file)

    def takes(self, op: Op, options: Mapping[str, Any]) -> bool:
        return op.dialect != "top"

    def check(self, module: Module, options: Mapping[str, Any]) -> Sequence[Finding]:
        """Inputs and outputs that are no tensors: those of which a file says nothing, and those that are left out.

        Of a module that the chip takes no op of, why it takes none.
        """
        absent = [Finding("an output", f"is of type {type_}, where a chip has tensors", (name,), "take it off the model")
                  for name, type_ in module.outputs.items() if not isinstance(type_, TensorType)]
        absent += self._refused(module)
        return absent + [
            Finding("an input", f"is of type {type_}, where a chip has tensors of known shape", (name,),
                    "say the sizes of the inputs, by --shape" if isinstance(type_, TensorType) else "take it off the model")
            for name, type_ in module.inputs.items()
            if not isinstance(type_, TensorType | NoneType) or (isinstance(type_, TensorType) and not type_.is_static)]

    def _refused(self, module: Module) -> list[Finding]:
        left = work_of(module)
        if any(self.takes(op, {}) for op in left):
            return []
        if floats_in(module) and not self.chip.has_floats:
            why = f"{self.name} computes with integers only, and this works on floats"
            hint = f"quantize the model first{quantizing(module, self.name, ('int8',))}"
            return [Finding(op.name, why, names_of([op]), hint) for op in left if has_floats(op)]
        from .lowering.lower import left_to_host

        return left_to_host(module, self.chip)

    def near_enough(self, options: Mapping[str, Any]) -> Sequence[str]:
        """Of small multipliers, and of floats of 16 bits, what layers come to, each of which rounds weights and results."""
        bits = self.chip.multiplier_bits
        own = self.tolerance or (of_small_multipliers(bits) if bits < WIDE_MULTIPLIERS else ())
        unit = UNITS.get(str(options.get("floats")))
        return own if unit is None else (*own, *_off_by(2 * LAYERS * unit))

    def options(self) -> Options:
        return {
            "groups": (("best", "greedy", "layers"), "best", "how ops are grouped so that what is between them stays in local "
                       "memory: at the least cost; from the tail on, as much as fits; each op by itself"),
            "local": (("banks", "dense"), "banks", "where tensors lie in local memory: within 1.02 times what is alive at once "
                      "where that takes a few more cycles at most, else in banks of their own, so that computing and moving do "
                      "not wait for each other; or always within 1.02 times"),
            "halos": (("best", "recomputed", "kept"), "best", "rows that neighbouring slices need in common: computed and loaded "
                      "by each, or kept from one to the next, or whichever takes fewer cycles"),
            "floats": (("float32", "float16", "bfloat16"), "float32",
                       "the type in which floats are computed where the chip has it"),
            "pictures": (bool, False, "write what layers and groups cost (STEM.cycles.json), and pictures: both queues in time, "
                         "the roofline, global memory; and a trace for Perfetto"),
            "text": (bool, False, "write the program as text, too, which `transload program assemble` reads"),
        }

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        from transload.text import write_module

        from .codegen import compile_function
        from .cycles.tables import save_all, summary
        from .cycles.timeline import timeline
        from .instructions import disassemble, write

        compiled = compile_function(
            module.main, self.chip, stem, options["groups"], banked=options["local"] == "banks", halos=options["halos"])
        program = compiled.program
        files = [directory / f"{stem}{suffix}" for suffix in (BINARY, ".mlir")]
        write(program, files[0])
        with files[1].open("w", encoding="utf-8") as out:  # what engines run, op by op
            write_module(module, out, constants="resource")
        if options["text"]:
            files.append(directory / f"{stem}.tptxt")
            files[-1].write_text(disassemble(program), encoding="utf-8")
        times = timeline(program, self.chip)
        if options["pictures"]:
            files += save_all(compiled, times, directory, stem)
        return Emitted(files, {
            "chip": self.chip.name, "operators": op_counts(module), "constant_bytes": constant_bytes(module),
            "instructions": len(program.instructions), "groups": len(compiled.partition.groups),
            "layers_in_line": layers_in_line(module),
            **summary(compiled, times), "file_bytes": files[0].stat().st_size})

    def run(
        self, emitted: Emitted, inputs: Mapping[str, np.ndarray], keep: bool = False,
    ) -> dict[str, np.ndarray]:
        """What the binary computes in the simulator: of bytes, instruction by instruction.

        With `keep`, every tensor of which an instruction wrote a part, put together, stands before the outputs.
        """
        return self._simulator(emitted).run(inputs, keep=keep)

    def _simulator(self, emitted: Emitted) -> Simulator:
        """The simulator of a binary: its rules are checked once, however often it is run."""
        from .instructions import read
        from .simulator import Simulator

        file = emitted.file(BINARY)
        about = file.stat()
        key = file, about.st_mtime_ns, about.st_size
        with self._lock:
            if key not in self._simulators:
                if len(self._simulators) >= KEPT:
                    self._simulators.clear()
                self._simulators[key] = Simulator(read(file))
            return self._simulators[key]
