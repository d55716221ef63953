"""TFLite files that we write, run by LiteRT: beside the float model's own runtime, and where they are quantized our engine.

    python benchmarks/tflite_out.py [MODEL ...] [--scheme int8-asym] [--samples 4]
    python benchmarks/tflite_out.py --operators

A model goes to the hub and out as a `.tflite` file, in floats and quantized by each scheme on random samples. Of floats the
greatest difference of an output is shown, relative to the greatest number in it: of the file in LiteRT and the model in its own
runtime (onnxruntime; of a `.tflite` file LiteRT, so that this is the way there and back). Of a quantized module, how many
outputs of samples have the same bits in LiteRT's reference kernels and in our engine, and by how many steps of its scale an
output differs at most in LiteRT's default kernels (XNNPACK), which round on their own.

Without models: the example's network, MobileNet v2 with random weights, and the light models that the package `onnx` carries,
which have weights of one number. Each form of a model is a process of its own, as LiteRT ends processes where it gives up.
`--operators` takes the models of one operator of the tests, there and back.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from peer import run_step
from rich.console import Console
from rich.table import Table

import transload
from transload.api import at_hub
from transload.errors import TransloadError
from transload.ir import Module, dtype_of
from transload.verification.runtimes import runtime_for

ROOT = Path(__file__).resolve().parents[1]
SCHEMES = ("int8-asym", "int16x8")
LIGHT = ("squeezenet", "shufflenet", "resnet50", "inception_v1", "densenet121", "bvlc_alexnet")
Arrays = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="float models, .onnx or .tflite; without, own ones")
    parser.add_argument("--scheme", action="append", help=f"quantize by this scheme; repeatable; without, {', '.join(SCHEMES)}")
    parser.add_argument("--samples", type=int, default=4, help="random samples, to calibrate with and as many to judge by")
    parser.add_argument("--operators", action="store_true", help="models of one operator, there and back")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.operators:
        show_operators()
        return
    if arguments.step:
        form, path = arguments.step
        print(json.dumps(row_of(Path(path), form, arguments.samples)))
        return
    table = Table("model", "form", "LiteRT, reference kernels", "LiteRT, default kernels", "operators")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.models or own_models(Path(folder)):
            for form in ("float", *(arguments.scheme or SCHEMES)):
                row = run_step(__file__, form, path, options=["--samples", str(arguments.samples)])
                table.add_row(path.stem, form, *row.get("columns", (row.get("error", ""), "", "")))
    Console(width=150).print(table)


def own_models(folder: Path) -> Iterator[Path]:
    """Models that anyone has: the example's, one with random weights, those in the package `onnx`."""
    import onnx
    from mobilenet_v2 import mobilenet_v2

    yield ROOT / "examples" / "digits" / "digits_float.onnx"
    path = folder / "mobilenet_v2_random.onnx"
    onnx.save(mobilenet_v2(), path)
    yield path
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    yield from (light / f"light_{name}.onnx" for name in LIGHT if (light / f"light_{name}.onnx").exists())


