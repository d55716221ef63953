"""Runs the functions that `tensorflow_functions.py` wrote, and compares with what tensorflow computes.

    python benchmarks/tensorflow_functions_judge.py FOLDER [--to hub,tosa,model,xla] [NUMBER ...]

`hub`: as hub operations in our engine; `tosa`: lowered, in our engine; `model`: lowered, in TOSA's reference model; `xla`:
StableHLO, in XLA. Prints what is refused, by reason, and what is wrong, by number.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import transload
from transload.errors import TransloadError, UsageError

WAYS = ("hub", "tosa", "model", "xla")


def loaded(path: Path, inputs: Mapping[str, np.ndarray], n_outputs: int) -> transload.Module:
    shapes = {name: array.shape for name, array in inputs.items()}
    return transload.load(path, inputs=shapes, outputs=[f"y{i}" for i in range(n_outputs)])


def _taken(module: transload.Module, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs that the outputs need."""
    return {name: inputs[name] for name in module.inputs}


def computed(way: str, path: Path, inputs: dict[str, np.ndarray], n_outputs: int) -> list[np.ndarray]:
    """What a way gives of a function, in order."""
    if way == "hub":
        module = transload.legalize(loaded(path, inputs, n_outputs))
        return list(transload.run(module, _taken(module, inputs)).values())
    to = "stablehlo" if way == "xla" else "tosa"
    try:
        module = transload.lower(loaded(path, inputs, n_outputs), to)
    except TransloadError:
        module = transload.lower(loaded(path, inputs, n_outputs), to, int64="assumed") if to == "tosa" else None
        if module is None:
            raise
    if way == "model":
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        from tests.support.tosa_reference import run_module

        if any(0 in (value.known_shape or ()) for op in module.walk() for value in op.results):
            raise UsageError("TOSA has no empty tensors")
        return run_module(module, list(_taken(module, inputs).values()))
    return list(transload.run(module, _taken(module, inputs), engine="xla" if way == "xla" else "reference").values())


def difference(mine: Any, theirs: np.ndarray) -> str:
    """How a result differs from tensorflow's; empty where it does not."""
    mine = np.asarray(mine)
    if mine.shape != theirs.shape:
        return f"shape {mine.shape}, not {theirs.shape}"
    if theirs.dtype.kind in "biu":
        if mine.dtype.itemsize == theirs.dtype.itemsize and mine.dtype.kind in "iu":
            mine = mine.view(theirs.dtype)
        places = np.argwhere(mine.astype(np.int64) != theirs.astype(np.int64))
        return (
            f"{len(places)} of {mine.size} differ: {mine[tuple(places[0])]}, not {theirs[tuple(places[0])]}"
            if len(places)
            else ""
        )
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(np.isinf(a), np.isinf(b)):
        return "NaN or infinity in other places"
    tolerance = 1e-2 if theirs.dtype == np.float16 else 2e-4
    finite = np.isfinite(b)
    off = np.abs(a - b)[finite] - tolerance * (1 + np.abs(b)[finite])
    scale = np.abs(b[finite]).max(initial=0)
    if off.size and (off.max() > 0) and (np.abs(a - b)[finite].max() > tolerance * scale):
        return f"off by {np.abs(a - b)[finite].max():.3g} where numbers go to {scale:.3g}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--to", default="hub,tosa")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.pb"), key=lambda path: int(path.stem))[:: given.every]
    if given.numbers:
        paths = [given.folder / f"{number}.pb" for number in given.numbers]
    for way in given.to.split(","):
        right, refused, wrong = 0, Counter[str](), []
        for path in paths:
            held = np.load(path.with_suffix(".npz"))
            used = path.read_bytes()
            inputs = {
                key: held[key]
                for key in sorted(
                    (k for k in held if k[0] == "x" and used.count(b"\n" + bytes([len(k)]) + k.encode()) >= 1),
                    key=lambda k: int(k[1:]),
                )
            }
            wanted = [held[f"y{i}"] for i in range(sum(k[0] == "y" for k in held))]
            try:
                results = computed(way, path, inputs, len(wanted))
            except TransloadError as error:
                why = "; ".join(f"{f.what}: {f.why}" for f in getattr(error, "findings", ())) or error.message
                refused[f"{held['name']}: {why[:160]}"] += 1
                continue
            except Exception as error:  # whatever it is, it is a finding
                wrong.append(f"{path.stem} {held['name']}: {type(error).__name__}: {str(error)[:160]}")
                continue
            faults = [
                f"result {i}: {why}" for i, (a, b) in enumerate(zip(results, wanted, strict=False)) if (why := difference(a, b))
            ]
            if len(results) != len(wanted):
                faults.append(f"{len(results)} results, not {len(wanted)}")
            if faults:
                wrong.append(f"{path.stem} {held['name']}: {'; '.join(faults)[:200]}")
            else:
                right += 1
        print(f"{way}: {len(paths)} functions, {right} right, {sum(refused.values())} refused, {len(wrong)} wrong")
        for why, count in sorted(refused.items()):
            print(f"  refused {count} {why}")
        for line in wrong:
            print(f"  WRONG {line}")


if __name__ == "__main__":
    main()
