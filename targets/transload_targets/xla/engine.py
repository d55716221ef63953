"""The `xla` engines: a module of any dialect that reaches `stablehlo`, compiled once for each shape of its inputs, run often."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transload.analysis.dataflow import has_loops
from transload.cores import cores
from transload.engine.intermediates import exposed
from transload.engine.memory import bytes_of, machine_bytes
from transload.engine.run import check_inputs, named_outputs
from transload.errors import RunError
from transload.interface import typed
from transload.ir import Module, TensorType, input_names

from .client import Compiled, Isolated
from .platforms import best, is_forked
from .program import Written, crosses, in_stablehlo, specialized, written

__all__ = ["Execute", "prepare", "prepare_cpu", "prepare_gpu", "prepare_plain", "prepare_tpu"]


def prepare(module: Module, function: str = "main") -> Execute:
    """For the best device here: a TPU or a GPU, where a plugin for one is installed and finds it, else the CPU."""
    return Execute(module, function, best())


def prepare_cpu(module: Module, function: str = "main") -> Execute:
    """For the CPU, rewritten to what XLA does well there."""
    return Execute(module, function, "cpu")


def prepare_gpu(module: Module, function: str = "main") -> Execute:
    """For a GPU."""
    return Execute(module, function, "gpu")


def prepare_tpu(module: Module, function: str = "main") -> Execute:
    """For a TPU."""
    return Execute(module, function, "tpu")


def prepare_plain(module: Module, function: str = "main") -> Execute:
    """For the CPU, the program as it is, in a process of its own: to judge rewrites, and kernels, by."""
    return Execute(module, function, "cpu", rewrite=False, isolated=True)


@dataclass
class _Compiled:
    """A program with its constants on the device."""

    program: Compiled | Isolated
    written: Written
    kept: list[str]
    """Names of the intermediates that it gives before the function's own outputs."""

    def start(self, arrays: list[np.ndarray]) -> list[Any]:
        return self.program.start(arrays) if isinstance(self.program, Compiled) else self.program(arrays)

    def fetch(self, results: list[Any]) -> list[np.ndarray]:
        fetched = self.program.fetch(results) if isinstance(self.program, Compiled) else results
        return [typed(array, type_) for array, type_ in zip(fetched, self.written.results, strict=True)]


def _need_memory(program: Written) -> None:
    """Raise `RunError` where the results of a program are more than the machine holds: XLA would end the process."""
    needed, there = bytes_of(program.results), machine_bytes()
    if needed > there:
        raise RunError(f"the results take {needed:,} bytes, and this machine has {there:,}", hint="make the model smaller")


class Execute:
    """`execute(inputs, keep=False)` runs the function once; `execute.batch(inputs)` on many inputs in one go.

    It compiles when it is first called with inputs of some shapes, or with `keep`, and keeps what it compiled.
    In a process that is forked from one that uses XLA, programs for the CPU are compiled and run in one of their own; so are
    those with loops that end when their data says so, which may be never: nothing ends a run of XLA but the end of its process.
    `notes` say what a user should know of the numbers.
    Raises `RunError` or `ConversionError` with everything in the module that XLA cannot take.
    """

    def __init__(
        self, module: Module, function: str, platform: str, rewrite: bool = True, isolated: bool = False,
    ) -> None:
        self.platform = platform
        self.rewrite = rewrite
        self.isolated = isolated
        self.source = module
        self.function: str = module.function(function).attributes["sym_name"]
        self.main = module.function(function)
        self.dynamic = any(isinstance(v.type, TensorType) and not v.type.is_static for v in self.main.regions[0].block.arguments)
        self.notes: tuple[str, ...] = ()
        self.module = None if self.dynamic else self._in_stablehlo(module)
        self._compiled: dict[Any, _Compiled] = {}

    def __call__(self, inputs: Mapping[str, Any], keep: bool = False) -> dict[str, np.ndarray]:
        arrays = self._arrays(inputs)
        compiled = self.compiled(arrays, keep)
        results = compiled.fetch(compiled.start(arrays))
        outputs = named_outputs(self.main, results[len(compiled.kept):])
        return {**dict(zip(compiled.kept, results, strict=False)), **outputs}

    def batch(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run on inputs stacked along a new first axis, several at a time; the outputs are stacked likewise.

        Every array has one dimension more than the input it is for, and all have the same first size.
        """
        stacked = {name: np.asarray(array) for name, array in inputs.items()}
        counts = {array.shape[0] if array.ndim else -1 for array in stacked.values()}
        if len(counts) != 1 or counts & {-1, 0}:
            raise RunError("the inputs of a batch must all have the same first size, and at least 1")
        count = counts.pop()
        rows: list[list[np.ndarray]] = []
        started: deque[tuple[_Compiled, list[Any]]] = deque()

        def finish() -> None:
            compiled, results = started.popleft()
            rows.append(compiled.fetch(results))

        for index in range(count):
            arrays = self._arrays({name: array[index] for name, array in stacked.items()})
            compiled = self.compiled(arrays, False)
            started.append((compiled, compiled.start(arrays)))
            if len(started) > 2 * cores():  # enough to keep all cores busy; more would only hold memory
                finish()
        while started:
            finish()
        return named_outputs(self.main, [np.stack(column) for column in zip(*rows, strict=True)])

    def _in_stablehlo(self, module: Module) -> Module:
        """A module as XLA takes it; of its `notes` those that are new say what became of numbers on the way (f64, by TOSA)."""
        made = in_stablehlo(module, self.platform)
        self.notes = tuple(note for note in made.notes if note not in self.source.notes)
        return made

    def compiled(self, arrays: list[np.ndarray], keep: bool = False) -> _Compiled:
        """The program for arrays of these shapes."""
        forked = is_forked()  # what is compiled here does not run there
        key = (keep, forked, tuple(array.shape for array in arrays) if self.dynamic else None)
        if key not in self._compiled:
            module, kept = self.module, list[str]()
            if module is None or keep:
                module = specialized(self.source, self.function, arrays) if self.dynamic else self.source
                if keep:  # before anything changes a layout or a type: a name means the same in every engine
                    module, kept = exposed(module, self.function, crosses)
                module = self._in_stablehlo(module)
            made = written(module, self.function, self.platform, self.rewrite)
            _need_memory(made)
            is_apart = self.isolated or (self.platform == "cpu" and (forked or has_loops(module)))
            kind = Isolated if is_apart else Compiled
            program = kind(made.text, f"function {self.function!r}", self.platform, made.options, made.constants)
            self._compiled[key] = _Compiled(program, made, kept)
        return self._compiled[key]

    def _arrays(self, inputs: Mapping[str, Any]) -> list[np.ndarray]:
        if self.module is None:
            return check_inputs(self.main, inputs)
        main = self.module.function(self.function)
        names = input_names(self.main)
        if names != input_names(main):  # the program takes apart what the source takes as one (tuples)
            return check_inputs(main, inputs)
        check_inputs(self.main, inputs)  # the source's types decide, where the program's are wider
        return check_inputs(main, inputs)