def row_of(path: Path, form: str, count: int) -> dict[str, Any]:
    """The columns for the float form of a model, or one quantized by a scheme; a refusal fills them, too."""
    source = transload.load(path)
    hub = at_hub(source, quantizing=form != "float")
    random = np.random.default_rng(0)
    samples = [sample_of(source, random) for _ in range(2 * count)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            if form == "float":
                return {"columns": there_and_back(source, hub, samples[:count], Path(folder))}
            return {"columns": judged(transload.quantize(hub, form, samples[:count]), samples[count:], Path(folder))}
    except TransloadError as error:
        return {"columns": (refusal(error), "", "")}


def there_and_back(source: Module, hub: Module, samples: Sequence[Arrays], folder: Path) -> tuple[str, str, str]:
    """How far both sets of kernels are from the model's own runtime, and how many operators the file has."""
    written = Written(hub, folder)
    own = runtime_for(source.source_format)[0]
    assert own is not None, "the model's own runtime is needed"
    theirs = transload.plugin.resolve(own.open)(source.source)
    reference, usual = (max(far(written(sample, kind), theirs(sample)) for sample in samples) for kind in (True, False))
    return f"{reference:.1e}", f"{usual:.1e}", written.operators


def sample_of(module: Module, random: np.random.Generator) -> Arrays:
    """Random numbers from 0 to 1 for each input, small ones for integers."""
    sample = {}
    for name, type_ in module.inputs.items():
        dtype = dtype_of(type_.element)
        sample[name] = (random.random(type_.static_shape) * (1 if dtype.kind == "f" else 4)).astype(dtype)
    return sample


def judged(module: Module, samples: Sequence[Arrays], folder: Path) -> tuple[str, str, str]:
    """How many outputs are the same, by how many steps the default kernels differ, and how many operators the file has."""
    written = Written(module, folder)
    same = total = 0
    steps = 0.0
    last = {name: value.op.operands[0].quant if value.op is not None and value.op.name == "top.Cast" else None
            for name, value in zip(module.outputs, module.body_of_main.last.operands, strict=True)}
    for sample in samples:
        ours, exact, usual = transload.run(module, sample, engine="reference"), written(sample, True), written(sample, False)
        for name, array in ours.items():
            total += 1
            same += np.array_equal(array, exact[name])
            scale = last[name].scale if last[name] is not None else 1.0
            steps = max(steps, float(np.abs(array.astype(np.float64) - usual[name]).max(initial=0.0)) / scale)
    return f"{same} of {total} the same bits", f"{steps:.0f} steps", written.operators


class Written:
    """A module as a `.tflite` file, and LiteRT's interpreters of it."""

    def __init__(self, module: Module, folder: Path) -> None:
        lowered = transload.lower(module, "tfl")
        self.path = transload.save(lowered, folder / "written.tflite")
        self.outputs = list(lowered.outputs)
        counted = Counter(op.name for op in lowered.ops() if op.dialect == "tfl" and "const" not in op.name)
        self.operators = f"{counted.total()}, of {len(counted)} kinds"
        self.content = self.path.read_bytes()
        self.kept: dict[bool, Any] = {}

    def __call__(self, sample: Arrays, reference: bool) -> Arrays:
        """The outputs by name, of the reference kernels or of the default ones."""
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        if reference not in self.kept:
            resolver = OpResolverType.BUILTIN_REF if reference else OpResolverType.BUILTIN
            self.kept[reference] = Interpreter(model_content=self.content, experimental_op_resolver_type=resolver)
            self.kept[reference].allocate_tensors()
        interpreter = self.kept[reference]
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], sample[detail["name"]])
        interpreter.invoke()
        arrays = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
        return dict(zip(self.outputs, arrays, strict=True))


def far(ours: Arrays, theirs: Arrays) -> float:
    """The greatest difference of an output, relative to the greatest number in it; outputs are taken in order."""
    return max(
        float(np.abs(a.astype(np.float64) - b).max(initial=0.0)) / max(float(np.abs(b).max(initial=0.0)), 1e-30)
        for a, b in zip(ours.values(), theirs.values(), strict=True))


def refusal(error: TransloadError) -> str:
    findings = "; ".join(f"{finding.what} x{finding.count}: {finding.why}" for finding in error.findings[:3])
    return f"refused: {findings or error.message}"


# --- operators

def show_operators() -> None:
    """A row for each operator whose cases do not all come back exactly; the sum of all."""
    import sys

    sys.path.insert(0, str(ROOT))
    from tests.support.tflite_ops.measure import all_cases

    counts: dict[str, Counter[str]] = {}
    for case in all_cases():
        if (outcome := outcome_of(case)) is not None:
            counts.setdefault(case.op, Counter())[outcome] += 1
    table = Table("operator", *(columns := ("exact", "within 1e-5", "one step", "differs", "refused")))
    total = Counter[str]()
    for name, found in sorted(counts.items()):
        total += found
        if found.total() > found["exact"]:
            table.add_row(name, *(str(found[column] or "") for column in columns))
    table.add_row("all", *(str(total[column]) for column in columns))
    Console(width=110).print(table)


def outcome_of(case: Any) -> str | None:
    """How near LiteRT's results of our file are to those of the case's; None where LiteRT has no kernel."""
    from tests.support.tflite_ops.harness import relative_difference
    from tests.support.tflite_ops.written import there_and_back

    try:
        made = there_and_back(case)
    except TransloadError:
        return "refused"
    if made is None:
        return None
    worst = "exact"
    for ours, theirs in zip(made.actual, made.expected, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return "differs"
        if np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"):
            continue
        if theirs.dtype.kind == "f":
            near = (relative_difference(ours, theirs) <= 1e-5).all()
        else:
            near = np.abs(ours.astype(np.int64) - theirs).max() <= 1
        if not near:
            return "differs"
        worst = "within 1e-5" if theirs.dtype.kind == "f" else "one step"
    return worst


if __name__ == "__main__":
    main()
