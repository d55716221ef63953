"""Models on the GPU that is here: what it computes beside the reference engine, on one random input.

    python benchmarks/gpu.py MODEL [MODEL ...] [--engine xla-gpu] [--programs FOLDER] [--seed 0]

Each model runs in an engine, and `FOLDER/*/NAME`, what `transload convert` wrote of a model's file `NAME` for targets such as
`iree-cuda`, in that target's own runtime: compiled elsewhere, where there need be no GPU. Told is whether outputs are the same
bits, else the greatest difference relative to the greatest number, and the cosine. Ends with 1 where one is farther than `FAR`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import transload
from transload.errors import TransloadError
from transload.metrics import cosine
from transload.verification.inputs import random_inputs

FAR = 1e-4
"""Of the greatest number: products of f32 in another order are a hundredth of it apart."""
Outputs = Mapping[str, np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--engine", default="xla-gpu", help="an engine that `transload plugins` lists")
    parser.add_argument("--programs", type=Path, help="a folder with one for each target, with what was converted by file name")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    table = Table("model", "run by", "beside the reference engine")
    far = 0
    for model in arguments.models:
        for who, told, is_far in runs(model, arguments.engine, arguments.programs, arguments.seed):
            table.add_row(model.name, who, told)
            far += is_far
    Console().print(table)
    return 1 if far else 0


def runs(model: Path, engine: str, programs: Path | None, seed: int) -> Iterator[tuple[str, str, bool]]:
    """By whom a model was run, in words how far that is from the reference engine, and whether that is far."""
    module = transload.load(model)
    given = dict(random_inputs(module, seed=seed))
    wanted = transload.run(module, given, engine="reference")
    yield engine, *beside(wanted, partial(transload.run, module, given, engine=engine))
    for program in sorted(programs.glob(f"*/{model.name}")) if programs is not None else ():
        notes: list[str] = []
        told = beside(wanted, partial(transload.run, program, given, tell=notes.append))
        yield notes[0] if notes else program.parent.name, *told


def beside(wanted: Outputs, run: Callable[[], Outputs]) -> tuple[str, bool]:
    """The worst output of a run, in words, and whether it is far; why it did not run, which is far, too."""
    try:
        found = run()
    except TransloadError as error:
        return f"not run: {error.message.splitlines()[0][:200]}", True
    if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted.values(), found.values(), strict=True)):
        return "the same bits", False
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(wanted.values(), found.values(), strict=True)]
    apart = max(float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30)) for a, b in pairs if a.size)
    return f"{apart:.1e}, cosine {min(cosine(a, b) for a, b in pairs):.9f}", apart > FAR


if __name__ == "__main__":
    raise SystemExit(main())
